/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The line "moves": every change of state of a QP by qp_modify() itself, with exactly the bits it
 * needs and with each single bit more or less. What is refused changes no attribute and no state; what
 * is taken changes what its bits name, and nothing else (E1).
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "table.h"

/* In the order of enum ibv_qp_state. */
enum { RESET, INIT, RTR, RTS, SQD, SQE, ERR };

/* Values that a QP is not born with and that every limit allows, but for the state. */
static struct qp_attr
other(const struct host_qp *q, uint32_t from, uint32_t to)
{
	struct qp_attr a = {
		.state = to, .cur_state = from, .path_mtu = IBV_MTU_2048, .rq_psn = 0x111111,
		.sq_psn = 0x222222, .dest_qpn = 0x333333, .access_flags = IBV_ACCESS_REMOTE_READ,
		.port_num = 1, .max_rd_atomic = 3, .max_dest_rd_atomic = 5, .min_rnr_timer = 7,
		.timeout = 9, .retry_cnt = 2, .rnr_retry = 4, .en_sqd_async_notify = true,
	};

	host_path(q, &a.path);
	a.path.tmpl.len--;	/* so that it can be told from the one that is there */
	return a;
}

static struct host_qp_want born = {
	.attr = { .path_mtu = IBV_MTU_1024, .access_flags = 15, .timeout = 10, .retry_cnt = 7,
		  .rnr_retry = 7, .min_rnr_timer = 12, .max_rd_atomic = 16, .max_dest_rd_atomic = 16 },
	.sq = 4, .rq = 4, .send_cqe = 4, .recv_cqe = 4, .pd = 1, .ip_mtu = 4200, .psn = -1,
};

/* A send that fails here brings it there, nothing else does (E7). */
static void
to_sqe(struct run *r, struct host_qp *q)
{
	struct plx_sq_wqe w = { .opcode = IBV_WR_SEND, .num_sge = 1 };
	struct plx_sge no_memory = { .length = 8 };

	host_post(&r->h, q, &w, &no_memory, NULL);
	host_settle(&r->h);
	host_forget(&r->h);
}

static struct host_qp *
in_state(struct run *r, uint32_t state)
{
	struct host_qp *q = host_qp_add(&r->h, "moves", &born);
	struct qp_attr a = { .state = state };
	int rc;

	if (!q)
		run_fail(r, "no QP");
	rc = host_qp_raise(&r->h, q, &born, state < RTS ? state : RTS);
	if (!rc && state == SQE)
		to_sqe(r, q);
	else if (!rc && state > RTS)
		rc = qp_modify(q->qp, &r->h.x, IBV_QP_STATE, &a);
	if (rc || qp_state(q->qp) != state)
		run_fail(r, "cannot bring a QP to %s", table_states[state]);
	return q;
}

/* Attributes by their bits. */
static const struct {
	uint32_t bit;
	size_t offset, size;
} fields[] = {
#define FIELD(bit, field) { bit, offsetof(struct qp_attr, field), sizeof(((struct qp_attr *)0)->field) }
	FIELD(IBV_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify),
	FIELD(IBV_QP_ACCESS_FLAGS, access_flags),
	FIELD(IBV_QP_PKEY_INDEX, pkey_index),
	FIELD(IBV_QP_PORT, port_num),
	FIELD(IBV_QP_AV, path.tmpl.len),
	FIELD(IBV_QP_PATH_MTU, path_mtu),
	FIELD(IBV_QP_TIMEOUT, timeout),
	FIELD(IBV_QP_RETRY_CNT, retry_cnt),
	FIELD(IBV_QP_RNR_RETRY, rnr_retry),
	FIELD(IBV_QP_RQ_PSN, rq_psn),
	FIELD(IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic),
	FIELD(IBV_QP_MIN_RNR_TIMER, min_rnr_timer),
	FIELD(IBV_QP_SQ_PSN, sq_psn),
	FIELD(IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic),
	FIELD(IBV_QP_PATH_MIG_STATE, path_mig_state),
	FIELD(IBV_QP_DEST_QPN, dest_qpn),
#undef FIELD
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

/* After the change of `mask` each attribute is that of `to` or of `before`; in RESET there is none. */
static void
compare(struct run *r, const struct host_qp *q, uint32_t mask, const struct qp_attr *before,
	const struct qp_attr *to)
{
	static const struct qp_attr none;
	struct qp_attr now;

	qp_query(q->qp, &now);
	if (now.state != (mask & IBV_QP_STATE ? to->state : before->state))
		run_fail(r, "state is %s", table_states[now.state]);
	for (size_t i = 0; i < FIELDS; i++) {
		const struct qp_attr *want = now.state == RESET ? &none : mask & fields[i].bit ? to : before;

		if (memcmp((char *)&now + fields[i].offset, (const char *)want + fields[i].offset,
			   fields[i].size))
			run_fail(r, "attribute of bit 0x%x is not as it should be", fields[i].bit);
	}
}

static void
try(struct run *r, uint32_t from, uint32_t to, uint32_t mask, bool ok)
{
	struct host_qp *q = in_state(r, from);
	struct qp_attr before, attr = other(q, from, to);
	int rc;

	qp_query(q->qp, &before);
	rc = qp_modify(q->qp, &r->h.x, mask, &attr);
	if (rc != (ok ? 0 : -EINVAL))
		run_fail(r, "%s to %s, mask 0x%x: %d", table_states[from], table_states[to], mask, rc);
	compare(r, q, ok ? mask : 0, &before, &attr);
	r->h.x.num_events = 0;		/* an SQ_DRAINED */
	host_qp_free(&r->h, q);
	r->h.num_qps--;
}

/* One change with its bits, and every deviation by one; without STATE the change is none. */
static unsigned int
move(struct run *r, uint32_t from, uint32_t to)
{
	struct table_sets s = table_of(r, born.type, from, to);
	uint32_t base = s.required | IBV_QP_STATE;
	unsigned int n = 1;

	try(r, from, to, base, s.valid);
	for (uint32_t b = 1; b < TABLE_BITS; b++, n++)
		try(r, from, to, base ^ 1u << b, s.valid && !(s.required >> b & 1) &&
							    (s.optional >> b & 1));
	return n;
}

/* moves rc|uc N: of so many cases. RC never is in SQE. */
static void
cmd_moves_(struct run *r, struct words *w)
{
	const char *type = words_next(w) ?: "", *want = words_next(w);
	bool rc = !strcmp(type, "rc");
	unsigned int n = 0;

	if (!rc && strcmp(type, "uc"))
		run_fail(r, "moves rc|uc N");
	born.type = rc ? IBV_QPT_RC : IBV_QPT_UC;
	for (uint32_t from = RESET; from <= ERR; from++)
		for (uint32_t to = RESET; !(rc && from == SQE) && to <= ERR; to++)
			n += move(r, from, to);
	if (!want || run_number(r, want) != n)
		run_fail(r, "%u cases", n);
}

const struct cmd cmd_moves[] = { { "moves", cmd_moves_ }, { NULL, NULL } };

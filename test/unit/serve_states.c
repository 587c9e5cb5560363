/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of modify and query as a client calls them: every change of state with exactly the bits it
 * needs and with each bit more or less, for each type of QP there is (E1). Refused: query tells the same as
 * before. Which bits a change needs and takes is told by qp_state_check(), which has tests of its own.
 */
#include <fcntl.h>

#include "serve_fixture.h"

#define BITS 26u
#define OF_PAIR (QPM_PKEY_INDEX | QPM_PORT | QPM_ACCESS_FLAGS)
#define OF_PATH (QPM_AV | QPM_PATH_MTU | QPM_DEST_QPN | QPM_RQ_PSN)
#define RETRIES (QPM_TIMEOUT | QPM_RETRY_CNT | QPM_RNR_RETRY | QPM_MAX_QP_RD_ATOMIC)

static const struct steps {
	uint32_t type;
	uint32_t init, rtr, rts;	/* bits that must come, beside STATE */
	uint32_t foreign;		/* bits of the other end of XRC: not looked at */
	bool sqe;			/* a local fault of a send brings it there (E7) */
} types[] = {
	{ QPT_RC, OF_PAIR, RTR_MASK, RETRIES | QPM_SQ_PSN, 0, false },
	{ QPT_UC, OF_PAIR, OF_PATH, QPM_SQ_PSN, 0, true },
	{ QPT_UD, QPM_PKEY_INDEX | QPM_PORT | QPM_QKEY, 0, QPM_SQ_PSN, 0, false },
	{ QPT_XRC_INI, OF_PAIR, OF_PATH, RETRIES | QPM_SQ_PSN, QPM_MAX_DEST_RD_ATOMIC | QPM_MIN_RNR_TIMER,
	  false },
	{ QPT_XRC_TGT, OF_PAIR, RTR_MASK, QPM_SQ_PSN | QPM_TIMEOUT,
	  QPM_MAX_QP_RD_ATOMIC | QPM_RETRY_CNT | QPM_RNR_RETRY, false },
};

static uint32_t
required(const struct steps *t, uint32_t from, uint32_t to)
{
	if (from == QPS_RESET && to == QPS_INIT)
		return QPM_STATE | t->init;
	if (from == QPS_INIT && to == QPS_RTR)
		return QPM_STATE | t->rtr;
	if (from == QPS_RTR && to == QPS_RTS)
		return QPM_STATE | t->rts;
	return QPM_STATE;
}

/* Values that every limit allows; `n` makes them differ from call to call. */
static struct ctl_qp_attr
attrs(uint32_t from, uint32_t to, uint32_t n)
{
	struct ctl_qp_attr a = rtr_attr(0x345 + n);

	a.qp_state = to;
	a.cur_qp_state = from;
	a.path_mtu = 1 + n % 5;
	a.rq_psn = n;
	a.sq_psn = n + 1;
	a.qp_access_flags = n % 16;
	a.port_num = 1;
	a.max_rd_atomic = n % 17;
	a.max_dest_rd_atomic = 1 + n % 16;
	a.min_rnr_timer = n % 32;
	a.timeout = n % 32;
	a.retry_cnt = n % 8;
	a.rnr_retry = n % 8;
	a.ah.hop_limit = (uint8_t)(1 + n % 255);
	return a;
}

static struct ctl_qp_attr
ask(struct end *e)
{
	struct ctl_query_qp m = { .qp = e->m.qp };

	call(CTL_QUERY_QP, &m);
	return m.attr;
}

/* From RESET to `state`, by the ways that a program has. */
static bool
bring(struct end *e, const struct steps *t, uint32_t state)
{
	int rc = modify(e, QPM_STATE, (struct ctl_qp_attr){ .qp_state = QPS_RESET });
	uint32_t up = state < QPS_RTS ? state : QPS_RTS;
	struct plx_cqe cqe;

	for (uint32_t to = QPS_INIT; rc == 0 && to <= up; to++)
		rc = modify(e, required(t, to - 1, to), attrs(to - 1, to, 7));
	if (rc == 0 && state == QPS_SQE) {
		post_send(e, &(struct send){ .opcode = WR_SEND, .from = BUF_LEN, .len = 8 });
		rc = poll(&cqe) && cqe.status == WC_LOC_PROT_ERR ? 0 : -EIO;
	} else if (rc == 0 && state > QPS_RTS) {
		rc = modify(e, QPM_STATE, (struct ctl_qp_attr){ .qp_state = state });
	}
	return rc == 0 && ask(e).qp_state == state;
}

struct tried {
	uint32_t cases, taken;
};

/* One call on a QP in `from`, where it is again afterwards. */
static void
try(struct end *e, const struct steps *t, uint32_t from, uint32_t to, uint32_t mask, struct tried *n)
{
	struct ctl_qp_attr before = ask(e), after;
	int want = qp_state_check(t->type, from, to, mask & ~t->foreign);
	int rc;

	if (want == 0 && (mask & QPM_ALT_PATH))
		want = -EOPNOTSUPP;
	rc = modify(e, mask, attrs(from, to, ++n->cases));
	if (rc != want)
		printf("type %u, %u to %u, mask 0x%x: %d, not %d\n", t->type, from, to, mask, rc, want);
	CHECK_EQ(-rc, -want);
	after = ask(e);
	if (rc == 0) {
		n->taken++;
		CHECK_EQ(after.qp_state, to);
		CHECK(bring(e, t, from));
		return;
	}
	CHECK(memcmp(&before, &after, sizeof(before)) == 0);
}

static void
every_deviation(struct end *e, const struct steps *t, uint32_t from, uint32_t to, struct tried *n)
{
	uint32_t base = required(t, from, to);

	try(e, t, from, to, base, n);
	for (uint32_t b = 1; b < BITS; b++)
		try(e, t, from, to, base ^ 1u << b, n);
}

/* A QP of that type. */
static int
new_of(struct end *e, const struct steps *t)
{
	struct ctl_xrcd x = { .fd = -1, .oflags = O_CREAT };

	memset(e, 0, sizeof(*e));
	e->m = (struct ctl_create_qp){ .pd = w.pd, .type = t->type, .send_cq = w.cq.cq, .recv_cq = w.cq.cq,
				       .cap = { 16, 16, 4, 4, 64 } };
	if (t->type == QPT_XRC_TGT) {
		if (call(CTL_OPEN_XRCD, &x) != 0)
			return -EIO;
		e->m.xrcd = x.xrcd;
	}
	return call(CTL_CREATE_QP, &e->m);
}

static void
serve_modify_qp__whole_table(void)
{
	struct end e;

	CHECK_EQ(start_world("inline"), 0);
	for (uint32_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct steps *t = &types[i];
		struct tried n = { 0 };

		CHECK_EQ(new_of(&e, t), 0);
		for (uint32_t from = QPS_RESET; from < QPS_COUNT; from++) {
			if (from == QPS_SQE && !t->sqe)
				continue;
			CHECK(bring(&e, t, from));
			for (uint32_t to = QPS_RESET; to < QPS_COUNT; to++)
				every_deviation(&e, t, from, to, &n);
		}
		CHECK_EQ(n.cases, (t->sqe ? 7u : 6u) * 7 * BITS);
		CHECK(n.taken > 20);
	}
	CHECK_EQ(end_world(), 0);
}

/* FC33: as deep as the device says, each of very many; and not deeper, with nothing changed. */
static void
serve_modify_qp__thousand_at_full_depth(void)
{
	static struct end e[1000];
	struct ctl_query_device dev;
	struct ctl_qp_attr deep;

	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(call(CTL_QUERY_DEVICE, &dev), 0);
	for (uint32_t i = 0; i < 1000; i++) {
		CHECK_EQ(new_qp_on(&e[i], w.cq.cq, 16), 0);
		CHECK_EQ(to_init(&e[i]), 0);
		deep = rtr_attr(i);
		deep.max_dest_rd_atomic = (uint8_t)dev.max_qp_rd_atom;
		if (i == 999) {
			deep.max_dest_rd_atomic++;
			CHECK_EQ(-modify(&e[i], RTR_MASK, deep), EINVAL);
			deep.max_dest_rd_atomic--;
		}
		CHECK_EQ(modify(&e[i], RTR_MASK, deep), 0);
		deep = (struct ctl_qp_attr){ .qp_state = QPS_RTS,
					     .max_rd_atomic = (uint8_t)dev.max_qp_init_rd_atom };
		if (i == 999) {
			deep.max_rd_atomic++;
			CHECK_EQ(-modify(&e[i], QPM_STATE | QPM_SQ_PSN | RETRIES, deep), EINVAL);
			deep.max_rd_atomic--;
		}
		CHECK_EQ(modify(&e[i], QPM_STATE | QPM_SQ_PSN | RETRIES, deep), 0);
		CHECK_EQ(ask(&e[i]).qp_state, QPS_RTS);
	}
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(serve_modify_qp__whole_table),
	CHECK_CASE(serve_modify_qp__thousand_at_full_depth),
};

CHECK_MAIN(cases)

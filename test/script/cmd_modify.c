/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines about the QP's attributes: modify, query, path, rule. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "run.h"

static const struct {
	const char *name;
	uint32_t bit;
	size_t offset, size;
} attrs[] = {
#define ATTR(name, bit, field) \
	{ name, bit, offsetof(struct qp_attr, field), sizeof(((struct qp_attr *)0)->field) }
	ATTR("state", IBV_QP_STATE, state),
	ATTR("cur_state", IBV_QP_CUR_STATE, cur_state),
	ATTR("mtu", IBV_QP_PATH_MTU, path_mtu),
	ATTR("mig_state", IBV_QP_PATH_MIG_STATE, path_mig_state),
	ATTR("rq_psn", IBV_QP_RQ_PSN, rq_psn),
	ATTR("sq_psn", IBV_QP_SQ_PSN, sq_psn),
	ATTR("dest_qpn", IBV_QP_DEST_QPN, dest_qpn),
	ATTR("access", IBV_QP_ACCESS_FLAGS, access_flags),
	ATTR("qkey", IBV_QP_QKEY, qkey),
	ATTR("pkey_index", IBV_QP_PKEY_INDEX, pkey_index),
	ATTR("port", IBV_QP_PORT, port_num),
	ATTR("rd", IBV_QP_MAX_QP_RD_ATOMIC, max_rd_atomic),
	ATTR("dest_rd", IBV_QP_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic),
	ATTR("min_rnr", IBV_QP_MIN_RNR_TIMER, min_rnr_timer),
	ATTR("timeout", IBV_QP_TIMEOUT, timeout),
	ATTR("retry_cnt", IBV_QP_RETRY_CNT, retry_cnt),
	ATTR("rnr_retry", IBV_QP_RNR_RETRY, rnr_retry),
	ATTR("sq_draining", 0, sq_draining),	/* to query alone */
	ATTR("sqd_notify", IBV_QP_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify),
#undef ATTR
};
#define ATTRS (sizeof(attrs) / sizeof(attrs[0]))

static const char *const states[] = { "reset", "init", "rtr", "rts", "sqd", "sqe", "err" };

static uint32_t
state_of(struct run *r, const char *name)
{
	for (uint32_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (!strcmp(name, states[i]))
			return i;
	run_fail(r, "no such state: %s", name);
}

static uint32_t
value_of(struct run *r, size_t i, const char *text)
{
	if (attrs[i].bit == IBV_QP_STATE || attrs[i].bit == IBV_QP_CUR_STATE)
		return state_of(r, text);
	return (uint32_t)run_number(r, text);
}

/* Little-endian hosts only, as DPDK's x86 is. */
static void
set(struct qp_attr *a, size_t i, uint32_t v)
{
	memcpy((char *)a + attrs[i].offset, &v, attrs[i].size);
}

static uint32_t
get(const struct qp_attr *a, size_t i)
{
	uint32_t v = 0;

	memcpy(&v, (const char *)a + attrs[i].offset, attrs[i].size);
	return v;
}

/* modify NAME=VALUE... [av] [fails]: the mask is what is named. Refused: nothing changed (E1). */
static void
cmd_modify_(struct run *r, struct words *w)
{
	struct host_qp *q = run_qp(r);
	struct qp_attr a, before, after;
	uint32_t mask = words_flag(w, "av") ? IBV_QP_AV : 0;
	bool fails = words_flag(w, "fails");
	int rc;

	qp_query(q->qp, &before);
	a = before;
	host_path(q, &a.path);
	for (size_t i = 0; i < ATTRS; i++) {
		const char *v = words_opt(w, attrs[i].name);

		if (!v)
			continue;
		mask |= attrs[i].bit;
		set(&a, i, value_of(r, i, v));
	}
	rc = qp_modify(q->qp, &r->h.x, mask, &a);
	run_settle(r);
	if (rc != (fails ? -EINVAL : 0))
		run_fail(r, "qp_modify gives %d", rc);
	if (!fails)
		return;
	qp_query(q->qp, &after);
	for (size_t i = 0; i < ATTRS; i++)
		if (get(&before, i) != get(&after, i))
			run_fail(r, "%s changed though it was refused", attrs[i].name);
}

/* query NAME=VALUE... */
static void
cmd_query(struct run *r, struct words *w)
{
	struct qp_attr a;

	qp_query(run_qp(r)->qp, &a);
	for (size_t i = 0; i < ATTRS; i++) {
		const char *v = words_opt(w, attrs[i].name);

		if (v && get(&a, i) != value_of(r, i, v))
			run_fail(r, "%s is %u", attrs[i].name, get(&a, i));
	}
}

/* path up|down: the neighbour is resolved, or is not (any more). */
static void
cmd_path(struct run *r, struct words *w)
{
	struct qp_attr a;

	qp_query(run_qp(r)->qp, &a);
	a.path.ready = words_flag(w, "up");
	if (!a.path.ready && !words_flag(w, "down"))
		run_fail(r, "up or down");
	qp_path_set(r->qp->qp, &r->h.x, &a.path);
	if (r->qp->tgt)
		qp_path_set(r->qp->tgt, &r->h.x, &a.path);
	run_settle(r);
}

const struct cmd cmd_modify[] = {
	{ "modify", cmd_modify_ }, { "query", cmd_query }, { "path", cmd_path }, { NULL, NULL },
};

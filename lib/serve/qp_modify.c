/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From verbs' attributes to a QP's state and path, and back. Control threads, under the stack's lock;
 * what is marked runs on the core. A modify that fails changes nothing (E1).
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "serve/object.h"
#include "serve/qp.h"
#include "transport/numbers.h"
#include "transport/why.h"
#include "wire/mtu.h"
#include "wire/udp4791.h"

void
attr_to_core(struct qp_attr *to, const struct ctl_qp_attr *from)
{
	*to = (struct qp_attr){
		.state = from->qp_state,
		.cur_state = from->cur_qp_state,
		.path_mtu = from->path_mtu,
		.path_mig_state = from->path_mig_state,
		.qkey = from->qkey,
		.rq_psn = from->rq_psn,
		.sq_psn = from->sq_psn,
		.dest_qpn = from->dest_qp_num,
		.access_flags = from->qp_access_flags,
		.pkey_index = from->pkey_index,
		.port_num = from->port_num,
		.max_rd_atomic = from->max_rd_atomic,
		.max_dest_rd_atomic = from->max_dest_rd_atomic,
		.min_rnr_timer = from->min_rnr_timer,
		.timeout = from->timeout,
		.retry_cnt = from->retry_cnt,
		.rnr_retry = from->rnr_retry,
		.en_sqd_async_notify = from->en_sqd_async_notify,
	};
}

void
attr_from_core(struct ctl_qp_attr *to, const struct qp_attr *from)
{
	*to = (struct ctl_qp_attr){
		.qp_state = from->state,
		.cur_qp_state = from->cur_state,
		.path_mtu = from->path_mtu,
		.path_mig_state = from->path_mig_state,
		.qkey = from->qkey,
		.rq_psn = from->rq_psn,
		.sq_psn = from->sq_psn,
		.dest_qp_num = from->dest_qpn,
		.qp_access_flags = from->access_flags,
		.pkey_index = from->pkey_index,
		.port_num = from->port_num,
		.max_rd_atomic = from->max_rd_atomic,
		.max_dest_rd_atomic = from->max_dest_rd_atomic,
		.min_rnr_timer = from->min_rnr_timer,
		.timeout = from->timeout,
		.retry_cnt = from->retry_cnt,
		.rnr_retry = from->rnr_retry,
		.en_sqd_async_notify = from->en_sqd_async_notify,
		.sq_draining = from->sq_draining,
	};
}

_Static_assert(CTL_EXPLAIN_TEXT >= QP_WHY_TEXT, "no sentence is cut");

struct modify {
	struct qpair *q;
	struct ctl_modify_qp *m;
	uint32_t peer;			/* its QPN: of this very call, or as it was set before */
	struct qp_path path;		/* for an address vector */
};

/* Is it a change that the table has (E1), and this version? There is one path, always MIGRATED. */
static int
may_change(const struct qp *qp, const struct ctl_modify_qp *m)
{
	uint32_t from = qp_state(qp), to = m->mask & QPM_STATE ? m->attr.qp_state : from;
	int rc = qp_state_check(qp_conf(qp)->type, from, to, m->mask);

	return rc == 0 && (m->mask & QPM_ALT_PATH) ? -EOPNOTSUPP : rc;
}

/* On the QP's core. */
static int
check(struct core *c, void *arg)
{
	struct modify *mod = arg;
	const struct ctl_modify_qp *m = mod->m;
	struct qp_attr now;

	(void)c;
	qp_query(mod->q->e.qp, &now);
	mod->peer = m->mask & QPM_DEST_QPN ? m->attr.dest_qp_num : now.dest_qpn;
	return may_change(mod->q->e.qp, m);
}

/* On the port's core. */
static int
open_path(struct core *c, void *arg)
{
	struct modify *mod = arg;
	struct qpair *q = mod->q;
	const struct ctl_ah_attr *ah = &mod->m->attr.ah;
	struct path_req req = {
		.sgid_index = ah->sgid_index,
		.flow_label = ah->flow_label,
		.udp_sport = udp4791_sport(ah->flow_label, qp_num(q->e.qp), mod->peer),
		.hop_limit = ah->hop_limit,
		.traffic_class = ah->traffic_class,
	};

	memcpy(req.dgid, ah->dgid, sizeof(req.dgid));
	return core_path_open(c, &q->e, &req, &mod->path);
}

static int
keep_path(struct core *c, void *arg)
{
	core_path_keep(c, arg);
	return 0;
}

static int
drop_path(struct core *c, void *arg)
{
	core_path_drop(c, arg);
	return 0;
}

static int
no_path(struct core *c, void *arg)
{
	core_path_none(c, arg);
	return 0;
}

/* On the QP's core. */
static int
modify(struct core *c, void *arg)
{
	struct modify *mod = arg;
	struct qpair *q = mod->q;
	struct ctl_modify_qp *m = mod->m;
	struct qp_attr attr;
	int rc = may_change(q->e.qp, m);

	if (rc < 0)
		return rc;
	attr_to_core(&attr, &m->attr);
	if (m->mask & QPM_AV)
		attr.path = mod->path;
	rc = qp_modify(q->e.qp, core_xport(c), m->mask, &attr);
	if (rc < 0)
		return rc;
	m->state = qp_state(q->e.qp);
	core_qp_changed(c, &q->e);
	return 0;
}

/* The port's core has the neighbours and the QP's core the QP: one after the other, never one from
 * inside the other. */
static int
modify_with_path(struct core *port, struct modify *mod)
{
	struct qpair *q = mod->q;
	int rc = eng_call(q->core, check, mod);

	if (rc == 0)
		rc = eng_call(port, open_path, mod);
	if (rc < 0)
		return rc;
	rc = eng_call(q->core, modify, mod);
	eng_call(port, rc < 0 ? drop_path : keep_path, &q->e);
	if (rc == 0)
		q->ah = mod->m->attr.ah;
	return rc;
}

static int
modify_qp(struct stack *s, struct modify *mod)
{
	struct core *port = eng_port_core(s->eng);
	int rc;

	if (mod->m->mask & QPM_AV)
		return modify_with_path(port, mod);
	rc = eng_call(mod->q->core, modify, mod);
	if (rc == 0 && mod->m->state == QPS_RESET)
		eng_call(port, no_path, &mod->q->e);
	return rc;
}

/* Refusals that a person must hear of, for EINVAL alone does not say what to do. */
static void
explain(struct stack *s, const struct ctl_modify_qp *m, int rc)
{
	uint32_t ip_mtu = eng_port(s->eng)->ip_mtu;
	unsigned int most = mtu_enum_for_port(ip_mtu);

	if (rc == -EINVAL && (m->mask & QPM_PATH_MTU) && m->attr.path_mtu <= MTU_ENUM_MAX &&
	    m->attr.path_mtu > most)
		log_once(&s->said_mtu, PLX_LOG_ERR, "a path MTU of %u does not fit the port's MTU of %u, "
			 "which carries %u: give a smaller one or a larger --mtu at both ends",
			 mtu_bytes(m->attr.path_mtu), ip_mtu, mtu_bytes(most));
	ah_explain(s, rc);
}

/* Programs give the two ends of an XRC connection what they would give RC. The state table has no place
 * for what an end does not have, so that is taken away first, as the kernel's verbs do. */
static const uint32_t not_looked_at[QPT_COUNT] = {
	[QPT_XRC_INI] = QPM_MAX_DEST_RD_ATOMIC | QPM_MIN_RNR_TIMER,
	[QPT_XRC_TGT] = QPM_MAX_QP_RD_ATOMIC | QPM_RETRY_CNT | QPM_RNR_RETRY,
};

/* Nobody reads its payloads, and the program's library finds all that it completed in its CQs (E5). An XRC
 * target has none. */
static void
after_reset(struct stack *s, const struct qpair *q)
{
	memory_is_back(s, eng_wait_qps(s->eng));
	if (q->send_cq)
		home_settle(q->send_cq, q->core);
	if (q->recv_cq && q->recv_cq != q->send_cq)
		home_settle(q->recv_cq, q->core);
}

int
serve_modify_qp(struct client *cl, struct ctl_modify_qp *m)
{
	struct qpair *q = qp_get(cl, m->qp);
	struct modify mod = { .q = q, .m = m };
	int rc;

	if (!q)
		return -EINVAL;
	if ((m->mask & QPM_QKEY) && (m->attr.qkey & QKEY_CONTROLLED) && !client_may_control(cl))
		return -EPERM;
	m->mask &= ~not_looked_at[qp_conf(q->e.qp)->type];
	rc = m->mask & QPM_AV ? ah_check(&m->attr.ah) : 0;
	if (rc == 0)
		rc = modify_qp(cl->stack, &mod);
	if (rc < 0)
		explain(cl->stack, m, rc);
	else if (m->state == QPS_RESET)
		after_reset(cl->stack, q);
	return rc;
}

/* On the port's core. */
static int
path_waits(struct core *c, void *arg)
{
	(void)c;
	return core_path_waits(arg);
}

bool
serve_path_waits(struct client *cl, const struct ctl_modify_qp *m)
{
	struct qpair *q = m->mask & QPM_AV ? qp_get(cl, m->qp) : NULL;

	return q && eng_call(eng_port_core(cl->stack->eng), path_waits, &q->e) == 1;
}

struct query {
	const struct qp *qp;
	struct qp_attr attr;
};

/* On the QP's core. */
static int
query(struct core *c, void *arg)
{
	struct query *ask = arg;

	(void)c;
	qp_query(ask->qp, &ask->attr);
	return 0;
}

int
serve_query_qp(struct client *cl, struct ctl_query_qp *m)
{
	struct qpair *q = qp_get(cl, m->qp);
	struct query ask;

	if (!q)
		return -EINVAL;
	ask.qp = q->e.qp;
	eng_call(q->core, query, &ask);
	attr_from_core(&m->attr, &ask.attr);
	m->attr.cap = q->cap;
	m->attr.ah = q->ah;
	return 0;
}

struct ask_why {
	const struct qp *qp;
	struct qp_why why;
};

/* On the QP's core. */
static int
ask_why(struct core *c, void *arg)
{
	struct ask_why *ask = arg;

	(void)c;
	return qp_why(ask->qp, &ask->why);
}

int
serve_explain_qp(struct client *cl, struct ctl_explain_qp *m)
{
	struct qpair *q = qp_get(cl, m->qp);
	struct ask_why ask;
	int rc;

	if (!q)
		return -EINVAL;
	ask.qp = q->e.qp;
	rc = eng_call(q->core, ask_why, &ask);
	if (rc < 0)
		return rc;
	m->vendor_err = qp_why_vendor_err(&ask.why);
	qp_why_text(&ask.why, m->text, sizeof(m->text));
	return 0;
}

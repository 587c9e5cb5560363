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
	};
}

struct modify {
	struct qpair *q;
	struct ctl_modify_qp *m;
};

/* RoCE: there is one port and no path without a GRH. */
static int
check_ah(const struct ctl_ah_attr *ah)
{
	return ah->is_global && ah->port_num == 1 ? 0 : -EINVAL;
}

/* On the core. The peer's number: of this very call, or as it was set before. */
static uint32_t
peer_of(const struct modify *mod)
{
	struct qp_attr now;

	if (mod->m->mask & QPM_DEST_QPN)
		return mod->m->attr.dest_qp_num;
	qp_query(mod->q->e.qp, &now);
	return now.dest_qpn;
}

/* On the core. */
static int
open_path(struct core *c, const struct modify *mod, struct qp_attr *attr)
{
	struct qpair *q = mod->q;
	const struct ctl_ah_attr *ah = &mod->m->attr.ah;
	struct path_req req = {
		.sgid_index = ah->sgid_index,
		.flow_label = ah->flow_label,
		.udp_sport = udp4791_sport(ah->flow_label, qp_num(q->e.qp), peer_of(mod)),
		.hop_limit = ah->hop_limit,
		.traffic_class = ah->traffic_class,
	};

	memcpy(req.dgid, ah->dgid, sizeof(req.dgid));
	return core_path_open(c, &q->e, &req, &attr->path);
}

/* On the core. */
static int
modify(struct core *c, void *arg)
{
	struct modify *mod = arg;
	struct qpair *q = mod->q;
	struct ctl_modify_qp *m = mod->m;
	uint32_t from = qp_state(q->e.qp), to = m->mask & QPM_STATE ? m->attr.qp_state : from;
	struct qp_attr attr;
	int rc = qp_state_check(QPT_RC, from, to, m->mask);

	if (rc < 0)
		return rc;
	attr_to_core(&attr, &m->attr);
	if (m->mask & QPM_AV) {
		rc = open_path(c, mod, &attr);
		if (rc < 0)
			return rc;
	}
	rc = qp_modify(q->e.qp, core_xport(c), m->mask, &attr);
	if (rc < 0) {
		if (m->mask & QPM_AV)
			core_path_drop(c, &q->e);
		return rc;
	}
	if (m->mask & QPM_AV) {
		core_path_keep(c, &q->e);
		q->ah = m->attr.ah;
	}
	m->state = qp_state(q->e.qp);
	if (m->state == QPS_RESET)
		core_path_none(c, &q->e);
	core_qp_changed(c, &q->e);
	return 0;
}

/* Two refusals that a person must hear of, for EINVAL alone does not say what to do. */
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
	if (rc == -ENETUNREACH)
		log_once(&s->said_route, PLX_LOG_ERR, "no route to a peer: its address is in no network "
			 "of --ip, and there is no --gw for it");
}

int
serve_modify_qp(struct client *cl, struct ctl_modify_qp *m)
{
	struct qpair *q = qp_get(cl, m->qp);
	struct modify mod = { .q = q, .m = m };
	int rc;

	if (!q)
		return -EINVAL;
	if (m->mask & (QPM_ALT_PATH | QPM_PATH_MIG_STATE))
		return -EOPNOTSUPP;
	rc = m->mask & QPM_AV ? check_ah(&m->attr.ah) : 0;
	if (rc == 0)
		rc = eng_call(eng_core(cl->stack->eng, 0), modify, &mod);
	if (rc < 0)
		explain(cl->stack, m, rc);
	else if (m->state == QPS_RESET)
		memory_is_back(cl->stack, eng_wait_qps(cl->stack->eng));
	return rc;
}

/* On the core. */
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

	return q && eng_call(eng_core(cl->stack->eng, 0), path_waits, &q->e) == 1;
}

struct query {
	const struct qp *qp;
	struct qp_attr attr;
};

/* On the core. */
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
	eng_call(eng_core(cl->stack->eng, 0), query, &ask);
	attr_from_core(&m->attr, &ask.attr);
	m->attr.cap = q->cap;
	m->attr.ah = q->ah;
	return 0;
}

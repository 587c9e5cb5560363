/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May these attributes be, and what follows from the new state? Called for modify_qp, on the owning
 * core. All is judged before anything changes (E1).
 */
#include <errno.h>
#include <string.h>

#include "transport/qp_priv.h"
#include "transport/req.h"
#include "transport/resp.h"
#include "transport/retry.h"
#include "wire/mtu.h"

/* The numbers that an attribute may have (E2). PSNs have no limit: they are masked. */
static bool
limits_ok(const struct qp *qp, uint32_t mask, const struct qp_attr *a)
{
	const struct qp_conf *c = &qp->conf;

#define LIMIT(bit, cond) (!(mask & (bit)) || (cond))
	return LIMIT(QPM_CUR_STATE, a->cur_state == qp->state) &&
	       LIMIT(QPM_PORT, a->port_num == 1) &&
	       LIMIT(QPM_PKEY_INDEX, a->pkey_index == 0) &&
	       LIMIT(QPM_PATH_MTU, mtu_bytes(a->path_mtu) &&
				   a->path_mtu <= mtu_enum_for_port(c->port_ip_mtu)) &&
	       LIMIT(QPM_TIMEOUT, a->timeout <= 31) &&
	       LIMIT(QPM_RETRY_CNT, a->retry_cnt <= 7) &&
	       LIMIT(QPM_RNR_RETRY, a->rnr_retry <= 7) &&
	       LIMIT(QPM_MIN_RNR_TIMER, a->min_rnr_timer <= 31) &&
	       LIMIT(QPM_MAX_QP_RD_ATOMIC, a->max_rd_atomic <= c->dev_max_rd_atomic) &&
	       LIMIT(QPM_MAX_DEST_RD_ATOMIC, a->max_dest_rd_atomic <= c->dev_max_dest_rd_atomic) &&
	       LIMIT(QPM_PATH_MIG_STATE, a->path_mig_state == PATH_MIGRATED) &&
	       LIMIT(QPM_DEST_QPN, a->dest_qpn <= PSN_MASK);
#undef LIMIT
}

static void
apply(struct qp_attr *to, uint32_t mask, const struct qp_attr *from)
{
#define APPLY(bit, field) do { if (mask & (bit)) to->field = from->field; } while (0)
	APPLY(QPM_EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify);
	APPLY(QPM_ACCESS_FLAGS, access_flags);
	APPLY(QPM_PKEY_INDEX, pkey_index);
	APPLY(QPM_PORT, port_num);
	APPLY(QPM_QKEY, qkey);
	APPLY(QPM_AV, path);
	APPLY(QPM_PATH_MTU, path_mtu);
	APPLY(QPM_TIMEOUT, timeout);
	APPLY(QPM_RETRY_CNT, retry_cnt);
	APPLY(QPM_RNR_RETRY, rnr_retry);
	APPLY(QPM_MAX_QP_RD_ATOMIC, max_rd_atomic);
	APPLY(QPM_MIN_RNR_TIMER, min_rnr_timer);
	APPLY(QPM_MAX_DEST_RD_ATOMIC, max_dest_rd_atomic);
	APPLY(QPM_PATH_MIG_STATE, path_mig_state);
	APPLY(QPM_DEST_QPN, dest_qpn);
#undef APPLY
	if (mask & QPM_RQ_PSN)
		to->rq_psn = from->rq_psn & PSN_MASK;
	if (mask & QPM_SQ_PSN)
		to->sq_psn = from->sq_psn & PSN_MASK;
}

/* What each state begins with. */

static void
enter_reset(struct qp *qp, struct xport *x)
{
	struct req *req = &qp->req;

	/* the WQEs are gone, their CQEs never come (E5) */
	status_forget_held(qp, x);
	mw_user_end(&qp->windows);
	sq_refresh(&qp->sq, req->done);
	req->done = req->head = req->cur = req->planned = qp->sq.tail;
	sq_set_head(&qp->sq, req->head);
	rq_reset(&qp->rq);
	qp->tx.valid = qp->rx.valid = false;
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->fatal = false;
	qp->end = (struct qp_end){ .fault = FAULT_NONE };
	req->una = req->next = req->max = psn_make(0);
	req->rd_out = req->since_asked = 0;
	resp_init(qp);
	qp->resp.last_wqe = false;
	retry_init(qp);
}

static void
enter_init(struct qp *qp, struct xport *x)
{
	(void)x;
	rq_want_bell(&qp->rq, false);
	if (qp->conf.send_cq && !list_linked(&qp->send_user.node))
		list_push(&qp->conf.send_cq->users, &qp->send_user.node);
	if (qp->conf.recv_cq && !list_linked(&qp->recv_user.node))
		list_push(&qp->conf.recv_cq->users, &qp->recv_user.node);
}

static void
enter_rtr(struct qp *qp, struct xport *x)
{
	(void)x;
	/* who has no path has the port's */
	qp->mtu = mtu_bytes(qp->attr.path_mtu ? qp->attr.path_mtu : mtu_enum_for_port(qp->conf.port_ip_mtu));
	resp_init(qp);
}

static void
enter_rts(struct qp *qp, struct xport *x)
{
	struct req *req = &qp->req;

	req->una = req->next = req->max = psn_make(qp->attr.sq_psn);
	req->chunk = ack_read_chunk(ack_window(x->max_inflight));
	retry_init(qp);
	sq_refresh(&qp->sq, req->done);
}

static void
enter_err(struct qp *qp, struct xport *x)
{
	if (qp->state != QPS_ERR)
		qp_end_other(qp, x, FAULT_FLUSHED);
	resp_forget(qp);
	status_flush(qp, x);
}

static void
leave(struct qp *qp, struct xport *x, uint32_t from, uint32_t to)
{
	if (to == QPS_RESET)
		enter_reset(qp, x);
	else if (to == QPS_INIT && from == QPS_RESET)
		enter_init(qp, x);
	else if (to == QPS_RTR)
		enter_rtr(qp, x);
	else if (to == QPS_RTS && from == QPS_RTR)
		enter_rts(qp, x);
	else if (to == QPS_SQD && from == QPS_RTS)
		qp->req.drained = false;
	else if (to == QPS_ERR)
		enter_err(qp, x);
}

int
qp_modify(struct qp *qp, struct xport *x, uint32_t mask, const struct qp_attr *attr)
{
	uint32_t from = qp->state;
	uint32_t to = mask & QPM_STATE ? attr->state : from;

	if (qp_state_check(qp->conf.type, from, to, mask) || !limits_ok(qp, mask, attr))
		return -EINVAL;
	apply(&qp->attr, mask, attr);
	if (to != from)
		xport_trace(x, TRACE_QP_STATE, qp, qp->req.una, to);
	if (to != QPS_ERR)
		qp->state = to;		/* status_flush() sets that one */
	leave(qp, x, from, to);
	req_check_drained(qp, x);
	retry_arm(qp, x);
	if (qp_receives(qp) && (resp_due(qp) || req_has_work(qp)))
		qp_kick(qp, x);
	return 0;
}

void
qp_query(const struct qp *qp, struct qp_attr *attr)
{
	*attr = qp->attr;
	attr->state = attr->cur_state = qp->state;
	attr->sq_draining = qp->state == QPS_SQD && !qp->req.drained;
}

void
qp_path_set(struct qp *qp, struct xport *x, const struct qp_path *path)
{
	bool came = path->ready && !qp->attr.path.ready;

	qp->attr.path = *path;
	/* time without a neighbour uses no retry of what is sent for the first time now */
	if (came && psn_eq(qp->req.una, qp->req.max) && qp_sends(qp))
		retry_init(qp);
	retry_arm(qp, x);
	if (path->ready && (resp_due(qp) || (qp_sends(qp) && req_has_work(qp))))
		qp_kick(qp, x);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does a queue pair do when something comes to it: a doorbell, a packet, its turn, the time?
 * Called by the engine's loop, or by a test with a virtual clock; on the owning core.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/qp_priv.h"
#include "transport/recv.h"
#include "transport/req.h"
#include "transport/resp.h"
#include "transport/retry.h"

void
xport_init(struct xport *x, struct outbox *out, const struct mr_table *mrs, struct cnt_block *cnt,
	   struct trace *trace)
{
	*x = (struct xport){ .out = out, .mrs = mrs, .cnt = cnt, .trace = trace };
	list_init(&x->run);
	list_init(&x->late);
	list_init(&x->cq_events);
}

void
xport_release_acks(struct xport *x)
{
	struct list_node *n;

	x->hold_acks = false;
	while ((n = list_pop(&x->late))) {
		struct qp *qp = container_of(n, struct qp, run);

		qp->late = false;
		list_push(&x->run, n);
	}
}

size_t
qp_size(void)
{
	return (sizeof(struct qp) + 63) & ~(size_t)63;
}

static bool
wq_ok(const struct wq_conf *c, uint32_t min_stride)
{
	if (!c->max_wr)
		return true;
	return c->ctl && c->slots && c->log2_size <= 24 && c->max_wr <= 1u << c->log2_size &&
	       c->max_sge <= PLX_MAX_SGE && c->stride >= min_stride;
}

static bool
conf_ok(const struct qp_conf *c, const struct qp_kind *k)
{
	return k && (k->has_sq ? c->send_cq != NULL : !c->sq.max_wr) &&
	       (k->has_rq ? c->recv_cq != NULL : !c->rq.max_wr) && c->sq.ctl &&
	       !(c->srq && c->rq.max_wr) && k->named_srq == (c->xrc.find != NULL) &&
	       wq_ok(&c->sq, plx_sq_stride(c->sq.max_sge, c->max_inline)) &&
	       wq_ok(&c->rq, plx_rq_stride(c->rq.max_sge)) && c->max_inline <= PLX_MAX_INLINE &&
	       c->dev_max_rd_atomic <= 128 && c->dev_max_dest_rd_atomic <= 128;
}

int
qp_init(struct qp *qp, const struct qp_conf *conf)
{
	const struct qp_kind *kind = qp_kind_of(conf->type);
	uint32_t slots;

	if (!conf_ok(conf, kind))
		return -EINVAL;
	slots = conf->sq.max_wr ? 1u << conf->sq.log2_size : 1;
	memset(qp, 0, sizeof(*qp));
	qp->conf = *conf;
	qp->kind = kind;
	qp->send_user.qp = qp->recv_user.qp = qp;
	sq_init(&qp->sq, &conf->sq);
	rq_init(&qp->rq, &conf->rq);
	qp->req.wr = calloc(slots, sizeof(*qp->req.wr));
	qp->req.wr_mask = slots - 1;
	qp->resp.rd_cap = conf->dev_max_dest_rd_atomic ? conf->dev_max_dest_rd_atomic : 1;
	qp->resp.rd = calloc(qp->resp.rd_cap, sizeof(*qp->resp.rd));
	if (!qp->req.wr || !qp->resp.rd) {
		free(qp->req.wr);
		free(qp->resp.rd);
		return -ENOMEM;
	}
	mw_user_init(&qp->windows);
	recv_init(qp);
	resp_init(qp);
	retry_init(qp);
	return 0;
}

void
qp_fini(struct qp *qp, struct xport *x)
{
	struct list_node *nodes[] = { &qp->run, &qp->send_user.node, &qp->recv_user.node };
	uint32_t kept = 0;

	for (unsigned int i = 0; i < 3; i++)
		if (list_linked(nodes[i]))
			list_del(nodes[i]);
	for (uint32_t i = 0; i < x->num_events; i++)
		if (x->events[i].qp != qp)
			x->events[kept++] = x->events[i];
	x->num_events = kept;
	status_forget_held(qp, x);
	mw_user_end(&qp->windows);
	free(qp->req.wr);
	free(qp->resp.rd);
	qp->req.wr = NULL;
	qp->resp.rd = NULL;
}

void
qp_sq_bell(struct qp *qp, struct xport *x)
{
	if (!sq_refresh(&qp->sq, qp->req.done))
		return;
	if (qp->state == QPS_ERR) {
		status_flush(qp, x);
	} else if (qp->state == QPS_SQE) {
		status_flush_sends(qp, x);
	} else if (qp->state == QPS_RTS) {
		retry_arm(qp, x);
		qp_kick(qp, x);
	}
}

void
qp_rq_bell(struct qp *qp, struct xport *x)
{
	if (qp->state == QPS_ERR)
		status_flush_recvs(qp, x);
	else
		rq_want_bell(&qp->rq, false);
}

void
qp_rx(struct qp *qp, struct xport *x, const struct wire_pkt *pkt)
{
	bool request = pkt->info->traits & WIRE_REQUEST;

	if (!(request ? qp_receives(qp) : qp_sends(qp))) {
		cnt_drop(x->cnt, DROP_QP_STATE);
		return;
	}
	if (request)
		qp->kind->rx_request(qp, x, pkt);
	else
		qp->kind->rx_response(qp, x, pkt);
	retry_arm(qp, x);
}

/* Its own answers must not starve its requests: half of the turn, when it has some. */
static bool
run_responses(struct qp *qp, struct xport *x, uint32_t quantum, uint32_t *used)
{
	uint32_t share = qp_sends(qp) && qp->req.cur != qp->sq.tail ? quantum / 2 : quantum;

	while (resp_due_now(qp, x)) {
		uint32_t len;

		if (*used && *used >= share)
			return true;
		len = resp_send(qp, x);
		if (!len)
			return true;
		*used += len;
	}
	return false;
}

static bool
run_requests(struct qp *qp, struct xport *x, uint32_t quantum, uint32_t *used)
{
	while (!*used || *used < quantum) {
		uint32_t len;

		switch (qp->kind->send(qp, x, &len)) {
		case REQ_SENT:
			*used += len;
			break;
		case REQ_WAITS:
			return false;
		case REQ_FULL:
			return true;
		}
	}
	return true;
}

static void
end_of_cq(struct qp *qp, struct xport *x)
{
	qp->fatal = false;
	if (qp->state == QPS_RESET || qp->state == QPS_ERR)
		return;
	xport_event(x, EV_QP_FATAL, qp, NULL);
	qp_end_other(qp, x, FAULT_CQ_OVERFLOW);
	resp_forget(qp);
	status_flush(qp, x);
}

/*
 * An ACK that may wait and did not go in this turn. It waits only while its QP has nothing else to do: a
 * QP that always has more to send would never be found among those that wait.
 */
static bool
put_off(struct qp *qp, struct xport *x, bool more)
{
	if (!x->hold_acks || !resp_due(qp))
		return more;
	if (more)
		qp->resp.ack_now = true;	/* it goes first in the next turn */
	else
		qp_put_off(qp, x);
	return more;
}

bool
qp_run(struct qp *qp, struct xport *x, uint32_t quantum)
{
	uint32_t used = 0;
	bool more = false;

	if (qp->fatal)
		end_of_cq(qp, x);
	if (qp->state == QPS_ERR)
		status_flush_recvs(qp, x);
	if (qp->attr.path.ready && (qp_receives(qp) || qp->state == QPS_ERR))
		more = run_responses(qp, x, quantum, &used);
	if (qp_sends(qp))
		more |= run_requests(qp, x, quantum, &used);
	retry_arm(qp, x);
	if (list_linked(&qp->run)) {	/* the caller puts it back */
		list_del(&qp->run);
		more = true;
	}
	return put_off(qp, x, more);
}

uint64_t
qp_wake_at(const struct qp *qp)
{
	return retry_wake_at(qp);
}

void
qp_timer(struct qp *qp, struct xport *x)
{
	if (!qp_sends(qp))
		return;
	qp->kind->expire(qp, x);
	retry_arm(qp, x);
}

void
qp_ext_back(struct qp *qp, struct xport *x, uint32_t wr)
{
	if (--req_wr_at(qp, wr)->refs || wr != qp->req.done || qp->req.done == qp->req.head)
		return;
	status_release(qp, x);
	req_check_drained(qp, x);
}

bool
qp_ext_wanted(const struct qp *qp, uint32_t wr)
{
	/* what is done when it was sent is wanted until the program knows that it is done */
	return qp_sends(qp) &&
	       (int32_t)(wr - (qp->kind->acked ? qp->req.head : qp->req.done)) >= 0;
}

uint32_t
qp_num(const struct qp *qp)
{
	return qp->conf.qpn;
}

uint32_t
qp_state(const struct qp *qp)
{
	return qp->state;
}

const struct qp_conf *
qp_conf(const struct qp *qp)
{
	return &qp->conf;
}

void
qp_set_owner(struct qp *qp, void *owner)
{
	qp->owner = owner;
}

void *
qp_owner(const struct qp *qp)
{
	return qp->owner;
}

struct qp *
qp_of_run(struct list_node *run)
{
	return container_of(run, struct qp, run);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does the application learn, and when is the QP at its end? Called by requester, responder and
 * completer whenever a WR is done or cannot be done; on the owning core.
 */
#include "transport/status.h"

#include "transport/qp_priv.h"
#include "transport/recv.h"
#include "transport/req.h"
#include "transport/resp.h"

const struct fault_info fault_info[FAULT_COUNT] = {
#define FAULT_ROW(code, name, syndrome, status, event, text) \
	[FAULT_##name] = { #name, text, syndrome, status, event },
	FAULT_LIST(FAULT_ROW)
#undef FAULT_ROW
};

void
xport_event(struct xport *x, uint32_t type, struct qp *qp, struct cq *cq)
{
	if (x->num_events == QP_EVENTS_MAX) {
		x->lost_events++;
		return;
	}
	x->events[x->num_events++] = (struct qp_event){ .type = type, .qp = qp, .cq = cq };
}

/* All that complete on it end: those in its list now, and who comes later by its next CQE (D-6). */
static void
cq_overflowed(struct cq *cq, struct xport *x, bool first)
{
	if (!first)
		return;
	xport_event(x, EV_CQ_ERR, NULL, cq);
	list_for_each(n, &cq->users) {
		struct qp *qp = container_of(n, struct cq_user, node)->qp;

		qp->fatal = true;
		qp_kick(qp, x);
	}
}

void
xport_cq_end(struct xport *x, struct cq *cq)
{
	cq_overflowed(cq, x, cq_end(cq) == CQ_OVERFLOW_FIRST);
}

/* It is in the ring, or not and the CQ is at its end, or it is lost and nothing else. */
static enum cq_push
deliver(struct xport *x, struct cq *cq, const struct plx_cqe *cqe)
{
	enum cq_push res = cq_push(cq, cqe);

	if (res == CQ_PUSHED)
		return res;
	if (res == CQ_PUSHED_EVENT) {
		if (!cq->event_due) {
			cq->event_due = true;
			list_push(&x->cq_events, &cq->event_node);
		}
		return res;
	}
	cnt_add(x->cnt, CNT_CQ_OVERFLOW, 1);
	cq_overflowed(cq, x, res == CQ_OVERFLOW_FIRST);
	return res;
}

void
xport_forward(struct xport *x, struct cq *cq, const struct plx_cqe *cqe)
{
	(void)deliver(x, cq, cqe);
}

static void
push(struct qp *qp, struct xport *x, struct cq *cq, struct plx_cqe *cqe)
{
	enum cq_push res;

	cqe->qp_num = qp->conf.qpn;
	cqe->qp = qp->conf.handle;
	cqe->qp_gen = qp->conf.gen;
	if (cqe->status != WC_SUCCESS)
		cqe->solicited = 1;	/* D-4: any error wakes */
	if (__builtin_expect(cq->clock != NULL, 0))
		cqe->timestamp = cq->clock();
	res = deliver(x, cq, cqe);
	if (res <= CQ_PUSHED_EVENT) {
		cnt_add(x->cnt, CNT_CQE, 1);
	} else if (res != CQ_LOST && qp->state != QPS_ERR) {
		qp->fatal = true;
		qp_kick(qp, x);
	}
}

/* For a CQE of this fault. Who is flushed is told what ended the QP. */
static uint32_t
vendor_err_of(const struct qp *qp, enum fault f, uint8_t syndrome)
{
	if (f == FAULT_FLUSHED)
		return fault_vendor_err((enum fault)qp->end.fault, qp->end.syndrome);
	return fault_vendor_err(f, syndrome);
}

/* The WR at req.done. */
static void
send_done(struct qp *qp, struct xport *x, enum fault f, uint8_t syndrome)
{
	const struct req_wr *wr = req_wr_at(qp, qp->req.done);

	qp->req.done++;
	if (f == FAULT_NONE && !(wr->flags & PLX_WQE_SIGNALED))
		return;
	push(qp, x, qp->conf.send_cq, &(struct plx_cqe){
		.wr_id = wr->wr_id,
		.status = fault_info[f].status,
		.vendor_err = f == FAULT_NONE ? 0 : vendor_err_of(qp, f, syndrome),
		.opcode = req_wc_opcode(wr->opcode),
		.byte_len = wr->length,
		.queue = PLX_CQE_SQ,
		.wq_head = qp->req.done,
	});
}

/* The WR before req.head. */
static void
hold(struct qp *qp, struct xport *x, enum fault f, uint8_t syndrome)
{
	struct req *req = &qp->req;
	struct req_wr *wr = req_wr_at(qp, req->head - 1);

	if (req->done + 1 == req->head)
		x->held++;
	if (f == FAULT_NONE)
		return;
	wr->flags |= REQ_WR_FAILED;
	wr->length = fault_vendor_err(f, syndrome);
}

void
status_send(struct qp *qp, struct xport *x, enum fault f, uint8_t syndrome)
{
	struct req *req = &qp->req;
	bool waits = req->done != req->head || req_wr_at(qp, req->head)->refs;

	req->head++;
	if (__builtin_expect(waits, 0))
		hold(qp, x, f, syndrome);
	else
		send_done(qp, x, f, syndrome);
}

void
status_release(struct qp *qp, struct xport *x)
{
	struct req *req = &qp->req;

	if (req->done == req->head)
		return;
	while (req->done != req->head && !req_wr_at(qp, req->done)->refs) {
		const struct req_wr *wr = req_wr_at(qp, req->done);

		if (wr->flags & REQ_WR_FAILED)
			send_done(qp, x, (enum fault)(wr->length & 0xff), (uint8_t)(wr->length >> 8));
		else
			send_done(qp, x, FAULT_NONE, 0);
	}
	if (req->done == req->head)
		x->held--;
	sq_set_head(&qp->sq, req->done);
}

void
status_forget_held(struct qp *qp, struct xport *x)
{
	struct req *req = &qp->req;

	if (req->done != req->head)
		x->held--;
	for (uint32_t i = req->done; i != req->planned; i++)
		req_wr_at(qp, i)->refs = 0;
	req->done = req->head;
}

void
status_recv_ok(struct qp *qp, struct xport *x, const struct status_recv *r)
{
	qp->resp.wqe_used = false;
	push(qp, x, qp->resp.cq, &(struct plx_cqe){
		.wr_id = qp->resp.wqe.wr_id,
		.status = WC_SUCCESS,
		.opcode = r->write ? WC_RECV_RDMA_WITH_IMM : WC_RECV,
		.byte_len = r->byte_len,
		.imm = r->has_imm || r->has_inv ? r->imm : 0,
		.wc_flags = (uint8_t)(r->has_imm * WC_WITH_IMM | r->has_inv * WC_WITH_INV |
				      r->grh * WC_GRH),
		.src_qp = r->src_qpn,
		.solicited = r->solicited,
		.queue = PLX_CQE_RQ,
		.wq_head = qp->rq.head,
	});
}

static void
recv_failed(struct qp *qp, struct xport *x, enum fault f)
{
	qp->resp.wqe_used = false;
	push(qp, x, qp->resp.cq, &(struct plx_cqe){
		.wr_id = qp->resp.wqe.wr_id,
		.status = fault_info[f].status,
		.vendor_err = vendor_err_of(qp, f, qp->kind->acked ? fault_info[f].syndrome : 0),
		.opcode = WC_RECV,
		.queue = PLX_CQE_RQ,
		.wq_head = qp->rq.head,
	});
}

void
status_recv_lost(struct qp *qp, struct xport *x, enum fault f)
{
	recv_failed(qp, x, f);
}

void
status_flush_sends(struct qp *qp, struct xport *x)
{
	struct req *req = &qp->req;

	sq_refresh(&qp->sq, req->done);
	while (req->head != qp->sq.tail) {
		if (req->head == req->planned) {
			req_identify(qp, req->head);
			req->planned++;
		}
		status_send(qp, x, FAULT_FLUSHED, 0);
	}
	req->cur = req->planned = req->head;
	req->una = req->next = req->max;
	req->rd_out = 0;
	sq_set_head(&qp->sq, req->done);
}

/* At most a queue full at a time: who posts without end must not hold the core. */
void
status_flush_recvs(struct qp *qp, struct xport *x)
{
	uint32_t room = qp->rq.c.max_wr;

	if (qp->resp.wqe_used)
		recv_failed(qp, x, FAULT_FLUSHED);
	while (room-- && rq_take(&qp->rq, &qp->resp.wqe) != 0)
		recv_failed(qp, x, FAULT_FLUSHED);
	if (rq_want_bell(&qp->rq, true))
		qp_kick(qp, x);
}

void
status_flush(struct qp *qp, struct xport *x)
{
	if (qp->state != QPS_ERR) {
		qp->state = QPS_ERR;
		xport_trace(x, TRACE_QP_STATE, qp, qp->req.una, QPS_ERR);
	}
	qp->retry.ack_at = QP_NEVER;
	qp->retry.rnr_at = QP_NEVER;
	status_flush_sends(qp, x);
	status_flush_recvs(qp, x);
	recv_last(qp, x);
}

void
status_fail_send(struct qp *qp, struct xport *x, enum fault f, uint8_t syndrome)
{
	/* first: a CQE that overflows the CQ must not end the QP again */
	qp->state = qp->kind->ends ? QPS_ERR : QPS_SQE;
	xport_trace(x, TRACE_QP_STATE, qp, qp->req.una, qp->state);
	if (qp->req.head == qp->req.planned) {	/* it failed before it had PSNs */
		req_identify(qp, qp->req.head);
		qp->req.planned++;
	}
	qp_end_send(qp, x, f, syndrome);
	status_send(qp, x, f, syndrome);
	if (!qp->kind->ends) {
		status_flush_sends(qp, x);	/* what is received goes on (E7) */
		return;
	}
	resp_forget(qp);
	status_flush(qp, x);
}

void
status_fail_recv(struct qp *qp, struct xport *x, enum fault f)
{
	bool used = qp->resp.wqe_used;

	qp->state = QPS_ERR;
	xport_trace(x, TRACE_QP_STATE, qp, qp->resp.epsn, QPS_ERR);
	qp_end_recv(qp, x, f);
	if (used)
		recv_failed(qp, x, f);
	if (fault_info[f].event != EV_NONE && !(used && fault_info[f].event == EV_QP_REQ_ERR))
		xport_event(x, fault_info[f].event, qp, NULL);
	status_flush(qp, x);
}

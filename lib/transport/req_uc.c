/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When is the send of an unreliable connection done? Packets are the same as a reliable one's, but
 * nobody acknowledges them (F7): a message is done when its last packet was sent (F8). Called by
 * qp_run() and qp_timer(); on the owning core.
 */
#include "transport/req.h"

#include "transport/retry.h"

void
req_unacked_done(struct qp *qp, struct xport *x)
{
	status_send(qp, x, FAULT_NONE, 0);
	sq_set_head(&qp->sq, qp->req.done);
	req_check_drained(qp, x);
}

enum req_sent
req_uc_send(struct qp *qp, struct xport *x, uint32_t *len)
{
	enum req_sent res = req_send(qp, x, len);

	if (res != REQ_SENT)
		return res;
	qp->req.una = qp->req.next;
	if (qp->req.head != qp->req.cur)
		req_unacked_done(qp, x);
	return REQ_SENT;
}

/* The message at head is lost: its PSNs are used, its memory is not. False: that ended the sending. */
static bool
lose(struct qp *qp, struct xport *x)
{
	struct req *req = &qp->req;
	enum fault f = req_load(qp, x, req->cur);
	const struct req_wr *wr = req_wr_at(qp, req->cur);
	bool local = f == FAULT_NONE && req_ops[wr->opcode].answer == ANSWER_NONE;

	if (local)
		f = req_local(qp, x);	/* which the network does not lose */
	if (f != FAULT_NONE) {
		status_fail_send(qp, x, f, 0);
		return false;
	}
	if (local)
		return true;
	req->una = req->next = req->max = psn_add(wr->first, wr->npsn);
	req->cur++;
	cnt_add(x->cnt, CNT_TX_UNREACHED, 1);
	req_unacked_done(qp, x);
	return true;
}

/* Nobody has answered at the peer's address for long enough: what was posted until now is lost on the
 * way, as it would be behind a router. No send may wait for ever. */
void
req_uc_expire(struct qp *qp, struct xport *x)
{
	if (qp->retry.ack_at > x->now)
		return;
	qp->retry.ack_at = QP_NEVER;
	while (qp->req.cur != qp->sq.tail && lose(qp, x))
		;
}

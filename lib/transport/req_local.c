/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does a request do that needs no packet: bind a window, take one back? Called by the requester when
 * their turn has come in the order of the send queue, all before them being sent; on the owning core.
 *
 * They take no PSN. One that was gone back over is not done again, and one that stands behind what is not
 * acknowledged completes with it: nothing between it and that has a PSN (D-1).
 */
#include "mem/mw.h"
#include "transport/req.h"

static enum fault
bind_window(struct qp *qp, struct xport *x, const struct plx_sq_wqe *w)
{
	struct mw_bind b = {
		.key = w->rkey,
		.lkey = w->bind.lkey,
		.access = w->bind.access,
		.va = w->remote_addr,
		.length = w->bind.length,
	};

	return mw_bind(x->mrs, &qp->windows, qp->conf.pd, &b) == MEM_OK ? FAULT_NONE : FAULT_BIND;
}

/* Only a window's key can be: a region has its own until it is deregistered (F21, F22). */
static enum fault
invalidate(struct qp *qp, struct xport *x, const struct plx_sq_wqe *w)
{
	return mw_invalidate(x->mrs, &qp->windows, qp->conf.pd, w->imm, true) == MEM_OK ? FAULT_NONE :
											  FAULT_LOCAL_INV;
}

enum fault
req_local(struct qp *qp, struct xport *x)
{
	struct req *req = &qp->req;
	struct req_wr *wr = req_wr_at(qp, req->cur);
	const struct plx_sq_wqe *w = &qp->tx.wqe.w;
	enum fault f;

	if (!(wr->flags & REQ_WR_LOCAL)) {
		f = wr->opcode == WR_BIND_MW ? bind_window(qp, x, w) : invalidate(qp, x, w);
		if (f != FAULT_NONE)
			return f;
		wr->flags |= REQ_WR_LOCAL;
	}
	req->cur++;
	req_locals_done(qp, x);
	return FAULT_NONE;
}

void
req_complete_locals(struct qp *qp, struct xport *x)
{
	struct req *req = &qp->req;

	while (req->head != req->planned && (req_wr_at(qp, req->head)->flags & REQ_WR_LOCAL))
		status_send(qp, x, FAULT_NONE, 0);
	if ((int32_t)(req->cur - req->head) < 0)
		req->cur = req->head;	/* gone back before them; they have nothing to send */
	sq_set_head(&qp->sq, req->done);
	req_check_drained(qp, x);
}

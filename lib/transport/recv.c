/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where do the receives of a QP come from: its own queue, one that it shares, or one that its peer names?
 * Called at its making, by the responder for each message that needs one, and at its end; on the owning core.
 *
 * A WQE that was taken from a shared queue is the QP's alone from then on. It completes, in error if
 * need be (F13); but a QP that goes to RESET or is destroyed under way forgets it, as hardware does: no
 * CQE tells of it, and the queue does not get it back. Who wants it accounted for goes through ERR and
 * waits for QP_LAST_WQE_REACHED.
 */
#include "transport/recv.h"

#include "transport/xrc.h"

static int
take_own(struct qp *qp)
{
	return rq_take(&qp->rq, &qp->resp.wqe);
}

static int
take_shared(struct qp *qp)
{
	return srq_take(qp->conf.srq, &qp->resp.wqe);
}

void
recv_init(struct qp *qp)
{
	const struct srq *srq = qp->conf.srq;

	qp->take_recv = qp->kind->named_srq ? xrc_take : srq ? take_shared : take_own;
	qp->resp.wqe_pd = srq ? srq->pd : qp->conf.pd;
	qp->resp.key_pd = qp->conf.pd;
	qp->resp.cq = qp->conf.recv_cq;
}

void
recv_last(struct qp *qp, struct xport *x)
{
	if (!qp->conf.srq || qp->resp.last_wqe)
		return;
	qp->resp.last_wqe = true;
	xport_event(x, EV_QP_LAST_WQE_REACHED, qp, NULL);
}

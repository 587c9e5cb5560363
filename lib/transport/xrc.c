/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which SRQ is this request for? Called by qp_rx() for each request packet to an XRC target, in front of
 * the responder; on the owning core.
 *
 * A target has no PD: what a request names by lkey or rkey must belong to the PD of the SRQ that it
 * names (F16 leaves WRITEs and READs open; the book has none but this one either).
 */
#include "transport/xrc.h"

#include "transport/qp_priv.h"
#include "transport/resp.h"

/* All packets of a message are for one SRQ. */
static bool
goes_on(const struct resp *r, const struct xrc_srq *srq)
{
	return srq && (r->msg == MSG_NONE || srq == r->xrc);
}

void
xrc_rx_request(struct qp *qp, struct xport *x, const struct wire_pkt *pkt)
{
	const struct xrc_domain *d = &qp->conf.xrc;
	struct resp *r = &qp->resp;
	const struct xrc_srq *srq;

	/* a duplicate is for what it was for the first time, and its SRQ may be gone */
	if (psn_eq(pkt->psn, r->epsn)) {
		srq = d->find(d->arg, pkt->xrc_srqn);
		if (!goes_on(r, srq)) {
			resp_refuse(qp, x, pkt, FAULT_NO_SRQ);
			return;
		}
		r->xrc = srq;
		r->wqe_pd = r->key_pd = srq->srq->pd;
		r->cq = srq->cq;
	}
	resp_rx(qp, x, pkt);
}

int
xrc_take(struct qp *qp)
{
	return srq_take(qp->resp.xrc->srq, &qp->resp.wqe);
}

/* The receive that a message has taken goes with its SRQ, as those that nobody took. */
void
qp_forget_srq(struct qp *qp, const struct srq *srq)
{
	struct resp *r = &qp->resp;

	if (!r->xrc || r->xrc->srq != srq)
		return;
	r->xrc = NULL;
	r->cq = NULL;
	r->wqe_used = false;
}

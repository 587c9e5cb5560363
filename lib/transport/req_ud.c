/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May this datagram go, and which way? Called by qp_run() for each one until it says no, and by qp_timer();
 * on the owning core. A datagram is one packet, and is done when it was sent.
 *
 * Where it goes says its WQE: an address handle, looked up anew for each, for it may be destroyed at any
 * time. While the handle's neighbour is not known nothing goes, and nothing behind it in the queue either,
 * for at most UD_PATIENCE_NS after it was first asked for: then it is lost on the way, like anything
 * that is sent to nobody (FC16).
 */
#include "transport/ah.h"
#include "transport/frame.h"
#include "transport/req.h"
#include "wire/udp4791.h"

#define UD_PATIENCE_NS 2000000000u	/* two ARP requests and their answers */
#define UD_LOOK_NS 1000000u		/* is the neighbour there? */

/* Nothing new begins in SQD (E6). */
static bool
may_send(const struct qp *qp)
{
	return qp->state == QPS_RTS && qp->req.cur != qp->sq.tail && qp->retry.rnr_at == QP_NEVER;
}

/* The WQE at cur, judged, and its handle. FAULT_NONE or why it cannot be sent. */
static enum fault
load(struct qp *qp, struct xport *x, const struct ah **out)
{
	const struct plx_sq_wqe *w = &qp->tx.wqe.w;
	enum fault f = req_load(qp, x, qp->req.cur);
	const struct ah *ah;

	if (f != FAULT_NONE)
		return f;
	if (req_wr_at(qp, qp->req.cur)->length > qp->mtu)
		return FAULT_SEND_LENGTH;	/* B30 */
	ah = x->ah_of ? x->ah_of(x->ah_arg, w->ud.ah) : NULL;
	if (!ah || ah->gen != w->ud.ah_gen || ah->pd != qp->conf.pd)
		return FAULT_NO_AH;
	*out = ah;
	return FAULT_NONE;
}

/* The WQE at cur is over, sent or lost. Its PSN is used. */
static void
over(struct qp *qp, struct xport *x)
{
	struct req *req = &qp->req;

	req->una = req->next = req->max = psn_add(req->next, 1);
	req->cur++;
	req_unacked_done(qp, x);
}

/* DETH and immediate. */
static void
put_ext(const struct qp *qp, struct frame *f)
{
	const struct plx_sq_wqe *w = &qp->tx.wqe.w;
	/* F2 */
	uint32_t qkey = w->ud.qkey & QKEY_CONTROLLED ? qp->attr.qkey : w->ud.qkey;

	f->at = wire_put_deth(f->at, qkey, qp->conf.qpn);
	if (w->opcode == WR_SEND_IMM)
		f->at = wire_put_imm(f->at, w->imm);
}

/* A handle without a flow label leaves the source port to the two QPNs (A2). */
static void
put_sport(const struct qp *qp, struct frame *f, const struct wire_tmpl *t)
{
	be16_store(f->data + t->len - UDP_HDR_LEN + UDP_SPORT,
		   udp4791_sport(0, qp->conf.qpn, qp->tx.wqe.w.ud.qpn));
}

/* The whole frame. REQ_WAITS: its memory was deregistered meanwhile. */
static enum req_sent
build(struct qp *qp, struct xport *x, const struct ah *ah, const struct qp_path *path, uint32_t *len)
{
	const struct plx_sq_wqe *w = &qp->tx.wqe.w;
	const struct req_op *op = &req_ops[w->opcode];
	uint32_t payload = req_wr_at(qp, qp->req.cur)->length;
	struct frame_bth bth = {
		.op = (enum wire_op)op->only,
		.psn = qp->req.next,
		.se = w->flags & PLX_WQE_SOLICITED,
	};
	struct frame f;

	if (!frame_open_to(&f, qp, x, &bth, payload, &path->tmpl, w->ud.qpn & PSN_MASK))
		return REQ_FULL;
	if (!ah->labelled)
		put_sport(qp, &f, &path->tmpl);
	put_ext(qp, &f);
	if (!req_put_payload(qp, x, 0, f.at, payload))
		return REQ_WAITS;
	*len = frame_seal_to(&f, x, &path->tmpl, path->way);
	return REQ_SENT;
}

/* Another core's time may be a little ahead of ours. */
static bool
asked_long_ago(const struct ah *ah, uint64_t now)
{
	return (int64_t)(now - ah->asked_at) >= (int64_t)UD_PATIENCE_NS;
}

static enum req_sent
send_by(struct qp *qp, struct xport *x, const struct ah *ah, uint32_t *len)
{
	struct qp_path path;
	enum req_sent res;

	seqcell_get(&ah->path, &path);
	if (!path.ready && !asked_long_ago(ah, x->now)) {
		qp->retry.rnr_at = x->now + UD_LOOK_NS;
		qp->tx.valid = false;
		return REQ_WAITS;
	}
	if (!path.ready) {
		cnt_add(x->cnt, CNT_TX_UNREACHED, 1);
		over(qp, x);
		return REQ_SENT;
	}
	res = build(qp, x, ah, &path, len);
	if (res == REQ_SENT) {
		cnt_add(x->cnt, CNT_TX_REQUESTS, 1);
		over(qp, x);
	} else if (res == REQ_WAITS) {
		qp->tx.valid = false;
		status_fail_send(qp, x, FAULT_SEND_SGE, 0);
	}
	return res;
}

enum req_sent
req_ud_send(struct qp *qp, struct xport *x, uint32_t *len)
{
	const struct ah *ah = NULL;
	enum fault f;

	*len = 0;
	if (!may_send(qp))
		return REQ_WAITS;
	f = load(qp, x, &ah);
	if (f == FAULT_NONE)
		return send_by(qp, x, ah, len);
	status_fail_send(qp, x, f, 0);
	return REQ_WAITS;
}

void
req_ud_expire(struct qp *qp, struct xport *x)
{
	if (qp->retry.rnr_at > x->now)
		return;
	qp->retry.rnr_at = QP_NEVER;
	qp_kick(qp, x);
}

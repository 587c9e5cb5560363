/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is the next request packet, and may it go now? Called by qp_run() for each packet until it
 * says no; on the owning core.
 */
#include "transport/req.h"

#include "transport/frame.h"
#include "transport/retry.h"
#include "transport/step.h"

/* In the order in which the questions are asked. */
#define REQ_STEPS(X) \
	X(REQ_GATE, gate)		/* do state, path and RNR wait let it send at all? */ \
	X(REQ_WQE, pick_wqe)		/* the WQE that `next` lies in, judged */ \
	X(REQ_FENCE, fence)		/* B8 */ \
	X(REQ_LOCAL, local)		/* without a packet: done here (F19) */ \
	X(REQ_DEPTH, depth)		/* B7 */ \
	X(REQ_WINDOW, window)		/* B6 */ \
	X(REQ_BUILD, build)		/* headers and payload */ \
	X(REQ_ADVANCE, advance)		/* PSNs, counters, timer */ \
	X(REQ_FAIL, fail)		/* local fault, once all before it is done (D-1) */

#define REQ_ENDS(X) \
	X(REQ_END_SENT) \
	X(REQ_END_LOCAL)		/* done without a frame */ \
	X(REQ_END_STATE)		/* qp_modify() or the path */ \
	X(REQ_END_RNR)			/* qp_timer() */ \
	X(REQ_END_IDLE)			/* a doorbell */ \
	X(REQ_END_FENCE)		/* a response */ \
	X(REQ_END_DEPTH)		/* a response */ \
	X(REQ_END_WINDOW)		/* an ACK or response */ \
	X(REQ_END_EARLIER)		/* an ACK or response: WQEs before the bad one */ \
	X(REQ_END_SLOT)			/* the next round */

STEP_ENUM(req_step, REQ_STEPS, REQ_ENDS);

/* What a request without a frame uses of its QP's turn, as if it had so many bytes. */
#define LOCAL_COST 64u

struct req_job {
	struct qp *qp;
	struct xport *x;
	struct req_wr *wr;
	const struct req_op *op;
	uint32_t k;		/* packets of the WR before this one */
	uint32_t npsn;		/* PSNs that this packet takes */
	uint32_t frame_len;
	enum fault fault;
};

static enum req_step
gate(struct req_job *job)
{
	struct qp *qp = job->qp;
	struct req *req = &qp->req;

	if (!qp_sends(qp) || !qp->attr.path.ready)
		return REQ_END_STATE;
	if (qp->retry.rnr_at != QP_NEVER)
		return REQ_END_RNR;
	if (req->cur == qp->sq.tail)
		return REQ_END_IDLE;
	/* SQD: what was started goes on, nothing new begins (E6) */
	if (qp->state == QPS_SQD &&
	    (req->cur == req->planned || psn_eq(req_wr_at(qp, req->cur)->first, req->max)))
		return REQ_END_STATE;
	return REQ_WQE;
}

static enum req_step
pick_wqe(struct req_job *job)
{
	struct qp *qp = job->qp;
	struct req *req = &qp->req;

	job->fault = req_load(qp, job->x, req->cur);
	if (job->fault != FAULT_NONE)
		return REQ_FAIL;
	job->wr = req_wr_at(qp, req->cur);
	job->op = &req_ops[job->wr->opcode];
	job->k = psn_dist(job->wr->first, req->next);
	job->npsn = job->op->answer == ANSWER_READ ? req_chunk_left(req, job->wr, req->next) : 1;
	return REQ_FENCE;
}

static const uint8_t after_fence[] = {
	[ANSWER_ACK] = REQ_WINDOW,
	[ANSWER_READ] = REQ_DEPTH,
	[ANSWER_ATOMIC] = REQ_DEPTH,
	[ANSWER_EMPTY] = REQ_DEPTH,
	[ANSWER_NONE] = REQ_LOCAL,
};

static enum req_step
fence(struct req_job *job)
{
	if ((job->wr->flags & PLX_WQE_FENCE) && job->k == 0 && job->qp->req.rd_out)
		return REQ_END_FENCE;
	return (enum req_step)after_fence[job->op->answer];
}

static enum req_step
local(struct req_job *job)
{
	job->fault = req_local(job->qp, job->x);
	return job->fault == FAULT_NONE ? REQ_END_LOCAL : REQ_FAIL;
}

static enum req_step
depth(struct req_job *job)
{
	if (job->qp->req.rd_out >= job->qp->attr.max_rd_atomic)
		return REQ_END_DEPTH;
	return REQ_WINDOW;
}

static enum req_step
window(struct req_job *job)
{
	const struct req *req = &job->qp->req;
	uint32_t out = psn_dist(req->una, req->next);

	if (out && out + job->npsn > ack_window(job->x->max_inflight))
		return REQ_END_WINDOW;
	return REQ_BUILD;
}

/* The payload may stay in the program's memory: the port can gather, it is long enough to pay, and lies
 * in one piece. Never what was posted inline, whose place in the ring the program writes again, nor
 * what goes to ourselves. */
static bool
stays(const struct req_job *job, uint32_t at, uint32_t len, struct out_ext *ext)
{
	const struct outbox *ob = job->x->out;
	const struct req_copy *c = &job->qp->tx;
	struct mem_sgl sgl;

	if (!ob->ext_room || (c->wqe.w.flags & PLX_WQE_INLINE) || job->qp->attr.path.way != OUT_WIRE)
		return false;
	sgl = req_sgl(job->qp, c);
	ext->data = mem_sgl_whole(job->x->mrs, &sgl, at, len, &ext->key);
	ext->len = len;
	ext->wr = job->qp->req.cur;
	ext->qp = job->qp;
	return ext->data != NULL;
}

/* The payload, and what follows it. False: its memory was deregistered meanwhile. */
static bool
finish(struct req_job *job, struct frame *f, uint32_t at, uint32_t len)
{
	struct qp *qp = job->qp;
	struct out_ext ext;

	if (__builtin_expect(len >= job->x->out->ext_min, 0) && stays(job, at, len, &ext)) {
		job->frame_len = frame_seal_ext(f, qp, job->x, &ext);
		job->wr->refs++;
		cnt_add(job->x->cnt, CNT_TX_EXTERNAL, 1);
		return true;
	}
	if (!req_put_payload(qp, job->x, at, f->at, len))
		return false;
	job->frame_len = frame_seal(f, qp, job->x);
	return true;
}

/* FLUSH and the atomics: what they say of themselves stands in headers alone. */
static void
put_rare(struct frame *f, const struct plx_sq_wqe *w, enum wire_op op)
{
	bool cas = op == WIRE_CMP_SWAP;

	if (op == WIRE_FLUSH) {
		f->at = wire_put_feth(f->at, w->flush.type, w->flush.level);
		f->at = wire_put_reth(f->at, w->remote_addr, w->rkey, w->length);
		return;
	}
	f->at = wire_put_atomic(f->at, w->remote_addr, w->rkey,
				cas ? w->atomic.swap : w->atomic.compare_add,
				cas ? w->atomic.compare_add : 0);
}

static void
put_ext(struct req_job *job, struct frame *f, enum wire_op op)
{
	const struct plx_sq_wqe *w = &job->qp->tx.wqe.w;
	uint32_t ext = wire_op_info[wire_opcode(job->qp->kind->class, op)].ext;
	bool read = job->op->answer == ANSWER_READ;
	uint32_t at = read ? job->k * job->qp->mtu : 0;
	uint32_t len = job->wr->length - at;

	if (!ext)
		return;
	if (read && len > job->npsn * job->qp->mtu)
		len = job->npsn * job->qp->mtu;
	if (ext & WIRE_EXT_XRCETH)
		f->at = wire_put_xrceth(f->at, w->xrc_srqn);
	if (ext & (WIRE_EXT_ATOMICETH | WIRE_EXT_FETH)) {
		put_rare(f, w, op);
		return;
	}
	if (ext & WIRE_EXT_RETH)
		f->at = wire_put_reth(f->at, w->remote_addr + at, w->rkey, len);
	if (ext & WIRE_EXT_IMM)
		f->at = wire_put_imm(f->at, w->imm);
	if (ext & WIRE_EXT_IETH)
		f->at = wire_put_ieth(f->at, w->imm);
}

static enum wire_op
op_of(const struct req_job *job, bool last)
{
	if (req_is_rd(job->wr) || job->wr->npsn == 1)
		return (enum wire_op)job->op->only;
	if (job->k == 0)
		return (enum wire_op)job->op->first;
	return (enum wire_op)(last ? job->op->last : job->op->middle);
}

static enum req_step
build(struct req_job *job)
{
	struct qp *qp = job->qp;
	bool last = req_is_rd(job->wr) || job->k + 1 == job->wr->npsn;
	uint32_t at = job->k * qp->mtu;
	uint32_t len = job->op->need ? 0 : job->wr->length - at < qp->mtu ? job->wr->length - at : qp->mtu;
	struct frame_bth bth = {
		.op = op_of(job, last),
		.psn = qp->req.next,
		.se = last && job->op->se && (job->wr->flags & PLX_WQE_SOLICITED),
		.ack_req = qp->kind->acked &
			   ack_ask(last, qp->req.since_asked, ack_window(job->x->max_inflight)),
	};
	struct frame f;

	if (!frame_open(&f, qp, job->x, &bth, len))
		return REQ_END_SLOT;
	put_ext(job, &f, bth.op);
	if (!finish(job, &f, at, len)) {
		job->fault = FAULT_SEND_SGE;
		qp->tx.valid = false;
		return REQ_FAIL;
	}
	qp->req.since_asked = bth.ack_req ? 0 : qp->req.since_asked + 1;
	return REQ_ADVANCE;
}

static enum req_step
advance(struct req_job *job)
{
	struct qp *qp = job->qp;
	struct req *req = &qp->req;
	bool again = !psn_eq(req->next, req->max);
	struct psn end = psn_add(job->wr->first, job->wr->npsn);

	cnt_add(job->x->cnt, again ? CNT_TX_RETRANS : CNT_TX_REQUESTS, 1);
	if (again)
		xport_trace(job->x, TRACE_RETRANS, qp, req->next, job->wr->opcode);
	if (psn_eq(req->next, req->una))
		retry_restart(qp);	/* the timer measures the oldest packet's last sending */
	if (req_is_rd(job->wr))
		req->rd_out++;
	if (job->op->answer == ANSWER_READ && job->k % req->chunk)
		req->reread = req->next;	/* only the oldest piece is ever entered in its middle */
	req->next = psn_add(req->next, job->npsn);
	if (psn_dist(req->una, req->next) > psn_dist(req->una, req->max))
		req->max = req->next;
	if (psn_eq(req->next, end))
		req->cur++;
	return REQ_END_SENT;
}

static enum req_step
fail(struct req_job *job)
{
	struct qp *qp = job->qp;

	if (qp->req.head != qp->req.cur)
		return REQ_END_EARLIER;
	status_fail_send(qp, job->x, job->fault, 0);
	return REQ_END_STATE;
}

enum req_sent
req_send(struct qp *qp, struct xport *x, uint32_t *len)
{
	struct req_job the_job = { .qp = qp, .x = x }, *job = &the_job;
	enum req_step at = REQ_GATE;

	STEP_LOOP(REQ_STEPS, REQ_END_SENT);
	*len = at == REQ_END_LOCAL ? LOCAL_COST : job->frame_len;
	return at <= REQ_END_LOCAL ? REQ_SENT : at == REQ_END_SLOT ? REQ_FULL : REQ_WAITS;
}

bool
req_has_work(const struct qp *qp)
{
	return qp->req.cur != qp->sq.tail || !psn_eq(qp->req.una, qp->req.max);
}

void
req_check_drained(struct qp *qp, struct xport *x)
{
	struct req *req = &qp->req;

	if (qp->state != QPS_SQD || req->drained || !psn_eq(req->una, req->max) ||
	    req->done != req->head)
		return;
	/* all that was sent is acknowledged; a message that was begun must be sent to its end too (E6) */
	if (req->head != req->planned && !psn_eq(req_wr_at(qp, req->head)->first, req->max))
		return;
	req->drained = true;
	if (qp->attr.en_sqd_async_notify)
		xport_event(x, EV_SQ_DRAINED, qp, NULL);
}

void
req_go_back(struct qp *qp)
{
	struct req *req = &qp->req;

	req->next = req->una;
	req->cur = req->head;
	req->rd_out = 0;
	req->since_asked = 0;
}

void
req_una_set(struct qp *qp, struct psn to)
{
	struct req *req = &qp->req;

	if (psn_dist(req->una, to) > psn_dist(req->una, req->next)) {
		req->una = to;
		req_go_back(qp);
	} else {
		req->una = to;
	}
}

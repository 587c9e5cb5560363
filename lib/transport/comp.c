/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does this acknowledgement or response finish? Called by qp_rx() for each response packet; on
 * the owning core. A WQE is done when its last PSN is acknowledged; the MSN is not looked at (B10).
 */
#include "transport/comp.h"

#include "transport/req.h"
#include "transport/retry.h"
#include "transport/step.h"

#define COMP_STEPS(X) \
	X(COMP_RANGE, range)		/* is the PSN one of those outstanding (B15)? */ \
	X(COMP_SYNDROME, syndrome)	/* ACK, NAK, RNR NAK, or none that we know (B17) */ \
	X(COMP_ACK, ack)		/* B9 */ \
	X(COMP_NAK, nak)		/* B13, B16 */ \
	X(COMP_RNR, rnr)		/* B18 */ \
	X(COMP_EARLIER, earlier)	/* a response acknowledges what stands before it (B12) */ \
	X(COMP_MATCH, match)		/* is it the answer to what is oldest now? */ \
	X(COMP_READ_SEQUENCE, read_sequence)	/* B26 */ \
	X(COMP_READ_PLACE, read_place)	/* B27 */ \
	X(COMP_ATOMIC_PLACE, atomic_place) \
	X(COMP_EMPTY, empty)		/* FLUSH and ATOMIC_WRITE bring nothing back */ \
	X(COMP_ADVANCE, advance)	/* the response's PSN is done */ \
	X(COMP_AGAIN, again)		/* NAK, implied NAK (B11), gap (B25): go back */ \
	X(COMP_FAIL, fail)		/* the oldest WQE cannot succeed */

#define COMP_ENDS(X) \
	X(COMP_END_DONE) \
	X(COMP_END_STALE) \
	X(COMP_END_RESERVED) \
	X(COMP_END_LENGTH)

STEP_ENUM(comp_step, COMP_STEPS, COMP_ENDS);

struct comp_job {
	struct qp *qp;
	struct xport *x;
	const struct wire_pkt *pkt;
	struct psn psn;
	bool moved;		/* una did, thanks to this packet */
	enum fault fault;
	uint8_t syndrome;	/* that ended it */
};

/* The WQE that holds una; there is one while something is outstanding. */
static struct req_wr *
oldest(struct comp_job *job)
{
	return req_wr_at(job->qp, job->qp->req.head);
}

static struct psn
end_of(const struct req_wr *wr)
{
	return psn_add(wr->first, wr->npsn);
}

static void
moved_to(struct comp_job *job, struct psn to)
{
	struct qp *qp = job->qp;

	if (psn_eq(to, end_of(oldest(job)))) {
		status_send(qp, job->x, FAULT_NONE, 0);
		req_una_set(qp, to);
		req_locals_done(qp, job->x);
	} else {
		req_una_set(qp, to);
	}
	if (!job->moved)
		retry_progress(qp);
	job->moved = true;
}

/* Acknowledges all before `upto`. False: a READ or atomic stands in the way, unanswered (B11). */
static bool
settle(struct comp_job *job, struct psn upto)
{
	struct req *req = &job->qp->req;

	while (!psn_eq(req->una, upto)) {
		const struct req_wr *wr = oldest(job);
		struct psn end = end_of(wr);

		if (req_is_rd(wr))
			return false;
		moved_to(job, psn_dist(req->una, upto) < psn_dist(req->una, end) ? upto : end);
	}
	return true;
}

static enum comp_step
range(struct comp_job *job)
{
	const struct req *req = &job->qp->req;

	if (!(job->pkt->info->traits & WIRE_PAYLOAD) && job->pkt->payload_len)
		return COMP_END_LENGTH;
	if (psn_dist(req->una, job->psn) < psn_dist(req->una, req->max))
		return COMP_SYNDROME;
	/* the ghost of the last ACK: would carry credits, which nobody negotiated (N3, B28) */
	if (psn_eq(psn_add(job->psn, 1), req->una) && (job->pkt->info->traits & WIRE_ACK)) {
		cnt_add(job->x->cnt, CNT_RX_ACKS_AGAIN, 1);
		return COMP_END_DONE;
	}
	return COMP_END_STALE;
}

static enum comp_step
syndrome(struct comp_job *job)
{
	bool response = !(job->pkt->info->traits & WIRE_ACK);

	if (!(job->pkt->info->ext & WIRE_EXT_AETH))
		return COMP_EARLIER;	/* READ_RESP_MIDDLE */
	switch (aeth_kind(job->pkt->aeth.syndrome)) {
	case AETH_ACK:
		return response ? COMP_EARLIER : COMP_ACK;
	case AETH_RNR:
		return response ? COMP_END_RESERVED : COMP_RNR;
	case AETH_NAK:
		return response ? COMP_END_RESERVED : COMP_NAK;
	default:
		return COMP_END_RESERVED;
	}
}

static enum comp_step
ack(struct comp_job *job)
{
	cnt_add(job->x->cnt, CNT_RX_ACKS, 1);
	return settle(job, psn_add(job->psn, 1)) ? COMP_END_DONE : COMP_AGAIN;
}

static const uint8_t nak_faults[] = {
	[AETH_NAK_INV_REQ - AETH_NAK_SEQ] = FAULT_REM_INV_REQ,
	[AETH_NAK_REM_ACCESS - AETH_NAK_SEQ] = FAULT_REM_ACCESS,
	[AETH_NAK_REM_OP - AETH_NAK_SEQ] = FAULT_REM_OP,
};

/* A READ of which some responses are missing can be the one that is refused (B16). */
static bool
in_oldest(struct comp_job *job)
{
	const struct req_wr *wr = oldest(job);

	return psn_in(job->psn, wr->first, wr->npsn);
}

static void
remember_nak(struct comp_job *job)
{
	job->qp->end.nak = job->pkt->aeth.syndrome;
	job->qp->end.nak_psn = job->psn;
}

static enum comp_step
nak(struct comp_job *job)
{
	uint8_t code = aeth_value(job->pkt->aeth.syndrome);

	if (code >= sizeof(nak_faults))
		return COMP_END_RESERVED;
	xport_trace(job->x, TRACE_NAK_RX, job->qp, job->psn, job->pkt->aeth.syndrome);
	remember_nak(job);
	if (code == 0) {
		cnt_add(job->x->cnt, CNT_RX_NAK_SEQ, 1);
		settle(job, job->psn);
		return COMP_AGAIN;
	}
	if (!settle(job, job->psn) && !in_oldest(job))
		return COMP_AGAIN;
	cnt_add(job->x->cnt, CNT_RX_NAK_ERR, 1);
	job->fault = (enum fault)nak_faults[code];
	job->syndrome = job->pkt->aeth.syndrome;
	return COMP_FAIL;
}

static enum comp_step
rnr(struct comp_job *job)
{
	cnt_add(job->x->cnt, CNT_RX_NAK_RNR, 1);
	remember_nak(job);
	if (!settle(job, job->psn))
		return COMP_AGAIN;
	retry_rnr(job->qp, job->x, aeth_value(job->pkt->aeth.syndrome));
	return COMP_END_DONE;
}

static enum comp_step
earlier(struct comp_job *job)
{
	cnt_add(job->x->cnt, CNT_RX_RESPONSES, 1);
	return settle(job, job->psn) ? COMP_MATCH : COMP_AGAIN;
}

static enum comp_step
match(struct comp_job *job)
{
	struct qp *qp = job->qp;
	const struct req_op *op = &req_ops[oldest(job)->opcode];
	bool atomic = job->pkt->info->traits & WIRE_ATOMIC;

	job->fault = FAULT_BAD_RESP;
	if (op->answer == ANSWER_EMPTY)
		return COMP_EMPTY;
	if (op->answer != (atomic ? ANSWER_ATOMIC : ANSWER_READ))
		return COMP_FAIL;
	job->fault = req_load_answered(qp, job->x, qp->req.head);
	if (job->fault != FAULT_NONE)
		return COMP_FAIL;
	return atomic ? COMP_ATOMIC_PLACE : COMP_READ_SEQUENCE;
}

/*
 * One piece of a READ is answered by ONLY, or by FIRST MIDDLE* LAST. After it was asked for again
 * from its middle, the new train begins with FIRST or ONLY; some begin it with MIDDLE or LAST, and
 * those of the old train may still come: all are right at the expected PSN (N17).
 */
static enum comp_step
read_sequence(struct comp_job *job)
{
	const struct req *req = &job->qp->req;
	const struct req_wr *wr = oldest(job);
	uint32_t traits = job->pkt->info->traits;
	uint32_t mtu = job->qp->mtu;
	uint32_t at = psn_dist(wr->first, req->una);
	bool begins = at % req->chunk == 0;
	uint32_t left = req_chunk_left(req, wr, req->una);
	uint32_t want = left > 1 || wr->length - at * mtu > mtu ? mtu : wr->length - at * mtu;
	bool is_first = traits & WIRE_FIRST, is_last = traits & WIRE_LAST;

	job->fault = FAULT_BAD_RESP;
	if (is_last != (left == 1) || job->pkt->payload_len != want)
		return COMP_FAIL;
	if (is_first ? !begins && !psn_eq(req->una, req->reread) : begins)
		return COMP_FAIL;
	return COMP_READ_PLACE;
}

static enum comp_step
read_place(struct comp_job *job)
{
	struct qp *qp = job->qp;
	uint32_t at = psn_dist(oldest(job)->first, job->psn) * qp->mtu;
	struct mem_sgl sgl = req_sgl(qp, &qp->rx);

	if (!job->pkt->payload_len ||
	    mem_sgl_write(job->x->mrs, &sgl, at, job->pkt->payload, job->pkt->payload_len) == MEM_OK)
		return COMP_ADVANCE;
	job->fault = FAULT_SEND_SGE;
	return COMP_FAIL;
}

static enum comp_step
atomic_place(struct comp_job *job)
{
	struct mem_sgl sgl = req_sgl(job->qp, &job->qp->rx);
	uint64_t orig = job->pkt->atomic_orig;

	if (mem_sgl_write(job->x->mrs, &sgl, 0, &orig, sizeof(orig)) == MEM_OK)
		return COMP_ADVANCE;
	job->fault = FAULT_SEND_SGE;
	return COMP_FAIL;
}

static enum comp_step
empty(struct comp_job *job)
{
	if (wire_opcode_op(job->pkt->opcode) != WIRE_READ_RESP_ONLY || job->pkt->payload_len)
		return COMP_FAIL;
	return COMP_ADVANCE;
}

static enum comp_step
advance(struct comp_job *job)
{
	struct req *req = &job->qp->req;
	const struct req_wr *wr = oldest(job);
	bool ends = req_ops[wr->opcode].answer != ANSWER_READ || req_chunk_left(req, wr, req->una) == 1;
	struct psn to = psn_add(req->una, 1);

	/* a request that is not (again) on its way does not count as outstanding */
	if (ends && psn_dist(req->una, to) <= psn_dist(req->una, req->next))
		req->rd_out--;
	moved_to(job, to);
	return COMP_END_DONE;
}

static enum comp_step
again(struct comp_job *job)
{
	retry_nak(job->qp, job->x, job->moved);
	return COMP_END_DONE;
}

static enum comp_step
fail(struct comp_job *job)
{
	status_fail_send(job->qp, job->x, job->fault, job->syndrome);
	return COMP_END_DONE;
}

static const enum drop_reason drops[] = {
	[COMP_END_DONE] = DROP_NONE,
	[COMP_END_STALE] = DROP_PSN_STALE,
	[COMP_END_RESERVED] = DROP_SYNDROME,
	[COMP_END_LENGTH] = DROP_LENGTH,
};

void
comp_rx(struct qp *qp, struct xport *x, const struct wire_pkt *pkt)
{
	struct comp_job the_job = { .qp = qp, .x = x, .pkt = pkt, .psn = pkt->psn }, *job = &the_job;
	enum comp_step at = COMP_RANGE;

	STEP_LOOP(COMP_STEPS, COMP_END_DONE);
	if (drops[at] != DROP_NONE) {
		cnt_drop(x->cnt, drops[at]);
		xport_trace(x, TRACE_DROP, qp, pkt->psn, drops[at]);
		return;
	}
	if (!job->moved)
		return;
	sq_set_head(&qp->sq, qp->req.done);
	req_check_drained(qp, x);
	/* room in window or depth, or a WQE that waited for those before it */
	if (qp_sends(qp) && qp->req.cur != qp->sq.tail)
		qp_kick(qp, x);
}

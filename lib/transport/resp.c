/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is this request the next one, is it allowed, and what does it do? Called by qp_rx() for each request
 * packet; on the owning core. The order of the checks is the specification's: PSN, opcode sequence,
 * QP access, resources, length, rkey, execution.
 */
#include "transport/resp.h"

#include "transport/resp_check.h"
#include "transport/step.h"

#define RESP_STEPS(X) \
	X(RESP_PSN, check_psn)		/* expected, ahead or behind (C1)? */ \
	X(RESP_SEQUENCE, sequence)	/* C10 */ \
	X(RESP_ACCESS, access)		/* qp_access_flags (C11) */ \
	X(RESP_RESOURCE, resource)	/* receive WQE (C19), room for a READ or atomic (C9) */ \
	X(RESP_LENGTH, length)		/* C14-C16, C18, C20 */ \
	X(RESP_RKEY, rkey)		/* C11-C13 */ \
	X(RESP_EXECUTE, execute) \
	X(RESP_FINISH, finish)		/* ePSN, MSN, completion, ACK */ \
	X(RESP_AHEAD, ahead)		/* C2 */ \
	X(RESP_DUPLICATE, duplicate)	/* C4-C7 */ \
	X(RESP_RNR, not_ready)		/* C19 */ \
	X(RESP_FAULT, fault)		/* NAK 0x61-0x63, then ERR (C26) */

#define RESP_ENDS(X) \
	X(RESP_END_DONE) \
	X(RESP_END_AHEAD) \
	X(RESP_END_DUP_READ) \
	X(RESP_END_DUP_ATOMIC)

STEP_ENUM(resp_step, RESP_STEPS, RESP_ENDS);

static enum resp_step
give_up(struct resp_job *job, enum fault f)
{
	job->fault = f;
	return RESP_FAULT;
}

static enum resp_step
check_psn(struct resp_job *job)
{
	struct resp *r = &job->qp->resp;
	int32_t diff = psn_diff(job->pkt->psn, r->epsn);

	if (diff > 0)
		return RESP_AHEAD;
	if (diff < 0)
		return RESP_DUPLICATE;
	r->quiet = false;
	if (r->nak != AETH_NAK_SEQ)
		r->nak = 0;	/* an RNR NAK that did not get out is answered by what happens now */
	return RESP_SEQUENCE;
}

static enum resp_step
sequence(struct resp_job *job)
{
	return resp_in_sequence(job) ? RESP_ACCESS : give_up(job, FAULT_SEQUENCE);
}

static enum resp_step
access(struct resp_job *job)
{
	return resp_access_ok(job) ? RESP_RESOURCE : give_up(job, FAULT_QP_ACCESS);
}

static enum resp_step
take_wqe(struct resp_job *job)
{
	enum fault f = FAULT_NONE;

	if (!resp_take_wqe(job, &f))
		return RESP_RNR;
	return f == FAULT_NONE ? RESP_LENGTH : give_up(job, f);
}

static enum resp_step
resource(struct resp_job *job)
{
	if (resp_has(job, WIRE_TAKES_WQE))
		return take_wqe(job);
	if (resp_has(job, WIRE_ANSWERED) && !resp_rd_room(job->qp))
		return give_up(job, FAULT_DEPTH);
	return RESP_LENGTH;
}

static enum resp_step
length(struct resp_job *job)
{
	enum fault f = resp_length(job);

	return f == FAULT_NONE ? RESP_RKEY : give_up(job, f);
}

static enum resp_step
rkey(struct resp_job *job)
{
	enum fault f = resp_check_rkey(job);

	return f == FAULT_NONE ? RESP_EXECUTE : give_up(job, f);
}

static uint32_t
read_psns(const struct resp_job *job)
{
	uint32_t mtu = job->qp->mtu;
	uint32_t n = (uint32_t)(((uint64_t)job->pkt->reth.len + mtu - 1) / mtu);

	return n ? n : 1;
}

static enum resp_step
execute(struct resp_job *job)
{
	enum fault f = resp_execute(job);

	return f == FAULT_NONE ? RESP_FINISH : give_up(job, f);
}

/* The MSN rises at acceptance (C22), the answer is the acknowledgement. */
static void
finish_rd(struct resp_job *job)
{
	struct resp *r = &job->qp->resp;
	uint64_t orig = resp_rd_execute(job);
	uint32_t npsn = resp_has(job, WIRE_READ) ? read_psns(job) : 1;

	r->msn = (r->msn + 1) & PSN_MASK;
	resp_rd_accept(job, npsn, orig);
	r->epsn = psn_add(r->epsn, npsn);
}

static enum resp_step
finish(struct resp_job *job)
{
	struct qp *qp = job->qp;
	struct resp *r = &qp->resp;

	cnt_add(job->x->cnt, CNT_RX_REQUESTS, 1);
	if (resp_has(job, WIRE_ANSWERED)) {
		finish_rd(job);
		return RESP_END_DONE;
	}
	r->ack_psn = r->epsn;
	r->epsn = psn_add(r->epsn, 1);
	r->msg = resp_has(job, WIRE_LAST) ? MSG_NONE : resp_has(job, WIRE_SEND) ? MSG_SEND : MSG_WRITE;
	if (resp_has(job, WIRE_LAST)) {
		r->msn = (r->msn + 1) & PSN_MASK;
		if (r->wqe_used)
			resp_complete(job);
	}
	if (job->pkt->ack_req)
		r->ack_due = true;
	return RESP_END_DONE;
}

/* One NAK for a gap; what else is ahead of it is dropped in silence until ePSN comes. */
static enum resp_step
ahead(struct resp_job *job)
{
	struct resp *r = &job->qp->resp;

	if (!r->quiet) {
		r->quiet = true;
		if (r->nak != AETH_NAK_SEQ || psn_diff(job->pkt->psn, r->nak_psn) > 0)
			r->nak_psn = job->pkt->psn;
		r->nak = AETH_NAK_SEQ;
	}
	return RESP_END_AHEAD;
}

static enum resp_step
duplicate(struct resp_job *job)
{
	enum drop_reason why;

	cnt_add(job->x->cnt, CNT_RX_DUPLICATES, 1);
	xport_trace(job->x, TRACE_DUPLICATE, job->qp, job->pkt->psn, job->pkt->opcode);
	if (!resp_has(job, WIRE_ANSWERED)) {
		/* names the last SEND or WRITE executed, never a PSN inside a READ (C4) */
		if (job->pkt->ack_req)
			job->qp->resp.ack_due = true;
		return RESP_END_DONE;
	}
	why = resp_rd_again(job);
	return why == DROP_NONE ? RESP_END_DONE :
	       why == DROP_DUP_READ ? RESP_END_DUP_READ : RESP_END_DUP_ATOMIC;
}

static enum resp_step
not_ready(struct resp_job *job)
{
	struct resp *r = &job->qp->resp;

	r->nak = aeth_rnr(job->qp->attr.min_rnr_timer);
	r->quiet = true;	/* N16 */
	return RESP_END_DONE;
}

static enum resp_step
fault(struct resp_job *job)
{
	struct resp *r = &job->qp->resp;

	r->nak = fault_info[job->fault].syndrome;
	r->ack_due = false;	/* the NAK acknowledges all before it */
	status_fail_recv(job->qp, job->x, job->fault);
	return RESP_END_DONE;
}

static const enum drop_reason drops[] = {
	[RESP_END_DONE] = DROP_NONE,
	[RESP_END_AHEAD] = DROP_PSN_AHEAD,
	[RESP_END_DUP_READ] = DROP_DUP_READ,
	[RESP_END_DUP_ATOMIC] = DROP_DUP_ATOMIC,
};

static void
walk(struct resp_job *job, enum resp_step at)
{
	struct qp *qp = job->qp;
	struct xport *x = job->x;

	STEP_LOOP(RESP_STEPS, RESP_END_DONE);
	if (drops[at] != DROP_NONE) {
		cnt_drop(x->cnt, drops[at]);
		xport_trace(x, TRACE_DROP, qp, job->pkt->psn, drops[at]);
	}
	if (resp_due_now(qp, x))
		qp_kick(qp, x);		/* C25 */
	else if (resp_due(qp))
		qp_put_off(qp, x);
}

void
resp_rx(struct qp *qp, struct xport *x, const struct wire_pkt *pkt)
{
	walk(&(struct resp_job){ .qp = qp, .x = x, .pkt = pkt }, RESP_PSN);
}

void
resp_refuse(struct qp *qp, struct xport *x, const struct wire_pkt *pkt, enum fault why)
{
	walk(&(struct resp_job){ .qp = qp, .x = x, .pkt = pkt, .fault = why }, RESP_FAULT);
}

void
resp_init(struct qp *qp)
{
	struct resp *r = &qp->resp;

	r->epsn = psn_make(qp->attr.rq_psn);
	r->ack_psn = psn_sub(r->epsn, 1);
	r->msn = 0;
	r->msg = MSG_NONE;
	r->quiet = false;
	r->established = false;
	r->bad_keys = 0;
	r->wqe_used = false;
	r->rd_head = r->rd_count = 0;
	resp_forget(qp);
}

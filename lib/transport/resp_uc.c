/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The responder of an unreliable connection: is this packet the next of a message of which nothing is
 * missing, and may it do what it asks? Called by qp_rx(); on the owning core.
 *
 * It never answers (F7). A packet that is not the expected one, or may not do what it asks, is dropped
 * with its message: nothing of that is taken until a FIRST or ONLY comes, which restarts with its own
 * PSN (F6). A lost message completes nothing, and its receive WQE is the next message's. Only faults of
 * the receiver's own memory end the QP, and keys that are wrong time after time: where no NAK ends a
 * connection, guessing would be free.
 */
#include "transport/resp.h"

#include "transport/resp_check.h"
#include "transport/step.h"

#define MAX_BAD_KEYS 16u	/* in a row */

#define UC_STEPS(X) \
	X(UC_PSN, place_psn)		/* F6 */ \
	X(UC_SEQUENCE, sequence)	/* C10 */ \
	X(UC_ACCESS, access)		/* C11 */ \
	X(UC_RESOURCE, resource)	/* F11 */ \
	X(UC_LENGTH, length)		/* C14-C16, C18 */ \
	X(UC_RKEY, rkey)		/* C11-C13 */ \
	X(UC_EXECUTE, execute) \
	X(UC_FINISH, finish)		/* ePSN, completion */ \
	X(UC_FAULT, fault)		/* the message is lost, or the QP ends */

#define UC_ENDS(X) \
	X(UC_END_DONE) \
	X(UC_END_GAP) \
	X(UC_END_NO_RECV) \
	X(UC_END_FAULT)		/* job.fault says which */

STEP_ENUM(uc_step, UC_STEPS, UC_ENDS);

static enum uc_step
give_up(struct resp_job *job, enum fault f)
{
	job->fault = f;
	return UC_FAULT;
}

static enum uc_step
place_psn(struct resp_job *job)
{
	struct resp *r = &job->qp->resp;

	if (resp_has(job, WIRE_FIRST)) {
		r->msg = MSG_NONE;	/* what was coming in is lost */
		r->epsn = job->pkt->psn;
		return UC_SEQUENCE;
	}
	if (psn_eq(job->pkt->psn, r->epsn))
		return UC_SEQUENCE;
	r->msg = MSG_NONE;
	return UC_END_GAP;
}

static enum uc_step
sequence(struct resp_job *job)
{
	return resp_in_sequence(job) ? UC_ACCESS : give_up(job, FAULT_SEQUENCE);
}

static enum uc_step
access(struct resp_job *job)
{
	return resp_access_ok(job) ? UC_RESOURCE : give_up(job, FAULT_QP_ACCESS);
}

static enum uc_step
resource(struct resp_job *job)
{
	enum fault f = FAULT_NONE;

	if (resp_has(job, WIRE_TAKES_WQE) && !resp_take_wqe(job, &f)) {
		job->qp->resp.msg = MSG_NONE;
		return UC_END_NO_RECV;
	}
	return f == FAULT_NONE ? UC_LENGTH : give_up(job, f);
}

static enum uc_step
length(struct resp_job *job)
{
	enum fault f = resp_length(job);

	return f == FAULT_NONE ? UC_RKEY : give_up(job, f);
}

static enum uc_step
rkey(struct resp_job *job)
{
	struct resp *r = &job->qp->resp;
	enum fault f = resp_check_rkey(job);

	if (f == FAULT_RKEY)
		return give_up(job, ++r->bad_keys < MAX_BAD_KEYS ? FAULT_RKEY : FAULT_KEY_GUESSED);
	if (resp_has(job, WIRE_WRITE) && r->len)
		r->bad_keys = 0;
	return UC_EXECUTE;
}

static enum uc_step
execute(struct resp_job *job)
{
	enum fault f = resp_execute(job);

	return f == FAULT_NONE ? UC_FINISH : give_up(job, f);
}

static enum uc_step
finish(struct resp_job *job)
{
	struct resp *r = &job->qp->resp;
	bool last = resp_has(job, WIRE_LAST);

	cnt_add(job->x->cnt, CNT_RX_REQUESTS, 1);
	r->epsn = psn_add(r->epsn, 1);
	r->msg = last ? MSG_NONE : resp_has(job, WIRE_SEND) ? MSG_SEND : MSG_WRITE;
	/* a WQE that a lost SEND left behind is none of a plain WRITE's */
	if (last && (resp_has(job, WIRE_SEND) || resp_has(job, WIRE_TAKES_WQE)))
		resp_complete(job);
	return UC_END_DONE;
}

/* What the loss of a message is counted under; a fault that is not here is no loss but the QP's end. */
static const uint8_t losses[FAULT_COUNT] = {
	[FAULT_SEQUENCE] = DROP_PSN_GAP,
	[FAULT_QP_ACCESS] = DROP_ACCESS,
	[FAULT_LENGTH] = DROP_MSG_LENGTH,
	[FAULT_TOO_LONG] = DROP_MSG_LENGTH,
	[FAULT_RECV_SHORT] = DROP_MSG_LENGTH,
	[FAULT_RKEY] = DROP_RKEY,
};

static enum uc_step
fault(struct resp_job *job)
{
	struct qp *qp = job->qp;

	qp->resp.msg = MSG_NONE;
	if (losses[job->fault] != DROP_NONE)
		return UC_END_FAULT;
	status_fail_recv(qp, job->x, job->fault);
	return UC_END_DONE;
}

void
resp_uc_rx(struct qp *qp, struct xport *x, const struct wire_pkt *pkt)
{
	struct resp_job the_job = { .qp = qp, .x = x, .pkt = pkt }, *job = &the_job;
	enum uc_step at = UC_PSN;
	enum drop_reason why;

	STEP_LOOP(UC_STEPS, UC_END_DONE);
	if (at == UC_END_DONE)
		return;
	why = at == UC_END_GAP ? DROP_PSN_GAP :
	      at == UC_END_NO_RECV ? DROP_NO_RECV : (enum drop_reason)losses[job->fault];
	cnt_drop(x->cnt, why);
	xport_trace(x, TRACE_DROP, qp, pkt->psn, why);
}

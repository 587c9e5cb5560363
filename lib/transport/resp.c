/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is this request the next one, is it allowed, and what does it do? Called by qp_rx() for each request
 * packet; on the owning core. The order of the checks is the specification's: PSN, opcode sequence,
 * QP access, resources, length, rkey, execution.
 */
#include "transport/resp.h"

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

static bool
has(const struct resp_job *job, uint32_t traits)
{
	return (job->pkt->info->traits & traits) == traits;
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

/* What may follow: by the message that is coming in and the packet's place in its own. */
enum place { PLACE_BEGINS, PLACE_SEND_ON, PLACE_WRITE_ON, PLACE_COUNT };

static const bool sequence_ok[MSG_COUNT][PLACE_COUNT] = {
	[MSG_NONE] = { [PLACE_BEGINS] = true },
	[MSG_SEND] = { [PLACE_SEND_ON] = true },
	[MSG_WRITE] = { [PLACE_WRITE_ON] = true },
};

static enum resp_step
sequence(struct resp_job *job)
{
	enum place place = has(job, WIRE_FIRST) ? PLACE_BEGINS :
			   has(job, WIRE_SEND) ? PLACE_SEND_ON : PLACE_WRITE_ON;

	if (!sequence_ok[job->qp->resp.msg][place])
		return give_up(job, FAULT_SEQUENCE);
	return RESP_ACCESS;
}

static enum resp_step
access(struct resp_job *job)
{
	uint32_t need = has(job, WIRE_WRITE) ? MEM_REMOTE_WRITE :
			has(job, WIRE_READ) ? MEM_REMOTE_READ :
			has(job, WIRE_ATOMIC) ? MEM_REMOTE_ATOMIC : 0;

	if ((job->qp->attr.access_flags & need) != need)
		return give_up(job, FAULT_QP_ACCESS);
	return RESP_RESOURCE;
}

static enum resp_step
take_wqe(struct resp_job *job)
{
	struct qp *qp = job->qp;
	struct resp *r = &qp->resp;
	struct mem_sgl sgl;
	int taken;

	if (!r->wqe_used) {
		taken = rq_take(&qp->rq, &r->wqe);
		if (taken == 0)
			return RESP_RNR;
		r->wqe_used = true;
		if (taken < 0)
			return give_up(job, FAULT_RECV_SGE);
	}
	sgl = resp_sgl(qp);
	r->wqe_len = mem_sgl_length(&sgl);
	/* a WRITE leaves the SGEs alone (C28) */
	if (has(job, WIRE_SEND) && mem_sgl_check(job->x->mrs, &sgl) != MEM_OK)
		return give_up(job, FAULT_RECV_SGE);
	return RESP_LENGTH;
}

static enum resp_step
resource(struct resp_job *job)
{
	if (has(job, WIRE_TAKES_WQE))
		return take_wqe(job);
	if ((has(job, WIRE_READ) || has(job, WIRE_ATOMIC)) && !resp_rd_room(job->qp))
		return give_up(job, FAULT_DEPTH);
	return RESP_LENGTH;
}

/* FIRST and MIDDLE are an MTU long, LAST has 1..MTU bytes, ONLY 0..MTU. */
static bool
payload_fits_place(const struct resp_job *job)
{
	uint32_t len = job->pkt->payload_len, mtu = job->qp->mtu;

	if (!has(job, WIRE_LAST))
		return len == mtu;
	return len <= mtu && (len || has(job, WIRE_FIRST));
}

static enum resp_step
length(struct resp_job *job)
{
	const struct wire_pkt *pkt = job->pkt;
	struct resp *r = &job->qp->resp;

	if (has(job, WIRE_FIRST)) {
		r->done = 0;
		r->va = pkt->reth.va;
		r->rkey = pkt->reth.rkey;
		r->len = pkt->info->ext & WIRE_EXT_RETH ? pkt->reth.len : 0;
		if (r->len > MAX_MSG_SZ)
			return give_up(job, FAULT_TOO_LONG);
	}
	if (!has(job, WIRE_PAYLOAD)) {
		if (pkt->payload_len)
			return give_up(job, FAULT_LENGTH);
		if (has(job, WIRE_ATOMIC) && (pkt->atomic.va & 7))
			return give_up(job, FAULT_MISALIGNED);
		return RESP_RKEY;
	}
	if (!payload_fits_place(job))
		return give_up(job, FAULT_LENGTH);
	if (has(job, WIRE_SEND) && pkt->payload_len > r->wqe_len - r->done)
		return give_up(job, FAULT_RECV_SHORT);
	if (has(job, WIRE_WRITE) && (has(job, WIRE_LAST) ? pkt->payload_len != r->len - r->done :
							   pkt->payload_len >= r->len - r->done))
		return give_up(job, FAULT_LENGTH);
	return RESP_RKEY;
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
	struct qp *qp = job->qp;
	struct resp *r = &qp->resp;
	enum fault f = FAULT_NONE;

	if (has(job, WIRE_SEND))
		f = resp_place_send(job);
	else if (has(job, WIRE_WRITE))
		resp_place_write(job);
	if (f != FAULT_NONE)
		return give_up(job, f);
	r->done += job->pkt->payload_len;
	if (qp->state == QPS_RTR && !r->established) {
		r->established = true;
		xport_event(job->x, EV_COMM_EST, qp, NULL);	/* C30, H7 */
	}
	return RESP_FINISH;
}

static void
complete_recv(struct resp_job *job)
{
	const struct wire_pkt *pkt = job->pkt;
	bool imm = pkt->info->ext & WIRE_EXT_IMM;

	status_recv_ok(job->qp, job->x, &(struct status_recv){
		.byte_len = (uint32_t)job->qp->resp.done,
		.imm = imm ? pkt->imm : 0,
		.has_imm = imm,
		.solicited = pkt->se,
		.write = has(job, WIRE_WRITE),
	});
}

/* READ and atomic: the MSN rises at acceptance (C22), the answer is the acknowledgement. */
static void
finish_rd(struct resp_job *job)
{
	struct resp *r = &job->qp->resp;
	bool atomic = has(job, WIRE_ATOMIC);
	uint64_t orig = atomic ? resp_atomic(job) : 0;
	uint32_t npsn = atomic ? 1 : read_psns(job);

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
	if (has(job, WIRE_READ) || has(job, WIRE_ATOMIC)) {
		finish_rd(job);
		return RESP_END_DONE;
	}
	r->ack_psn = r->epsn;
	r->epsn = psn_add(r->epsn, 1);
	r->msg = has(job, WIRE_LAST) ? MSG_NONE : has(job, WIRE_SEND) ? MSG_SEND : MSG_WRITE;
	if (has(job, WIRE_LAST)) {
		r->msn = (r->msn + 1) & PSN_MASK;
		if (r->wqe_used)
			complete_recv(job);
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
	if (!has(job, WIRE_READ) && !has(job, WIRE_ATOMIC)) {
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

void
resp_rx(struct qp *qp, struct xport *x, const struct wire_pkt *pkt)
{
	struct resp_job the_job = { .qp = qp, .x = x, .pkt = pkt }, *job = &the_job;
	enum resp_step at = RESP_PSN;

	STEP_LOOP(RESP_STEPS, RESP_END_DONE);
	if (drops[at] != DROP_NONE) {
		cnt_drop(x->cnt, drops[at]);
		xport_trace(x, TRACE_DROP, qp, pkt->psn, drops[at]);
	}
	if (resp_due_now(qp, x))
		qp_kick(qp, x);		/* C25 */
	else if (resp_due(qp))
		qp_put_off(qp, x);
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
	r->wqe_used = false;
	r->rd_head = r->rd_count = 0;
	resp_forget(qp);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The questions that every responder of a connected QP asks of a request packet. What an answer means is
 * the responder's: a NAK, or silence. Inline, for they are asked for each packet. Owning core only.
 */
#ifndef TRANSPORT_RESP_CHECK_H
#define TRANSPORT_RESP_CHECK_H

#include "transport/resp.h"

static inline bool
resp_has(const struct resp_job *job, uint32_t traits)
{
	return (job->pkt->info->traits & traits) == traits;
}

/* What may follow: by the message that is coming in and the packet's place in its own. */
enum place { PLACE_BEGINS, PLACE_SEND_ON, PLACE_WRITE_ON, PLACE_COUNT };

/* May this packet follow the one before it (C10)? */
static inline bool
resp_in_sequence(const struct resp_job *job)
{
	static const bool ok[MSG_COUNT][PLACE_COUNT] = {
		[MSG_NONE] = { [PLACE_BEGINS] = true },
		[MSG_SEND] = { [PLACE_SEND_ON] = true },
		[MSG_WRITE] = { [PLACE_WRITE_ON] = true },
	};
	enum place place = resp_has(job, WIRE_FIRST) ? PLACE_BEGINS :
			   resp_has(job, WIRE_SEND) ? PLACE_SEND_ON : PLACE_WRITE_ON;

	return ok[job->qp->resp.msg][place];
}

/* Does qp_access_flags allow it (C11)? */
static inline bool
resp_access_ok(const struct resp_job *job)
{
	uint32_t need = resp_has(job, WIRE_WRITE) ? MEM_REMOTE_WRITE :
			resp_has(job, WIRE_ANSWERED) ? resp_rd_need(job) : 0;

	return (job->qp->attr.access_flags & need) == need;
}

/* The receive WQE for this message: the one in use, or the next. False: there is none (C19, F11). *f:
 * what is wrong with it (C17). */
static inline bool
resp_take_wqe(struct resp_job *job, enum fault *f)
{
	struct qp *qp = job->qp;
	struct resp *r = &qp->resp;
	struct mem_sgl sgl;
	int taken;

	if (!r->wqe_used) {
		taken = qp->take_recv(qp);
		if (taken == 0)
			return false;
		r->wqe_used = true;
		if (taken < 0) {
			*f = FAULT_RECV_SGE;
			return true;
		}
	}
	sgl = resp_sgl(qp);
	r->wqe_len = mem_sgl_length(&sgl);
	/* a WRITE leaves the SGEs alone (C28) */
	if (resp_has(job, WIRE_SEND) && mem_sgl_check(job->x->mrs, &sgl) != MEM_OK)
		*f = FAULT_RECV_SGE;
	return true;
}

/* FIRST and MIDDLE are an MTU long, LAST has 1..MTU bytes, ONLY 0..MTU. */
static inline bool
resp_fits_place(const struct resp_job *job)
{
	uint32_t len = job->pkt->payload_len, mtu = job->qp->mtu;

	if (!resp_has(job, WIRE_LAST))
		return len == mtu;
	return len <= mtu && (len || resp_has(job, WIRE_FIRST));
}

/* C14-C16, C18, C20; at the first packet it takes note of what the message says of itself. */
static inline enum fault
resp_length(struct resp_job *job)
{
	const struct wire_pkt *pkt = job->pkt;
	struct resp *r = &job->qp->resp;

	if (resp_has(job, WIRE_FIRST)) {
		r->done = 0;
		r->va = pkt->reth.va;
		r->rkey = pkt->reth.rkey;
		r->len = pkt->info->ext & WIRE_EXT_RETH ? pkt->reth.len : 0;
		if (r->len > MAX_MSG_SZ)
			return FAULT_TOO_LONG;
	}
	if (resp_has(job, WIRE_ANSWERED))
		return resp_rd_length(job);
	if (!resp_fits_place(job))
		return FAULT_LENGTH;
	if (resp_has(job, WIRE_SEND) && pkt->payload_len > r->wqe_len - r->done)
		return FAULT_RECV_SHORT;
	if (resp_has(job, WIRE_WRITE) &&
	    (resp_has(job, WIRE_LAST) ? pkt->payload_len != r->len - r->done :
					pkt->payload_len >= r->len - r->done))
		return FAULT_LENGTH;
	return FAULT_NONE;
}

/* The payload of a SEND or WRITE goes where it belongs. */
static inline enum fault
resp_execute(struct resp_job *job)
{
	struct qp *qp = job->qp;
	struct resp *r = &qp->resp;
	enum fault f = FAULT_NONE;

	if (resp_has(job, WIRE_SEND))
		f = resp_place_send(job);
	else if (resp_has(job, WIRE_WRITE))
		resp_place_write(job);
	if (f != FAULT_NONE)
		return f;
	r->done += job->pkt->payload_len;
	if (qp->state == QPS_RTR && !r->established) {
		r->established = true;
		xport_event(job->x, EV_COMM_EST, qp, NULL);	/* C30, H7 */
	}
	return FAULT_NONE;
}

/* The last packet of a message that takes a receive WQE. */
static inline void
resp_complete(struct resp_job *job)
{
	const struct wire_pkt *pkt = job->pkt;
	bool imm = pkt->info->ext & WIRE_EXT_IMM, inv = pkt->info->ext & WIRE_EXT_IETH;

	status_recv_ok(job->qp, job->x, &(struct status_recv){
		.byte_len = (uint32_t)job->qp->resp.done,
		.imm = imm ? pkt->imm : inv ? pkt->inv_rkey : 0,
		.has_imm = imm,
		.has_inv = inv,
		.solicited = pkt->se,
		.write = resp_has(job, WIRE_WRITE),
		.src_qpn = job->qp->attr.dest_qpn,
	});
}

#endif

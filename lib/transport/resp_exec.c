/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May this request touch the memory it names, and then it does. Called by the responder's steps; on
 * the owning core. A range is checked whole before its first byte is written, and the rest of it
 * again with each later packet, so that deregistering in the middle ends the access (C13).
 */
#include "transport/resp.h"

#include "mem/guarded.h"
#include "mem/place.h"

/* The bytes that a request names. */
static enum mem_result
reach(struct resp_job *job, uint32_t rkey, uint32_t need, uint64_t va, uint64_t len)
{
	return resp_reach(job->qp, job->x, job->qp->resp.key_pd, rkey, need, va, len, &job->ptr,
			  &job->window);
}

/* On-demand: only the copy itself tells whether the memory is there, and this is where it may still fail. */
static __attribute__((noinline, cold)) enum fault
write_guarded(struct resp_job *job)
{
	bool done = mem_guarded_write(job->ptr, job->pkt->payload, job->pkt->payload_len);

	job->ptr = NULL;
	if (done)
		return FAULT_NONE;
	resp_let_go(job->window);
	return FAULT_RKEY;
}

static enum fault
check_write(struct resp_job *job)
{
	const struct resp *r = &job->qp->resp;
	enum mem_result res;

	if (!r->len)
		return FAULT_NONE;	/* no byte, no rkey (B4) */
	res = reach(job, r->rkey, MEM_REMOTE_WRITE, r->va + r->done, r->len - r->done);
	if (__builtin_expect(res == MEM_OK, 1))
		return FAULT_NONE;
	return res == MEM_ASK ? write_guarded(job) : FAULT_RKEY;
}

/* Only a window that this very QP has bound (C27). Before the rest of the message has its place: if that
 * fails the QP ends, and nobody else reaches the window meanwhile. */
static enum fault
invalidate(struct resp_job *job)
{
	struct qp *qp = job->qp;
	enum mem_result res = mw_invalidate(job->x->mrs, &qp->windows, qp->resp.key_pd, job->pkt->inv_rkey,
					    false);

	return res == MEM_OK ? FAULT_NONE : FAULT_RKEY;
}

enum fault
resp_check_rkey(struct resp_job *job)
{
	uint32_t traits = job->pkt->info->traits;

	if (job->pkt->info->ext & WIRE_EXT_IETH)
		return invalidate(job);
	if (traits & WIRE_WRITE)
		return check_write(job);
	if (traits & WIRE_ANSWERED)
		return resp_rd_rkey(job);
	return FAULT_NONE;
}

struct mem_sgl
resp_sgl(const struct qp *qp)
{
	return (struct mem_sgl){
		.sge = qp->resp.wqe.sge,
		.num_sge = qp->resp.wqe.num_sge,
		.pd = qp->resp.wqe_pd,
		.need = MEM_LOCAL_WRITE,
	};
}

enum fault
resp_place_send(struct resp_job *job)
{
	struct mem_sgl sgl = resp_sgl(job->qp);

	if (!job->pkt->payload_len)
		return FAULT_NONE;
	if (mem_sgl_write(job->x->mrs, &sgl, job->qp->resp.done, job->pkt->payload,
			  job->pkt->payload_len) != MEM_OK)
		return FAULT_RECV_SGE;
	return FAULT_NONE;
}

void
resp_place_write(struct resp_job *job)
{
	if (job->ptr)
		mem_place(job->ptr, job->pkt->payload, job->pkt->payload_len);
	resp_let_go(job->window);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The polling half of the inline data path: from ring slot to work completion. Included by <pollux/verbs.h>
 * alone. Any thread may poll any CQ.
 */
#ifndef POLLUX_POLL_INLINE_H
#define POLLUX_POLL_INLINE_H

#include <pollux/verbs_inline.h>

/*
 * Gives slots back to the queue that a CQE is of: not those of a QP that is gone, and never backwards (a QP
 * in RESET has given all of them back already).
 */
static inline void
__plx_slots_free(struct plx_context *ctx, uint32_t handle, uint32_t gen, uint32_t queue, uint32_t wq_head)
{
	struct plx_qp *qp;
	struct plx_wq *wq;

	if (__plx_unlikely(handle >= ctx->qp_table_size))
		return;
	qp = __atomic_load_n(&ctx->qp_table[handle], __ATOMIC_ACQUIRE);
	if (__plx_unlikely(!qp || qp->gen != gen))
		return;
	wq = queue == PLX_CQE_RQ ? &qp->rq : &qp->sq;
	if ((int32_t)(wq_head - wq->head) > 0)
		__atomic_store_n(&wq->head, wq_head, __ATOMIC_RELEASE);
}

/*
 * Takes the CQE from the ring, and gives slots back. The CQE's place is free first: who finds the slot may
 * post, and a CQ that holds what its queues hold must have room for that.
 */
static inline void
__plx_retire(struct plx_context *ctx, struct plx_cq_ctl *ctl, const struct plx_cqe *cqe, uint32_t head)
{
	uint32_t handle = cqe->qp, gen = cqe->qp_gen, wq_head = cqe->wq_head, queue = cqe->queue;

	__atomic_store_n(&ctl->head, head, __ATOMIC_RELEASE);
	__plx_slots_free(ctx, handle, gen, queue, wq_head);
}

static inline void
__plx_wc_fill(struct ibv_wc *wc, const struct plx_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = (enum ibv_wc_status)cqe->status;
	wc->opcode = (enum ibv_wc_opcode)cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->imm_data = cqe->imm;
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = 0;
	wc->slid = 0;
	wc->sl = 0;
	wc->dlid_path_bits = 0;
}

/* What stands in the ring, at most `max`. */
static inline int
__plx_cq_take(struct plx_cq *cq, int max, struct ibv_wc *wc)
{
	struct plx_context *ctx = __plx_context_of(cq->v.cq.context);
	uint32_t mask, head;
	int n = 0;

	__plx_lock(&cq->lock);
	mask = (1u << cq->log2_size) - 1;	/* a resize changes it */
	for (head = cq->head; n < max; n++, head++) {
		const struct plx_cqe *cqe = &cq->ring[head & mask];

		if (__atomic_load_n(&cqe->phase, __ATOMIC_ACQUIRE) !=
		    plx_cqe_phase(head, cq->log2_size))
			break;
		__plx_wc_fill(&wc[n], cqe);
		__plx_retire(ctx, cq->ctl, cqe, head + 1);
	}
	cq->head = head;
	__plx_unlock(&cq->lock);
	return n;
}

/* One round of each core that feeds the CQ and has no thread of its own. False: there is none. */
static inline int
__plx_cq_drive(const struct plx_context *ctx, const struct plx_cq *cq)
{
	uint64_t cores = __atomic_load_n(&cq->cores, __ATOMIC_RELAXED);

	if (!cores)
		return 0;
	for (; cores; cores &= cores - 1) {
		const struct plx_core_end *core = &ctx->core[__builtin_ctzll(cores)];

		core->drive(core->arg, PLX_DRIVE_POLL);
	}
	return 1;
}

/*
 * plx_poll_cq - take completions
 * @num_entries: at most so many
 * @wc: room for them
 *
 * Drives the cores that feed the CQ, where they have no thread of their own, when nothing is there.
 * How many were taken (fewer than num_entries: the CQ was found empty), or -EIO in a forked child.
 * When a wc has a status other than IBV_WC_SUCCESS only wr_id, status, qp_num and vendor_err are
 * defined (D-3). Any thread.
 */
PLX_INLINE int
plx_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	struct plx_cq *pcq = __plx_cq_of(cq);
	struct plx_context *ctx = __plx_context_of(cq->context);
	int n;

	if (__plx_unlikely(ctx->refuse))
		return -ctx->refuse;
	n = __plx_cq_take(pcq, num_entries, wc);
	if (n > 0)
		return n;
	if (!__plx_cq_drive(ctx, pcq))
		return 0;
	return __plx_cq_take(pcq, num_entries, wc);
}

/*
 * plx_req_notify_cq - ask for one event at the next completion
 * @solicited_only: not 0: only for a receive of a solicited message, or for an error
 *
 * One-shot. A completion that is in the CQ already makes no event (D-4): arm, then poll, then wait.
 * Asking for any completion replaces asking for solicited ones; the other way round it does not.
 * 0, or EIO in a forked child. Any thread.
 */
PLX_INLINE int
plx_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	struct plx_cq *pcq = __plx_cq_of(cq);
	struct plx_context *ctx = __plx_context_of(cq->context);
	uint32_t want = solicited_only ? PLX_CQ_ARM_SOLICITED : PLX_CQ_ARM_ANY;
	uint32_t have;

	if (__plx_unlikely(ctx->refuse))	/* first: a forked child does not have the rings */
		return ctx->refuse;
	have = __atomic_load_n(&pcq->ctl->arm, __ATOMIC_RELAXED);
	while (have < want &&
	       !__atomic_compare_exchange_n(&pcq->ctl->arm, &have, want, 0, __ATOMIC_SEQ_CST,
					    __ATOMIC_RELAXED))
		;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return 0;
}

#endif

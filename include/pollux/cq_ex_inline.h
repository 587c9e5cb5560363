/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The poller of an extended CQ as static inline functions, which read a completion where it stands in the
 * ring. Included by <pollux/verbs.h> alone; the library compiles them once more, as verbs_inline.h.
 *
 *	if (plx_start_poll(cq, &attr) == 0) {
 *		do
 *			use(cq->status, cq->wr_id, plx_wc_read_byte_len(cq), ...);
 *		while (plx_next_poll(cq) == 0);
 *		plx_end_poll(cq);
 *	}
 *
 * From a start that returned 0 to the end the CQ is locked: other threads that poll wait. This thread may
 * post meanwhile, also into the slots of what it looks at; it must not poll, resize or destroy the CQ, nor
 * destroy or reset a QP that completes on it. None of that is locked with
 * IBV_CREATE_CQ_ATTR_SINGLE_THREADED. What the wc_flags of the CQ do not name reads as it happens to be.
 */
#ifndef POLLUX_CQ_EX_INLINE_H
#define POLLUX_CQ_EX_INLINE_H

#include <pollux/poll_inline.h>

static inline struct plx_cq *
__plx_cq_ex_of(struct ibv_cq_ex *cq)
{
	return (struct plx_cq *)cq;
}

static inline const struct plx_cqe *
__plx_cqe_of(const struct ibv_cq_ex *cq)
{
	return ((const struct plx_cq *)cq)->cur;
}

/*
 * Looks at number `head`: 0, or ENOENT. Its queue has its slots back at once, so that a program may post
 * for what it looks at; the CQE's own place is one more than the CQ was asked for.
 */
static inline int
__plx_cq_ex_look(struct plx_context *ctx, struct plx_cq *cq)
{
	const struct plx_cqe *cqe = &cq->ring[cq->head & ((1u << cq->log2_size) - 1)];

	if (__atomic_load_n(&cqe->phase, __ATOMIC_ACQUIRE) != plx_cqe_phase(cq->head, cq->log2_size))
		return ENOENT;
	cq->cur = cqe;
	cq->held = 1;
	cq->v.ex.wr_id = cqe->wr_id;
	cq->v.ex.status = (enum ibv_wc_status)cqe->status;
	__plx_slots_free(ctx, cqe->qp, cqe->qp_gen, cqe->queue, cqe->wq_head);
	return 0;
}

/* Done with what was looked at, if anything. */
static inline void
__plx_cq_ex_drop(struct plx_cq *cq)
{
	if (!cq->held)
		return;
	cq->held = 0;
	__atomic_store_n(&cq->ctl->head, ++cq->head, __ATOMIC_RELEASE);
}

/* As look(), with the lock when it is 0 and there is one. */
static inline int
__plx_cq_ex_begin(struct plx_context *ctx, struct plx_cq *cq)
{
	int err;

	if (!cq->single)
		__plx_lock(&cq->lock);
	err = __plx_cq_ex_look(ctx, cq);
	if (err && !cq->single)
		__plx_unlock(&cq->lock);
	return err;
}

/*
 * plx_start_poll - look at the oldest completion
 * @attr: comp_mask 0; may be NULL
 *
 * Drives the cores that feed the CQ, where they have no thread of their own, when nothing is there. 0: the
 * CQ's wr_id and status, and what plx_wc_read_*() give, are of that completion, and plx_end_poll() must
 * follow. Else it must not: ENOENT (the CQ is empty), EINVAL (comp_mask), EIO (in a forked child). Any
 * thread; with IBV_CREATE_CQ_ATTR_SINGLE_THREADED one at a time.
 */
PLX_INLINE int
plx_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	struct plx_context *ctx = __plx_context_of(cq->context);
	struct plx_cq *pcq = __plx_cq_ex_of(cq);
	int err;

	if (__plx_unlikely(ctx->refuse))
		return ctx->refuse;
	if (__plx_unlikely(attr && attr->comp_mask))
		return EINVAL;
	err = __plx_cq_ex_begin(ctx, pcq);
	if (!err || !__plx_cq_drive(ctx, pcq))
		return err;
	return __plx_cq_ex_begin(ctx, pcq);
}

/*
 * plx_next_poll - done with this completion, look at the next
 *
 * Between start and end. 0, or ENOENT: there is none, end the poll or ask again. Drives nothing.
 */
PLX_INLINE int
plx_next_poll(struct ibv_cq_ex *cq)
{
	struct plx_cq *pcq = __plx_cq_ex_of(cq);

	__plx_cq_ex_drop(pcq);
	return __plx_cq_ex_look(__plx_context_of(cq->context), pcq);
}

/* plx_end_poll - done with all. After a start that returned 0. */
PLX_INLINE void
plx_end_poll(struct ibv_cq_ex *cq)
{
	struct plx_cq *pcq = __plx_cq_ex_of(cq);

	__plx_cq_ex_drop(pcq);
	if (!pcq->single)
		__plx_unlock(&pcq->lock);
}

/*
 * What the completion says. When its status is not IBV_WC_SUCCESS only vendor_err and qp_num are defined
 * (D-3), as in a struct ibv_wc; there too slid, sl and dlid_path_bits are always 0.
 */

PLX_INLINE enum ibv_wc_opcode
plx_wc_read_opcode(struct ibv_cq_ex *cq)
{
	return (enum ibv_wc_opcode)__plx_cqe_of(cq)->opcode;
}

/* The code in bits 0 to 7, the NAK's syndrome in 8 to 15: plx_explain_qp(). */
PLX_INLINE uint32_t
plx_wc_read_vendor_err(struct ibv_cq_ex *cq)
{
	return __plx_cqe_of(cq)->vendor_err;
}

PLX_INLINE uint32_t
plx_wc_read_byte_len(struct ibv_cq_ex *cq)
{
	return __plx_cqe_of(cq)->byte_len;
}

/* With IBV_WC_WITH_IMM. */
PLX_INLINE __be32
plx_wc_read_imm_data(struct ibv_cq_ex *cq)
{
	return __plx_cqe_of(cq)->imm;
}

/* With IBV_WC_WITH_INV. */
PLX_INLINE uint32_t
plx_wc_read_invalidated_rkey(struct ibv_cq_ex *cq)
{
	return __plx_cqe_of(cq)->imm;
}

PLX_INLINE uint32_t
plx_wc_read_qp_num(struct ibv_cq_ex *cq)
{
	return __plx_cqe_of(cq)->qp_num;
}

/* UD. */
PLX_INLINE uint32_t
plx_wc_read_src_qp(struct ibv_cq_ex *cq)
{
	return __plx_cqe_of(cq)->src_qp;
}

PLX_INLINE unsigned int
plx_wc_read_wc_flags(struct ibv_cq_ex *cq)
{
	return __plx_cqe_of(cq)->wc_flags;
}

PLX_INLINE uint32_t
plx_wc_read_slid(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

PLX_INLINE uint8_t
plx_wc_read_sl(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

PLX_INLINE uint8_t
plx_wc_read_dlid_path_bits(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

/* When the core made it, in ticks of ibv_device_attr_ex.hca_core_clock, as plx_query_rt_values_ex() reads. */
PLX_INLINE uint64_t
plx_wc_read_completion_ts(struct ibv_cq_ex *cq)
{
	return __plx_cqe_of(cq)->timestamp;
}

/* The same in ns of CLOCK_REALTIME, as that clock stands when this is called. */
PLX_INLINE uint64_t
plx_wc_read_completion_wallclock_ns(struct ibv_cq_ex *cq)
{
	return __plx_wallclock_ns(cq->context, __plx_cqe_of(cq)->timestamp);
}

/* No CQ is granted the flags of these three: 0. */
PLX_INLINE uint16_t
plx_wc_read_cvlan(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

PLX_INLINE uint32_t
plx_wc_read_flow_tag(struct ibv_cq_ex *cq)
{
	(void)cq;
	return 0;
}

PLX_INLINE void
plx_wc_read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *tm_info)
{
	(void)cq;
	memset(tm_info, 0, sizeof(*tm_info));
}

#endif

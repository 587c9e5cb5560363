/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work requests without a packet, as static inline functions: they bind a memory window, or take back what a
 * key reaches. Included by <pollux/verbs.h> alone, after verbs_inline.h, whose plx_post_send() takes them.
 */
#ifndef POLLUX_LOCAL_INLINE_H
#define POLLUX_LOCAL_INLINE_H

/* May a window of type 2 be bound so, under that key, through the QP? What the region allows, the core
 * says. */
static inline int
__plx_bind_fits(const struct plx_qp *qp, const struct ibv_mw *mw, uint32_t rkey,
		const struct ibv_mw_bind_info *info)
{
	return mw && mw->type == IBV_MW_TYPE_2 && (mw->rkey ^ rkey) < 256 && info && info->mr &&
	       mw->pd->handle == qp->v.qp.pd->handle && info->mr->pd->handle == qp->v.qp.pd->handle;
}

static inline void
__plx_bind_put(struct plx_sq_wqe *wqe, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	wqe->remote_addr = info->addr;
	wqe->rkey = rkey;
	wqe->bind.length = info->length;
	wqe->bind.lkey = info->mr ? info->mr->lkey : 0;
	wqe->bind.access = info->mw_access_flags;
}

/* WQE number `tail`, of `opcode`, all but what it is about. It has no data. */
static inline struct plx_sq_wqe *
__plx_local_begin(struct plx_qp *qp, uint32_t tail, uint64_t wr_id, enum ibv_wr_opcode opcode,
		  unsigned int flags)
{
	struct plx_sq_wqe *wqe = __plx_send_slot(&qp->sq, tail);

	if (qp->sig_all)
		flags |= IBV_SEND_SIGNALED;
	wqe->wr_id = wr_id;
	wqe->opcode = (uint8_t)opcode;
	wqe->flags = (uint8_t)(flags & (IBV_SEND_FENCE | IBV_SEND_SIGNALED));
	wqe->num_sge = 0;
	wqe->length = 0;
	return wqe;
}

static inline int
__plx_send_local(struct plx_qp *qp, uint32_t tail, const struct ibv_send_wr *wr)
{
	struct ibv_mw *mw = wr->bind_mw.mw;
	int bind = wr->opcode == IBV_WR_BIND_MW;
	struct plx_sq_wqe *wqe;

	if (__plx_wq_full(&qp->sq, tail))
		return ENOMEM;
	if (bind && !__plx_bind_fits(qp, mw, wr->bind_mw.rkey, &wr->bind_mw.bind_info))
		return EINVAL;
	wqe = __plx_local_begin(qp, tail, wr->wr_id, wr->opcode, wr->send_flags);
	if (bind) {
		__plx_bind_put(wqe, wr->bind_mw.rkey, &wr->bind_mw.bind_info);
		mw->rkey = wr->bind_mw.rkey;
	} else {
		wqe->imm = wr->invalidate_rkey;
	}
	return 0;
}

#endif

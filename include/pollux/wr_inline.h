/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work request builder: what ibv_post_send() takes as a list is written here call by call, each
 * straight into the next slot of the send queue. Included by <pollux/verbs.h> alone, after verbs_inline.h.
 *
 * plx_wr_start() takes the send queue's lock, plx_wr_complete() and plx_wr_abort() give it back: between
 * them any other thread that posts to the QP waits, and the same thread must not post otherwise. A call
 * says nothing of an error: the first is remembered, what follows it is not looked at, and
 * plx_wr_complete() answers it and posts nothing of the batch. wr_id and wr_flags of the QP are read by
 * each call that begins a work request.
 */
#ifndef POLLUX_WR_INLINE_H
#define POLLUX_WR_INLINE_H

#include <pthread.h>

#include <pollux/verbs_inline.h>

/* The first error is the one that counts. NULL, for callers that begin a work request. */
static inline struct plx_sq_wqe *
__plx_wr_fail(struct plx_qp *qp, int err)
{
	struct plx_wr_build *b = &qp->build;

	b->wqe = b->data = NULL;
	if (!b->err)
		b->err = err;
	return NULL;
}

/* Tells threads from each other. Not 0. */
static inline uint32_t
__plx_wr_self(void)
{
	return (uint32_t)((uintptr_t)pthread_self() >> 4) | 1u;
}

static inline void
__plx_wr_owned_by(struct plx_wr_build *b, uint32_t owner)
{
	__atomic_store_n(&b->owner, owner, __ATOMIC_RELAXED);
}

/*
 * plx_wr_start - begin a batch of work requests
 * @ex: of a QP that was made with send_ops_flags
 *
 * Waits while another thread has a batch open or posts. Any thread; not twice in one. A modify of the QP to
 * RESET in between, by this thread, forgets the batch: plx_wr_complete() answers EINVAL, and must still be
 * called, or plx_wr_abort().
 */
PLX_INLINE void
plx_wr_start(struct ibv_qp_ex *ex)
{
	struct plx_qp *qp = __plx_qp_of(&ex->qp_base);
	struct plx_wr_build *b = &qp->build;
	int refuse = __plx_context_of(ex->qp_base.context)->refuse;

	if (__plx_likely(!refuse))	/* in a forked child nobody may be there to unlock */
		__plx_wq_lock(&qp->sq);
	__plx_wr_owned_by(b, __plx_wr_self());
	b->wqe = b->data = NULL;
	b->tail = qp->sq.tail;
	b->missing = 0;
	b->err = refuse;
}

/*
 * plx_wr_abort - forget the batch
 *
 * Nothing of it is posted.
 */
PLX_INLINE void
plx_wr_abort(struct ibv_qp_ex *ex)
{
	struct plx_qp *qp = __plx_qp_of(&ex->qp_base);

	__plx_wr_owned_by(&qp->build, 0);
	if (__plx_likely(!__plx_context_of(ex->qp_base.context)->refuse))
		__plx_wq_unlock(&qp->sq);
}

/* What the batch ends with. */
static inline int
__plx_wr_verdict(struct plx_qp *qp)
{
	int err = __plx_send_allowed(qp);

	if (!err)
		err = qp->build.err;
	return !err && qp->build.missing ? EINVAL : err;
}

/*
 * plx_wr_complete - post the batch
 *
 * One doorbell for all of it. 0, or nothing was posted: EINVAL: the QP's state; an opcode that its type
 * does not have or that send_ops_flags did not name; more SGEs or inline data than were granted, or inline
 * data of what takes none; more than 2^31 bytes, or of a UD send than the port's MTU; an address handle of
 * another PD; a work request that needs an address or an SRQ's number and did not get one, or got what it
 * does not take; READ, an atomic, ATOMIC_WRITE or FLUSH while max_rd_atomic is 0; a FLUSH of a type, level or
 * length that is none. ENOMEM: the queue has no room for all of them.
 * EIO: in a forked child.
 */
PLX_INLINE int
plx_wr_complete(struct ibv_qp_ex *ex)
{
	struct plx_qp *qp = __plx_qp_of(&ex->qp_base);
	struct plx_wq *sq = &qp->sq;
	int err = __plx_wr_verdict(qp), rung = 0, asleep = 0;
	enum plx_drive how = PLX_DRIVE_POST;

	__plx_wr_owned_by(&qp->build, 0);
	if (__plx_unlikely(__plx_context_of(ex->qp_base.context)->refuse))
		return err;
	if (__plx_likely(!err && qp->build.tail != sq->tail)) {
		asleep = __plx_send_publish(qp, qp->build.tail, &how);
		rung = 1;
	}
	__plx_wq_unlock(sq);
	if (rung)
		__plx_kick(qp->core, sq->ctl, asleep, how);
	return err;
}

/* May one more work request, of operation `op`, be begun? 0 or a positive errno. */
static inline int
__plx_wr_check(struct plx_qp *qp, uint32_t op)
{
	struct plx_wr_build *b = &qp->build;

	if (__plx_unlikely(b->err))
		return b->err;
	if (__plx_unlikely(b->missing || !(op & qp->wr_opcodes)))
		return EINVAL;
	/* in ERR it is only flushed */
	if ((op & __PLX_OPS_ANSWERED) && __plx_unlikely(!qp->max_rd_atomic && qp->v.qp.state != IBV_QPS_ERR))
		return EINVAL;
	return __plx_unlikely(__plx_wq_full(&qp->sq, b->tail)) ? ENOMEM : 0;
}

/* The slot of the next work request, without data and without an address; NULL after an error. */
static inline struct plx_sq_wqe *
__plx_wr_begin(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct plx_qp *qp = __plx_qp_of(&ex->qp_base);
	struct plx_wr_build *b = &qp->build;
	unsigned int flags = ex->wr_flags & (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	struct plx_sq_wqe *wqe = __plx_send_slot(&qp->sq, b->tail);
	int err = __plx_wr_check(qp, __PLX_OP(opcode));

	if (__plx_unlikely(err))
		return __plx_wr_fail(qp, err);
	if (qp->sig_all)
		flags |= IBV_SEND_SIGNALED;
	wqe->wr_id = ex->wr_id;
	wqe->opcode = (uint8_t)opcode;
	wqe->flags = (uint8_t)flags;
	wqe->num_sge = 0;
	wqe->length = 0;
	b->wqe = b->data = wqe;
	b->missing = qp->dgram_opcodes | qp->xrc_opcodes;
	b->tail++;
	return wqe;
}

static inline struct plx_sq_wqe *
__plx_wr_begin_imm(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t imm)
{
	struct plx_sq_wqe *wqe = __plx_wr_begin(ex, opcode);

	if (__plx_likely(wqe != NULL))
		wqe->imm = imm;
	return wqe;
}

static inline void
__plx_wr_remote(struct plx_sq_wqe *wqe, uint32_t rkey, uint64_t remote_addr)
{
	if (__plx_unlikely(!wqe))
		return;
	wqe->rkey = rkey;
	wqe->remote_addr = remote_addr;
}

PLX_INLINE void
plx_wr_send(struct ibv_qp_ex *ex)
{
	__plx_wr_begin(ex, IBV_WR_SEND);
}

PLX_INLINE void
plx_wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data)
{
	__plx_wr_begin_imm(ex, IBV_WR_SEND_WITH_IMM, imm_data);
}

/* The peer invalidates its window or region of that key when it has received. */
PLX_INLINE void
plx_wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	__plx_wr_begin_imm(ex, IBV_WR_SEND_WITH_INV, invalidate_rkey);
}

PLX_INLINE void
plx_wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	__plx_wr_remote(__plx_wr_begin(ex, IBV_WR_RDMA_WRITE), rkey, remote_addr);
}

PLX_INLINE void
plx_wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm_data)
{
	__plx_wr_remote(__plx_wr_begin_imm(ex, IBV_WR_RDMA_WRITE_WITH_IMM, imm_data), rkey, remote_addr);
}

PLX_INLINE void
plx_wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	__plx_wr_remote(__plx_wr_begin(ex, IBV_WR_RDMA_READ), rkey, remote_addr);
}

static inline void
__plx_wr_atomic(struct plx_sq_wqe *wqe, uint64_t compare_add, uint64_t swap)
{
	if (__plx_unlikely(!wqe))
		return;
	wqe->atomic.compare_add = compare_add;
	wqe->atomic.swap = swap;
}

PLX_INLINE void
plx_wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
		      uint64_t swap)
{
	struct plx_sq_wqe *wqe = __plx_wr_begin(ex, IBV_WR_ATOMIC_CMP_AND_SWP);

	__plx_wr_remote(wqe, rkey, remote_addr);
	__plx_wr_atomic(wqe, compare, swap);
}

PLX_INLINE void
plx_wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	struct plx_sq_wqe *wqe = __plx_wr_begin(ex, IBV_WR_ATOMIC_FETCH_AND_ADD);

	__plx_wr_remote(wqe, rkey, remote_addr);
	__plx_wr_atomic(wqe, add, 0);
}

/* Neither takes data, nor an address: it does not leave this end. */
static inline void
__plx_wr_local(struct plx_qp *qp)
{
	qp->build.wqe = qp->build.data = NULL;
	qp->build.missing = 0;
}

PLX_INLINE void
plx_wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey)
{
	__plx_wr_begin_imm(ex, IBV_WR_LOCAL_INV, invalidate_rkey);
	__plx_wr_local(__plx_qp_of(&ex->qp_base));
}

/*
 * Binds a window of type 2 under `rkey`, whose upper 24 bits are the window's own. EINVAL at the end also: a
 * window of type 1, or a key of another; no region, or one of another PD.
 */
PLX_INLINE void
plx_wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
	       const struct ibv_mw_bind_info *bind_info)
{
	struct plx_qp *qp = __plx_qp_of(&ex->qp_base);
	struct plx_sq_wqe *wqe = __plx_wr_begin(ex, IBV_WR_BIND_MW);

	if (__plx_unlikely(!wqe))
		return;
	if (__plx_unlikely(!__plx_bind_fits(qp, mw, rkey, bind_info))) {
		__plx_wr_fail(qp, EINVAL);
		return;
	}
	__plx_bind_put(wqe, rkey, bind_info);
	__plx_wr_local(qp);
}

/* 8 bytes at `atomic_wr`, copied; it takes no other data. */
PLX_INLINE void
plx_wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, const void *atomic_wr)
{
	struct plx_qp *qp = __plx_qp_of(&ex->qp_base);
	struct plx_sq_wqe *wqe = __plx_wr_begin(ex, IBV_WR_ATOMIC_WRITE);

	if (__plx_unlikely(!wqe))
		return;
	if (__plx_unlikely(qp->sq.stride < sizeof(*wqe) + sizeof(uint64_t))) {
		__plx_wr_fail(qp, EINVAL);
		return;
	}
	__plx_wr_remote(wqe, rkey, remote_addr);
	memcpy(wqe + 1, atomic_wr, sizeof(uint64_t));
	wqe->flags |= PLX_WQE_INLINE;
	wqe->length = sizeof(uint64_t);
	qp->build.data = NULL;
}

/*
 * What was written to the peer before is where `type` says when this completes: PLX_FLUSH_GLOBAL: visible to
 * everybody there; no region of ours is PLX_FLUSH_PERSISTENT, but other peers may have some. Of the range, or
 * of the whole region, as `level` says. The region needs the right. It takes no data.
 */
PLX_INLINE void
plx_wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, size_t len, uint8_t type,
	     uint8_t level)
{
	struct plx_qp *qp = __plx_qp_of(&ex->qp_base);
	struct plx_sq_wqe *wqe = __plx_wr_begin(ex, (enum ibv_wr_opcode)PLX_WR_FLUSH);

	if (__plx_unlikely(!wqe))
		return;
	if (__plx_unlikely(!type || type > (PLX_FLUSH_GLOBAL | PLX_FLUSH_PERSISTENT) ||
			   level > PLX_FLUSH_MR || len > 1ull << 31)) {
		__plx_wr_fail(qp, EINVAL);
		return;
	}
	__plx_wr_remote(wqe, rkey, remote_addr);
	wqe->flush.type = type;
	wqe->flush.level = level;
	wqe->length = (uint32_t)len;
	qp->build.data = NULL;
}

/*
 * A data setter, at most one for each work request that takes data. Where it is the only SGE; a zero
 * length is an SGE of no bytes.
 */
PLX_INLINE void
plx_wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	struct plx_qp *qp = __plx_qp_of(&ex->qp_base);
	struct plx_sq_wqe *wqe = qp->build.data;
	struct plx_sge *to = (struct plx_sge *)(wqe + 1);

	if (__plx_unlikely(!wqe || !qp->sq.max_sge || length > qp->msg_max)) {
		__plx_wr_fail(qp, EINVAL);
		return;
	}
	to->addr = addr;
	to->length = length;
	to->lkey = lkey;
	wqe->num_sge = 1;
	wqe->length = length;
	qp->build.data = NULL;
}

PLX_INLINE void
plx_wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sg_list)
{
	struct plx_qp *qp = __plx_qp_of(&ex->qp_base);
	struct plx_sq_wqe *wqe = qp->build.data;
	uint64_t sum = 0;

	if (__plx_unlikely(!wqe || num_sge > qp->sq.max_sge)) {
		__plx_wr_fail(qp, EINVAL);
		return;
	}
	sum = __plx_sges_copy(wqe, sg_list, (uint32_t)num_sge);
	if (__plx_unlikely(sum > qp->msg_max)) {
		__plx_wr_fail(qp, EINVAL);
		return;
	}
	wqe->num_sge = (uint16_t)num_sge;
	wqe->length = (uint32_t)sum;
	qp->build.data = NULL;
}

/* Copied; for SEND and WRITE. */
PLX_INLINE void
plx_wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf, const struct ibv_data_buf *buf_list)
{
	struct plx_qp *qp = __plx_qp_of(&ex->qp_base);
	struct plx_sq_wqe *wqe = qp->build.data;
	uint32_t room = qp->sq.max_inline < qp->msg_max ? qp->sq.max_inline : qp->msg_max, used = 0;
	size_t i;

	if (__plx_unlikely(!wqe || (__PLX_OP(wqe->opcode) & __PLX_OPS_FETCH))) {
		__plx_wr_fail(qp, EINVAL);
		return;
	}
	for (i = 0; i < num_buf; i++) {
		if (__plx_unlikely(buf_list[i].length > room - used)) {
			__plx_wr_fail(qp, EINVAL);
			return;
		}
		if (buf_list[i].length)
			memcpy((uint8_t *)(wqe + 1) + used, buf_list[i].addr, buf_list[i].length);
		used += (uint32_t)buf_list[i].length;
	}
	wqe->flags |= PLX_WQE_INLINE;
	wqe->length = used;
	qp->build.data = NULL;
}

PLX_INLINE void
plx_wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	struct ibv_data_buf buf = { addr, length };

	plx_wr_set_inline_data_list(ex, 1, &buf);
}

/* Where a datagram goes; each must say it. */
PLX_INLINE void
plx_wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct plx_qp *qp = __plx_qp_of(&ex->qp_base);
	struct plx_sq_wqe *wqe = qp->build.wqe;

	if (__plx_unlikely(!wqe || !qp->dgram_opcodes || !__plx_same_pd(qp, ah))) {
		__plx_wr_fail(qp, EINVAL);
		return;
	}
	__plx_send_to(wqe, ah, remote_qpn, remote_qkey);
	qp->build.missing = 0;
}

/* At which SRQ of the peer a request on XRC is aimed; each must say it. */
PLX_INLINE void
plx_wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn)
{
	struct plx_qp *qp = __plx_qp_of(&ex->qp_base);
	struct plx_sq_wqe *wqe = qp->build.wqe;

	if (__plx_unlikely(!wqe || !qp->xrc_opcodes)) {
		__plx_wr_fail(qp, EINVAL);
		return;
	}
	wqe->xrc_srqn = remote_srqn;
	qp->build.missing = 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path as static inline functions: a work request becomes a slot of a ring here, and in
 * poll_inline.h a slot a work completion. Included by <pollux/verbs.h> alone. Any thread may post to any
 * QP and poll any CQ; each queue has a lock that is held for one call.
 *
 * The library compiles the same functions once more as exported ones (PLX_INLINE is empty there),
 * for bindings that cannot include a header.
 */
#ifndef POLLUX_VERBS_INLINE_H
#define POLLUX_VERBS_INLINE_H

#include <sched.h>

#include <pollux/objects.h>

#define __plx_likely(x) __builtin_expect(!!(x), 1)
#define __plx_unlikely(x) __builtin_expect(!!(x), 0)

#define __PLX_LOCK_SPINS 256	/* the holder was preempted: let it run */

static inline void
__plx_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static inline void
__plx_lock(uint32_t *lock)
{
	unsigned int spins = 0;

	while (__plx_unlikely(__atomic_exchange_n(lock, 1u, __ATOMIC_ACQUIRE))) {
		while (__atomic_load_n(lock, __ATOMIC_RELAXED)) {
			if (++spins % __PLX_LOCK_SPINS == 0)
				sched_yield();
			else
				__plx_pause();
		}
	}
}

static inline void
__plx_unlock(uint32_t *lock)
{
	__atomic_store_n(lock, 0u, __ATOMIC_RELEASE);
}

/* A queue of a thread domain has one user at a time: the program sees to that. */
static inline void
__plx_wq_lock(struct plx_wq *wq)
{
	if (!__plx_unlikely(wq->single))
		__plx_lock(&wq->lock);
}

static inline void
__plx_wq_unlock(struct plx_wq *wq)
{
	__plx_unlock(&wq->lock);	/* which is 0 already where nobody took it */
}

/*
 * After a doorbell. A core that others drive is driven now; when another thread has it and has not
 * seen the bell, the core's sleeping thread must. `asleep` is what plx_bell_publish() said.
 */
static inline void
__plx_kick(const struct plx_core_end *core, struct plx_wq_ctl *ctl, int asleep, enum plx_drive how)
{
	if (core->drive) {
		core->drive(core->arg, how);
		if (!asleep || !__atomic_load_n(&ctl->bell, __ATOMIC_RELAXED))
			return;
	}
	if (asleep)
		core->wake(core->arg);
}

static inline int
__plx_wq_full(struct plx_wq *wq, uint32_t tail)
{
	return tail - __atomic_load_n(&wq->head, __ATOMIC_ACQUIRE) >= wq->max_wr;
}

/* May a send be posted at all? 0, EIO in a forked child, EINVAL below RTS (E4). */
static inline int
__plx_send_allowed(struct plx_qp *qp)
{
	struct plx_context *ctx = __plx_context_of(qp->v.qp.context);

	if (__plx_unlikely(ctx->refuse))
		return ctx->refuse;
	return __atomic_load_n(&qp->v.qp.state, __ATOMIC_RELAXED) < IBV_QPS_RTS ? EINVAL : 0;
}

#define __PLX_OP(op) (1u << (op))
#define __PLX_OPS_ATOMIC (__PLX_OP(IBV_WR_ATOMIC_CMP_AND_SWP) | __PLX_OP(IBV_WR_ATOMIC_FETCH_AND_ADD))
/* these take data from the peer: nothing to inline */
#define __PLX_OPS_FETCH (__PLX_OPS_ATOMIC | __PLX_OP(IBV_WR_RDMA_READ))
/* these are not finished by an ACK: nothing to do with max_rd_atomic 0 */
#define __PLX_OPS_ANSWERED (__PLX_OPS_FETCH | __PLX_OP(IBV_WR_ATOMIC_WRITE) | __PLX_OP(PLX_WR_FLUSH))

/* The same of one of them. */
static inline int
__plx_send_check_answered(const struct plx_qp *qp, const struct ibv_send_wr *wr, uint32_t op)
{
	uint64_t sum = 0;
	int i;

	if ((op & __PLX_OPS_FETCH) && (wr->send_flags & IBV_SEND_INLINE))
		return EINVAL;
	/* in ERR it is only flushed */
	if (!qp->max_rd_atomic && qp->v.qp.state != IBV_QPS_ERR)
		return EINVAL;
	if (!(op & __PLX_OP(IBV_WR_ATOMIC_WRITE)))
		return 0;
	for (i = 0; i < wr->num_sge; i++)
		sum += wr->sg_list[i].length;
	return sum == sizeof(uint64_t) ? 0 : EINVAL;
}

/* Does the WR, whose opcode the QP has, fit it? 0 or EINVAL (FC52). */
static inline int
__plx_send_check(const struct plx_qp *qp, const struct ibv_send_wr *wr, uint32_t op)
{
	if (__plx_unlikely(wr->num_sge < 0 || (uint32_t)wr->num_sge > qp->sq.max_sge))
		return EINVAL;
	return op & __PLX_OPS_ANSWERED ? __plx_send_check_answered(qp, wr, op) : 0;
}

/* Copies the data behind the WQE. 0, or EINVAL when it is more than the queue was granted. */
static inline int
__plx_send_inline(const struct plx_wq *sq, struct plx_sq_wqe *wqe, const struct ibv_send_wr *wr)
{
	uint8_t *to = (uint8_t *)(wqe + 1);
	uint32_t room = sq->max_inline, used = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		uint32_t len = wr->sg_list[i].length;

		if (__plx_unlikely(len > room - used))
			return EINVAL;
		if (len)
			memcpy(to + used, (const void *)(uintptr_t)wr->sg_list[i].addr, len);
		used += len;
	}
	wqe->num_sge = 0;
	wqe->length = used;
	return 0;
}

/* Copies the SGEs behind the WQE. The bytes of all. */
static inline uint64_t
__plx_sges_copy(struct plx_sq_wqe *wqe, const struct ibv_sge *sge, uint32_t num_sge)
{
	struct plx_sge *to = (struct plx_sge *)(wqe + 1);
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < num_sge; i++) {
		to[i].addr = sge[i].addr;
		to[i].length = sge[i].length;
		to[i].lkey = sge[i].lkey;
		sum += sge[i].length;
	}
	return sum;
}

/* 0, or EINVAL beyond 2^31 bytes in all (FC59). */
static inline int
__plx_send_sges(struct plx_sq_wqe *wqe, const struct ibv_send_wr *wr)
{
	uint64_t sum = __plx_sges_copy(wqe, wr->sg_list, (uint32_t)wr->num_sge);

	if (__plx_unlikely(sum > 1ull << 31))
		return EINVAL;
	wqe->num_sge = (uint16_t)wr->num_sge;
	wqe->length = (uint32_t)sum;
	return 0;
}

static inline void
__plx_send_remote(struct plx_sq_wqe *wqe, const struct ibv_send_wr *wr)
{
	if (__PLX_OP(wr->opcode) & __PLX_OPS_ATOMIC) {
		wqe->remote_addr = wr->wr.atomic.remote_addr;
		wqe->rkey = wr->wr.atomic.rkey;
		wqe->atomic.compare_add = wr->wr.atomic.compare_add;
		wqe->atomic.swap = wr->wr.atomic.swap;
	} else {
		wqe->remote_addr = wr->wr.rdma.remote_addr;
		wqe->rkey = wr->wr.rdma.rkey;
	}
}

static inline struct plx_sq_wqe *
__plx_send_slot(const struct plx_wq *sq, uint32_t tail)
{
	return (struct plx_sq_wqe *)(sq->slots + (size_t)(tail & sq->mask) * sq->stride);
}

/* All that a WQE has but where it goes. 0, EINVAL, or ENOMEM when the queue is full. */
static inline int
__plx_send_write(struct plx_qp *qp, uint32_t tail, const struct ibv_send_wr *wr)
{
	struct plx_wq *sq = &qp->sq;
	struct plx_sq_wqe *wqe = __plx_send_slot(sq, tail);
	unsigned int flags = wr->send_flags & (IBV_SEND_FENCE | IBV_SEND_SIGNALED |
					       IBV_SEND_SOLICITED | IBV_SEND_INLINE);
	int err;

	if (__plx_unlikely(__plx_wq_full(sq, tail)))
		return ENOMEM;
	if (flags & IBV_SEND_INLINE)
		err = __plx_send_inline(sq, wqe, wr);
	else
		err = __plx_send_sges(wqe, wr);
	if (__plx_unlikely(err))
		return err;
	if (qp->sig_all)
		flags |= IBV_SEND_SIGNALED;
	wqe->wr_id = wr->wr_id;
	wqe->opcode = (uint8_t)wr->opcode;
	wqe->flags = (uint8_t)flags;
	wqe->imm = wr->imm_data;
	return 0;
}

/* A parent domain and what it was made of are one PD. */
static inline int
__plx_same_pd(const struct plx_qp *qp, const struct ibv_ah *ah)
{
	return ah && (ah->pd == qp->v.qp.pd || ah->pd->handle == qp->v.qp.pd->handle);
}

static inline void
__plx_send_to(struct plx_sq_wqe *wqe, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	wqe->ud.ah = ah->handle;
	wqe->ud.ah_gen = __plx_ah_of(ah)->gen;
	wqe->ud.qpn = qpn;
	wqe->ud.qkey = qkey;
}

/*
 * The same for a datagram. It says itself where it goes, and it is one packet: more than the MTU is refused
 * (B30). 0, EINVAL (also for an address handle of another PD), or ENOMEM when the queue is full.
 */
static inline int
__plx_send_dgram(struct plx_qp *qp, uint32_t tail, const struct ibv_send_wr *wr, uint32_t op)
{
	struct plx_sq_wqe *wqe = __plx_send_slot(&qp->sq, tail);
	struct ibv_ah *ah = wr->wr.ud.ah;
	int err;

	if (!(op & qp->dgram_opcodes) || !__plx_same_pd(qp, ah))
		return EINVAL;
	err = __plx_send_check(qp, wr, op);
	if (!err)
		err = __plx_send_write(qp, tail, wr);
	if (err)
		return err;
	if (wqe->length > qp->msg_max)
		return EINVAL;
	__plx_send_to(wqe, ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey);
	return 0;
}

/* The same for XRC: each request names the peer's SRQ. */
static inline int
__plx_send_xrc(struct plx_qp *qp, uint32_t tail, const struct ibv_send_wr *wr, uint32_t op)
{
	struct plx_sq_wqe *wqe = __plx_send_slot(&qp->sq, tail);
	int err = op & qp->xrc_opcodes ? __plx_send_check(qp, wr, op) : EINVAL;

	if (!err)
		err = __plx_send_write(qp, tail, wr);
	if (err)
		return err;
	__plx_send_remote(wqe, wr);
	wqe->xrc_srqn = wr->qp_type.xrc.remote_srqn;
	return 0;
}

/* local_inline.h: the same for what has no packet. */
static inline int __plx_send_local(struct plx_qp *qp, uint32_t tail, const struct ibv_send_wr *wr);

/* Those that are not a connected peer's. */
static inline int
__plx_send_other(struct plx_qp *qp, uint32_t tail, const struct ibv_send_wr *wr, uint32_t op)
{
	if (op & qp->local_opcodes)
		return __plx_send_local(qp, tail, wr);
	return qp->xrc_opcodes ? __plx_send_xrc(qp, tail, wr, op) : __plx_send_dgram(qp, tail, wr, op);
}

/* Writes WQE number `tail`. 0, EINVAL, or ENOMEM when the queue is full. */
static inline int
__plx_send_one(struct plx_qp *qp, uint32_t tail, const struct ibv_send_wr *wr)
{
	uint32_t op = (unsigned int)wr->opcode < 32 ? __PLX_OP(wr->opcode) : 0;
	int err;

	if (__plx_unlikely(!(op & qp->opcodes)))
		return __plx_send_other(qp, tail, wr, op);
	err = __plx_send_check(qp, wr, op);
	if (__plx_unlikely(err))
		return err;
	err = __plx_send_write(qp, tail, wr);
	if (__plx_unlikely(err))
		return err;
	__plx_send_remote(__plx_send_slot(&qp->sq, tail), wr);
	return 0;
}

/* Publishes the WQEs before `tail`. 1: the core sleeps and must be woken; *how: as it is to be driven. */
static inline int
__plx_send_publish(struct plx_qp *qp, uint32_t tail, enum plx_drive *how)
{
	struct plx_wq *sq = &qp->sq;

	if (sq->tail != __atomic_load_n(&sq->ctl->head, __ATOMIC_RELAXED))
		*how = PLX_DRIVE_MORE;
	sq->tail = tail;
	return plx_bell_publish(qp->core->bell, sq->ctl, tail, qp->v.qp.handle, PLX_BELL_SQ);
}

/*
 * plx_post_send - post a chain of send work requests
 * @qp: in RTS, SQD or ERR (there it completes with IBV_WC_WR_FLUSH_ERR)
 * @bad_wr: on an error, the first WR that was not posted; those before it were
 *
 * One doorbell for the whole chain. 0; EINVAL: the QP's state, or the WR's opcode, number of SGEs,
 * inline length, total length (of a UD send: more than the port's MTU; of an ATOMIC_WRITE: not 8) or
 * address handle; READ, an atomic or ATOMIC_WRITE while max_rd_atomic is 0; ENOMEM: the
 * queue is full; EIO: in a forked child. Any thread.
 */
PLX_INLINE int
plx_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	struct plx_qp *pqp = __plx_qp_of(qp);
	struct plx_wq *sq = &pqp->sq;
	int err = __plx_send_allowed(pqp), rung = 0, asleep = 0;
	enum plx_drive how = PLX_DRIVE_POST;
	uint32_t tail;

	if (__plx_unlikely(err)) {
		*bad_wr = wr;
		return err;
	}
	__plx_wq_lock(sq);
	for (tail = sq->tail; wr; wr = wr->next, tail++) {
		err = __plx_send_one(pqp, tail, wr);
		if (__plx_unlikely(err)) {
			*bad_wr = wr;
			break;
		}
	}
	if (tail != sq->tail) {
		asleep = __plx_send_publish(pqp, tail, &how);
		rung = 1;
	}
	__plx_wq_unlock(sq);
	if (rung)
		__plx_kick(pqp->core, sq->ctl, asleep, how);
	return err;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path of receives: a work request becomes a slot of the queue pair's own ring, or of one that
 * several share. Included by <pollux/verbs.h> alone, after verbs_inline.h.
 */
#ifndef POLLUX_RECV_INLINE_H
#define POLLUX_RECV_INLINE_H

#include <pollux/verbs_inline.h>

/* May a receive be posted at all? 0, EIO in a forked child, EINVAL in RESET (E4). */
static inline int
__plx_recv_allowed(struct plx_qp *qp)
{
	struct plx_context *ctx = __plx_context_of(qp->v.qp.context);

	if (__plx_unlikely(ctx->refuse))
		return ctx->refuse;
	return __atomic_load_n(&qp->v.qp.state, __ATOMIC_RELAXED) == IBV_QPS_RESET ? EINVAL : 0;
}

static inline void
__plx_recv_write(struct plx_wq *rq, uint32_t tail, const struct ibv_recv_wr *wr)
{
	struct plx_rq_wqe *wqe = (struct plx_rq_wqe *)
		(rq->slots + (size_t)(tail & rq->mask) * rq->stride);
	struct plx_sge *to = (struct plx_sge *)(wqe + 1);
	int i;

	wqe->wr_id = wr->wr_id;
	wqe->num_sge = (uint32_t)wr->num_sge;
	for (i = 0; i < wr->num_sge; i++) {
		to[i].addr = wr->sg_list[i].addr;
		to[i].length = wr->sg_list[i].length;
		to[i].lkey = wr->sg_list[i].lkey;
	}
}

/* Writes WQE number `tail`. 0, EINVAL, or ENOMEM when the queue is full. */
static inline int
__plx_recv_one(struct plx_wq *rq, uint32_t tail, const struct ibv_recv_wr *wr)
{
	if (__plx_unlikely(wr->num_sge < 0 || (uint32_t)wr->num_sge > rq->max_sge))
		return EINVAL;
	if (__plx_unlikely(__plx_wq_full(rq, tail)))
		return rq->max_wr ? ENOMEM : EINVAL;	/* it has none, or a shared one (FC63) */
	__plx_recv_write(rq, tail, wr);
	return 0;
}

/*
 * Publishes receives. The core looks at the queue when a message comes; only in ERR, when it must
 * flush what is posted, does it ask for a bell. Returns 1 when one was rung.
 */
static inline int
__plx_recv_publish(struct plx_qp *qp, uint32_t tail, int *asleep)
{
	struct plx_wq *rq = &qp->rq;

	__atomic_store_n(&rq->ctl->tail, tail, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!__plx_unlikely(__atomic_load_n(&rq->ctl->bell_wanted, __ATOMIC_RELAXED)))
		return 0;
	*asleep = plx_bell_publish(qp->core->bell, rq->ctl, tail, qp->v.qp.handle, PLX_BELL_RQ);
	return 1;
}

/*
 * plx_post_recv - post a chain of receive work requests
 * @qp: in any state but RESET
 * @bad_wr: on an error, the first WR that was not posted; those before it were
 *
 * 0; EINVAL: the QP's state or the number of SGEs, or its receives come from an SRQ; ENOMEM: the queue
 * is full; EIO: in a forked child. Any thread.
 */
PLX_INLINE int
plx_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct plx_qp *pqp = __plx_qp_of(qp);
	struct plx_wq *rq = &pqp->rq;
	int err = __plx_recv_allowed(pqp), rung = 0, asleep = 0;
	uint32_t tail;

	if (__plx_unlikely(err)) {
		*bad_wr = wr;
		return err;
	}
	__plx_wq_lock(rq);
	for (tail = rq->tail; wr; wr = wr->next, tail++) {
		err = __plx_recv_one(rq, tail, wr);
		if (__plx_unlikely(err)) {
			*bad_wr = wr;
			break;
		}
	}
	if (tail != rq->tail) {
		rq->tail = tail;
		rung = __plx_recv_publish(pqp, tail, &asleep);
	}
	__plx_wq_unlock(rq);
	if (__plx_unlikely(rung))
		__plx_kick(pqp->core, rq->ctl, asleep, PLX_DRIVE_POST);
	return err;
}

/* The core frees a slot as soon as it has copied the WQE out. */
static inline int
__plx_srq_full(struct plx_wq *wq, uint32_t tail)
{
	if (tail - wq->head < wq->max_wr)
		return 0;
	wq->head = __atomic_load_n(&wq->ctl->head, __ATOMIC_ACQUIRE);
	return tail - wq->head >= wq->max_wr;
}

/* As __plx_recv_one() for a shared queue. */
static inline int
__plx_srq_recv_one(struct plx_wq *wq, uint32_t tail, const struct ibv_recv_wr *wr)
{
	if (__plx_unlikely(wr->num_sge < 0 || (uint32_t)wr->num_sge > wq->max_sge))
		return EINVAL;
	if (__plx_unlikely(__plx_srq_full(wq, tail)))
		return ENOMEM;
	__plx_recv_write(wq, tail, wr);
	return 0;
}

/*
 * plx_post_srq_recv - post a chain of receive work requests to a shared receive queue
 * @bad_wr: on an error, the first WR that was not posted; those before it were
 *
 * Messages take them in this order, whatever their QP (F11). 0; EINVAL: the number of SGEs; ENOMEM: the
 * queue is full; EIO: in a forked child. Any thread.
 */
PLX_INLINE int
plx_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	struct plx_wq *wq = &__plx_srq_of(srq)->wq;
	int err = __plx_context_of(srq->context)->refuse;
	uint32_t tail;

	if (__plx_unlikely(err)) {
		*bad_wr = wr;
		return err;
	}
	__plx_wq_lock(wq);
	for (tail = wq->tail; wr; wr = wr->next, tail++) {
		err = __plx_srq_recv_one(wq, tail, wr);
		if (__plx_unlikely(err)) {
			*bad_wr = wr;
			break;
		}
	}
	if (tail != wq->tail) {
		wq->tail = tail;
		__atomic_store_n(&wq->ctl->tail, tail, __ATOMIC_RELEASE);
	}
	__plx_wq_unlock(wq);
	return err;
}

#endif

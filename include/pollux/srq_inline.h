/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path of shared receive queues: a receive work request becomes a slot of a ring that several
 * QPs take from. Included by <pollux/verbs.h> alone, after verbs_inline.h.
 */
#ifndef POLLUX_SRQ_INLINE_H
#define POLLUX_SRQ_INLINE_H

#include <pollux/verbs_inline.h>

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
	__plx_lock(&wq->lock);
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
	__plx_unlock(&wq->lock);
	return err;
}

#endif

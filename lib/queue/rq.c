/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where does the next SEND go? Asked by the responder at the first packet of a SEND and at the
 * immediate of a WRITE, and when a QP is flushed. Owning core only; nothing in the ring is believed.
 */
#include <errno.h>
#include <string.h>

#include "queue/rq.h"

void
rq_init(struct rq *rq, const struct wq_conf *conf)
{
	rq->c = *conf;
	rq->tail = 0;
	rq->head = 0;
}

/* WQEs that wait, after a fresh look at the ring. A tail further ahead than the queue holds is a lie
 * and changes nothing: it must not keep a flush going for ever. */
static uint32_t
look(struct rq *rq)
{
	uint32_t known = rq->tail - rq->head;
	uint32_t now = __atomic_load_n(&rq->c.ctl->tail, __ATOMIC_ACQUIRE) - rq->head;

	if (now <= rq->c.max_wr && now > known)
		rq->tail = rq->head + now;
	return rq->tail - rq->head;
}

int
rq_copy(const struct wq_conf *c, uint32_t index, struct rq_wqe *out)
{
	const uint8_t *slot = c->slots + (size_t)(index & ((1u << c->log2_size) - 1)) * c->stride;
	struct plx_rq_wqe fixed;

	memcpy(&fixed, slot, sizeof(fixed));
	/* one read: from here on only the copy is looked at (FC65) */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	out->wr_id = fixed.wr_id;
	out->num_sge = fixed.num_sge;
	if (fixed.num_sge > PLX_MAX_SGE || fixed.num_sge > c->max_sge ||
	    sizeof(fixed) + fixed.num_sge * sizeof(struct plx_sge) > c->stride) {
		out->num_sge = 0;
		return -EINVAL;
	}
	memcpy(out->sge, slot + sizeof(fixed), fixed.num_sge * sizeof(struct plx_sge));
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return 1;
}

int
rq_take(struct rq *rq, struct rq_wqe *out)
{
	int taken;

	if (!rq->c.max_wr || (rq->tail == rq->head && !look(rq)))
		return 0;
	taken = rq_copy(&rq->c, rq->head, out);
	rq->head++;
	__atomic_store_n(&rq->c.ctl->head, rq->head, __ATOMIC_RELAXED);
	return taken;
}

void
rq_reset(struct rq *rq)
{
	if (!rq->c.max_wr)
		return;
	look(rq);
	rq->head = rq->tail;
	__atomic_store_n(&rq->c.ctl->head, rq->head, __ATOMIC_RELAXED);
}

bool
rq_want_bell(struct rq *rq, bool want)
{
	if (!rq->c.max_wr)
		return false;
	__atomic_store_n(&rq->c.ctl->bell_wanted, want, __ATOMIC_RELAXED);
	if (!want)
		return false;
	__atomic_store_n(&rq->c.ctl->bell, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return look(rq) != 0;
}

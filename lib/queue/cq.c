/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How does a completion reach the application? Asked by transport for every CQE. Home core only.
 */
#include "queue/cq.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

void
cq_init(struct cq *cq, struct plx_cq_ctl *ctl, struct plx_cqe *ring, uint32_t log2_size,
	uint32_t limit)
{
	*cq = (struct cq){
		.ctl = ctl,
		.ring = ring,
		.log2_size = log2_size,
		.limit = limit,
		.event_fd = -1,
		.async_fd = -1,
	};
	list_node_init(&cq->event_node);
	list_init(&cq->users);
}

/* How many are not polled. A head outside [head_seen, tail] is a lie and changes nothing. */
static uint32_t
fill(struct cq *cq)
{
	uint32_t head = __atomic_load_n(&cq->ctl->head, __ATOMIC_ACQUIRE);

	if (cq->tail - head <= cq->tail - cq->head_seen)
		cq->head_seen = head;
	return cq->tail - cq->head_seen;
}

static bool
full(struct cq *cq)
{
	return cq->tail - cq->head_seen >= cq->limit && fill(cq) >= cq->limit;
}

int
cq_move(struct cq *cq, struct plx_cqe *ring, uint32_t log2_size, uint32_t cqe)
{
	uint32_t n = fill(cq), from = cq->head_seen;

	if (n > cqe)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		ring[i] = cq->ring[(from + i) & ((1u << cq->log2_size) - 1)];
		ring[i].phase = plx_cqe_phase(i, log2_size);
	}
	cq_refit(cq, cq->ctl, ring, log2_size);
	cq->tail = n;
	__atomic_store_n(&cq->ctl->head, 0, __ATOMIC_RELEASE);
	return 0;
}

void
cq_refit(struct cq *cq, struct plx_cq_ctl *ctl, struct plx_cqe *ring, uint32_t log2_size)
{
	cq->ctl = ctl;
	cq->ring = ring;
	cq->log2_size = log2_size;
	cq->limit = 1u << log2_size;
	cq->tail = cq->head_seen = 0;
}

enum cq_push
cq_end(struct cq *cq)
{
	if (cq->overflowed)
		return CQ_OVERFLOW;
	cq->overflowed = true;
	__atomic_store_n(&cq->ctl->overflow, 1, __ATOMIC_RELEASE);
	return CQ_OVERFLOW_FIRST;
}

static void
publish(struct cq *cq, const struct plx_cqe *cqe)
{
	struct plx_cqe *slot = &cq->ring[cq->tail & ((1u << cq->log2_size) - 1)];

	/* all but the phase, which a poller may be looking at */
	memcpy(slot, cqe, offsetof(struct plx_cqe, phase));
	__atomic_store_n(&slot->phase, plx_cqe_phase(cq->tail, cq->log2_size), __ATOMIC_RELEASE);
	cq->tail++;
}

/* D-4: the application armed and then polled, or sees the event; never neither. */
static bool
take_arm(struct cq *cq, bool solicited)
{
	uint32_t arm;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	arm = __atomic_load_n(&cq->ctl->arm, __ATOMIC_RELAXED);
	if (arm != PLX_CQ_ARM_ANY && !(arm == PLX_CQ_ARM_SOLICITED && solicited))
		return false;
	return __atomic_exchange_n(&cq->ctl->arm, PLX_CQ_ARM_NONE, __ATOMIC_ACQ_REL) !=
	       PLX_CQ_ARM_NONE;
}

enum cq_push
cq_push(struct cq *cq, const struct plx_cqe *cqe)
{
	if (cq->overflowed || full(cq))
		return cq->lossy ? CQ_LOST : cq_end(cq);
	publish(cq, cqe);
	return take_arm(cq, cqe->solicited != 0) ? CQ_PUSHED_EVENT : CQ_PUSHED;
}

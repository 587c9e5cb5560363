/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The doorbell ring: one for each (client, core). Many application threads put entries in, the
 * core takes them out. A queue stands in it at most once (plx_wq_ctl.bell), so a ring with room for
 * two entries per QP that the device allows never overflows.
 *
 * An entry is claimed with one fetch_add and filled with one release store; a client that dies
 * between the two stalls its own ring only.
 */
#ifndef POLLUX_ABI_DOORBELL_H
#define POLLUX_ABI_DOORBELL_H

#include <pollux/abi/ring.h>

#define PLX_BELL_SLOTS 131072u /* power of two; two for each of max_qp 65,536 */

enum plx_bell_kind {
	PLX_BELL_SQ = 0,
	PLX_BELL_RQ = 1,
};

struct plx_bell_ring {
	/* written by application threads */
	uint32_t tail;			/* entries claimed */
	uint8_t pad_app[PLX_CACHE_LINE - 4];
	/* written by the core */
	uint32_t asleep;		/* 1: the core sleeps; after ringing, wake it by its wake fd */
	uint8_t pad_core[PLX_CACHE_LINE - 4];
	uint32_t slot[PLX_BELL_SLOTS];	/* 0 empty, else plx_bell_entry() */
};

/* QP handle (index, below 2^30) and kind as a non-zero word. */
static inline uint32_t
plx_bell_entry(uint32_t handle, enum plx_bell_kind kind)
{
	return ((handle << 1) | (uint32_t)kind) + 1;
}

static inline uint32_t
plx_bell_handle(uint32_t entry)
{
	return (entry - 1) >> 1;
}

static inline enum plx_bell_kind
plx_bell_kind(uint32_t entry)
{
	return (enum plx_bell_kind)((entry - 1) & 1);
}

/*
 * Application: publish `tail` of a queue and ring for it unless an entry is on its way already.
 * Any thread that holds the queue's lock. Returns 1 when the core sleeps and must be woken by the
 * caller, else 0.
 */
static inline int
plx_bell_publish(struct plx_bell_ring *ring, struct plx_wq_ctl *wq, uint32_t tail,
		 uint32_t handle, enum plx_bell_kind kind)
{
	uint32_t at;

	__atomic_store_n(&wq->tail, tail, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&wq->bell, __ATOMIC_RELAXED) != 0)
		return 0;
	__atomic_store_n(&wq->bell, 1, __ATOMIC_RELAXED);
	at = __atomic_fetch_add(&ring->tail, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&ring->slot[at & (PLX_BELL_SLOTS - 1)], plx_bell_entry(handle, kind),
			 __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return (int)__atomic_load_n(&ring->asleep, __ATOMIC_RELAXED);
}

#endif

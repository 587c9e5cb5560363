/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control words that the two ends of a ring share: an application's thread on one side, the
 * core that owns the object on the other. Everything here is a layout, and holds offsets and
 * counters, never pointers, for the two ends may be two processes.
 *
 * Plain integers with the __atomic builtins instead of _Atomic, so that C++ reads the same header.
 * All counters run freely (no wrap at the ring's size); slot = counter & (size - 1).
 *
 * One handshake serves every "is the other side awake" word (bell, bell_wanted, armed, asleep):
 * publish the data, seq_cst fence, test the word; the other side clears or sets the word, seq_cst
 * fence, looks at the data again.
 */
#ifndef POLLUX_ABI_RING_H
#define POLLUX_ABI_RING_H

#include <stdint.h>

#define PLX_CACHE_LINE 64

#ifdef __cplusplus
#define PLX_ABI_ASSERT(cond, text) static_assert(cond, text)
#else
#define PLX_ABI_ASSERT(cond, text) _Static_assert(cond, text)
#endif

/* Control words of a work queue: a send queue, a receive queue or a shared receive queue. */
struct plx_wq_ctl {
	/* written by the application */
	uint32_t tail;		/* WQEs published so far; release after the slot is filled */
	uint32_t bell;		/* 1: this queue stands in the doorbell ring. Set by the application,
				 * cleared by the core before it reads tail */
	uint8_t pad_app[PLX_CACHE_LINE - 8];
	/* written by the core */
	uint32_t head;		/* WQEs that the core has taken; for information */
	uint32_t bell_wanted;	/* RQ only. 1: the core wants a doorbell for the next WQE (QP in ERR) */
	uint8_t pad_core[PLX_CACHE_LINE - 8];
};
PLX_ABI_ASSERT(sizeof(struct plx_wq_ctl) == 2 * PLX_CACHE_LINE, "a line each");

enum plx_cq_arm {
	PLX_CQ_ARM_NONE = 0,
	PLX_CQ_ARM_SOLICITED = 1,
	PLX_CQ_ARM_ANY = 2,
};

/* Control words of a completion queue. */
struct plx_cq_ctl {
	/* written by the application */
	uint32_t head;		/* CQEs polled so far; release after the slot was copied out. In a resize,
				 * while the application does not poll, the core begins at 0 again */
	uint32_t arm;		/* enum plx_cq_arm. Set by the application, taken (exchanged for NONE)
				 * by the core when it sends the event */
	uint8_t pad_app[PLX_CACHE_LINE - 8];
	/* written by the core */
	uint32_t overflow;	/* 1: a CQE found no room; nothing is added any more */
	uint8_t pad_core[PLX_CACHE_LINE - 4];
};
PLX_ABI_ASSERT(sizeof(struct plx_cq_ctl) == 2 * PLX_CACHE_LINE, "a line each");

#endif

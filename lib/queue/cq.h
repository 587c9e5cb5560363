/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core's half of a completion queue: one producer, the CQ's home core.
 */
#ifndef QUEUE_CQ_H
#define QUEUE_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include <pollux/abi/cqe.h>

struct cq {
	struct plx_cq_ctl *ctl;
	struct plx_cqe *ring;
	uint32_t log2_size;
	uint32_t limit;			/* CQEs it holds: what the application was granted */
	uint32_t tail;			/* produced; never read back from the ring */
	uint32_t head_seen;		/* polled, as last read from ctl */
	bool overflowed;
	bool lossy;			/* what finds no room is lost, and nothing ends of it */
	bool event_due;			/* stands in the list of CQs that owe an event */
	uint64_t (*clock)(void);	/* stamps its CQEs; NULL: nobody looks at their time */
	struct list_node event_node;
	struct list users;		/* the QPs that complete here (a node of theirs for each of their
					 * queues): all of them end when it overflows (D-6) */
	uint32_t handle, gen;		/* what the application knows it by */
	int event_fd;			/* the stack's end of its channel, -1 without one; for the engine */
	int async_fd;			/* of its context; for the engine */
};

void cq_init(struct cq *cq, struct plx_cq_ctl *ctl, struct plx_cqe *ring, uint32_t log2_size,
	     uint32_t limit);

/*
 * Home core, or anyone while no core knows the CQ; the application does not poll meanwhile. What is
 * not polled goes to a zeroed ring of 2^log2_size >= cqe slots, in order (D-7), and both sides count
 * from 0 again. 0, or -EINVAL when that is more than `cqe`: then nothing has changed.
 */
int cq_move(struct cq *cq, struct plx_cqe *ring, uint32_t log2_size, uint32_t cqe);

/* Home core. Goes on in a zeroed ring, with zeroed control words; the old ones stay as they are. */
void cq_refit(struct cq *cq, struct plx_cq_ctl *ctl, struct plx_cqe *ring, uint32_t log2_size);

enum cq_push {
	CQ_PUSHED,
	CQ_PUSHED_EVENT,		/* and the CQ was armed for it: it is now disarmed, an event is due */
	CQ_OVERFLOW_FIRST,		/* no room, for the first time: raise CQ_ERR (D-6) */
	CQ_OVERFLOW,
	CQ_LOST,			/* no room, and the CQ is lossy */
};

/* Home core. Takes no more CQEs, as if it had overflowed. CQ_OVERFLOW_FIRST, or CQ_OVERFLOW when that
 * was so already. */
enum cq_push cq_end(struct cq *cq);

/* Home core. Writes one CQE (its phase is filled in here) and does the arm handshake. */
enum cq_push cq_push(struct cq *cq, const struct plx_cqe *cqe);

#endif

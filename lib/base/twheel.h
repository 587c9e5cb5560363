/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Timer wheel: arm and cancel in O(1), time in ns given by the caller, one thread (the core).
 *
 * Nine wheels of 64 slots, each turning 64 times slower than the one below; together they span all
 * of uint64_t, so that no timeout overflows (the longest local ACK timeout is 2^43 ns, 2.4 hours).
 * A node lies in the wheel of the highest 6-bit digit in which its tick differs from the present
 * one, and moves down when time reaches its slot: at most eight moves in its life, none for a timer
 * that is cancelled before.
 */
#ifndef BASE_TWHEEL_H
#define BASE_TWHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

#define TWHEEL_SHIFT 13				/* a tick is 2^13 ns = 8.192 us */
#define TWHEEL_GRAIN_NS (UINT64_C(1) << TWHEEL_SHIFT)
#define TWHEEL_LEVELS 9				/* 13 + 9 * 6 bits >= 64 */
#define TWHEEL_SLOTS 64

struct twheel_node {
	struct list_node link;
	uint64_t tick;		/* first tick at which it may fire */
	uint16_t slot;		/* index into slots[], or TWHEEL_NO_SLOT while it is due */
};

#define TWHEEL_NO_SLOT UINT16_MAX

struct twheel {
	uint64_t tick;				/* the present */
	uint64_t busy[TWHEEL_LEVELS];		/* slots that have nodes */
	struct list due;			/* armed for the past; fire at the next advance */
	struct list slots[TWHEEL_LEVELS * TWHEEL_SLOTS];
};

void twheel_init(struct twheel *w, uint64_t now);

static inline void
twheel_node_init(struct twheel_node *n)
{
	list_node_init(&n->link);
}

static inline bool
twheel_armed(const struct twheel_node *n)
{
	return list_linked(&n->link);
}

/*
 * The node fires at the first twheel_advance() whose `now` is at least at_ns rounded up to a tick:
 * never early, late by less than TWHEEL_GRAIN_NS plus the time between two advances. An at_ns whose
 * tick has passed fires at the next advance. An armed node is moved. The node must have been
 * initialised (or be zeroed memory).
 */
void twheel_arm(struct twheel *w, struct twheel_node *n, uint64_t at_ns);

/* Nothing happens to a node that is not armed. */
void twheel_cancel(struct twheel *w, struct twheel_node *n);

/*
 * Calls fn(arg, node) for each node whose time has come, in order of ticks (in one tick in no
 * promised order). The node is not armed then; fn may arm it again, arm or cancel any other, and
 * free it. A `now` before an earlier one does nothing but fire what was armed for the past.
 * Returns the number of calls.
 */
unsigned int twheel_advance(struct twheel *w, uint64_t now,
			    void (*fn)(void *arg, struct twheel_node *n), void *arg);

/*
 * A lower bound of the time at which an advance next fires something, for sleeping: 0 when
 * something is due already, UINT64_MAX when nothing is armed. For a far timer it is the time at
 * which the node moves down a wheel; a sleeper that wakes then, advances and asks again wakes at
 * most eight times too often.
 */
uint64_t twheel_next(const struct twheel *w);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which timers have come due? Called by the core loop on the owning core, and by simulated time in
 * tests.
 *
 * Invariant: a node in wheel l has the same digits as the present tick above l and a greater digit
 * at l. So the lowest wheel that has nodes holds the earliest, and no slot is ever behind.
 */
#include "base/twheel.h"

#include <assert.h>
#include <string.h>

#define DIGIT_BITS 6
#define DIGIT_MASK (TWHEEL_SLOTS - 1)

#define NEVER UINT64_MAX	/* no tick is so late: ticks have 51 bits */

static unsigned int
digit(uint64_t tick, unsigned int level)
{
	return tick >> (level * DIGIT_BITS) & DIGIT_MASK;
}

/* The highest digit in which two different ticks differ. */
static unsigned int
level_of(uint64_t a, uint64_t b)
{
	return (63u - (unsigned int)__builtin_clzll(a ^ b)) / DIGIT_BITS;
}

static uint64_t
tick_of(uint64_t at_ns)
{
	return (at_ns >> TWHEEL_SHIFT) + ((at_ns & (TWHEEL_GRAIN_NS - 1)) != 0);
}

void
twheel_init(struct twheel *w, uint64_t now)
{
	w->tick = now >> TWHEEL_SHIFT;
	memset(w->busy, 0, sizeof(w->busy));
	list_init(&w->due);
	for (unsigned int i = 0; i < TWHEEL_LEVELS * TWHEEL_SLOTS; i++)
		list_init(&w->slots[i]);
}

static void
make_due(struct list *due, struct twheel_node *n)
{
	n->slot = TWHEEL_NO_SLOT;
	list_push(due, &n->link);
}

static void
file(struct twheel *w, struct twheel_node *n)
{
	unsigned int level = level_of(n->tick, w->tick);
	unsigned int d = digit(n->tick, level);

	assert(level < TWHEEL_LEVELS);
	n->slot = (uint16_t)(level * TWHEEL_SLOTS + d);
	w->busy[level] |= UINT64_C(1) << d;
	list_push(&w->slots[n->slot], &n->link);
}

void
twheel_arm(struct twheel *w, struct twheel_node *n, uint64_t at_ns)
{
	twheel_cancel(w, n);
	n->tick = tick_of(at_ns);
	if (n->tick <= w->tick)
		make_due(&w->due, n);
	else
		file(w, n);
}

void
twheel_cancel(struct twheel *w, struct twheel_node *n)
{
	if (!list_linked(&n->link))
		return;
	list_del(&n->link);
	if (n->slot != TWHEEL_NO_SLOT && list_empty(&w->slots[n->slot]))
		w->busy[n->slot / TWHEEL_SLOTS] &= ~(UINT64_C(1) << (n->slot % TWHEEL_SLOTS));
}

/* The tick at which the earliest slot with nodes begins, and that slot. */
static uint64_t
next_tick(const struct twheel *w, unsigned int *slot)
{
	for (unsigned int level = 0; level < TWHEEL_LEVELS; level++) {
		unsigned int d, shift = level * DIGIT_BITS;

		if (!w->busy[level])
			continue;
		d = (unsigned int)__builtin_ctzll(w->busy[level]);
		assert(d > digit(w->tick, level));
		*slot = level * TWHEEL_SLOTS + d;
		return ((w->tick >> shift & ~(uint64_t)DIGIT_MASK) | d) << shift;
	}
	return NEVER;
}

/* Time has come to a slot: what fires at this very tick is due, the rest moves to lower wheels. */
static void
open_slot(struct twheel *w, unsigned int slot, struct list *due)
{
	struct list_node *l;

	w->busy[slot / TWHEEL_SLOTS] &= ~(UINT64_C(1) << (slot % TWHEEL_SLOTS));
	while ((l = list_pop(&w->slots[slot]))) {
		struct twheel_node *n = container_of(l, struct twheel_node, link);

		if (n->tick <= w->tick)
			make_due(due, n);
		else
			file(w, n);
	}
}

static unsigned int
fire(struct list *due, void (*fn)(void *arg, struct twheel_node *n), void *arg)
{
	unsigned int fired = 0;
	struct list_node *l;

	while ((l = list_pop(due))) {
		fn(arg, container_of(l, struct twheel_node, link));
		fired++;
	}
	return fired;
}

/* What callbacks arm for the past waits in w->due for the next advance: no advance is endless. */
static void
take_due(struct twheel *w, struct list *due)
{
	struct list_node *l;

	while ((l = list_pop(&w->due)))
		list_push(due, l);
}

unsigned int
twheel_advance(struct twheel *w, uint64_t now, void (*fn)(void *arg, struct twheel_node *n),
	       void *arg)
{
	uint64_t target = now >> TWHEEL_SHIFT, tick;
	unsigned int fired, slot = 0;
	struct list due;

	if (target <= w->tick && list_empty(&w->due))
		return 0;	/* most calls: the core loops many times a tick */
	list_init(&due);
	take_due(w, &due);
	fired = fire(&due, fn, arg);
	while ((tick = next_tick(w, &slot)) <= target) {
		w->tick = tick;
		open_slot(w, slot, &due);
		fired += fire(&due, fn, arg);
	}
	if (target > w->tick)
		w->tick = target;
	return fired;
}

uint64_t
twheel_next(const struct twheel *w)
{
	unsigned int slot;
	uint64_t tick;

	if (!list_empty(&w->due))
		return 0;
	tick = next_tick(w, &slot);
	return tick > UINT64_MAX >> TWHEEL_SHIFT ? UINT64_MAX : tick << TWHEEL_SHIFT;
}

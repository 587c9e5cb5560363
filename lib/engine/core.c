/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does a core do, in which order, and who does it? Called by the program's threads (inline) and
 * by the core's own thread; one at a time, by the lock.
 */
#include "engine/core.h"

#include <pthread.h>

#include <rte_cycles.h>

bool
core_try(struct core *c, bool insist)
{
	uint32_t free = CORE_FREE;

	if (!__atomic_compare_exchange_n(&c->lock, &free, CORE_HELD, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED)) {
		if (!insist)
			return false;
		/* either the holder sees this when it leaves, or it has left just now */
		if (__atomic_exchange_n(&c->lock, CORE_WANTED, __ATOMIC_ACQ_REL) != CORE_FREE)
			return false;
	}
	/* DPDK's per-lcore caches belong to the core, whatever thread drives it */
	c->lcore_before = RTE_PER_LCORE(_lcore_id);
	RTE_PER_LCORE(_lcore_id) = c->lcore;
	return true;
}

bool
core_leave(struct core *c)
{
	uint32_t free = CORE_FREE;
	unsigned int before = c->lcore_before;

	RTE_PER_LCORE(_lcore_id) = before;
	if (__builtin_expect(__atomic_exchange_n(&c->lock, CORE_FREE, __ATOMIC_ACQ_REL) == CORE_HELD, 1))
		return false;
	if (!__atomic_compare_exchange_n(&c->lock, &free, CORE_HELD, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return false;	/* who took it sees what was left behind */
	c->lcore_before = before;
	RTE_PER_LCORE(_lcore_id) = c->lcore;
	return true;
}

static void
tell_time(struct core *c)
{
	uint64_t now;

	c->tsc = rte_rdtsc();
	now = clock_at(&c->clock, c->tsc);
	if (now > c->x.now)	/* another CPU's counter may be a little behind */
		c->x.now = now;
	if (__builtin_expect(c->x.now >= c->refine_at, 0)) {
		clock_refine(&c->clock);
		c->refine_ns *= 2;
		c->refine_at = c->x.now + c->refine_ns;
	}
}

unsigned int
core_round(struct core *c, enum core_how how)
{
	unsigned int found = 0, received = 0;

	tell_time(c);
	core_posts_begin(c, how);
	if (__builtin_expect(mailbox_waits(&c->mail), 0))
		found = mailbox_run(&c->mail, c);
	found += core_submit(c);
	c->x.hold_acks = core_late_ok(c, c->tsc);
	if (how == CORE_ROUND_WHOLE) {
		received = core_rx(c);
		found += received + core_timers(c);
	}
	core_acks(c, how, received);
	found += core_sched(c);
	found += core_tx(c);
	found += core_notify(c);
	if (__builtin_expect(c->peers != NULL, 0))
		handoff_poke(c);
	return found;
}

/* A thread that posts or polls may be cancelled (deferred, as pthreads are by default), but not in a
 * call of ours that could be a cancellation point: it would take the lock with it. */
static void
drive(struct core *c, enum core_how how)
{
	unsigned int found;
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	do {
		found = core_round(c, how);
		/* a round that does something takes its time; the clock is not looked at for the others */
		if (how == CORE_ROUND_WHOLE)
			__atomic_store_n(&c->driven_tsc, found ? rte_rdtsc() : c->tsc, __ATOMIC_RELAXED);
		idle_hurry(c);
	} while (core_leave(c));
	pthread_setcancelstate(before, NULL);
}

void
core_drive_post(struct core *c)
{
	if (core_try(c, true))
		drive(c, CORE_ROUND_POST);
}

void
core_drive_poll(struct core *c)
{
	if (core_try(c, false))
		drive(c, CORE_ROUND_WHOLE);
}

uint32_t
core_index(const struct core *c)
{
	return c->index;
}

struct xport *
core_xport(struct core *c)
{
	return &c->x;
}

struct demux *
core_demux(struct core *c)
{
	return c->demux;
}

struct net *
core_net(struct core *c)
{
	return c->net;
}

const struct cnt_block *
core_counters(const struct core *c)
{
	return &c->cnt;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may wait a little, and until when? Called by the loop, with the lock; core_post_waits() by any
 * thread.
 *
 * An ACK is put off so that it goes in one burst with the answer of a program that is waiting for the
 * message, and so that one ACK stands for all frames that come one after another. It leaves in the
 * first round that receives nothing, or after CORE_LATE_NS: at once for a program that looks more
 * seldom than that. An answer never overtakes it: who gets one may count on the place in its send
 * queue being free, for with other devices it is.
 *
 * A post is put off when it follows upon several others without a poll between them, so that those
 * that come now become one burst: a burst of one frame costs the port as much as one of sixteen. The
 * first few never wait, for a program may post its data and a flag and then look at memory for the
 * answer, not at us. Nor does one to a queue whose work is all done, nor one when the core has not just
 * sent something.
 *
 * For a program that stops to post and to poll just then, the background thread looks; only while
 * that is within CORE_LATE_IDLE_NS does anything wait (C25).
 */
#include "engine/core.h"

#include <rte_cycles.h>

bool
core_late_ok(const struct core *c, uint64_t tsc)
{
	uint64_t until = __atomic_load_n(&c->idle.until, __ATOMIC_RELAXED);

	return !until || (int64_t)(until - tsc) <= (int64_t)c->patience;
}

void
core_acks(struct core *c, enum core_how how, unsigned int received)
{
	bool answers = how == CORE_ROUND_POST;

	if (list_empty(&c->x.late))
		c->late_since = c->x.now;
	else if (!c->x.hold_acks || answers || !received || c->x.now - c->late_since >= CORE_LATE_NS)
		xport_release_acks(&c->x);
}

bool
core_post_waits(struct core *c)
{
	uint32_t posts = __atomic_load_n(&c->posts, __ATOMIC_RELAXED);
	uint64_t sent, tsc;

	if (posts < CORE_PROMPT_POSTS || posts >= CORE_PROMPT_POSTS + CORE_LATE_POSTS - 1)
		return false;
	sent = __atomic_load_n(&c->sent_tsc, __ATOMIC_RELAXED);
	tsc = rte_rdtsc();
	if (tsc - sent >= c->post_patience || !core_late_ok(c, tsc))
		return false;
	/* two threads may count as one: then a few more wait */
	__atomic_store_n(&c->posts, posts + 1, __ATOMIC_RELAXED);
	return true;
}

void
core_posts_begin(struct core *c, enum core_how how)
{
	uint32_t before = __atomic_load_n(&c->posts, __ATOMIC_RELAXED), posts = 0;

	if (how == CORE_ROUND_POST)
		posts = before < CORE_PROMPT_POSTS ? before + 1 : CORE_PROMPT_POSTS;
	if (before != posts)
		__atomic_store_n(&c->posts, posts, __ATOMIC_RELAXED);
}

void
core_settle(struct core *c)
{
	core_submit(c);
	xport_release_acks(&c->x);
	core_sched(c);
	core_tx(c);
}

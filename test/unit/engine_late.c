/* SPDX-License-Identifier: BSD-3-Clause */
/* What may wait for a later round of a core, without EAL and without its threads. */
#include "engine/core.h"

#include <rte_cycles.h>

#include "check.h"

#define LONG (UINT64_C(1) << 60)	/* ticks: never in this test */

static struct core core;

static void
begin(void)
{
	memset(&core, 0, sizeof(core));
	list_init(&core.x.run);
	list_init(&core.x.late);
	core.patience = 1000;
	core.post_patience = LONG;
	core.sent_tsc = rte_rdtsc();
}

/* Only while the background thread looks again soon. */
static void
core_late_ok__knows_when_the_thread_wakes(void)
{
	begin();
	CHECK(core_late_ok(&core, 1));
	core.idle.until = 2000;
	CHECK(core_late_ok(&core, 1000));
	CHECK(core_late_ok(&core, 3000));
	CHECK(!core_late_ok(&core, 999));
}

/* As a client's drive does. How many of `n` posts in a row were put off? */
static unsigned int
posts(unsigned int n)
{
	unsigned int waiting = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (core_post_waits(&core))
			waiting++;
		else
			core_posts_begin(&core, CORE_ROUND_POST);
	}
	return waiting;
}

/* A program may post its data and a flag, and then look at memory for the answer. */
static void
core_post_waits__not_the_first_few_since_a_poll(void)
{
	begin();
	CHECK_EQ(posts(CORE_PROMPT_POSTS), 0);
	CHECK_EQ(posts(2), 2);
	core_posts_begin(&core, CORE_ROUND_WHOLE);
	CHECK_EQ(posts(CORE_PROMPT_POSTS), 0);
	CHECK_EQ(posts(1), 1);
}

static void
core_post_waits__not_for_ever(void)
{
	begin();
	CHECK_EQ(posts(CORE_PROMPT_POSTS), 0);
	CHECK_EQ(posts(CORE_LATE_POSTS), CORE_LATE_POSTS - 1);
	CHECK_EQ(posts(CORE_LATE_POSTS), CORE_LATE_POSTS - 1);
	CHECK_EQ(posts(1), 1);
}

static void
core_post_waits__only_after_something_was_sent(void)
{
	begin();
	CHECK_EQ(posts(CORE_PROMPT_POSTS), 0);
	core.post_patience = 0;
	CHECK_EQ(posts(1), 0);
	core.post_patience = LONG;
	core.idle.until = LONG;		/* nobody looks */
	CHECK_EQ(posts(1), 0);
	core.idle.until = 0;
	CHECK_EQ(posts(1), 1);
}

static bool
acks_held(enum core_how how, unsigned int received, uint64_t now)
{
	core.x.hold_acks = true;
	core.x.now = now;
	core_acks(&core, how, received);
	return core.x.hold_acks;
}

/* The list is looked at, not what stands in it. */
static void
core_acks__wait_while_frames_come(void)
{
	struct qp *qp = calloc(1, qp_size());

	begin();
	CHECK(acks_held(CORE_ROUND_WHOLE, 1, 1000));
	list_push(&core.x.late, (struct list_node *)(void *)qp);	/* its first member */
	CHECK(acks_held(CORE_ROUND_WHOLE, 1, 1001));
	CHECK(acks_held(CORE_ROUND_WHOLE, 1, 1000 + CORE_LATE_NS - 1));
	CHECK(!acks_held(CORE_ROUND_WHOLE, 1, 1000 + CORE_LATE_NS));
	CHECK(list_empty(&core.x.late) && !list_empty(&core.x.run));
	list_push(&core.x.late, list_pop(&core.x.run));
	core.late_since = 5000;
	CHECK(!acks_held(CORE_ROUND_WHOLE, 0, 5001));
	list_push(&core.x.late, list_pop(&core.x.run));
	CHECK(!acks_held(CORE_ROUND_POST, 0, 5002));	/* before the answer */
	free(qp);
}

static const struct check_case cases[] = {
	CHECK_CASE(core_late_ok__knows_when_the_thread_wakes),
	CHECK_CASE(core_post_waits__not_the_first_few_since_a_poll),
	CHECK_CASE(core_post_waits__not_for_ever),
	CHECK_CASE(core_post_waits__only_after_something_was_sent),
	CHECK_CASE(core_acks__wait_while_frames_come),
};

CHECK_MAIN(cases)

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

/* A program that polls between its posts is waiting for something: none of them waits. */
static void
core_post_waits__behind_a_post_without_a_poll(void)
{
	begin();
	CHECK(!core_post_waits(&core));
	core_posts_begin(&core, CORE_ROUND_POST);
	CHECK(core_post_waits(&core));
	CHECK(core_post_waits(&core));
	core_posts_begin(&core, CORE_ROUND_WHOLE);
	CHECK(!core_post_waits(&core));
}

static void
core_post_waits__not_for_ever(void)
{
	unsigned int n = 0;

	begin();
	core_posts_begin(&core, CORE_ROUND_POST);
	while (core_post_waits(&core))
		n++;
	CHECK_EQ(n, CORE_LATE_POSTS - 1);
	core_posts_begin(&core, CORE_ROUND_POST);
	CHECK(core_post_waits(&core));
}

static void
core_post_waits__only_after_something_was_sent(void)
{
	begin();
	core_posts_begin(&core, CORE_ROUND_POST);
	core.post_patience = 0;
	CHECK(!core_post_waits(&core));
	core.post_patience = LONG;
	core.idle.until = LONG;		/* nobody looks */
	CHECK(!core_post_waits(&core));
	core.idle.until = 0;
	CHECK(core_post_waits(&core));
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
	CHECK(acks_held(CORE_ROUND_POST, 0, 1000 + CORE_LATE_NS - 1));
	CHECK(!acks_held(CORE_ROUND_WHOLE, 1, 1000 + CORE_LATE_NS));
	CHECK(list_empty(&core.x.late) && !list_empty(&core.x.run));
	list_push(&core.x.late, list_pop(&core.x.run));
	core.late_since = 5000;
	CHECK(!acks_held(CORE_ROUND_WHOLE, 0, 5001));
	free(qp);
}

static const struct check_case cases[] = {
	CHECK_CASE(core_late_ok__knows_when_the_thread_wakes),
	CHECK_CASE(core_post_waits__behind_a_post_without_a_poll),
	CHECK_CASE(core_post_waits__not_for_ever),
	CHECK_CASE(core_post_waits__only_after_something_was_sent),
	CHECK_CASE(core_acks__wait_while_frames_come),
};

CHECK_MAIN(cases)

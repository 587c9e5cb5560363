/* SPDX-License-Identifier: BSD-3-Clause */
/* Which posts of a client leave at once, and which wait for company. */
#include "engine/core.h"
#include "serve_fixture.h"

static uint64_t
num_sent(struct core *c)
{
	return cnt_read(&c->cnt.cnt[CNT_TX_FRAMES]);
}

/* The program posts its data and a flag, and then never polls: both have left when it has posted them,
 * without the background thread. */
static void
local_drive__few_posts_never_wait(void)
{
	struct core *c;
	uint64_t before;

	CHECK_EQ(start_world("inline"), 0);
	c = eng_core(stack_running()->eng, 0);
	idle_stop(c);
	c->post_patience = UINT64_C(1) << 60;	/* it has always just sent something */
	w.behind = true;			/* nothing is acknowledged */
	drive(CTL_DRIVE_POLL);
	before = num_sent(c);
	for (unsigned int i = 1; i <= CORE_PROMPT_POSTS; i++) {
		post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
		CHECK_EQ(num_sent(c) - before, i);
	}
	post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
	CHECK_EQ(num_sent(c) - before, CORE_PROMPT_POSTS);
	drive(CTL_DRIVE_POLL);
	CHECK(num_sent(c) - before > CORE_PROMPT_POSTS);
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(local_drive__few_posts_never_wait),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which posts of a client leave at once, which wait for company, and what goes with them. */
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

static void
answer(struct core *c)
{
	uint64_t frames = num_sent(c), acks = cnt_read(&c->cnt.cnt[CNT_TX_ACKS]);
	struct plx_cqe cqe;

	post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
	CHECK_EQ(num_sent(c) - frames, 1);
	drive(CTL_DRIVE_POLL);
	post_send(&w.b, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 3 << 20 });
	CHECK_EQ(num_sent(c) - frames, 3);
	CHECK_EQ(cnt_read(&c->cnt.cnt[CNT_TX_ACKS]) - acks, 1);
	CHECK(poll(&cqe));
	CHECK(poll(&cqe));
}

/* An ACK waits for the answer to be posted, and then leaves in its burst. Often, for on a slow machine
 * it may have waited long enough before. */
static void
core_acks__with_an_answer(void)
{
	struct core *c;

	CHECK_EQ(start_world("inline"), 0);
	c = eng_core(stack_running()->eng, 0);
	idle_stop(c);
	drive(CTL_DRIVE_POLL);
	for (unsigned int i = 0; i < 50; i++)
		answer(c);
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(local_drive__few_posts_never_wait),
	CHECK_CASE(core_acks__with_an_answer),
};

CHECK_MAIN(cases)

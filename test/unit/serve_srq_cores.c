/* SPDX-License-Identifier: BSD-3-Clause */
/* QPs of two cores take from one shared receive queue. Threads meet everywhere: also run under TSan. */
#include "serve_shared.h"

#define TWO_CORES "0,1"

#define QPS 8u
#define EACH 2000u
static struct end from[QPS], to[QPS];

static int
connect_many(const struct shared *s)
{
	int rc = 0;

	for (uint32_t i = 0; i < QPS && rc == 0; i++)
		rc = new_qp(&from[i]);
	for (uint32_t i = 0; i < QPS && rc == 0; i++)
		rc = new_qp_with(&to[i], s);
	/* the receivers of one core with the senders of both */
	for (uint32_t i = 0; i < QPS && rc == 0; i++)
		rc = connect_to(&from[i], to[i ^ 1].m.qp_num);
	for (uint32_t i = 0; i < QPS && rc == 0; i++)
		rc = connect_to(&to[i], from[i ^ 1].m.qp_num);
	return rc;
}

static uint32_t
index_of(const struct end *e, uint32_t qp)
{
	uint32_t i = 0;

	while (i < QPS && e[i].m.qp != qp)
		i++;
	return i;
}

/* QPs of two cores take from one queue: each WQE once, no message lost, each into the buffer of its
 * own WQE. */
static void
srq_take__two_cores(void)
{
	static uint32_t sent[QPS], done[QPS], came[QPS];
	static uint8_t used[QPS * EACH + 64];
	uint32_t total = 0, posted = 0, cores = 0;
	struct plx_cqe c;
	struct shared s;

	CHECK_EQ(start(TWO_CORES), 0);
	CHECK_EQ(new_srq(&s, 64), 0);
	CHECK_EQ(connect_many(&s), 0);
	for (uint32_t i = 0; i < QPS; i++)
		cores |= 1u << to[i].m.core;
	CHECK_EQ(cores, 3);
	while (total < 2 * QPS * EACH) {
		while (posted < QPS * EACH && post_shared(&s, (1 << 20) + 64 * (posted % 64), 64, posted))
			posted++;
		for (uint32_t i = 0; i < QPS; i++)
			while (sent[i] < EACH && sent[i] - done[i] < 50) {
				post_send(&from[i], &(struct send){ .opcode = WR_SEND, .len = 64 });
				sent[i]++;
			}
		CHECK(poll(&c));
		CHECK_EQ(c.status, WC_SUCCESS);
		total++;
		if (c.queue == PLX_CQE_SQ) {
			CHECK(index_of(from, c.qp) < QPS);
			done[index_of(from, c.qp)]++;
			continue;
		}
		CHECK(c.wr_id < QPS * EACH);
		CHECK_EQ(used[c.wr_id]++, 0);
		CHECK(index_of(to, c.qp) < QPS);
		CHECK_EQ(c.qp_num, to[index_of(to, c.qp)].m.qp_num);
		came[index_of(to, c.qp)]++;
	}
	for (uint32_t i = 0; i < QPS; i++)
		CHECK(done[i] == EACH && came[i] == EACH);
	CHECK_EQ(end_world(), 0);
}

static int
destroy_qp(const struct end *e)
{
	return call(CTL_DESTROY_QP, &(struct ctl_destroy_qp){ .qp = e->m.qp });
}

/* Completions of w.b that are there now. */
static uint32_t
of_b(void)
{
	struct plx_cqe c;
	uint32_t n = 0;

	while (peek(&c))
		n += c.qp == w.b.m.qp && c.queue == PLX_CQE_RQ;
	return n;
}

/* The receiver, on another core than its CQ, goes to ERR among messages. */
static void
err_among_messages(struct shared *s)
{
	struct plx_async_event ev;
	uint32_t before;

	CHECK_EQ(pair_with(s), 0);
	CHECK_EQ(w.a.m.core, 0);
	CHECK_EQ(w.b.m.core, 1);
	while (post_shared(s, 1 << 20, 4096, 0))
		;
	for (uint32_t i = 0; i < 200; i++)
		post_send(&w.a, &(struct send){ .opcode = WR_SEND, .len = 2048 });
	CHECK_EQ(to_err(&w.b), 0);
	do
		CHECK(event(&ev));
	while (ev.type != EV_QP_LAST_WQE_REACHED);
	CHECK_EQ(ev.handle, w.b.m.qp);
	of_b();
	usleep(2000);
	before = of_b();
	CHECK_EQ(before, 0);
	CHECK_EQ(destroy_qp(&w.b), 0);
	CHECK_EQ(destroy_qp(&w.a), 0);
}

/* E8: who has the event finds all completions of its QP in the CQ. */
static void
core_feed_last__after_what_is_in_the_feed(void)
{
	struct shared s;

	CHECK_EQ(start(TWO_CORES), 0);
	CHECK_EQ(new_srq(&s, 256), 0);
	for (int i = 0; i < 50 && !check_failed; i++)
		err_among_messages(&s);
	CHECK(!check_failed);
	CHECK_EQ(end_world(), 0);
}

/* ... and nothing of it is left when its QP goes at once. */
static void
core_feed_last__qp_destroyed_meanwhile(void)
{
	struct shared s;

	CHECK_EQ(start(TWO_CORES), 0);
	CHECK_EQ(new_srq(&s, 256), 0);
	for (int i = 0; i < 200; i++) {
		CHECK_EQ(pair_with(&s), 0);
		CHECK_EQ(to_err(&w.b), 0);
		CHECK_EQ(modify(&w.b, QPM_STATE, (struct ctl_qp_attr){ .qp_state = QPS_RESET }), 0);
		CHECK_EQ(to_init(&w.b), 0);
		CHECK_EQ(to_err(&w.b), 0);
		CHECK_EQ(destroy_qp(&w.b), 0);
		CHECK_EQ(destroy_qp(&w.a), 0);
	}
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(srq_take__two_cores),
	CHECK_CASE(core_feed_last__after_what_is_in_the_feed),
	CHECK_CASE(core_feed_last__qp_destroyed_meanwhile),
};

CHECK_MAIN(cases)

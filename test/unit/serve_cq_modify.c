/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CQs that change while they are used: resized beside traffic of one and of two cores and beside
 * pollers of other threads (D-7), and moderated. Threads meet here: also run under TSan.
 */
#include "serve_verbs.h"

/* D-7, FC63's kin: what stands in the CQ stays in order, and fewer places than that are refused. */
static void
resize_cq__keeps_order_and_refuses(void)
{
	struct ibv_wc wc;

	open_verbs("inline", 8, 32);
	for (uint64_t i = 0; i < 6; i++)
		CHECK_EQ(post_write(v.a, i), 0);
	/* until the six are there, of which none is polled */
	for (uint64_t end = now_ms() + 10000; ibv_resize_cq(v.cq, 5) == 0 && now_ms() < end; )
		usleep(100);
	CHECK_EQ(ibv_resize_cq(v.cq, 5), EINVAL);
	CHECK_EQ(ibv_resize_cq(v.cq, 0), EINVAL);
	CHECK_EQ(ibv_resize_cq(v.cq, -1), EINVAL);
	CHECK_EQ(ibv_resize_cq(v.cq, 4194304), EINVAL);
	CHECK_EQ(ibv_resize_cq(v.cq, 6), 0);
	CHECK_EQ(ibv_resize_cq(v.cq, 100), 0);
	CHECK(v.cq->cqe >= 100);
	for (uint64_t i = 6; i < 30; i++)
		CHECK_EQ(post_write(v.a, i), 0);
	for (uint64_t i = 0; i < 30; i++) {
		CHECK(poll_one(v.cq, &wc));
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.wr_id, i);
	}
	CHECK_EQ(ibv_resize_cq(v.cq, 1), 0);
	CHECK_EQ(ibv_poll_cq(v.cq, 1, &wc), 0);
	CHECK_EQ(close_verbs(), 0);
}

/* A CQ that has had no QP lives on no core yet. */
static void
resize_cq__before_its_first_qp(void)
{
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	open_verbs("inline", 8, 8);
	cq = ibv_create_cq(v.ctx, 1, NULL, NULL, 0);
	CHECK(cq);
	CHECK_EQ(ibv_resize_cq(cq, 300), 0);
	qp = new_qp(cq, 256, 0);
	CHECK(qp && to_init(qp) == 0);
	for (uint64_t i = 0; i < 256; i++)
		CHECK_EQ(post_recv(qp, i), 0);
	CHECK_EQ(to_err(qp), 0);
	for (uint64_t i = 0; i < 256; i++) {
		CHECK(poll_one(cq, &wc));
		CHECK_EQ(wc.wr_id, i);
	}
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_destroy_cq(cq), 0);
	CHECK_EQ(close_verbs(), 0);
}

/* An arm outlives the move, and so does a CQ that says it overflowed. */
static void
resize_cq__armed_and_overflowed(void)
{
	struct ibv_async_event e;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *ctx;

	open_verbs("inline", 4, 64);
	CHECK_EQ(ibv_req_notify_cq(v.cq, 0), 0);
	CHECK_EQ(ibv_resize_cq(v.cq, 16), 0);
	CHECK_EQ(post_write(v.a, 1), 0);
	CHECK_EQ(ibv_get_cq_event(v.ch, &cq, &ctx), 0);
	CHECK(cq == v.cq && ctx == &v);
	ibv_ack_cq_events(cq, 1);
	CHECK(poll_one(v.cq, &wc));
	for (uint64_t i = 0; i < 40; i++)
		CHECK_EQ(post_write(v.a, i), 0);
	for (int i = 0; i < 3; i++) {	/* one of the CQ, two of the QPs */
		CHECK(next_event(&e, 10000));
		ibv_ack_async_event(&e);
	}
	CHECK_EQ(ibv_resize_cq(v.cq, 100), 0);
	for (uint64_t i = 0; i < 16; i++) {
		CHECK(poll_one(v.cq, &wc));
		CHECK_EQ(wc.wr_id, i);
	}
	CHECK_EQ(ibv_poll_cq(v.cq, 1, &wc), 0);
	CHECK(!next_event(&e, 10));
	CHECK_EQ(close_verbs(), 0);
}

#define QPS 4u
#define DEPTH 64u
#define EACH 1500u

#define TURNS 4u

static uint32_t seen[QPS][EACH], polled, next[QPS], turns;
static bool in_order;
static uint64_t give_up_at;		/* ms */

static void *
poller(void *arg)
{
	struct ibv_wc wc[16];

	(void)arg;
	while (__atomic_load_n(&polled, __ATOMIC_RELAXED) < QPS * EACH && now_ms() < give_up_at) {
		int n = ibv_poll_cq(v.cq, 16, wc);

		for (int i = 0; i < n; i++) {
			uint32_t qp = (uint32_t)(wc[i].wr_id >> 32), at = (uint32_t)wc[i].wr_id;

			if (wc[i].status != IBV_WC_SUCCESS || qp >= QPS || at >= EACH)
				abort();
			__atomic_fetch_add(&seen[qp][at], 1, __ATOMIC_RELAXED);
			/* with one poller, in the order of posting */
			if (in_order && next[qp]++ != at)
				abort();
		}
		__atomic_fetch_add(&polled, (uint32_t)n, __ATOMIC_RELAXED);
		if (!n)
			sched_yield();
	}
	return NULL;
}

static struct ibv_qp *qps[QPS];

/* The last of each is held back until there were resizes enough, however late their thread gets a CPU. */
static uint32_t
how_many(void)
{
	return __atomic_load_n(&turns, __ATOMIC_RELAXED) < TURNS ? EACH - 1 : EACH;
}

static void *
poster(void *arg)
{
	uint32_t at[QPS] = { 0 }, left = QPS * EACH;

	(void)arg;
	while (left && now_ms() < give_up_at) {
		uint32_t before = left;

		for (uint32_t i = 0; i < QPS; i++)
			while (at[i] < how_many() && post_write(qps[i], (uint64_t)i << 32 | at[i]) == 0) {
				at[i]++;
				left--;
			}
		if (left == before)
			sched_yield();
	}
	return NULL;
}

/* The CQ always holds all that the queues may have out; its size changes all the time. */
static void
resize_beside_traffic(const char *cores, uint32_t pollers)
{
	pthread_t post_thread, t[3];

	open_verbs(cores, QPS * DEPTH, DEPTH);
	memset(seen, 0, sizeof(seen));
	memset(next, 0, sizeof(next));
	polled = turns = 0;
	in_order = pollers == 1;
	give_up_at = now_ms() + 30000;
	for (uint32_t i = 0; i < QPS; i++)
		qps[i] = new_qp(v.cq, DEPTH, 0);
	for (uint32_t i = 0; i < QPS; i += 2)	/* two pairs; with two cores each between them */
		connect_pair(qps[i], qps[i + 1]);
	for (uint32_t i = 0; i < pollers; i++)
		pthread_create(&t[i], NULL, poller, NULL);
	pthread_create(&post_thread, NULL, poster, NULL);
	while (__atomic_load_n(&polled, __ATOMIC_RELAXED) < QPS * EACH && now_ms() < give_up_at) {
		static const int sizes[] = { 257, 2000, 600, 256, 9000, 300 };

		CHECK_EQ(ibv_resize_cq(v.cq, sizes[turns % 6]), 0);
		__atomic_store_n(&turns, turns + 1, __ATOMIC_RELAXED);
		usleep(200);
	}
	pthread_join(post_thread, NULL);
	for (uint32_t i = 0; i < pollers; i++)
		pthread_join(t[i], NULL);
	for (uint32_t i = 0; i < QPS; i++)
		for (uint32_t k = 0; k < EACH; k++)
			CHECK_EQ(seen[i][k], 1);
	for (uint32_t i = 0; i < QPS; i++)
		CHECK_EQ(ibv_destroy_qp(qps[i]), 0);
	CHECK(turns >= TURNS);
	CHECK_EQ(close_verbs(), 0);
}

static void
resize_cq__beside_traffic_inline(void)
{
	resize_beside_traffic("inline", 1);
}

static void
resize_cq__beside_traffic_of_two_cores(void)
{
	resize_beside_traffic("0,1", 1);
}

static void
resize_cq__beside_three_pollers(void)
{
	resize_beside_traffic("0,1", 3);
}

/* What a core far from the CQ's home sends fits the CQ once it is larger: its feed grew too. */
static void
resize_cq__feeds_grow(void)
{
	struct ibv_async_event e;
	struct ibv_qp *q[2];
	struct ibv_wc wc;

	open_verbs("0,1", 2, 8);
	for (int i = 0; i < 2; i++)	/* one on each core */
		q[i] = new_qp(v.cq, 1024, 0);
	CHECK_EQ(ibv_resize_cq(v.cq, 2048), 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(to_init(q[i]), 0);
		for (uint64_t k = 0; k < 1024; k++)
			CHECK_EQ(post_recv(q[i], k), 0);
		CHECK_EQ(to_err(q[i]), 0);
	}
	for (int i = 0; i < 2048; i++)
		CHECK(poll_one(v.cq, &wc));
	CHECK(!next_event(&e, 10));
	for (int i = 0; i < 2; i++)
		CHECK_EQ(ibv_destroy_qp(q[i]), 0);
	CHECK_EQ(close_verbs(), 0);
}

static int
moderate(uint16_t count, uint16_t period)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { count, period } };

	return ibv_modify_cq(v.cq, &attr);
}

/* `n` writes, polled. */
static bool
writes(int n)
{
	struct ibv_wc wc;

	for (int i = 0; i < n; i++)
		if (post_write(v.a, 0) || !poll_one(v.cq, &wc) || wc.status)
			return false;
	return true;
}

static bool
take_event(void)
{
	struct ibv_cq *cq;
	void *ctx;

	if (ibv_get_cq_event(v.ch, &cq, &ctx) || cq != v.cq)
		return false;
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* Of four completions the fourth wakes: those before only would by the period, which is much longer
 * than they take. */
static void
modify_cq__event_after_count(void)
{
	open_verbs("inline", 64, 16);
	CHECK_EQ(moderate(4, 0), 0);	/* 65 ms */
	for (int turn = 0; turn < 5; turn++) {
		uint64_t before = now_ms();

		CHECK_EQ(ibv_req_notify_cq(v.cq, 0), 0);
		CHECK(writes(3));
		CHECK(!readable(v.ch->fd, 0) || now_ms() - before > 60);
		CHECK(writes(1));
		CHECK(readable(v.ch->fd, 10000));
		CHECK(take_event());
		CHECK(!readable(v.ch->fd, 0));
	}
	CHECK_EQ(close_verbs(), 0);
}

/* Fewer than that wake by the period; whoever armed again meanwhile is told as well. */
static void
modify_cq__event_after_period(const char *cores)
{
	open_verbs(cores, 64, 16);
	CHECK_EQ(moderate(1000, 2000), 0);
	for (int turn = 0; turn < 20; turn++) {
		CHECK_EQ(ibv_req_notify_cq(v.cq, 0), 0);
		CHECK(writes(1));
		if (turn & 1) {
			CHECK_EQ(ibv_req_notify_cq(v.cq, turn & 2), 0);
			CHECK_EQ(post_write(v.a, 0), 0);
		}
		CHECK(take_event());
		if (turn & 1) {
			struct ibv_wc wc;

			CHECK(poll_one(v.cq, &wc));
		}
		while (readable(v.ch->fd, turn & 1 ? 10 : 0))
			CHECK(take_event());
	}
	CHECK_EQ(close_verbs(), 0);
}

static void
modify_cq__event_after_period_inline(void)
{
	modify_cq__event_after_period("inline");
}

static void
modify_cq__event_after_period_dedicated(void)
{
	modify_cq__event_after_period("0,1");
}

/* What waits under the old rule comes with the new one, and goes with its CQ. */
static void
modify_cq__while_an_event_waits(void)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = 1u << 7 };

	open_verbs("inline", 64, 16);
	CHECK_EQ(moderate(100, 65535), 0);
	CHECK_EQ(ibv_req_notify_cq(v.cq, 0), 0);
	CHECK(writes(1));
	CHECK_EQ(moderate(0, 0), 0);
	CHECK(take_event());
	CHECK_EQ(ibv_req_notify_cq(v.cq, 0), 0);
	CHECK(writes(1));
	CHECK(take_event());
	CHECK_EQ(moderate(100, 65535), 0);
	CHECK_EQ(ibv_req_notify_cq(v.cq, 0), 0);
	CHECK(writes(1));
	CHECK_EQ(ibv_resize_cq(v.cq, 128), 0);
	CHECK_EQ(ibv_modify_cq(v.cq, &attr), EINVAL);
	attr.attr_mask = 0;
	CHECK_EQ(ibv_modify_cq(v.cq, &attr), 0);
	CHECK_EQ(close_verbs(), 0);
}

static void
modify_cq__what_the_device_says(void)
{
	struct ibv_device_attr_ex attr;

	open_verbs("inline", 64, 16);
	CHECK_EQ(ibv_query_device_ex(v.ctx, NULL, &attr), 0);
	CHECK_EQ(attr.cq_mod_caps.max_cq_count, 65535);
	CHECK_EQ(attr.cq_mod_caps.max_cq_period, 65535);
	CHECK_EQ(close_verbs(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(resize_cq__keeps_order_and_refuses),
	CHECK_CASE(resize_cq__before_its_first_qp),
	CHECK_CASE(resize_cq__armed_and_overflowed),
	CHECK_CASE(resize_cq__beside_traffic_inline),
	CHECK_CASE(resize_cq__beside_traffic_of_two_cores),
	CHECK_CASE(resize_cq__beside_three_pollers),
	CHECK_CASE(resize_cq__feeds_grow),
	CHECK_CASE(modify_cq__event_after_count),
	CHECK_CASE(modify_cq__event_after_period_inline),
	CHECK_CASE(modify_cq__event_after_period_dedicated),
	CHECK_CASE(modify_cq__while_an_event_waits),
	CHECK_CASE(modify_cq__what_the_device_says),
};
CHECK_MAIN(cases)

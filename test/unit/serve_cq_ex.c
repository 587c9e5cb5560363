/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extended CQs under traffic: what is read of real completions, beside a resize, by several threads and
 * with QPs of several cores; their timestamps; and one that ignores its overrun. Threads meet here: also
 * run under TSan.
 */
#include "serve_verbs.h"

#define STAMPS (IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static struct ibv_poll_cq_attr none;
static struct ibv_cq_ex *ex;
static struct ibv_qp *a, *b;		/* connected, and complete on `ex` */

static void
open_ex(const char *cores, uint32_t cqe, uint32_t flags, uint32_t wr)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = cqe, .wc_flags = IBV_WC_STANDARD_FLAGS | STAMPS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = flags,
	};

	open_verbs(cores, 64, 16);
	ex = ibv_create_cq_ex(v.ctx, &init);
	MUST(ex);
	a = new_qp(ibv_cq_ex_to_cq(ex), wr, 0);
	b = new_qp(ibv_cq_ex_to_cq(ex), wr, 0);
	connect_pair(a, b);
}

static void
close_ex(void)
{
	CHECK_EQ(ibv_destroy_qp(a), 0);
	CHECK_EQ(ibv_destroy_qp(b), 0);
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	CHECK_EQ(close_verbs(), 0);
}

/* Within 20 s; plx_end_poll() must follow. */
static bool
started(void)
{
	uint64_t end = now_ms() + 20000;
	int err;

	while ((err = ibv_start_poll(ex, &none)) == ENOENT && now_ms() < end)
		sched_yield();
	return err == 0;
}

static bool
next_one(void)
{
	uint64_t end = now_ms() + 20000;

	if (ibv_next_poll(ex) == 0)
		return true;
	ibv_end_poll(ex);
	while (ibv_start_poll(ex, &none) != 0)
		MUST(now_ms() < end);
	return true;
}

static void
start_poll__reads_what_was_done(void)
{
	open_ex("inline", 16, 0, 16);
	CHECK_EQ(post_recv(b, 7), 0);
	CHECK_EQ(post(a, IBV_WR_SEND_WITH_IMM, 1, IBV_SEND_SIGNALED), 0);
	CHECK(started());
	for (int n = 0; n < 2; n++) {
		CHECK_EQ(ex->status, IBV_WC_SUCCESS);
		if (ex->wr_id == 7) {
			CHECK_EQ(ibv_wc_read_opcode(ex), IBV_WC_RECV);
			CHECK_EQ(ibv_wc_read_wc_flags(ex), IBV_WC_WITH_IMM);
			CHECK_EQ(ibv_wc_read_byte_len(ex), 8);
			CHECK_EQ(ibv_wc_read_qp_num(ex), b->qp_num);
		} else {
			CHECK_EQ(ex->wr_id, 1);
			CHECK_EQ(ibv_wc_read_opcode(ex), IBV_WC_SEND);
			CHECK_EQ(ibv_wc_read_qp_num(ex), a->qp_num);
		}
		CHECK(n == 1 || next_one());
	}
	ibv_end_poll(ex);
	/* an error, and what is flushed behind it */
	CHECK_EQ(post_recv(b, 8), 0);
	CHECK_EQ(to_err(b), 0);
	CHECK(started());
	CHECK_EQ(ex->status, IBV_WC_WR_FLUSH_ERR);
	CHECK_EQ(ex->wr_id, 8);
	CHECK(ibv_wc_read_vendor_err(ex) != 0);
	CHECK_EQ(ibv_wc_read_qp_num(ex), b->qp_num);
	ibv_end_poll(ex);
	close_ex();
}

/* Posts for each completion while it is looked at, into the slot that it gave back. */
static void
start_poll__posts_in_between(void)
{
	uint64_t next = 0, posted = 0;

	open_ex("inline", 4, 0, 4);
	while (post_write(a, posted) == 0)
		posted++;
	CHECK(posted >= 4);
	while (next < 5000) {
		CHECK(started());
		do {
			CHECK_EQ(ex->status, IBV_WC_SUCCESS);
			CHECK_EQ(ex->wr_id, next);
			next++;
			CHECK_EQ(post_write(a, posted++), 0);
		} while (ibv_next_poll(ex) == 0);
		ibv_end_poll(ex);
	}
	close_ex();
}

/* D-7: the ring is another one between two polls. */
static void
start_poll__resized_in_between(void)
{
	static const int sizes[] = { 64, 16, 200, 17, 1000 };
	uint64_t next = 0, posted = 0;

	open_ex("inline", 16, 0, 16);
	for (unsigned int turn = 0; turn < 200; turn++) {
		while (posted - next < 12)
			CHECK_EQ(post_write(a, posted++), 0);
		for (unsigned int i = 0; i < 5; i++) {
			CHECK(started());
			CHECK_EQ(ex->wr_id, next++);
			ibv_end_poll(ex);
		}
		CHECK_EQ(ibv_resize_cq(ibv_cq_ex_to_cq(ex), sizes[turn % 5]), 0);
		CHECK_EQ(ex->cqe, sizes[turn % 5]);
	}
	while (next < posted) {
		CHECK(started());
		CHECK_EQ(ex->wr_id, next++);
		ibv_end_poll(ex);
	}
	close_ex();
}

static uint64_t
ticks(void)
{
	struct ibv_values_ex now = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };

	MUST(ibv_query_rt_values_ex(v.ctx, &now) == 0 && now.raw_clock.tv_sec == 0);
	return (uint64_t)now.raw_clock.tv_nsec;
}

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The counters of two CPUs may differ by a little. */
static void
on_one_cpu(cpu_set_t *before)
{
	cpu_set_t one;

	MUST(sched_getaffinity(0, sizeof(*before), before) == 0);
	CPU_ZERO(&one);
	CPU_SET((unsigned int)sched_getcpu(), &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

static void *
spin(void *arg)
{
	while (!__atomic_load_n((bool *)arg, __ATOMIC_RELAXED))
		;
	return NULL;
}

/* The time of one completion is the same whenever it is asked for, also where two threads take the CPU from
 * each other. */
static void
wallclock__on_a_crowded_cpu(void)
{
	uint64_t then, last;
	unsigned int jumps = 0;
	bool done = false;
	cpu_set_t before;
	pthread_t other;

	open_ex("inline", 1, 0, 1);
	then = ticks();
	on_one_cpu(&before);
	CHECK_EQ(pthread_create(&other, NULL, spin, &done), 0);
	last = __plx_wallclock_ns(v.ctx, then);
	for (unsigned int i = 0; i < 2000000; i++) {
		uint64_t ns = __plx_wallclock_ns(v.ctx, then);

		jumps += ns > last + 1000000 || last > ns + 1000000;
		last = ns;
	}
	__atomic_store_n(&done, true, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	sched_setaffinity(0, sizeof(before), &before);
	CHECK(jumps <= 2);	/* somebody may set the clock; each loss of the CPU would be one or two */
	close_ex();
}

static void
timestamp__lies_between_two_readings(void)
{
	struct ibv_device_attr_ex attr;
	cpu_set_t before;

	on_one_cpu(&before);
	open_ex("inline", 64, 0, 16);
	MUST(ibv_query_device_ex(v.ctx, NULL, &attr) == 0);
	CHECK_EQ(attr.completion_timestamp_mask, UINT64_MAX);
	CHECK(attr.hca_core_clock > 1000);
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t t0, t1, r0, r1, ts, wall;

		r0 = clock_ns(CLOCK_REALTIME);
		t0 = ticks();
		if (i == 999) {		/* done by the core alone, in the round in which it sees it */
			CHECK_EQ(to_err(a), 0);
			t0 = ticks();
		}
		CHECK_EQ(post_write(a, i), 0);
		CHECK(started());
		ts = ibv_wc_read_completion_ts(ex);
		wall = ibv_wc_read_completion_wallclock_ns(ex);
		CHECK_EQ(ex->wr_id, i);
		ibv_end_poll(ex);
		t1 = ticks();
		r1 = clock_ns(CLOCK_REALTIME);
		if (r1 - r0 > 1000000000)	/* this thread had no CPU, or the clock was set */
			continue;
		CHECK(ts > t0);
		CHECK(ts < t1);
		/* the rate is exact to a few parts in 100,000 */
		CHECK(wall + (r1 - r0) / 10000 + 1 >= r0);
		CHECK(wall <= r1);
	}
	close_ex();
	(void)sched_setaffinity(0, sizeof(before), &before);
}

static void
timestamp__ticks_as_the_device_says(void)
{
	struct ibv_device_attr_ex attr;
	uint64_t n0, n1, t0, t1, khz;

	open_ex("inline", 4, 0, 4);
	MUST(ibv_query_device_ex(v.ctx, NULL, &attr) == 0);
	n0 = clock_ns(CLOCK_MONOTONIC);
	t0 = ticks();
	usleep(100000);
	t1 = ticks();
	n1 = clock_ns(CLOCK_MONOTONIC);
	/* nothing is said of how long the sleep was, only that both clocks saw it: t within n */
	khz = (t1 - t0) * 1000000 / (n1 - n0);
	CHECK(khz <= attr.hca_core_clock + attr.hca_core_clock / 1000);
	n0 = clock_ns(CLOCK_MONOTONIC);
	usleep(100000);
	n1 = clock_ns(CLOCK_MONOTONIC);
	CHECK((ticks() - t1) * 1000000 / (n1 - n0) >= attr.hca_core_clock - attr.hca_core_clock / 1000);
	close_ex();
}

/* The time is taken where the completion is made, and kept on the way to another core's CQ. Of a and b one
 * lives on the other core. */
static void
timestamp__of_another_core(void)
{
	open_ex("0,1", 64, 0, 16);
	CHECK((a->qp_num & 1) != (b->qp_num & 1));
	for (unsigned int turn = 0; turn < 4; turn++) {
		uint64_t before = ticks(), ts;

		for (uint64_t i = 0; i < 10; i++)
			CHECK_EQ(post_write(turn & 1 ? a : b, i), 0);
		for (uint64_t i = 0; i < 10; i++) {
			CHECK(started());
			CHECK_EQ(ex->status, IBV_WC_SUCCESS);
			CHECK_EQ(ex->wr_id, i);
			ts = ibv_wc_read_completion_ts(ex);
			ibv_end_poll(ex);
			/* two CPUs' counters */
			CHECK(ts + 1000000 > before && ts < ticks() + 1000000);
		}
	}
	close_ex();
}

/* FC53: no event, nothing overwritten, the QPs go on. */
static void
ignore_overrun__what_finds_no_room_is_lost(void)
{
	struct ibv_async_event e;
	uint64_t n = 0;

	open_ex("inline", 3, IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN, 64);
	for (uint64_t i = 0; i < 20; i++)
		CHECK_EQ(post_write(a, i), 0);
	for (uint64_t end = now_ms() + 20000; n < 20 && now_ms() < end; usleep(1000)) {
		struct ibv_qp_attr attr;
		struct ibv_qp_init_attr init;

		MUST(ibv_query_qp(a, &attr, IBV_QP_STATE, &init) == 0);
		CHECK_EQ(attr.qp_state, IBV_QPS_RTS);
		n = __atomic_load_n(&__plx_qp_of(a)->sq.ctl->head, __ATOMIC_RELAXED);
	}
	CHECK_EQ(n, 20);
	n = 0;
	while (ibv_start_poll(ex, &none) == 0) {
		CHECK_EQ(ex->wr_id, n++);	/* the oldest of them */
		ibv_end_poll(ex);
	}
	CHECK(n >= 3 && n < 20);
	/* and the next one frees all */
	CHECK_EQ(post_write(a, 20), 0);
	CHECK(started());
	CHECK_EQ(ex->wr_id, 20);
	for (uint64_t i = 0; i < 64; i++)
		CHECK_EQ(post(a, IBV_WR_RDMA_WRITE, i, 0), 0);
	ibv_end_poll(ex);
	CHECK(!next_event(&e, 10));
	close_ex();
}

#define THREADS 4u
#define EACH 1500u

static uint32_t seen[EACH], polled;
static uint64_t give_up_at;		/* ms */

/* FC57, FC58: each completion once, whoever is polling; half of them as others do. */
static void *
poller(void *arg)
{
	struct ibv_wc wc = { 0 };
	uint64_t id;

	while (__atomic_load_n(&polled, __ATOMIC_RELAXED) < EACH && now_ms() < give_up_at) {
		if (arg && ibv_poll_cq(ibv_cq_ex_to_cq(ex), 1, &wc) == 1) {
			__atomic_fetch_add(&seen[wc.wr_id], 1, __ATOMIC_RELAXED);
			__atomic_fetch_add(&polled, 1, __ATOMIC_RELAXED);
		}
		if (ibv_start_poll(ex, &none) != 0) {
			sched_yield();
			continue;
		}
		do {
			id = ex->wr_id;
			if (ex->status != IBV_WC_SUCCESS || ibv_wc_read_opcode(ex) != IBV_WC_RDMA_WRITE)
				abort();
			__atomic_fetch_add(&seen[id], 1, __ATOMIC_RELAXED);
			__atomic_fetch_add(&polled, 1, __ATOMIC_RELAXED);
		} while (ibv_next_poll(ex) == 0);
		ibv_end_poll(ex);
	}
	return NULL;
}

static void
play_threads(const char *cores)
{
	pthread_t threads[THREADS];

	open_ex(cores, 32, 0, 32);
	memset(seen, 0, sizeof(seen));
	polled = 0;
	give_up_at = now_ms() + 60000;
	for (uintptr_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, poller, (void *)(i & 1)) == 0);
	for (uint64_t i = 0; i < EACH && now_ms() < give_up_at; )
		if (post_write(a, i) == 0)
			i++;
		else
			sched_yield();
	for (unsigned int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(polled, EACH);
	for (uint32_t i = 0; i < EACH; i++)
		CHECK_EQ(seen[i], 1);
	CHECK_EQ(ibv_start_poll(ex, &none), ENOENT);
	close_ex();
}

static void
start_poll__several_threads(void)
{
	play_threads("inline");
}

static void
start_poll__several_threads_beside_cores(void)
{
	play_threads("0,1");
}

/* Events and moderation are a CQ's, however it is polled. */
static void
modify_cq__of_an_extended_cq(void)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = { 4, 0 } };
	struct ibv_cq_init_attr_ex init = { .cqe = 16, .cq_context = &v };
	struct ibv_cq *cq;
	void *ctx;

	open_ex("inline", 16, 0, 16);
	CHECK_EQ(ibv_modify_cq(ibv_cq_ex_to_cq(ex), &attr), 0);
	attr.attr_mask = IBV_CQ_ATTR_RESERVED;
	CHECK_EQ(ibv_modify_cq(ibv_cq_ex_to_cq(ex), &attr), EINVAL);
	CHECK_EQ(ibv_destroy_qp(a), 0);
	CHECK_EQ(ibv_destroy_qp(b), 0);
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(ex)), 0);
	init.channel = v.ch;
	ex = ibv_create_cq_ex(v.ctx, &init);
	CHECK(ex);
	a = new_qp(ibv_cq_ex_to_cq(ex), 16, 0);
	b = new_qp(ibv_cq_ex_to_cq(ex), 16, 0);
	connect_pair(a, b);
	CHECK_EQ(ibv_req_notify_cq(ibv_cq_ex_to_cq(ex), 0), 0);
	CHECK_EQ(post_write(a, 1), 0);
	CHECK_EQ(ibv_get_cq_event(v.ch, &cq, &ctx), 0);
	CHECK(cq == ibv_cq_ex_to_cq(ex) && ctx == &v);
	ibv_ack_cq_events(cq, 1);
	CHECK(started());
	CHECK_EQ(ibv_wc_read_completion_ts(ex), 0);	/* it did not ask for it */
	ibv_end_poll(ex);
	close_ex();
}

static const struct check_case cases[] = {
	CHECK_CASE(start_poll__reads_what_was_done),
	CHECK_CASE(start_poll__posts_in_between),
	CHECK_CASE(start_poll__resized_in_between),
	CHECK_CASE(wallclock__on_a_crowded_cpu),
	CHECK_CASE(timestamp__lies_between_two_readings),
	CHECK_CASE(timestamp__ticks_as_the_device_says),
	CHECK_CASE(timestamp__of_another_core),
	CHECK_CASE(ignore_overrun__what_finds_no_room_is_lost),
	CHECK_CASE(start_poll__several_threads),
	CHECK_CASE(start_poll__several_threads_beside_cores),
	CHECK_CASE(modify_cq__of_an_extended_cq),
};
CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that drive one core beside each other, and ends of such threads.
 *
 * A thread that is cancelled while it drives the core takes no lock with it: the stack goes on, for
 * the other threads and for the calls that need the core. rping cancels its CQ thread.
 */
#include <pthread.h>

#include "serve_fixture.h"

static void *
drives(void *arg)
{
	(void)arg;
	for (;;) {
		drive(CTL_DRIVE_POLL);
		pthread_testcancel();
	}
	return NULL;
}

static void *
calls(void *arg)
{
	struct ctl_query_qp q = { .qp = w.a.m.qp };

	(void)arg;
	for (;;) {
		(void)call(CTL_QUERY_QP, &q);
		pthread_testcancel();
	}
	return NULL;
}

/* Events make the core write to a socket, which is where a cancelled thread would end. */
static void
cancelled_once(void *(*body)(void *))
{
	pthread_t t;
	struct plx_cqe c;

	CHECK_EQ(pthread_create(&t, NULL, body, NULL), 0);
	for (int i = 0; i < 50; i++) {
		struct plx_cq_event ev;

		arm(PLX_CQ_ARM_ANY);
		if (i == 25)
			pthread_cancel(t);
		post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
		CHECK(readable(w.ch.fd, 5000));
		CHECK_EQ(recv(w.ch.fd, &ev, sizeof(ev), 0), sizeof(ev));
		CHECK(poll(&c));
	}
	CHECK_EQ(pthread_join(t, NULL), 0);
}

static void
core_drive__cancelled(void)
{
	for (int i = 0; i < 40 && !check_failed; i++) {
		CHECK_EQ(start_world("inline"), 0);
		cancelled_once(i & 1 ? calls : drives);
		CHECK_EQ(end_world(), 0);
	}
}

static uint32_t pollers;

static void *
poll_core(void *arg)
{
	(void)arg;
	while (__atomic_load_n(&pollers, __ATOMIC_RELAXED)) {
		drive(CTL_DRIVE_POLL);
		usleep(10);
	}
	return NULL;
}

/* One thread posts, two poll, the background thread looks in: each completion comes once. */
static void
core_drive__many_threads(void)
{
	pthread_t t[2];
	struct plx_cqe c;
	uint64_t next = 0;

	CHECK_EQ(start_world("inline"), 0);
	__atomic_store_n(&pollers, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, poll_core, NULL);
	for (uint64_t i = 0; i < 3000; i++) {
		post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 1000, .to = 2 << 20,
						.wr_id = i });
		while (next + 100 <= i || (i == 2999 && next < 3000)) {
			CHECK(poll(&c));
			CHECK_EQ(c.wr_id, next++);
			CHECK_EQ(c.status, WC_SUCCESS);
		}
	}
	__atomic_store_n(&pollers, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(core_drive__many_threads),
	CHECK_CASE(core_drive__cancelled),
};
CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that drive one core beside each other, and ends of such threads.
 *
 * A thread that is cancelled while it drives the core takes no lock with it: the stack goes on, for
 * the other threads and for the calls that need the core. rping cancels its CQ thread.
 */
#include <pthread.h>

#include "serve_fixture.h"

static bool came_back;

/* Cancelled already when it comes to the call, which then must come back all the same. */
static void *
drives(void *arg)
{
	(void)arg;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	pthread_cancel(pthread_self());
	/* with an event the core writes to a socket, where a cancelled thread would end */
	arm(PLX_CQ_ARM_ANY);
	post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	for (int i = 0; i < 100; i++)
		drive(CTL_DRIVE_POLL);
	__atomic_store_n(&came_back, true, __ATOMIC_RELAXED);
	pthread_testcancel();
	return NULL;
}

static void *
calls(void *arg)
{
	struct ctl_create_qp q = w.a.m;
	struct ctl_destroy_qp d;

	(void)arg;
	pthread_cancel(pthread_self());
	if (call(CTL_CREATE_QP, &q) == 0) {
		d.qp = q.qp;
		__atomic_store_n(&came_back, call(CTL_DESTROY_QP, &d) == 0, __ATOMIC_RELAXED);
	}
	pthread_testcancel();
	return NULL;
}

static void
cancelled(void *(*body)(void *))
{
	struct ctl_query_qp q;
	void *result;
	pthread_t t;

	CHECK_EQ(start_world("inline"), 0);
	q.qp = w.a.m.qp;
	__atomic_store_n(&came_back, false, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_create(&t, NULL, body, NULL), 0);
	CHECK_EQ(pthread_join(t, &result), 0);
	CHECK(result == PTHREAD_CANCELED && came_back);
	CHECK_EQ(call(CTL_QUERY_QP, &q), 0);	/* would hang without a core */
	CHECK_EQ(end_world(), 0);
}

static void
core_drive__cancelled(void)
{
	cancelled(drives);
}

static void
local_call__cancelled(void)
{
	cancelled(calls);
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
	CHECK_CASE(local_call__cancelled),
};
CHECK_MAIN(cases)

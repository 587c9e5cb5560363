/* SPDX-License-Identifier: BSD-3-Clause */
/*
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

static const struct check_case cases[] = {
	CHECK_CASE(core_drive__cancelled),
};
CHECK_MAIN(cases)

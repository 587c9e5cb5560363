/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No wake-up is lost (D-4): a program that arms, polls and then waits, against the core's half of the CQ
 * that fills it as fast as it can. The CQ has one place: every completion races with the arm behind the
 * one before, and none that comes later hides that its wake-up was lost: both would wait.
 */
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "check.h"
#include "queue/cq.h"
#include "verbs_world.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 50000u
#else
#define ROUNDS 1000000u
#endif
#define GIVE_UP_S 10

static struct world world;
static struct cq cq;
static uint32_t told;		/* events sent */
static int failed;

static time_t
now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* Until *word is not `old`; false after a long time. */
static bool
changes(const uint32_t *word, uint32_t old)
{
	time_t end = now_s() + GIVE_UP_S;

	for (uint32_t spins = 1; __atomic_load_n(word, __ATOMIC_ACQUIRE) == old; spins++) {
		if (spins % 64 == 0)
			sched_yield();
		if (spins % 65536 == 0 && now_s() > end)
			return false;
	}
	return true;
}

/* The core. It never overflows: it waits while the place is taken. */
static void *
core_thread(void *arg)
{
	const struct plx_cqe cqe = { 0 };

	(void)arg;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint32_t head = __atomic_load_n(&cq.ctl->head, __ATOMIC_ACQUIRE);

		if (cq.tail - head == cq.limit && !changes(&cq.ctl->head, head)) {
			__atomic_store_n(&failed, 1, __ATOMIC_RELAXED);
			return NULL;
		}
		if (cq_push(&cq, &cqe) == CQ_PUSHED_EVENT)
			__atomic_fetch_add(&told, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void
req_notify__no_wake_up_is_lost(void)
{
	uint32_t events = 0, got = 0;
	struct ibv_wc wc[4];
	pthread_t core;

	world_open(&world, (struct world_conf){ .cqe = 1 });
	cq_init(&cq, mock.cq[0].ctl, mock.cq[0].ring, mock.cq[0].log2_size, 1u << mock.cq[0].log2_size);
	pthread_create(&core, NULL, core_thread, NULL);
	while (got < ROUNDS) {
		int n;

		/* the core fills the place anew while this arms */
		got += (uint32_t)ibv_poll_cq(world.cq, 4, wc);
		CHECK_EQ(ibv_req_notify_cq(world.cq, 0), 0);
		n = ibv_poll_cq(world.cq, 4, wc);
		got += (uint32_t)n;
		if (n > 0 || got == ROUNDS)
			continue;
		CHECK(changes(&told, events));	/* something comes that was not there: it is told of */
		events = __atomic_load_n(&told, __ATOMIC_ACQUIRE);
	}
	pthread_join(core, NULL);
	CHECK(!failed);
	CHECK_EQ(got, ROUNDS);
	world_close(&world);
}

static const struct check_case cases[] = {
	CHECK_CASE(req_notify__no_wake_up_is_lost),
};
CHECK_MAIN(cases)

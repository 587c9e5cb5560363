/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's own thread on a loop port: for how long it sleeps. */
#include "engine_fixture.h"

#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

static void
idle__sleeps_when_nobody_wants_anything(void)
{
	struct timespec cpu0, cpu1;
	uint64_t spent;

	CHECK_EQ(start_with("loop", true), 0);
	usleep(20000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu0);
	usleep(300000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu1);
	spent = (uint64_t)(cpu1.tv_sec - cpu0.tv_sec) * 1000000000u + (uint64_t)cpu1.tv_nsec -
		(uint64_t)cpu0.tv_nsec;
	CHECK(spent < 60000000);	/* a fifth of a CPU; a few per cent on a quiet machine */
	stop();
}

/* What is left of the longest sleep of the next `looks` ms, ns. */
static uint64_t
longest_sleep(int looks)
{
	uint64_t longest = 0;

	for (int i = 0; i < looks; i++) {
		uint64_t until = __atomic_load_n(&core->idle.until, __ATOMIC_RELAXED), now = rte_rdtsc();

		if (until > now && until - now > longest)
			longest = until - now;
		usleep(1000);
	}
	return longest * 1000000000u / rte_get_tsc_hz();
}

/* Wakes it, and returns when it has chosen again. */
static void
wake_up(void)
{
	uint64_t before = __atomic_load_n(&core->idle.until, __ATOMIC_RELAXED);

	core_wake(core);
	for (int ms = 0; ms < 5000 && before; ms++) {
		if (__atomic_load_n(&core->idle.until, __ATOMIC_RELAXED) != before)
			return;
		usleep(1000);
	}
}

/* Whoever makes a QP, or connects one, does not wait for the end of a long sleep. */
static void
idle__sleeps_by_what_there_is(void)
{
	uint64_t alone, connected;
	int tries = 0;

	CHECK_EQ(start_with("loop", true), 0);
	while (longest_sleep(10) < 50000000 && tries++ < 1000)
		;
	CHECK(tries <= 1000);
	__atomic_store_n(&core->num_qps, 1, __ATOMIC_RELAXED);
	wake_up();
	alone = longest_sleep(100);
	CHECK(alone > 1000000 && alone <= 4100000);
	__atomic_store_n(&core->connected, 1, __ATOMIC_RELAXED);
	wake_up();
	connected = longest_sleep(100);
	CHECK(connected > 100000 && connected <= 410000);
	__atomic_store_n(&core->num_qps, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&core->connected, 0, __ATOMIC_RELAXED);
	stop();
}

static const struct check_case cases[] = {
	CHECK_CASE(idle__sleeps_when_nobody_wants_anything),
	CHECK_CASE(idle__sleeps_by_what_there_is),
};

CHECK_MAIN(cases)

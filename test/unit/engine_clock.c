/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/clock.h"

#include <time.h>

#include <rte_cycles.h>

#include "check.h"

static uint64_t
monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void
sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static void
clock_ready__ten_ms_at_least(void)
{
	struct clock k;
	uint64_t before = monotonic_ns();

	clock_begin(&k);
	clock_ready(&k);
	CHECK(monotonic_ns() - before >= CLOCK_MIN_NS);
	CHECK(k.ns >= before && k.ns <= monotonic_ns());
}

static void
clock_at__keeps_step_with_the_system(void)
{
	struct clock k;
	uint64_t before, ours, after;

	clock_begin(&k);
	clock_ready(&k);
	sleep_ms(100);
	before = monotonic_ns();
	ours = clock_at(&k, rte_rdtsc());
	after = monotonic_ns();
	CHECK(ours + 200000 > before && ours < after + 200000);	/* of 100 ms */
}

static void
clock_refine__time_goes_on(void)
{
	struct clock k;
	uint64_t tsc, before, after, start, took;

	clock_begin(&k);
	clock_ready(&k);
	sleep_ms(20);
	start = monotonic_ns();
	tsc = rte_rdtsc();
	before = clock_at(&k, tsc);
	clock_refine(&k);
	after = clock_at(&k, rte_rdtsc());
	took = monotonic_ns() - start;
	CHECK(after >= before);
	CHECK(after - before < took + 1000000);
	CHECK(clock_at(&k, tsc) <= after);
}

static void
clock_ticks__is_the_inverse(void)
{
	struct clock k = { .mult = UINT64_C(1) << 31 };	/* two ticks a ns */

	CHECK_EQ(clock_ticks(&k, 1000), 2000);
	CHECK_EQ(clock_at(&k, 2000), 1000);
	CHECK_EQ(clock_at(&k, (uint64_t)-5), 0);	/* from before: not back */
}

static const struct check_case cases[] = {
	CHECK_CASE(clock_ready__ten_ms_at_least),
	CHECK_CASE(clock_at__keeps_step_with_the_system),
	CHECK_CASE(clock_refine__time_goes_on),
	CHECK_CASE(clock_ticks__is_the_inverse),
};

CHECK_MAIN(cases)

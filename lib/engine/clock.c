/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long is a tick of the time stamp counter? Control thread at the start; later whoever drives
 * the core.
 */
#include "engine/clock.h"

#include <time.h>

#include "engine/core.h"

#include <rte_cycles.h>

static uint64_t
monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Both clocks at one instant: of a few readings the one with the least time in between. */
static void
sample(uint64_t *tsc, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	*tsc = *ns = 0;
	for (unsigned int i = 0; i < 5; i++) {
		uint64_t before = rte_rdtsc(), now = monotonic_ns(), after = rte_rdtsc();

		if (after - before >= best)
			continue;
		best = after - before;
		*tsc = before + best / 2;
		*ns = now;
	}
}

static uint64_t
rate(const struct clock *k, uint64_t tsc, uint64_t ns)
{
	return (uint64_t)(((unsigned __int128)(ns - k->first_ns) << 32) / (tsc - k->first_tsc));
}

void
clock_begin(struct clock *k)
{
	sample(&k->first_tsc, &k->first_ns);
}

void
clock_ready(struct clock *k)
{
	uint64_t spent = monotonic_ns() - k->first_ns;

	if (spent < CLOCK_MIN_NS) {
		struct timespec ts = { .tv_nsec = (long)(CLOCK_MIN_NS - spent) };

		while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) != 0)
			;
	}
	sample(&k->tsc, &k->ns);
	k->mult = rate(k, k->tsc, k->ns);
}

void
clock_refine(struct clock *k)
{
	uint64_t tsc, ns;

	sample(&tsc, &ns);
	if (tsc <= k->tsc)	/* another CPU's counter is a little behind */
		return;
	k->ns = clock_at(k, tsc);
	k->tsc = tsc;
	k->mult = rate(k, tsc, ns);
}

uint64_t
eng_ticks(void)
{
	return rte_rdtsc();
}

uint32_t
eng_tick_khz(const struct engine *e)
{
	return e->tick_khz;
}

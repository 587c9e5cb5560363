/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nanoseconds from the time stamp counter. rte_get_tsc_hz() rounds to 10 MHz, so the rate is our
 * own: over 10 ms at least at the start, over a second and more later on.
 */
#ifndef ENGINE_CLOCK_H
#define ENGINE_CLOCK_H

#include <stdint.h>

#define CLOCK_MIN_NS 10000000u		/* of the first calibration */

struct clock {
	uint64_t tsc, ns;		/* the instant from which time is counted */
	uint64_t mult;			/* ns for each tick, times 2^32 */
	uint64_t first_tsc, first_ns;	/* the beginning of the calibration */
};

/* Begins to calibrate. Control thread. */
void clock_begin(struct clock *k);
/* Ends the first calibration; sleeps when CLOCK_MIN_NS have not passed yet. Control thread. */
void clock_ready(struct clock *k);
/* A better rate, over all the time since clock_begin(). Time goes on from where it is. The thread
 * that owns the clock. */
void clock_refine(struct clock *k);

/* Time at `tsc`; a tsc from before the last clock_refine() gives its instant. */
static inline uint64_t
clock_at(const struct clock *k, uint64_t tsc)
{
	int64_t ticks = (int64_t)(tsc - k->tsc);

	if (ticks < 0)
		return k->ns;
	return k->ns + (uint64_t)(((unsigned __int128)(uint64_t)ticks * k->mult) >> 32);
}

/* Ticks in a millisecond. */
static inline uint32_t
clock_khz(const struct clock *k)
{
	return (uint32_t)(((UINT64_C(1000000) << 32) + k->mult / 2) / k->mult);
}

/* Ticks in `ns`. */
static inline uint64_t
clock_ticks(const struct clock *k, uint64_t ns)
{
	return (uint64_t)(((unsigned __int128)ns << 32) / k->mult);
}

#endif

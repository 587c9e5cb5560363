/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What time is it on the device? Its clock is the machine's time stamp counter, which a program reads
 * without asking the stack. On any thread.
 */
#include <errno.h>
#include <time.h>

#include "verbs/verbs_priv.h"

/* What came before in the program is done when the counter is read, and what comes after is not begun: two
 * readings enclose all between them. */
uint64_t
verbs_ticks(void)
{
	uint64_t ticks;

#if defined(__x86_64__)
	__builtin_ia32_lfence();
	ticks = __builtin_ia32_rdtsc();
	__builtin_ia32_lfence();
#elif defined(__aarch64__)
	__asm__ volatile("isb; mrs %0, cntvct_el0; isb" : "=r"(ticks) : : "memory");
#else
#error "which counter does rte_rdtsc() read on this machine?"
#endif
	return ticks;
}

int
plx_query_rt_values_ex(struct ibv_context *context, struct ibv_values_ex *values)
{
	const struct verbs_ctx *ctx = verbs_ctx_of(context);

	if (ctx->pub.refuse)
		return ctx->pub.refuse;
	if (values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK)
		return EINVAL;
	if (values->comp_mask)
		values->raw_clock = (struct timespec){ .tv_nsec = (long)verbs_ticks() };
	return 0;
}

#define PAIR_TICKS 2000u	/* a pair of readings that took no longer is good enough */
#define PAIR_TRIES 4u

/*
 * The counter and the time of day at one moment. The counter first: the time is late by what lies between
 * the two, and never later than now. Where this thread lost its CPU in between it reads again.
 */
static uint64_t
read_both(struct timespec *now)
{
	uint64_t best = 0, least = UINT64_MAX;

	for (unsigned int i = 0; i < PAIR_TRIES && least > PAIR_TICKS; i++) {
		uint64_t before = verbs_ticks(), took;
		struct timespec ts;

		clock_gettime(CLOCK_REALTIME, &ts);
		took = verbs_ticks() - before;
		if (took >= least)
			continue;
		least = took;
		best = before;
		*now = ts;
	}
	return best;
}

uint64_t
__plx_wallclock_ns(struct ibv_context *context, uint64_t ticks)
{
	uint64_t khz = verbs_ctx_of(context)->limits.hca_core_clock;
	struct timespec now = { 0 };
	uint64_t age = read_both(&now) - ticks;

	if (!khz)
		return 0;
	age = age / khz * 1000000 + age % khz * 1000000 / khz;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - age;
}

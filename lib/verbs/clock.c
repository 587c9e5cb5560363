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

/* The counter first: should this thread lose its CPU in between, the result is late, but never later than
 * now. */
uint64_t
__plx_wallclock_ns(struct ibv_context *context, uint64_t ticks)
{
	uint64_t khz = verbs_ctx_of(context)->limits.hca_core_clock;
	uint64_t age = verbs_ticks() - ticks;
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (!khz)
		return 0;
	age = age / khz * 1000000 + age % khz * 1000000 / khz;
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - age;
}

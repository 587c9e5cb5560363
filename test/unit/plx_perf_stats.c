/* SPDX-License-Identifier: BSD-3-Clause */
/* Percentiles and windows of plx-perf. */
#include "check.h"

#include "stats.h"

static struct histogram h;
static struct windows w;

static void
histogram_percentile__empty(void)
{
	histogram_reset(&h);
	CHECK_EQ(histogram_percentile(&h, 0.5), 0);
}

static void
histogram_percentile__one_sample(void)
{
	histogram_reset(&h);
	histogram_add(&h, 12345);
	CHECK_EQ(histogram_percentile(&h, 0), 12345);
	CHECK_EQ(histogram_percentile(&h, 0.5), 12345);
	CHECK_EQ(histogram_percentile(&h, 1), 12345);
	CHECK_EQ(h.min, 12345);
	CHECK_EQ(h.max, 12345);
}

static void
histogram_percentile__exact_when_small(void)
{
	histogram_reset(&h);
	for (uint64_t v = 1; v <= 100; v++)
		histogram_add(&h, v);
	CHECK_EQ(histogram_percentile(&h, 0.01), 1);
	CHECK_EQ(histogram_percentile(&h, 0.5), 50);
	CHECK_EQ(histogram_percentile(&h, 0.99), 99);
	CHECK_EQ(histogram_percentile(&h, 0.999), 100);
	CHECK_EQ(histogram_percentile(&h, 1), 100);
}

/* Of one value among larger ones the answer is not below it, and above by at most 1/256. */
static void
histogram_percentile__close_everywhere(void)
{
	for (uint64_t v = 500; v < UINT32_MAX; v += v / 37 + 1) {
		histogram_reset(&h);
		histogram_add(&h, v);
		histogram_add(&h, UINT32_MAX);
		CHECK(histogram_percentile(&h, 0.5) >= v);
		CHECK(histogram_percentile(&h, 0.5) <= v + v / 256);
	}
}

static void
histogram_percentile__beyond_the_last_bucket(void)
{
	histogram_reset(&h);
	histogram_add(&h, 1ull << 40);
	histogram_add(&h, 1);
	CHECK_EQ(h.max, 1ull << 40);
	CHECK_EQ(histogram_percentile(&h, 0.5), 1);
	CHECK_EQ(histogram_percentile(&h, 1), UINT32_MAX);
}

static void
windows_at__order(void)
{
	w.n = 0;
	CHECK(windows_at(&w, 0.5) == 0);
	windows_add(&w, 3);
	windows_add(&w, 1);
	windows_add(&w, 2);
	CHECK(windows_at(&w, 0) == 1);
	CHECK(windows_at(&w, 0.5) == 2);
	CHECK(windows_at(&w, 1) == 3);
}

static void
windows_add__is_bounded(void)
{
	w.n = 0;
	for (uint32_t i = 0; i < WINDOWS_MAX + 10; i++)
		windows_add(&w, i);
	CHECK_EQ(w.n, WINDOWS_MAX);
}

/* A window that is over leaves the median of its own samples; all samples go to the histogram. */
static void
sampler_add__closes_windows(void)
{
	static struct sampler s;

	w.n = 0;
	histogram_reset(&h);
	sampler_begin(&s, 1000);
	sampler_add(&s, &h, &w, 30, 2000);
	sampler_add(&s, &h, &w, 10, 3000);
	CHECK_EQ(w.n, 0);
	sampler_add(&s, &h, &w, 20, 1000 + WINDOW_NS);
	CHECK_EQ(w.n, 1);
	CHECK(windows_at(&w, 0.5) == 20);
	sampler_add(&s, &h, &w, 1ull << 40, 1000 + 2 * WINDOW_NS);
	CHECK_EQ(w.n, 2);
	CHECK(windows_at(&w, 1) == (double)(float)UINT32_MAX);
	CHECK_EQ(h.count, 4);
	CHECK_EQ(h.min, 10);
}

static void
median_u32__any_order(void)
{
	uint32_t odd[] = { 9, 1, 5 }, even[] = { 4, 3, 2, 1 };

	CHECK_EQ(median_u32(NULL, 0), 0);
	CHECK_EQ(median_u32(odd, 3), 5);
	CHECK_EQ(median_u32(even, 4), 2);
}

static void
now_ns__goes_on(void)
{
	uint64_t a = now_ns();

	CHECK(now_ns() >= a);
}

static const struct check_case cases[] = {
	CHECK_CASE(histogram_percentile__empty),
	CHECK_CASE(histogram_percentile__one_sample),
	CHECK_CASE(histogram_percentile__exact_when_small),
	CHECK_CASE(histogram_percentile__close_everywhere),
	CHECK_CASE(histogram_percentile__beyond_the_last_bucket),
	CHECK_CASE(windows_at__order),
	CHECK_CASE(windows_add__is_bounded),
	CHECK_CASE(sampler_add__closes_windows),
	CHECK_CASE(median_u32__any_order),
	CHECK_CASE(now_ns__goes_on),
};

CHECK_MAIN(cases)

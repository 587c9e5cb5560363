/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: what do the samples say? Filled by the running test, read for the report. */
#include "stats.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

void
histogram_reset(struct histogram *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

/* 512 buckets of 1 ns, then 256 for each doubling. */
static uint32_t
bucket_of(uint64_t ns)
{
	uint32_t shift;

	if (ns < 512)
		return (uint32_t)ns;
	if (ns > UINT32_MAX)
		ns = UINT32_MAX;
	shift = 63u - (uint32_t)__builtin_clzll(ns) - 8u;
	return 256u * (shift + 1) + (uint32_t)(ns >> shift) - 256u;
}

/* The largest value that falls into the bucket. */
static uint64_t
bucket_top(uint32_t b)
{
	uint32_t shift;

	if (b < 512)
		return b;
	shift = b / 256u - 1;
	return ((uint64_t)(b % 256u + 256u + 1) << shift) - 1;
}

void
histogram_add(struct histogram *h, uint64_t ns)
{
	uint32_t b = bucket_of(ns);

	assert(b < HISTOGRAM_BUCKETS);
	h->bucket[b]++;
	h->count++;
	if (ns < h->min)
		h->min = ns;
	if (ns > h->max)
		h->max = ns;
}

uint64_t
histogram_percentile(const struct histogram *h, double p)
{
	uint64_t seen = 0, want;
	uint32_t b = 0;

	if (!h->count)
		return 0;
	want = (uint64_t)(p * (double)h->count + 0.999999);
	if (want > h->count)
		want = h->count;
	while (b < HISTOGRAM_BUCKETS - 1 && (seen += h->bucket[b]) < want)
		b++;
	if (bucket_top(b) > h->max)
		return h->max;
	return bucket_top(b) < h->min ? h->min : bucket_top(b);
}

void
windows_add(struct windows *w, double value)
{
	if (w->n < WINDOWS_MAX)
		w->value[w->n++] = (float)value;
}

static int
compare_float(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

double
windows_at(struct windows *w, double p)
{
	if (!w->n)
		return 0;
	qsort(w->value, w->n, sizeof(w->value[0]), compare_float);
	return (double)w->value[(uint32_t)(p * (w->n - 1) + 0.5)];
}

static int
compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

uint32_t
median_u32(uint32_t *sample, uint32_t n)
{
	if (!n)
		return 0;
	qsort(sample, n, sizeof(sample[0]), compare_u32);
	return sample[(n - 1) / 2];
}

void
sampler_begin(struct sampler *s, uint64_t now)
{
	s->begin_ns = now;
	s->n = 0;
}

void
sampler_add(struct sampler *s, struct histogram *h, struct windows *w, uint64_t ns, uint64_t now)
{
	histogram_add(h, ns);
	if (s->n < WINDOW_SAMPLES)
		s->sample[s->n++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
	if (now - s->begin_ns < WINDOW_NS)
		return;
	windows_add(w, median_u32(s->sample, s->n));
	sampler_begin(s, now);
}

uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

struct usage
stats_usage(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (struct usage){ .nivcsw = (uint64_t)u.ru_nivcsw, .nvcsw = (uint64_t)u.ru_nvcsw };
}

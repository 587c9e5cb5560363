/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the samples of a run say. Pure but for stats_usage(). A histogram costs a few cycles a
 * sample and never grows; short windows show what the program can do between the times in which
 * the machine ran something else.
 */
#ifndef PLX_PERF_STATS_H
#define PLX_PERF_STATS_H

#include <stddef.h>
#include <stdint.h>

#define WINDOW_NS 5000000ull		/* length of a window */
#define WINDOWS_MAX 65536u		/* further windows are not kept */
#define WINDOW_SAMPLES 32768u		/* latencies a window keeps for its median */

/*
 * Latencies in ns: exact below 512 ns, above in steps of at most 1/256 of the value. min and max
 * are exact.
 */
#define HISTOGRAM_BUCKETS (512u + 256u * 23u)	/* up to 2^32 ns */

struct histogram {
	uint64_t count;
	uint64_t min, max;		/* ns; valid when count is not 0 */
	uint32_t bucket[HISTOGRAM_BUCKETS];
};

void histogram_reset(struct histogram *h);
void histogram_add(struct histogram *h, uint64_t ns);
/* The smallest value such that a share `p` (0..1) of the samples is not above it; 0 when empty. */
uint64_t histogram_percentile(const struct histogram *h, double p);

/* Figures of windows: rates, or medians of latencies. */
struct windows {
	uint32_t n;
	float value[WINDOWS_MAX];
};

void windows_add(struct windows *w, double value);
/* Sorts the windows and returns the value at share `p` of them (0 lowest, 1 highest); 0 if none. */
double windows_at(struct windows *w, double p);

/* Latencies of the window that is going on. */
struct sampler {
	uint64_t begin_ns;
	uint32_t n;
	uint32_t sample[WINDOW_SAMPLES];
};

void sampler_begin(struct sampler *s, uint64_t now);
/* A latency of `ns`, measured at `now`; a window that is over gives its median to *w. */
void sampler_add(struct sampler *s, struct histogram *h, struct windows *w, uint64_t ns,
		 uint64_t now);

/* Median of n samples; their order changes. 0 when n is 0. */
uint32_t median_u32(uint32_t *sample, uint32_t n);

uint64_t now_ns(void);

/* Context switches of the whole process so far: forced by the kernel, and of its own accord. */
struct usage {
	uint64_t nivcsw, nvcsw;
};

struct usage stats_usage(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the fuzzers share: numbers of a seed, options, a watch over hangs, and what a process holds. One
 * thread.
 */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUZZ_HANG 120		/* seconds that one seed may take on a machine that is busy */

struct fuzz {
	uint64_t seed, state;
	unsigned int step;		/* of the seed */
	unsigned int seeds;
	const char *doing;
};

extern struct fuzz fz;		/* one file of the program defines it */

static inline uint64_t
rnd64(void)
{
	uint64_t x = fz.state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline uint32_t
below(uint32_t n)
{
	return (uint32_t)(rnd64() >> 32) % n;
}

static inline bool
one_in(uint32_t n)
{
	return below(n) == 0;
}

static inline void
rnd_bytes(void *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		((uint8_t *)p)[i] = (uint8_t)rnd64();
}

/* Words at which code likes to go wrong. */
static inline uint32_t
rnd_word(void)
{
	switch (below(8)) {
	case 0:
		return 0;
	case 1:
		return 1u << below(32);
	case 2:
		return UINT32_MAX - below(3);
	case 3:
		return (1u << below(32)) - 1;
	case 4:
		return (uint32_t)rnd64();
	default:
		return below(24);	/* handles, enums, small counts */
	}
}

static inline void
fuzz_hangs(int sig)
{
	static const char line[] = "FAIL: a call hangs: see the last seed\n";

	(void)sig;
	(void)!write(1, line, sizeof(line) - 1);
	_exit(1);
}

static inline void
fuzz_seed(uint64_t seed)
{
	fz.seed = fz.state = seed;
	fz.step = 0;
	printf("seed %" PRIu64 "\n", seed);
	fflush(stdout);
	alarm(FUZZ_HANG);
}

static inline int
fuzz_fail(const char *what, long value)
{
	printf("FAIL: seed %" PRIu64 ", step %u, %s: %s %ld\n", fz.seed, fz.step,
	       fz.doing ? fz.doing : "", what, value);
	return 1;
}

/* Files that the process has open. */
static inline int
fuzz_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static inline int
fuzz_usage(const char *program)
{
	printf("usage: %s [--seed N] [--seeds N] [--long]\n", program);
	return 2;
}

/* 0, or what main() returns. Without --seed the first seed is 1: a run can be repeated. */
static inline int
fuzz_options(int argc, char **argv, unsigned int seeds)
{
	fz.seed = 1;
	fz.seeds = seeds;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--long"))
			fz.seeds = 100 * seeds;
		else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
			fz.seed = strtoull(argv[++i], NULL, 0);
		else if (!strcmp(argv[i], "--seeds") && i + 1 < argc)
			fz.seeds = (unsigned int)strtoul(argv[++i], NULL, 0);
		else
			return fuzz_usage(argv[0]);
	}
	signal(SIGALRM, fuzz_hangs);
	setvbuf(stdout, NULL, _IOLBF, 0);
	return 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Message sizes: one, a list, the powers of two of a range, or random. Pure. */
#ifndef PLX_PERF_SIZES_H
#define PLX_PERF_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#define SIZES_MAX 64
#define SIZE_LARGEST (1ull << 30)

struct sizes {
	uint64_t n;			/* entries of `each`; 0 when random */
	uint64_t each[SIZES_MAX];	/* bytes */
	uint64_t low, high;		/* the smallest and the largest, also when random */
	uint64_t random;		/* 1: any size from low to high */
};

/* Reads a number with an optional K, M or G (powers of 1024). 0, or -EINVAL for anything else. */
int number_parse(const char *text, uint64_t *value);

/*
 * Reads "N", "N,N,…", "LOW-HIGH" (LOW, every power of two between, HIGH) or "random:LOW-HIGH".
 * 0, -EINVAL when it cannot be read, -E2BIG for more than SIZES_MAX, -ERANGE above SIZE_LARGEST.
 */
int sizes_parse(const char *text, struct sizes *s);

/* As sizes_parse, from numbers that a peer sent. */
bool sizes_valid(const struct sizes *s);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways of doing one thing, that take turns in rounds: how many rounds are wanted, and what came out. For post
 * and poll. One thread.
 */
#ifndef TEST_PERF_ROUNDS_H
#define TEST_PERF_ROUNDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

#define ROUNDS_DEFAULT 1000u
#define ROUNDS_MAX 20000u

/* How many whoever runs the program wants; `about` is what --help prints. Ends the program, for --help with
 * status 0, and with 2 for words that are no number of rounds. */
static inline uint32_t
rounds_asked(int argc, char **argv, const char *about)
{
	const char *word = argc > 1 ? argv[1] : "";
	char *end = NULL;
	unsigned long n = argc > 1 ? strtoul(word, &end, 10) : ROUNDS_DEFAULT;

	if (argc == 2 && (!strcmp(word, "--help") || !strcmp(word, "-h"))) {
		printf("Usage: %s [ROUNDS]\n\n%s\nROUNDS is from 1 to %u, %u unless it is given.\n", argv[0],
		       about, ROUNDS_MAX, ROUNDS_DEFAULT);
		exit(0);
	}
	if (argc > 2 || (end && (*end || end == word)) || n < 1 || n > ROUNDS_MAX) {
		fprintf(stderr, "Usage: %s [ROUNDS], from 1 to %u; --help tells more\n", argv[0], ROUNDS_MAX);
		exit(2);
	}
	return (uint32_t)n;
}

/* One way of doing a thing, measured: the first member of what else there is to say of it. */
struct rounds {
	const char *name, *beside;		/* the way that it is compared with, or NULL */
	uint32_t round[ROUNDS_MAX];		/* ps for one */
};

/* `n` of them, `stride` bytes apart. */
static inline struct rounds *
rounds_at(void *all, size_t stride, size_t i)
{
	return (struct rounds *)((char *)all + stride * i);
}

/* Sorts them. 0: there is none of that name. */
static inline double
rounds_median(void *all, size_t stride, size_t n, const char *name, uint32_t rounds)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(rounds_at(all, stride, i)->name, name))
			return median_u32(rounds_at(all, stride, i)->round, rounds) / 1e3;
	return 0;
}

/* As one JSON object. */
static inline void
rounds_print(const char *what, void *all, size_t stride, size_t n, uint32_t rounds)
{
	printf("{\"what\": \"%s\", \"unit\": \"ns\", \"rows\": [", what);
	for (size_t i = 0; i < n; i++) {
		struct rounds *r = rounds_at(all, stride, i);
		double middle = rounds_median(all, stride, n, r->name, rounds);

		printf("%s\n  {\"way\": \"%s\", \"median\": %.2f, \"best\": %.2f", i ? "," : "", r->name,
		       middle, r->round[0] / 1e3);
		if (r->beside)
			printf(", \"beside\": \"%s\", \"ratio\": %.3f", r->beside,
			       middle / rounds_median(all, stride, n, r->beside, rounds));
		printf("}");
	}
	printf("]}\n");
}

#endif

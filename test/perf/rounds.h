/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many rounds does who runs post or poll want? `about` is what --help prints. One thread.
 */
#ifndef TEST_PERF_ROUNDS_H
#define TEST_PERF_ROUNDS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_DEFAULT 1000u
#define ROUNDS_MAX 20000u

/* Ends the program, for --help with status 0, and with 2 for words that are no number of rounds. */
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

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests: a test program is a list of cases, each a function named function__case. A failed
 * CHECK ends its case, prints where and what, and the program exits 1.
 */
#ifndef HARNESS_CHECK_H
#define HARNESS_CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct check_case {
	const char *name;
	void (*run)(void);
};

#define CHECK_CASE(fn) { #fn, fn }

static int check_failed;

#define CHECK(cond) \
	do { \
		if (!(cond)) { \
			printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #cond); \
			check_failed = 1; \
			return; \
		} \
	} while (0)

#define CHECK_EQ(a, b) \
	do { \
		uint64_t check_a = (uint64_t)(a), check_b = (uint64_t)(b); \
		if (check_a != check_b) { \
			printf("%s:%d: %s is %" PRIu64 " (0x%" PRIx64 "), " \
			       "not %s = %" PRIu64 " (0x%" PRIx64 ")\n", __FILE__, __LINE__, \
			       #a, check_a, check_a, #b, check_b, check_b); \
			check_failed = 1; \
			return; \
		} \
	} while (0)

#define CHECK_MEM(a, b, n) CHECK(memcmp((a), (b), (n)) == 0)

/* Runs all cases, or those whose name contains argv[1]. Prints one line each and the counts. */
static inline int
check_main(const struct check_case *cases, size_t n, int argc, char **argv)
{
	unsigned int passed = 0, failed = 0;

	for (size_t i = 0; i < n; i++) {
		if (argc > 1 && !strstr(cases[i].name, argv[1]))
			continue;
		check_failed = 0;
		cases[i].run();
		printf("%s %s\n", check_failed ? "FAIL" : "ok", cases[i].name);
		if (check_failed)
			failed++;
		else
			passed++;
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}

#define CHECK_MAIN(cases) \
	int main(int argc, char **argv) \
	{ \
		return check_main(cases, sizeof(cases) / sizeof((cases)[0]), argc, argv); \
	}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which frames must suffer for a run to fail? Called by the simulations' main program after a failure.
 * Halves, then quarters and so on of the list are spared for as long as it goes on failing.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "episode.h"

#define SECONDS 20		/* that a person or a test run can wait */

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* `from` without [at, at + n). */
static uint32_t
leave_out(uint64_t *to, const uint64_t *from, uint32_t len, uint32_t at, uint32_t n)
{
	uint32_t end = at + n < len ? at + n : len;

	memcpy(to, from, at * sizeof(*to));
	memcpy(to + at, from + end, (len - end) * sizeof(*to));
	return at + len - end;
}

/* Takes a failed run's list as the new one: what suffered in it and no more. */
static uint32_t
adopt(uint64_t *list, const struct episode_result *r)
{
	memcpy(list, r->suffered, r->num_suffered * sizeof(*list));
	qsort(list, r->num_suffered, sizeof(*list), compare);
	return r->num_suffered;
}

void
episode_shrink(struct episode_conf *conf, struct episode_result *r, uint32_t tries)
{
	uint32_t len = r->num_suffered, n = (len + 1) / 2;
	time_t end = time(NULL) + SECONDS;
	uint64_t *list = calloc(len + 1, sizeof(*list)), *fewer = calloc(len + 1, sizeof(*fewer));

	assert(list && fewer);
	adopt(list, r);
	for (uint32_t at = 0; n && tries && time(NULL) < end; tries--) {
		struct episode_result again;

		conf->only = fewer;
		conf->num_only = leave_out(fewer, list, len, at, n);
		episode_run(conf, &again);
		if (again.why[0]) {
			len = adopt(list, &again);
			free(r->suffered);
			*r = again;
		} else {
			free(again.suffered);
			at += n;
		}
		if (at >= len) {
			at = 0;
			n = n == 1 && len ? 0 : (n + 1) / 2;
		}
		if (!len)
			break;
	}
	conf->only = list;
	conf->num_only = len;
	free(fewer);
}

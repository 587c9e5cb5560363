/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of two hosts, many flows and a bad wire, from a seed; and everything that must hold. */
#ifndef SIM_EPISODE_H
#define SIM_EPISODE_H

#include "flow.h"

struct episode_conf {
	uint64_t seed;
	uint32_t drop;		/* parts of a million, as all chances here */
	uint32_t dup, reorder, corrupt, forge;
	uint64_t frames;	/* sent by both hosts; then what is under way comes to its end */
	const uint64_t *only;	/* frames that suffer (wire.h), or NULL */
	uint32_t num_only;
	const char *pcap;	/* file for all frames as they arrive, or NULL */
};

struct episode_result {
	char why[256];		/* empty: all is well */
	uint64_t frames, lost, doubled, delayed, corrupted, forged;
	uint64_t wrs, bytes, cqes, retransmitted, timeouts, rnr_naks;
	uint64_t virtual_ns;
	uint64_t *suffered;	/* frames that did, in order; the caller frees it */
	uint32_t num_suffered;
};

void episode_run(const struct episode_conf *conf, struct episode_result *out);

/* shrink.c: the fewest suffering frames with which it still fails, found in at most `tries` runs.
 * `r` is the failed run's result on entry, the smallest one's at the end. */
void episode_shrink(struct episode_conf *conf, struct episode_result *r, uint32_t tries);

#endif

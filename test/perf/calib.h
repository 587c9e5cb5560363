/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this machine can do without Pollux, in windows of 5 ms: the ends of the scales that its figures
 * are read on. Each measurement prints one JSON object.
 */
#ifndef PERF_CALIB_H
#define PERF_CALIB_H

#include <stdbool.h>
#include <stdint.h>

#include "stats.h"

struct calib_conf {
	int cpu[2];		/* of the two threads; processes of one thread use the first */
	uint64_t duration_ns;
	uint32_t size;		/* bytes: of a block, an object or a frame; 0: the usual */
	const char *vdev;	/* for ports */
	bool huge;		/* hugepages are there */
};

/* What one thread counts as it goes. */
struct meter {
	struct windows w;
	uint64_t begin, last, at_begin;
	uint64_t gaps, longest_gap;	/* times in which the thread did not run, ns */
	struct usage usage;
	bool started;
};

#define METER_GAP_NS 100000u		/* what nothing in the loops takes */

/* Starts with the first call; `count` is all that was done so far. */
void meter_tick(struct meter *m, uint64_t now, uint64_t count);
/* {"what": ..., "unit": ..., "median": ..., "best": ...}: a window's rate times `scale`. */
void meter_print(struct meter *m, const char *what, const char *unit, double scale);
/* The same for half of round trips, in us: the medians of windows. */
void meter_print_latency(struct meter *m, const char *what);

/* The calling thread runs there only. Fails loudly. */
void calib_pin(int cpu);

/* Each 0, or 1 after a line on stderr. */
int calib_line(const struct calib_conf *c);	/* a cache line to the other core */
int calib_copy(const struct calib_conf *c);	/* write -> copy across cores */
int calib_crc(const struct calib_conf *c);	/* copy and CRC of blocks, one core */
int calib_ring(const struct calib_conf *c);	/* rte_ring across cores */
int calib_send(const struct calib_conf *c);	/* bursts out of a port, payload written */
int calib_receive(const struct calib_conf *c);	/* and into one, payload read */
int calib_ping(const struct calib_conf *c);	/* one frame there and back */
int calib_pong(const struct calib_conf *c);

#endif

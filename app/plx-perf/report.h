/* SPDX-License-Identifier: BSD-3-Clause */
/* What the user gets to see of the results: a table while the test runs, or one JSON object. */
#ifndef PLX_PERF_REPORT_H
#define PLX_PERF_REPORT_H

#include "worker.h"

/* X(name): figures of one size. The rates are of one second, 10^9 bits and 10^6 messages. */
#define RATE_FIGURES(X) \
	X(gbps) X(gbps_median) X(gbps_best) X(mmsgs) X(mmsgs_median) X(mmsgs_best)
/* us; half round trips for SEND and WRITE, whole ones for READ and atomics */
#define LATENCY_FIGURES(X) \
	X(min) X(p50) X(p99) X(p999) X(max) X(window_median) X(window_best)

struct row {
	uint64_t size;
	struct figures mine, theirs;
#define ROW_DOUBLE(name) double name;
	RATE_FIGURES(ROW_DOUBLE)
	LATENCY_FIGURES(ROW_DOUBLE)
#undef ROW_DOUBLE
};

struct report {
	uint32_t rows;
	struct row row[SIZES_MAX];
};

/* Prints what is going to be measured and the head of the table. */
void report_begin(const struct worker *w);
/* Takes the figures of the size just done, and prints its line. */
void report_size(struct report *r, struct worker *w);
/* Prints what is left to say; `ok`: the test did not fail. */
void report_end(const struct report *r, const struct worker *w, bool ok);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The course of a test: sizes, steps of the workers, their talk, and the end. */
#ifndef PLX_PERF_RUN_H
#define PLX_PERF_RUN_H

#include <signal.h>

#include "worker.h"

/* Signals so far that ask to end: the first ends the test in order, the second at once. */
extern volatile sig_atomic_t run_interrupted;

/* Verbs objects, addresses to and fro, connection, activity. 0, or -1 after a line. */
int run_open(struct worker *w, int n, struct device *d);

/* Traffic of one size. 0, and figures in the workers; 1 when the other end ends the run before it; -1
 * after a line. */
int run_size(struct worker *w, int n, uint64_t size);

/* Whether the run ends here although sizes are left. */
bool run_ends(const struct worker *w, int n);

void run_close(struct worker *w, int n);

#endif

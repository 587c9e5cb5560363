/* SPDX-License-Identifier: BSD-3-Clause */
/* The course of one size, as worker.h tells it. */
#ifndef PLX_PERF_COURSE_H
#define PLX_PERF_COURSE_H

#include "worker.h"

/* Gets ready for a size and tells the other end. 0, or -1 after a line. */
int course_start(struct worker *w, uint64_t size);

/* Waits until the other end is ready too. 0; 1 when it ends the run instead; -1 after a line. */
int course_ready(struct worker *w, struct msg *m, int wait_ms);

/* Sends DONE and BYE when it is time. 1 when this worker is through with the size, 0, or -1. */
int course_advance(struct worker *w);

/*
 * Listens to the other end (*m is scratch), passes on that the user wants to stop, and notices that
 * nothing goes on any more; `progress`: something was done since the last look. 0, or -1 after a line.
 */
int course_look(struct worker *w, struct msg *m, bool progress, uint64_t now);

#endif

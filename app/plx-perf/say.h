/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the user reads when something goes wrong: one line on stderr that names the thing and says
 * what to do. Any thread (there is one).
 */
#ifndef PLX_PERF_SAY_H
#define PLX_PERF_SAY_H

/* Prints "plx-perf: " and the line on stderr. Returns -1, so that a check can end with it. */
int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif

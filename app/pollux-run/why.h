/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one line that a refused start prints. A check that refuses returns why(w, "what to do"), and
 * whoever called it passes the text up; only main() prints.
 */
#ifndef POLLUX_RUN_WHY_H
#define POLLUX_RUN_WHY_H

struct why {
	char text[512];
};

/* Writes the line and returns -EINVAL, so that a check can end with it. */
int why(struct why *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

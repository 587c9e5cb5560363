/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers in scripts: 12, 0x1f, 4.096us (nanoseconds), names, f(x), and | ^ & << >> + - * / %
 * with C's precedence and parentheses. 64 bits, wrapping.
 */
#ifndef SCRIPT_EXPR_H
#define SCRIPT_EXPR_H

#include <stdbool.h>
#include <stdint.h>

struct expr_names {
	/* Value of a name, or of name(arg) when arg is not NULL. False: unknown. */
	bool (*value)(void *ctx, const char *name, const uint64_t *arg, uint64_t *out);
	void *ctx;
};

/* False: not an expression. */
bool expr_eval(const char *text, const struct expr_names *names, uint64_t *out);

/* RNR timer in nanoseconds by code 0..31 (section 1.F). */
extern const uint64_t expr_rnr_ns[32];

#endif

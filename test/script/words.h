/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A script line as words: "key=value" options, flags, and words by position. A quoted string and
 * what stands in brackets stay one word. Whoever understands a word takes it; what nobody took is
 * an error of the script.
 */
#ifndef SCRIPT_WORDS_H
#define SCRIPT_WORDS_H

#include <stdbool.h>

#define WORDS_MAX 256
#define WORDS_LINE 8192

struct words {
	char text[WORDS_LINE];
	char *w[WORDS_MAX];
	bool taken[WORDS_MAX];
	int n;
};

/* Splits; a # outside quotes ends the line. False: the line is too long. */
bool words_split(struct words *ws, const char *line);
/* The next word by position, NULL when there is none (options with = are passed over). */
const char *words_next(struct words *ws);
/* Value of "key=", NULL without. */
const char *words_opt(struct words *ws, const char *key);
bool words_flag(struct words *ws, const char *flag);
/* First word that nobody took, or NULL. */
const char *words_left(const struct words *ws);

#endif

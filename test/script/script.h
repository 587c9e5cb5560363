/* SPDX-License-Identifier: BSD-3-Clause */
/* A script file as read: its lines, the ids it covers, what varies from run to run. */
#ifndef SCRIPT_SCRIPT_H
#define SCRIPT_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#define SCRIPT_LINES 512
#define SCRIPT_VARY 4
#define SCRIPT_VALUES 1024

/* vary NAME... in VALUE...: a run for each value; with several names each value has a
 * part for each, with colons between them. */
struct script_vary {
	char *names[4];
	int num_names;
	char *value[SCRIPT_VALUES];
	int num_values;
};

struct script {
	const char *path;
	char *line[SCRIPT_LINES];
	int num_lines;
	struct script_vary vary[SCRIPT_VARY];
	int num_vary;
	uint32_t psn[8];		/* start PSNs to run with */
	int num_psns;
	char *covers[32];		/* statements that it proves */
	int num_covers;
	char *partly[8];		/* and those of which it proves a part */
	int num_partly;
	char error[160];		/* why it cannot be run, empty: it can */
	char skip[160];			/* why it is not run */
	bool xrc;			/* its QPs are XRC's */
	bool only_rc;			/* it is not run again as another type */
};

/* Reads a file. */
struct script *script_read(const char *path);
void script_free(struct script *s);

/* Index of the "end" that belongs to the block that starts at `line`, or -1. */
int script_block_end(const struct script *s, int line);

/* Splits "NAME... in VALUE..." (a range A..B is each number) into v. False: malformed. */
bool script_vary_parse(struct script_vary *v, const char *text);
void script_vary_free(struct script_vary *v);
/* What name `i` gets of value number `at`, copied to out. */
void script_value(const struct script_vary *v, int at, int i, char *out, int size);

#endif

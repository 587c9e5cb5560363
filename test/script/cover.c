/* SPDX-License-Identifier: BSD-3-Clause */
/* Which statements have a script or another test that holds? Called by main and proof. */
#include "cover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	char letter;
	int count;
} sections[] = {
	{ 'A', 32 }, { 'B', 30 }, { 'C', 33 }, { 'D', 10 }, { 'E', 8 }, { 'F', 23 }, { 'H', 18 },
	{ 'G', 12 },
};
#define SECTIONS 8
#define ROWS 7		/* of table 1.G, which are none of the statements */

#define NUMBERS 40

static enum { NOT, PARTLY, COVERED } state[SECTIONS][NUMBERS];
static bool required[SECTIONS][NUMBERS], reach[SECTIONS][NUMBERS];

static bool
parse(const char *id, int *section, int *number)
{
	char *end;

	for (*section = 0; *section < SECTIONS && sections[*section].letter != id[0]; ++*section)
		;
	if (*section == SECTIONS)
		return false;
	id++;
	if (*id == '-')
		id++;
	*number = (int)strtol(id, &end, 10);
	return end != id && !*end && *number >= 1 && *number <= sections[*section].count;
}

bool
cover_valid(const char *id)
{
	int s, n;

	return parse(id, &s, &n);
}

void
cover_mark(const char *id)
{
	int s, n;

	if (parse(id, &s, &n))
		state[s][n] = COVERED;
}

void
cover_partly(const char *id)
{
	int s, n;

	if (parse(id, &s, &n) && state[s][n] == NOT)
		state[s][n] = PARTLY;
}

bool
cover_require(const char *ids)
{
	const char *dots = strstr(ids, "..");
	int s, n, last_s, last;
	char first[16];

	snprintf(first, sizeof(first), "%.*s", dots ? (int)(dots - ids) : 15, ids);
	if (!parse(first, &s, &n) || !parse(dots ? dots + 2 : first, &last_s, &last) || s != last_s)
		return false;
	for (; n <= last; n++)
		required[s][n] = true;
	return true;
}

bool
cover_reach(const char *id)
{
	int s, n;

	if (!parse(id, &s, &n))
		return false;
	reach[s][n] = true;
	return true;
}

static bool
is_covered(int s, int n)
{
	return state[s][n] == COVERED;
}

static bool
is_covered_statement(int s, int n)
{
	return s != ROWS && is_covered(s, n);
}

static bool
is_partly(int s, int n)
{
	return state[s][n] == PARTLY;
}

static bool
is_required(int s, int n)
{
	return required[s][n];
}

static bool
is_covered_row(int s, int n)
{
	return s == ROWS && is_covered(s, n);
}

static bool
is_enough(int s, int n)
{
	return is_required(s, n) && is_partly(s, n) && reach[s][n];
}

static bool
is_missing(int s, int n)
{
	return is_required(s, n) && !is_covered(s, n) && !is_enough(s, n);
}

/* Those of which `is` says yes; with a title they are printed. */
static unsigned int
each(const char *title, bool (*is)(int s, int n))
{
	unsigned int total = 0;

	if (title)
		printf("%s:", title);
	for (int s = 0; s < SECTIONS; s++) {
		for (int n = 1; n <= sections[s].count; n++) {
			if (!is(s, n))
				continue;
			if (title)
				printf(" %c%s%d", sections[s].letter,
				       sections[s].letter == 'D' ? "-" : "", n);
			total++;
		}
	}
	if (title)
		printf("\n");
	return total;
}

void
cover_print(void)
{
	unsigned int total = each("ids", is_covered_statement);

	each("partly", is_partly);
	each("rows", is_covered_row);
	printf("covered %u / %d\n", total, COVER_TOTAL);
}

unsigned int
cover_print_required(void)
{
	unsigned int all = each(NULL, is_required), missing;

	if (!all)
		return 0;
	each("as far as is built", is_enough);
	missing = each("missing", is_missing);
	printf("required %u of %u\n", all - missing, all);
	return missing;
}

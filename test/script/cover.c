/* SPDX-License-Identifier: BSD-3-Clause */
/* Which statements have a script that holds? Called by main. */
#include "cover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	char letter;
	int count;
} sections[] = {
	{ 'A', 32 }, { 'B', 30 }, { 'C', 33 }, { 'D', 10 }, { 'E', 8 }, { 'F', 23 }, { 'H', 18 },
};
#define SECTIONS 7

static enum { NOT, PARTLY, COVERED } state[SECTIONS][40];

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

static int
print(const char *title, int which)
{
	int total = 0;

	printf("%s:", title);
	for (int s = 0; s < SECTIONS; s++) {
		for (int n = 1; n <= sections[s].count; n++) {
			if ((int)state[s][n] != which)
				continue;
			printf(" %c%s%d", sections[s].letter, sections[s].letter == 'D' ? "-" : "", n);
			total++;
		}
	}
	printf("\n");
	return total;
}

void
cover_print(void)
{
	int total = print("ids", COVERED);

	print("partly", PARTLY);
	printf("covered %d / %d\n", total, COVER_TOTAL);
}

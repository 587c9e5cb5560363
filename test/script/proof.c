/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which statements does something else than a packet script prove, and which must be proved? Called
 * by main before the scripts run. A case that is not there any more is a failure, so that a
 * proof cannot go missing unseen.
 */
#include "proof.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cover.h"

#define LINE 512

struct place {
	const char *list;	/* the file itself, for messages */
	char dir[LINE];		/* where "unit/" is */
	const char *tests;
	unsigned int line;
};

static bool
fail(const struct place *at, const char *what, const char *which)
{
	printf("FAIL %s:%u: %s: %s\n", at->list, at->line, what, which);
	return false;
}

/* Is CASE in the list of cases of the file? */
static bool
in_file(const struct place *at, const char *file, const char *name)
{
	char path[2 * LINE], text[LINE], entry[LINE];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", at->dir, file);
	snprintf(entry, sizeof(entry), "CHECK_CASE(%s)", name);
	f = fopen(path, "r");
	while (f && !found && fgets(text, sizeof(text), f))
		found = strstr(text, entry);
	if (f)
		fclose(f);
	return found;
}

/* "unit/a_b.c" is the program test_a_b, which prints "ok CASE". */
static bool
holds(const struct place *at, const char *file, const char *name)
{
	char command[3 * LINE], text[LINE], want[LINE];
	const char *base = strrchr(file, '/');
	bool ok = false;
	FILE *f;

	base = base ? base + 1 : file;
	snprintf(command, sizeof(command), "'%s/test_%.*s' %s", at->tests,
		 (int)strcspn(base, "."), base, name);
	snprintf(want, sizeof(want), "ok %s\n", name);
	f = popen(command, "r");
	while (f && fgets(text, sizeof(text), f))
		ok |= !strcmp(text, want);
	return f && pclose(f) == 0 && ok;
}

static bool
proof(const struct place *at, char *text, void (*mark)(const char *id))
{
	char *test = strchr(text, '='), *name, *id;

	if (!test)
		return fail(at, "ID... = FILE:CASE", text);
	*test++ = 0;
	test += strspn(test, " ");
	name = strchr(test, ':');
	if (!name)
		return fail(at, "FILE:CASE", test);
	*name++ = 0;
	if (!in_file(at, test, name))
		return fail(at, "no such case", name);
	if (at->tests && !holds(at, test, name))
		return fail(at, "the case does not hold", name);
	while ((id = strsep(&text, " "))) {
		if (!*id)
			continue;
		if (!cover_valid(id))
			return fail(at, "no such statement", id);
		mark(id);
	}
	printf("ok   %s:%s\n", test, name);
	return true;
}

static bool
require(const struct place *at, char *text)
{
	char *id;

	while ((id = strsep(&text, " ")))
		if (*id && !cover_require(id))
			return fail(at, "no such statements", id);
	return true;
}

static bool
reach(const struct place *at, char *text)
{
	char *id = strsep(&text, " ");

	if (!text || !*text)
		return fail(at, "a reason is missing", id);
	if (!cover_reach(id))
		return fail(at, "no such statement", id);
	return true;
}

static bool
read_line(const struct place *at, char *text)
{
	char *word;

	text[strcspn(text, "#\n")] = 0;
	word = strsep(&text, " ");
	if (!*word)
		return true;
	if (!text)
		return fail(at, "nothing behind it", word);
	if (!strcmp(word, "proof"))
		return proof(at, text, cover_mark);
	if (!strcmp(word, "partly"))
		return proof(at, text, cover_partly);
	if (!strcmp(word, "require"))
		return require(at, text);
	if (!strcmp(word, "reach"))
		return reach(at, text);
	return fail(at, "proof, partly, require or reach", word);
}

unsigned int
proof_read(const char *list, const char *tests)
{
	struct place at = { .list = list, .tests = tests };
	unsigned int bad = 0;
	char text[LINE], *slash;
	FILE *f = fopen(list, "r");

	if (!f) {
		perror(list);
		return 1;
	}
	snprintf(at.dir, sizeof(at.dir), "%s", list);
	slash = strrchr(at.dir, '/');
	snprintf(slash ? slash : at.dir, slash ? 4 : 3, "%s", slash ? "/.." : "..");
	while (fgets(text, sizeof(text), f)) {
		at.line++;
		bad += !read_line(&at, text);
	}
	fclose(f);
	return bad;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What is in this script file? Called once for each file. */
#include "script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "words.h"

void
script_value(const struct script_vary *v, int at, int i, char *out, int size)
{
	const char *value = v->value[at], *end;

	if (v->num_names == 1) {
		snprintf(out, (size_t)size, "%s", value);
		return;
	}

	while (i-- && value) {
		value = strchr(value, ':');
		if (value)
			value++;
	}
	if (!value)
		value = "";
	end = strchr(value, ':');
	snprintf(out, (size_t)size, "%.*s", end ? (int)(end - value) : (int)strlen(value), value);
}

static bool
add_value(struct script_vary *v, const char *text)
{
	if (v->num_values == SCRIPT_VALUES)
		return false;
	v->value[v->num_values++] = strdup(text);
	return true;
}

static bool
add_range(struct script_vary *v, const char *text)
{
	char from[64], one[24];
	const char *dots = strstr(text, "..");
	uint64_t a, b;

	snprintf(from, sizeof(from), "%.*s", (int)(dots - text), text);
	if (!expr_eval(from, NULL, &a) || !expr_eval(dots + 2, NULL, &b))
		return false;
	for (; a <= b; a++) {
		snprintf(one, sizeof(one), "%llu", (unsigned long long)a);
		if (!add_value(v, one))
			return false;
	}
	return true;
}

bool
script_vary_parse(struct script_vary *v, const char *text)
{
	static struct words w;
	int at = 1;		/* behind "vary" or "foreach" */

	memset(v, 0, sizeof(*v));
	if (!words_split(&w, text))
		return false;
	for (; at < w.n && strcmp(w.w[at], "in"); at++) {
		if (v->num_names == 4)
			return false;
		v->names[v->num_names++] = strdup(w.w[at]);
	}
	if (at + 1 >= w.n)
		return false;
	while (++at < w.n) {
		const char *word = w.w[at];
		bool range = strstr(word, "..") && !strchr(word, ':');

		/* a range may be empty, 1..0 */
		if (!(range ? add_range(v, word) : add_value(v, word)))
			return false;
	}
	return v->num_names > 0;
}

void
script_vary_free(struct script_vary *v)
{
	for (int i = 0; i < v->num_names; i++)
		free(v->names[i]);
	for (int i = 0; i < v->num_values; i++)
		free(v->value[i]);
}

static void
read_psns(struct script *s, struct words *w)
{
	const char *word;
	uint64_t v;

	s->num_psns = 0;
	while ((word = words_next(w)) && s->num_psns < 8) {
		if (!expr_eval(word, NULL, &v) || v > 0xffffff)
			snprintf(s->error, sizeof(s->error), "bad start PSN %s", word);
		s->psn[s->num_psns++] = (uint32_t)v;
	}
}

/* Lines that are about the whole file. False: not one of these. */
static bool
read_header(struct script *s, const char *line)
{
	static struct words w;
	const char *cmd, *word;

	if (!words_split(&w, line) || !(cmd = words_next(&w)))
		return false;
	if (!strcmp(cmd, "covers")) {
		while ((word = words_next(&w)) && s->num_covers < 32)
			s->covers[s->num_covers++] = strdup(word);
	} else if (!strcmp(cmd, "partly")) {
		while ((word = words_next(&w)) && s->num_partly < 8)
			s->partly[s->num_partly++] = strdup(word);
	} else if (!strcmp(cmd, "vary")) {
		if (s->num_vary == SCRIPT_VARY || !script_vary_parse(&s->vary[s->num_vary++], line))
			snprintf(s->error, sizeof(s->error), "vary NAME... in VALUE...");
	} else if (!strcmp(cmd, "psn")) {
		read_psns(s, &w);
	} else if (!strcmp(cmd, "skip")) {
		snprintf(s->skip, sizeof(s->skip), "%.150s", line + 4);
	} else if (!strcmp(cmd, "as") && (word = words_next(&w)) && !strcmp(word, "xrc")) {
		s->xrc = true;
	} else if (!strcmp(cmd, "only") && (word = words_next(&w)) && !strcmp(word, "rc:")) {
		s->only_rc = true;
	} else {
		return false;
	}
	return true;
}

static bool
starts(const char *line, const char *word)
{
	size_t n = strlen(word);

	line += strspn(line, " \t");
	return !strncmp(line, word, n) && strchr(" \t\r\n", line[n]) != NULL;
}

int
script_block_end(const struct script *s, int line)
{
	int depth = 0;

	for (int i = line; i < s->num_lines; i++) {
		if (starts(s->line[i], "foreach") || starts(s->line[i], "burst"))
			depth++;
		else if (starts(s->line[i], "end") && --depth == 0)
			return i;
	}
	return -1;
}

struct script *
script_read(const char *path)
{
	static const uint32_t psns[] = { 0, 0x7fffff, 0xfffffe };
	struct script *s = calloc(1, sizeof(*s));
	char buf[WORDS_LINE];
	FILE *f = fopen(path, "r");

	if (!s)
		abort();
	s->path = path;
	s->num_psns = 3;
	memcpy(s->psn, psns, sizeof(psns));
	if (!f) {
		snprintf(s->error, sizeof(s->error), "cannot be opened: %s", strerror(errno));
		return s;
	}
	while (fgets(buf, sizeof(buf), f)) {
		if (s->num_lines == SCRIPT_LINES) {
			snprintf(s->error, sizeof(s->error), "more than %d lines", SCRIPT_LINES);
			break;
		}
		buf[strcspn(buf, "\r\n")] = 0;
		/* a header line stays as an empty one, so that lines keep their numbers */
		s->line[s->num_lines++] = strdup(read_header(s, buf) ? "" : buf);
	}
	fclose(f);
	return s;
}

void
script_free(struct script *s)
{
	for (int i = 0; i < s->num_lines; i++)
		free(s->line[i]);
	for (int i = 0; i < s->num_covers; i++)
		free(s->covers[i]);
	for (int i = 0; i < s->num_partly; i++)
		free(s->partly[i]);
	for (int i = 0; i < s->num_vary; i++)
		script_vary_free(&s->vary[i]);
	free(s);
}

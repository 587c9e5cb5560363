/* SPDX-License-Identifier: BSD-3-Clause */
/* Which words are in this line? Called for each line that is run. */
#include "words.h"

#include <string.h>

static char *
word_end(char *at)
{
	bool quoted = false;

	for (; *at && (quoted || (*at != ' ' && *at != '\t' && *at != '#')); at++)
		if (*at == '"')
			quoted = !quoted;
	return at;
}

bool
words_split(struct words *ws, const char *line)
{
	char *at;

	ws->n = 0;
	memset(ws->taken, 0, sizeof(ws->taken));
	if (strlen(line) >= sizeof(ws->text))
		return false;
	at = strcpy(ws->text, line);
	while (ws->n < WORDS_MAX) {
		char *end;

		at += strspn(at, " \t\r\n");
		if (!*at || *at == '#')
			return true;
		end = word_end(at);
		ws->w[ws->n++] = at;
		if (!*end || *end == '#') {
			*end = 0;
			return true;
		}
		*end = 0;
		at = end + 1;
	}
	return false;
}

/* An option is a name, then '='. */
static bool
is_option(const char *w)
{
	size_t n = strspn(w, "abcdefghijklmnopqrstuvwxyz_0123456789");

	return n && w[n] == '=';
}

const char *
words_next(struct words *ws)
{
	for (int i = 0; i < ws->n; i++) {
		if (ws->taken[i] || is_option(ws->w[i]))
			continue;
		ws->taken[i] = true;
		return ws->w[i];
	}
	return NULL;
}

const char *
words_opt(struct words *ws, const char *key)
{
	size_t n = strlen(key);

	for (int i = 0; i < ws->n; i++) {
		if (strncmp(ws->w[i], key, n) || ws->w[i][n] != '=')
			continue;
		ws->taken[i] = true;
		return ws->w[i] + n + 1;
	}
	return NULL;
}

bool
words_flag(struct words *ws, const char *flag)
{
	for (int i = 0; i < ws->n; i++) {
		if (ws->taken[i] || strcmp(ws->w[i], flag))
			continue;
		return ws->taken[i] = true;
	}
	return false;
}

const char *
words_left(const struct words *ws)
{
	for (int i = 0; i < ws->n; i++)
		if (!ws->taken[i])
			return ws->w[i];
	return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What does the user want? The options of all ping-pong examples, of which each has some. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pingpong.h"

/* One option: how `have` names it, its letter, its word, its argument if it has one, what --help says. */
static const struct row {
	char id, letter;
	const char *word, *arg, *text;
} pp_rows[] = {
	{ 'p', 'p', "port", "port", "listen on/connect to TCP port <port>" },
	{ 'd', 'd', "ib-dev", "dev", "use device <dev> (default first device found)" },
	{ 'i', 'i', "ib-port", "port", "use port <port> of the device" },
	{ 's', 's', "size", "size", "size of message to exchange" },
	{ 'm', 'm', "mtu", "size", "path MTU" },
	{ 'q', 'q', "num-qp", "num", "number of QPs to use" },
	{ 'r', 'r', "rx-depth", "dep", "number of receives to post at a time" },
	{ 'n', 'n', "iters", "iters", "number of exchanges of every QP" },
	{ 'C', 'c', "clients", "n", "number of clients (on server only)" },
	{ 'T', 'n', "num_tests", "n", "number of tests per client" },
	{ 'l', 'l', "sl", "sl", "service level value" },
	{ 'e', 'e', "events", NULL, "sleep on CQ events (default poll)" },
	{ 'g', 'g', "gid-idx", "index", "local port GID index (default RoCE v2, IPv4 if there is one)" },
	{ 'o', 'o', "odp", NULL, "use on demand paging" },
	{ 'c', 'c', "chk", NULL, "validate every byte that is received" },
	{ 'h', 'h', "help", NULL, "print this and exit" },
};
#define ROWS (sizeof(pp_rows) / sizeof(pp_rows[0]))

static bool
has(const char *have, const struct row *row)
{
	return row->id == 'h' || strchr(have, row->id);
}

/* Where a number goes; NULL for what is none. */
static unsigned int *
number_of(struct pp_options *o, char id)
{
	switch (id) {
	case 'p': return &o->tcp_port;
	case 'i': return &o->ib_port;
	case 's': return &o->size;
	case 'm': return &o->mtu;
	case 'q': return &o->num_qp;
	case 'r': return &o->rx_depth;
	case 'n':
	case 'T': return &o->iters;
	case 'C': return &o->clients;
	case 'l': return &o->sl;
	}
	return NULL;
}

static void
usage(const struct pp_options *o, const char *have, const char *program, FILE *out)
{
	struct pp_options defaults = *o;

	fprintf(out, "Usage:\n"
		"  %s            start a server and wait for connection\n"
		"  %s <host>     connect to server at <host>\n\nOptions:\n", program, program);
	for (const struct row *r = pp_rows; r < pp_rows + ROWS; r++) {
		const unsigned int *n = number_of(&defaults, r->id);
		char word[40];

		if (!has(have, r))
			continue;
		snprintf(word, sizeof(word), "--%s%s%s%s", r->word, r->arg ? "=<" : "", r->arg ? r->arg : "",
			 r->arg ? ">" : "");
		fprintf(out, "  -%c, %-22s %s", r->letter, word, r->text);
		if (n)
			fprintf(out, " (default %u)", *n);
		fprintf(out, "\n");
	}
}

static bool
read_number(const char *text, unsigned int *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 0);

	if (*text == '-' || end == text || *end || n > INT32_MAX)
		return false;
	*out = (unsigned int)n;
	return true;
}

static bool
set(struct pp_options *o, char id, const char *arg)
{
	unsigned int *number = number_of(o, id), index;

	switch (id) {
	case 'd':
		o->ib_dev = arg;
		return true;
	case 'e':
		return o->events = true;
	case 'o':
		return o->odp = true;
	case 'c':
		return o->check = true;
	case 'g':
		if (!read_number(arg, &index))
			return false;
		o->gid_idx = (int)index;
		return true;
	}
	return read_number(arg, number) && (*number || id == 'l' || id == 's');
}

/* The row of a letter among those that the program has. */
static const struct row *
find(const char *have, int letter)
{
	for (const struct row *r = pp_rows; r < pp_rows + ROWS; r++)
		if (r->letter == letter && has(have, r))
			return r;
	return NULL;
}

void
pp_options_read(struct pp_options *o, const char *have, int argc, char **argv)
{
	const struct pp_options defaults = *o;
	struct option words[ROWS + 1] = { { 0 } };
	char letters[2 * ROWS + 1] = "", *at = letters;
	unsigned int n = 0;
	int c;

	for (const struct row *r = pp_rows; r < pp_rows + ROWS; r++) {
		if (!has(have, r))
			continue;
		words[n++] = (struct option){ r->word, r->arg ? required_argument : no_argument, NULL,
					      r->letter };
		*at++ = r->letter;
		if (r->arg)
			*at++ = ':';
	}
	while ((c = getopt_long(argc, argv, letters, words, NULL)) != -1) {
		const struct row *r = find(have, c);

		if (r && r->id == 'h') {
			usage(&defaults, have, argv[0], stdout);
			exit(0);
		}
		if (!r || !set(o, r->id, optarg)) {
			if (r)
				fprintf(stderr, "%s: %s is no value for --%s\n", argv[0], optarg, r->word);
			usage(&defaults, have, argv[0], stderr);
			exit(1);
		}
	}
	o->server = optind < argc ? argv[optind++] : NULL;
	if (optind < argc) {
		usage(&defaults, have, argv[0], stderr);
		exit(1);
	}
}

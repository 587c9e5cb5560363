/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: what did the user ask for? Called by main() before anything is opened. */
#include "options.h"

#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "verbs_api.h"

struct row;

typedef int set_fn(const struct row *r, struct options *o, const char *value);

static set_fn set_number, set_seconds, set_flag, set_op, set_mode, set_poll, set_target, set_size,
	set_device;

static const struct row {
	const char *name;
	char letter;			/* 0: no short form */
	const char *arg;		/* NULL: takes none */
	const char *help;
	set_fn *set;
	size_t at;			/* the word in struct options */
	uint64_t low, high;
} rows[] = {
#define IN_TEST(field) offsetof(struct options, test.field)
#define IN_OPTIONS(field) offsetof(struct options, field)
	{ "op", 'o', "OP", "send, send_imm, write (default), write_imm, read, cmp_swap, fetch_add",
	  set_op, 0, 0, 0 },
	{ "mode", 'M', "MODE", "bw (default), lat, rate (as bw, of 64 B)", set_mode, 0, 0, 0 },
	{ "size", 's', "SIZES", "N, a list N,N, a range LOW-HIGH of powers of two, or (with --verify) "
	  "random:LOW-HIGH; K, M, G are powers of 1024", set_size, 0, 0, 0 },
	{ "all", 'a', NULL, "every power of two up to 8M; with --verify give --iters too", set_flag,
	  IN_OPTIONS(all_sizes), 0, 1 },
	{ "qps", 'q', "N", "queue pairs (1)", set_number, IN_TEST(qps), 1, 16384 },
	{ "depth", 't', "N", "messages in flight on a QP (128; with --verify 8)", set_number,
	  IN_TEST(depth), 1, 8192 },
	{ "post-list", 'l', "N", "work requests in one ibv_post_send (1)", set_number,
	  IN_TEST(post_list), 1, 1024 },
	{ "cq-mod", 'Q', "N", "ask for a completion every N messages (32; lat: 1)", set_number,
	  IN_TEST(cq_mod), 1, 8192 },
	{ "inline", 'I', "N", "send messages of up to N bytes inline (0)", set_number,
	  IN_TEST(inline_max), 0, 4096 },
	{ "iters", 'n', "N", "messages on each QP", set_number, IN_TEST(iters), 1, 1ull << 40 },
	{ "duration", 'D', "S", "seconds for each size (1, unless --iters is given)", set_seconds,
	  IN_TEST(duration_ms), 1, 86400 },
	{ "mtu", 'm', "N", "path MTU (the largest that both ports carry)", set_number, IN_TEST(mtu),
	  256, 4096 },
	{ "bidirectional", 'b', NULL, "both ends send", set_flag, IN_TEST(bidirectional), 0, 1 },
	{ "events", 'e', NULL, "sleep until a completion event instead of polling", set_flag,
	  IN_TEST(events), 0, 1 },
	{ "poll", 0, "WHERE", "write latency: cq (default) or memory, as ib_write_lat", set_poll, 0, 0,
	  0 },
	{ "verify", 'V', NULL, "check every byte of every message", set_flag, IN_TEST(verify), 0, 1 },
	{ "bytes", 0, "N", "volume of a verified run (256M)", set_number, IN_TEST(bytes), 1,
	  1ull << 50 },
	{ "seed", 0, "N", "of the bytes and random sizes of a verified run (1)", set_number,
	  IN_TEST(seed), 0, UINT64_MAX - 1 },
	{ "sges", 0, "N", "cut verified messages into N pieces at either end (1)", set_number,
	  IN_TEST(sges), 1, 32 },
	{ "timeout", 'u', "CODE", "ACK timeout, 4.096 us * 2^CODE (14: 67 ms)", set_number,
	  IN_TEST(timeout), 0, 31 },
	{ "retry", 0, "N", "retries after a timeout (7)", set_number, IN_TEST(retry), 0, 7 },
	{ "rnr", 0, "N", "retries when the receiver is not ready (7: without end)", set_number,
	  IN_TEST(rnr), 0, 7 },
	{ "port", 'p', "N", "TCP port for the exchange of addresses (18525)", set_number,
	  IN_OPTIONS(tcp_port), 1, 65535 },
	{ "gid-index", 'x', "N", "local GID (the first IPv4 address, else 0)", set_number,
	  IN_OPTIONS(gid_index), 0, 255 },
	{ "device", 'd', "NAME", "RDMA device (the first)", set_device, 0, 0, 0 },
	{ "self", 0, NULL, "both ends in this process, for a loop port", set_flag, IN_OPTIONS(self),
	  0, 1 },
	{ "target", 0, "HOW", "what the target of WRITE, READ and atomics does: poll (default) or "
	  "sleep", set_target, 0, 0, 0 },
	{ "stall", 0, "S", "give up when nothing completes for S seconds (20)", set_number,
	  IN_OPTIONS(stall_s), 1, 86400 },
	{ "json", 'j', NULL, "print one JSON object", set_flag, IN_OPTIONS(json), 0, 1 },
	{ "help", 'h', NULL, "print this", NULL, 0, 0, 0 },
	{ "version", 0, NULL, "print the version", NULL, 0, 0, 0 },
};

#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static uint64_t *
word_of(const struct row *r, struct options *o)
{
	return (uint64_t *)((char *)o + r->at);
}

static int
set_number(const struct row *r, struct options *o, const char *value)
{
	uint64_t v;

	if (number_parse(value, &v) || v < r->low || v > r->high)
		return fail("--%s is a number from %llu to %llu, not \"%s\"", r->name,
			    (unsigned long long)r->low, (unsigned long long)r->high, value);
	*word_of(r, o) = v;
	return 0;
}

static int
set_seconds(const struct row *r, struct options *o, const char *value)
{
	char *end;
	double s = strtod(value, &end);

	if (end == value || *end || !(s >= 0.001 && s <= (double)r->high))
		return fail("--%s is a time in seconds from 0.001 to %llu, not \"%s\"", r->name,
			    (unsigned long long)r->high, value);
	*word_of(r, o) = (uint64_t)(s * 1000 + 0.5);
	return 0;
}

static int
set_flag(const struct row *r, struct options *o, const char *value)
{
	(void)value;
	*word_of(r, o) = 1;
	return 0;
}

static int
set_name(const struct row *r, const char *const *names, size_t n, const char *value, uint64_t *to)
{
	char list[128];		/* longer than any of them */
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		if (!strcmp(names[i], value)) {
			*to = i;
			return 0;
		}
	}
	for (size_t i = 0; i < n; i++)
		at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "", names[i]);
	return fail("--%s \"%s\" is not one of: %s", r->name, value, list);
}

static int
set_op(const struct row *r, struct options *o, const char *value)
{
	const char *names[OP_COUNT];

	for (size_t i = 0; i < OP_COUNT; i++)
		names[i] = ops[i].name;
	return set_name(r, names, OP_COUNT, value, &o->test.op);
}

static int
set_mode(const struct row *r, struct options *o, const char *value)
{
	return set_name(r, mode_names, MODE_COUNT, value, &o->test.mode);
}

static int
set_poll(const struct row *r, struct options *o, const char *value)
{
	return set_name(r, poll_names, POLL_COUNT, value, &o->test.poll);
}

static int
set_target(const struct row *r, struct options *o, const char *value)
{
	static const char *const names[] = { "poll", "sleep" };

	return set_name(r, names, 2, value, &o->target_sleeps);
}

static int
set_size(const struct row *r, struct options *o, const char *value)
{
	(void)r;
	if (sizes_parse(value, &o->test.sizes))
		return fail("--size \"%s\": give N, N,N,..., LOW-HIGH or random:LOW-HIGH, at most %u "
			    "sizes of at most 1G", value, SIZES_MAX);
	return 0;
}

static int
set_device(const struct row *r, struct options *o, const char *value)
{
	(void)r;
	o->device = value;
	return 0;
}

static void
print_help(void)
{
	printf("usage: plx-perf [OPTIONS]          serve one client, which says what is measured\n"
	       "       plx-perf [OPTIONS] HOST     measure against the server on HOST\n"
	       "       plx-perf [OPTIONS] --self   both ends in one process\n\n");
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct row *r = &rows[i];
		char left[40], letter[5] = "    ";

		if (r->letter)
			snprintf(letter, sizeof(letter), "-%c, ", r->letter);
		snprintf(left, sizeof(left), "%s--%s %s", letter, r->name, r->arg ? r->arg : "");
		printf("  %-22s %s\n", left, r->help);
	}
	printf("\nExit status: 0 done, 1 the test failed, 2 it could not be started.\n");
}

static void
make_getopt(struct option *longs, char *shorts)
{
	*shorts++ = ':';
	for (size_t i = 0; i < ROW_COUNT; i++) {
		longs[i] = (struct option){ rows[i].name, rows[i].arg ? required_argument : no_argument,
					    NULL, (int)(256 + i) };
		if (!rows[i].letter)
			continue;
		*shorts++ = rows[i].letter;
		if (rows[i].arg)
			*shorts++ = ':';
	}
	*shorts = 0;
}

static const struct row *
find_row(int c)
{
	if (c >= 256)
		return &rows[c - 256];
	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].letter == c)
			return &rows[i];
	}
	return NULL;
}

/* Answers --help and --version, refuses what is no option. */
static int
answer(const struct row *r, char **argv)
{
	if (!r)
		return fail("%s is no option or lacks its value; --help lists them", argv[optind - 1]);
	if (!strcmp(r->name, "help"))
		print_help();
	else
		printf("plx-perf %s (%s)\n", POLLUX_VERSION, VERBS_LAYER);
	return 1;
}

static int
finish(struct options *o, int argc, char **argv)
{
	if (o->all_sizes) {
		if (o->test.sizes.n || o->test.sizes.random)
			return fail("--all and --size contradict each other; give one");
		sizes_parse(o->test.mode == MODE_LAT && o->test.op == OP_WRITE ? "1-8M" : "0-8M",
			    &o->test.sizes);
	}
	if (argc - optind > 1)
		return fail("one HOST, not %d words: %s %s ...", argc - optind, argv[optind],
			    argv[optind + 1]);
	o->host = argv[optind];
	if (o->host && o->self)
		return fail("--self has both ends in this process; leave HOST out");
	return test_settle(&o->test);
}

int
options_read(struct options *o, int argc, char **argv)
{
	struct option longs[ROW_COUNT + 1] = { 0 };
	char shorts[2 * ROW_COUNT + 2];
	int c;

	*o = (struct options){ .tcp_port = OPTIONS_TCP_PORT, .gid_index = TEST_AUTO, .stall_s = 20 };
	test_preset(&o->test);
	make_getopt(longs, shorts);
	opterr = 0;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct row *r = c == '?' || c == ':' ? NULL : find_row(c);

		if (!r || !r->set)
			return answer(r, argv);
		if (r->set(r, o, optarg))
			return -1;
	}
	return finish(o, argc, argv);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Simulations of RC over a bad wire: for each chance of loss, runs from successive seeds until so many
 * packets were sent. Every WR of several QPs in both directions, all opcodes, sizes at which something
 * changes, receivers that are late; wrong bytes, completions, answers and counters end it.
 *
 *	sim_rc [--packets N] [--drop PPM]... [--seed N] [--episode N]
 *	sim_rc --one SEED --drop PPM [--episode N] [--pcap FILE] [--whole]
 *
 * A failure prints its seed as a command that repeats it, and the frames that have to suffer for it.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "episode.h"

#define TRIES 300u
#define TOLD 40u
#define LONG 10u		/* as many packets with TEST_MATRIX=long */

struct options {
	uint64_t packets, seed, episode, one;
	bool has_one, whole;
	uint32_t drop[8], drops;
	const char *pcap;
	const char *program;
};

static char replay[256];

/* Even when an assertion ends it. */
static void
on_signal(int sig)
{
	ssize_t n = write(STDERR_FILENO, replay, strlen(replay));

	(void)n;
	signal(sig, SIG_DFL);
	raise(sig);
}

static struct episode_conf
conf_of(const struct options *o, uint32_t drop, uint64_t seed)
{
	snprintf(replay, sizeof(replay), "replay: %s --one %llu --drop %u --episode %llu\n", o->program,
		 (unsigned long long)seed, drop, (unsigned long long)o->episode);
	return (struct episode_conf){
		.seed = seed, .drop = drop, .dup = 10000, .reorder = 10000, .corrupt = 2000,
		.forge = 1000, .frames = o->episode, .pcap = o->pcap,
	};
}

static void
tell(const struct episode_conf *conf, const struct episode_result *r)
{
	struct sim_wire_conf w = {
		.impair = { .seed = conf->seed },
	};

#define CHANCE(ppm) ((ppm) * PORT_CHANCE_ONE / 1000000)
	w.impair.drop = CHANCE(conf->drop);
	w.impair.dup = CHANCE(conf->dup);
	w.impair.reorder = CHANCE(conf->reorder);
	w.impair.corrupt = CHANCE(conf->corrupt);
	w.forge = CHANCE(conf->forge);
#undef CHANCE
	printf("%u frames suffer:\n", r->num_suffered);
	for (uint32_t i = 0; i < r->num_suffered && i < TOLD; i++) {
		char text[80];

		sim_wire_tell(&w, r->suffered[i], text, sizeof(text));
		printf("  %s\n", text);
	}
}

static void
on_failure(const struct options *o, struct episode_conf *conf, struct episode_result *r)
{
	printf("FAIL %s\n%s", r->why, replay);
	fflush(stdout);
	if (!o->whole) {
		conf->pcap = NULL;
		episode_shrink(conf, r, TRIES);
		printf("with fewer: %s\n", r->why);
		if (o->pcap) {
			struct episode_result again;

			conf->pcap = o->pcap;
			episode_run(conf, &again);
			free(again.suffered);
		}
	}
	tell(conf, r);
	if (conf->only)
		free((void *)(uintptr_t)conf->only);
}

#define RESULTS(X) \
	X(frames) X(lost) X(doubled) X(delayed) X(corrupted) X(forged) X(wrs) X(bytes) X(cqes) \
	X(retransmitted) X(timeouts) X(rnr_naks)

static bool
run_one(const struct options *o, uint32_t drop, uint64_t seed, struct episode_result *sum)
{
	struct episode_conf conf = conf_of(o, drop, seed);
	struct episode_result r;
	bool ok;

	episode_run(&conf, &r);
	ok = !r.why[0];
	if (!ok)
		on_failure(o, &conf, &r);
#define ADD(name) sum->name += r.name;
	RESULTS(ADD)
#undef ADD
	free(r.suffered);
	return ok;
}

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool
run_rate(const struct options *o, uint32_t drop)
{
	struct episode_result sum = { .frames = 0 };
	double begin = seconds();
	uint64_t seed = o->seed;

	while (sum.frames < o->packets)
		if (!run_one(o, drop, seed++, &sum))
			return false;
	printf("{\"drop_ppm\": %u, \"episodes\": %llu, ", drop, (unsigned long long)(seed - o->seed));
#define SHOW(name) printf("\"" #name "\": %llu, ", (unsigned long long)sum.name);
	RESULTS(SHOW)
#undef SHOW
	printf("\"seconds\": %.1f}\n", seconds() - begin);
	fflush(stdout);
	return true;
}

static int
read_options(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "packets", 1, NULL, 'p' }, { "drop", 1, NULL, 'd' }, { "seed", 1, NULL, 's' },
		{ "episode", 1, NULL, 'e' }, { "one", 1, NULL, 'o' }, { "pcap", 1, NULL, 'c' },
		{ "whole", 0, NULL, 'w' }, { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		uint64_t n = optarg ? strtoull(optarg, NULL, 0) : 0;

		if (c == 'd' && o->drops < 8)
			o->drop[o->drops++] = (uint32_t)n;
		else if (c == 'o')
			o->one = n, o->has_one = true;
		else if (c == 'c')
			o->pcap = optarg;
		else if (c == 'w')
			o->whole = true;
		else if (c == 'p' || c == 's' || c == 'e')
			*(c == 'p' ? &o->packets : c == 's' ? &o->seed : &o->episode) = n;
		else
			return -1;
	}
	return optind == argc ? 0 : -1;
}

int
main(int argc, char **argv)
{
	struct options o = { .packets = 1000000, .episode = 20000, .seed = 1, .program = argv[0] };
	struct episode_result sum = { .frames = 0 };
	const char *matrix;

	if (read_options(&o, argc, argv)) {
		fprintf(stderr, "usage: sim_rc [--packets N] [--drop PPM]... [--seed N] [--episode N] "
			"[--one SEED] [--pcap FILE] [--whole]\n");
		return 2;
	}
	matrix = getenv("TEST_MATRIX");
	if (matrix && strcmp(matrix, "long") == 0)
		o.packets *= LONG;
	signal(SIGABRT, on_signal);
	signal(SIGSEGV, on_signal);
	signal(SIGTERM, on_signal);
	if (!o.drops) {
		static const uint32_t drops[] = { 1000, 10000, 50000 };

		memcpy(o.drop, drops, sizeof(drops));
		o.drops = 3;
	}
	for (uint32_t i = 0; i < o.drops; i++)
		if (o.has_one ? !run_one(&o, o.drop[i], o.one, &sum) : !run_rate(&o, o.drop[i]))
			return 1;
	return 0;
}

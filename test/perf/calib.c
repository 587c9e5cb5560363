/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which measurement is wanted, and how is its result told?
 *
 *	calib line|copy|crc|ring [--cpus A,B] [--seconds S] [--size N]
 *	calib send|receive|ping|pong --vdev DEVARGS [--cpus A] [--seconds S] [--size N]
 */
#include "calib.h"

#include <getopt.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	int (*run)(const struct calib_conf *c);
	bool port;
} kinds[] = {
	{ "line", calib_line, false }, { "copy", calib_copy, false }, { "crc", calib_crc, false },
	{ "ring", calib_ring, false }, { "send", calib_send, true }, { "receive", calib_receive, true },
	{ "ping", calib_ping, true }, { "pong", calib_pong, true },
};

void
calib_pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((unsigned int)cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		fprintf(stderr, "calib: CPU %d is not to be had; the figures are of another\n", cpu);
}

void
meter_tick(struct meter *m, uint64_t now, uint64_t count)
{
	if (!m->started) {
		m->started = true;
		m->usage = stats_usage();
		m->begin = now;
		m->at_begin = count;
	} else if (now - m->last > METER_GAP_NS) {
		m->gaps++;
		if (now - m->last > m->longest_gap)
			m->longest_gap = now - m->last;
	}
	m->last = now;
	if (now - m->begin < WINDOW_NS)
		return;
	windows_add(&m->w, (double)(count - m->at_begin) / (double)(now - m->begin));
	m->begin = now;
	m->at_begin = count;
}

static void
print_rest(const struct meter *m)
{
	struct usage u = stats_usage();

	printf("\"windows\": %u, \"nivcsw\": %llu, \"gaps\": %llu, \"longest_gap_us\": %.0f}\n", m->w.n,
	       (unsigned long long)(u.nivcsw - m->usage.nivcsw), (unsigned long long)m->gaps,
	       (double)m->longest_gap / 1e3);
	fflush(stdout);
}

void
meter_print(struct meter *m, const char *what, const char *unit, double scale)
{
	double median = windows_at(&m->w, 0.5) * scale, best = windows_at(&m->w, 1) * scale;

	printf("{\"what\": \"%s\", \"unit\": \"%s\", \"median\": %.4f, \"best\": %.4f, ", what, unit,
	       median, best);
	print_rest(m);
}

void
meter_print_latency(struct meter *m, const char *what)
{
	double median = windows_at(&m->w, 0.5) / 2e3, best = windows_at(&m->w, 0) / 2e3;

	printf("{\"what\": \"%s\", \"unit\": \"us\", \"median\": %.4f, \"best\": %.4f, ", what, median,
	       best);
	print_rest(m);
}

static bool
hugepages(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long pages = 0;
	char line[128];

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f))
		sscanf(line, "HugePages_Free: %llu", &pages);
	fclose(f);
	return pages >= 128;
}

static int
read_options(struct calib_conf *c, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "cpus", 1, NULL, 'c' }, { "seconds", 1, NULL, 's' }, { "size", 1, NULL, 'n' },
		{ "vdev", 1, NULL, 'v' }, { NULL, 0, NULL, 0 },
	};
	int o;

	while ((o = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (o == 'c')
			sscanf(optarg, "%d,%d", &c->cpu[0], &c->cpu[1]);
		else if (o == 's')
			c->duration_ns = (uint64_t)(strtod(optarg, NULL) * 1e9);
		else if (o == 'n')
			c->size = (uint32_t)strtoul(optarg, NULL, 0);
		else if (o == 'v')
			c->vdev = optarg;
		else
			return -1;
	}
	return optind + 1 == argc ? 0 : -1;
}

int
main(int argc, char **argv)
{
	struct calib_conf c = { .cpu = { 0, 1 }, .duration_ns = 1000000000, .huge = hugepages() };

	if (read_options(&c, argc, argv) == 0) {
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (!strcmp(kinds[i].name, argv[optind]) && kinds[i].port == !!c.vdev)
				return kinds[i].run(&c);
	}
	fprintf(stderr, "usage: calib line|copy|crc|ring [--cpus A,B] [--seconds S] [--size N]\n"
		"       calib send|receive|ping|pong --vdev DEVARGS [--cpus A] [--seconds S] [--size N]\n");
	return 2;
}

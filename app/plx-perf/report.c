/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: how does the user read what was measured? Called by main() between the sizes. */
#include "report.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "run.h"

static const char *
role(const struct worker *w)
{
	return w->options->self ? "self" : w->client ? "client" : "server";
}

static void
fill_rates(struct row *r, struct worker *w)
{
	double median = windows_at(w->windows, 0.5) / 1e6, best = windows_at(w->windows, 1) / 1e6;
	double bits = (double)w->size * 8 / 1e3, ns = w->mine.ns ? (double)w->mine.ns : 1;

	r->mmsgs = (double)w->mine.messages * 1e3 / ns;
	r->gbps = (double)w->mine.bytes * 8 / ns;
	/* a run shorter than a window is its own window */
	r->mmsgs_median = w->windows->n ? median : r->mmsgs;
	r->mmsgs_best = w->windows->n ? best : r->mmsgs;
	r->gbps_median = w->windows->n ? median * bits : r->gbps;
	r->gbps_best = w->windows->n ? best * bits : r->gbps;
}

static void
fill_latencies(struct row *r, struct worker *w)
{
	double unit = test_is_ping_pong(w->test) ? 2e3 : 1e3;
	const struct histogram *h = w->latency;

	r->min = h->count ? (double)h->min / unit : 0;
	r->p50 = (double)histogram_percentile(h, 0.5) / unit;
	r->p99 = (double)histogram_percentile(h, 0.99) / unit;
	r->p999 = (double)histogram_percentile(h, 0.999) / unit;
	r->max = h->count ? (double)h->max / unit : 0;
	r->window_median = w->windows->n ? windows_at(w->windows, 0.5) / unit : r->p50;
	r->window_best = w->windows->n ? windows_at(w->windows, 0) / unit : r->p50;
}

static void
print_config(const struct worker *w)
{
	const struct test *t = w->test;

	printf("plx-perf %s over %s: %s %s, %llu QP%s, depth %llu, list %llu, cq-mod %llu, inline %llu, "
	       "MTU %u%s%s\n", POLLUX_VERSION, VERBS_LAYER, test_op(t)->name,
	       t->verify ? "verify" : mode_names[t->mode], (unsigned long long)t->qps,
	       t->qps == 1 ? "" : "s", (unsigned long long)t->depth, (unsigned long long)t->post_list,
	       (unsigned long long)t->cq_mod, (unsigned long long)t->inline_max, w->conn.mtu,
	       t->bidirectional ? ", both ways" : "", t->events ? ", by events" : "");
}

static void
print_head(const struct test *t)
{
	if (t->verify)
		printf("%10s %11s %15s %9s\n", "bytes", "messages", "bytes checked", "Gb/s");
	else if (t->mode == MODE_LAT)
		printf("%10s %11s %8s %8s %8s %8s | 5 ms windows: %8s %8s | %s\n", "bytes", "messages",
		       "min us", "p50", "p99", "p99.9", "best", "median", "switches here, there");
	else
		printf("%10s %11s %8s %8s | 5 ms windows: %8s %8s %8s | %s\n", "bytes", "messages", "Gb/s",
		       "Mmsg/s", "best", "median", "Mmsg/s", "switches here, there");
}

void
report_begin(const struct worker *w)
{
	if (w->options->json)
		return;
	print_config(w);
	if (worker_sends(w))
		print_head(w->test);
	fflush(stdout);
}

static void
print_row(const struct worker *w, const struct row *r)
{
	const struct test *t = w->test;

	printf("%10llu %11llu ", (unsigned long long)r->size, (unsigned long long)r->mine.messages);
	if (t->verify)
		printf("%15llu %9.2f\n",
		       (unsigned long long)(r->mine.checked + (w->client ? r->theirs.checked : 0)),
		       r->gbps);
	else if (t->mode == MODE_LAT)
		printf("%8.2f %8.2f %8.2f %8.2f | %13s %8.2f %8.2f | %llu, %llu\n", r->min, r->p50, r->p99,
		       r->p999, "", r->window_best, r->window_median, (unsigned long long)r->mine.nivcsw,
		       (unsigned long long)r->theirs.nivcsw);
	else
		printf("%8.2f %8.3f | %13s %8.2f %8.2f %8.3f | %llu, %llu\n", r->gbps, r->mmsgs, "",
		       r->gbps_best, r->gbps_median, r->mmsgs_median,
		       (unsigned long long)r->mine.nivcsw, (unsigned long long)r->theirs.nivcsw);
	fflush(stdout);
}

void
report_size(struct report *r, struct worker *w)
{
	struct row *row = &r->row[r->rows++];

	row->size = w->size;
	row->mine = w->mine;
	row->theirs = w->theirs;
	if (w->test->mode == MODE_LAT)
		fill_latencies(row, w);
	else
		fill_rates(row, w);
	if (!w->options->json && worker_sends(w))
		print_row(w, row);
}

/* Host names come from the command line: quotes and control characters must not break the object. */
static void
json_string(const char *key, const char *text)
{
	printf("\"%s\": \"", key);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\' || c < 0x20)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	printf("\", ");
}

static void
json_figures(const char *key, const struct figures *f)
{
	const char *comma = "";

	printf("\"%s\": {", key);
#define JSON_FIGURE(name) \
	printf("%s\"" #name "\": %llu", comma, (unsigned long long)f->name); \
	comma = ", ";
	FIGURES(JSON_FIGURE)
#undef JSON_FIGURE
	printf("}");
}

static void
json_row(const struct worker *w, const struct row *r)
{
	const char *comma = "";

	printf("\n  {\"size\": %llu, ", (unsigned long long)r->size);
	json_figures("here", &r->mine);
	printf(", ");
	json_figures("there", &r->theirs);
	if (!worker_sends(w)) {
		printf("}");
		return;
	}
#define JSON_DOUBLE(name) \
	printf("%s\"" #name "\": %.4f", comma, r->name); \
	comma = ", ";
	if (w->test->mode == MODE_LAT) {
		printf(", \"%s\": {", test_is_ping_pong(w->test) ? "half_rtt_us" : "rtt_us");
		LATENCY_FIGURES(JSON_DOUBLE)
	} else {
		printf(", \"rate\": {");
		RATE_FIGURES(JSON_DOUBLE)
	}
#undef JSON_DOUBLE
	printf("}}");
}

static void
json_config(const struct worker *w)
{
	const struct test *t = w->test;
	char gid[INET6_ADDRSTRLEN] = "";

	inet_ntop(AF_INET6, w->conn.dev->gid.raw, gid, sizeof(gid));
	json_string("program", "plx-perf");
	json_string("version", POLLUX_VERSION);
	json_string("verbs", VERBS_LAYER);
	json_string("role", role(w));
	json_string("peer", w->link.peer);
	json_string("device", w->conn.dev->name);
	json_string("gid", gid);
	json_string("op", test_op(t)->name);
	json_string("mode", mode_names[t->mode]);
	json_string("poll", poll_names[t->poll]);
	printf("\"path_mtu\": %u, ", w->conn.mtu);
#define JSON_NUMBER(name) printf("\"" #name "\": %llu, ", (unsigned long long)t->name);
	JSON_NUMBER(qps)
	JSON_NUMBER(depth)
	JSON_NUMBER(post_list)
	JSON_NUMBER(cq_mod)
	JSON_NUMBER(inline_max)
	JSON_NUMBER(iters)
	JSON_NUMBER(duration_ms)
	JSON_NUMBER(bytes)
	JSON_NUMBER(bidirectional)
	JSON_NUMBER(events)
	JSON_NUMBER(verify)
	JSON_NUMBER(seed)
	JSON_NUMBER(sges)
	JSON_NUMBER(timeout)
	JSON_NUMBER(retry)
	JSON_NUMBER(rnr)
#undef JSON_NUMBER
}

static void
print_summary(const struct report *r, const struct worker *w)
{
	uint64_t received = 0, checked = 0;

	for (uint32_t i = 0; i < r->rows; i++) {
		received += r->row[i].mine.received;
		checked += r->row[i].mine.checked + (worker_sends(w) ? r->row[i].theirs.checked : 0);
	}
	if (!worker_sends(w))
		printf("served %s: %u size%s, %llu messages received\n", w->link.peer, r->rows,
		       r->rows == 1 ? "" : "s", (unsigned long long)received);
	if (w->test->verify)
		printf("every byte of %llu is right\n", (unsigned long long)checked);
}

void
report_end(const struct report *r, const struct worker *w, bool ok)
{
	if (!w->options->json) {
		if (ok)
			print_summary(r, w);
		return;
	}
	printf("{");
	json_config(w);
	printf("\"ok\": %s, \"interrupted\": %s, \"results\": [", ok ? "true" : "false",
	       w->stop || w->peer_stops ? "true" : "false");
	for (uint32_t i = 0; i < r->rows; i++) {
		json_row(w, &r->row[i]);
		if (i + 1 < r->rows)
			printf(",");
	}
	printf("]}\n");
}

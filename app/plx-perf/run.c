/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: in which order do the two ends get ready, send, finish and part? Called by main(). The
 * loop of run_size() is the hot one: a step of each worker, and once a millisecond a look at the
 * out-of-band channel.
 */
#include "run.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "course.h"
#include "say.h"

#define LOOK_NS 1000000ull
#define STEPS_PER_CLOCK 64		/* reading the clock costs as much as an idle step */
#define PEER_WAIT_MS 20000
#define SLEEP_MS 50

volatile sig_atomic_t run_interrupted;

struct run {
	struct worker *w;
	int n;
	struct msg *msg;
	uint64_t looked_ns;
	uint32_t steps;
	bool progress;			/* since the last look */
	bool armed;			/* CQs will send an event */
};

static int
open_worker(struct worker *w, struct device *d)
{
	struct conn_need need = { 0 };

	w->act->need(w->test, &need);
	w->latency = calloc(1, sizeof(*w->latency));
	w->windows = calloc(1, sizeof(*w->windows));
	if (!w->latency || !w->windows)
		return fail("out of memory");
	/* touched now, not when the first window ends */
	memset(w->windows, 1, sizeof(*w->windows));
	return conn_make(&w->conn, d, w->test, &need) || conn_tell(&w->conn, &w->link) ? -1 : 0;
}

int
run_open(struct worker *w, int n, struct device *d)
{
	for (int i = 0; i < n; i++) {
		if (open_worker(&w[i], d))
			return -1;
	}
	for (int i = 0; i < n; i++) {
		if (conn_hear(&w[i].conn, &w[i].link) || conn_connect(&w[i].conn) ||
		    w[i].act->open(&w[i]))
			return -1;
	}
	return 0;
}

static int
look_around(struct run *r)
{
	uint64_t now = now_ns();

	if (now - r->looked_ns < LOOK_NS)
		return 0;
	r->looked_ns = now;
	for (int i = 0; i < r->n; i++) {
		if (course_look(&r->w[i], r->msg, r->progress, now))
			return -1;
	}
	r->progress = false;
	return 0;
}

static int
arm(struct worker *w)
{
	int rc = ibv_req_notify_cq(w->conn.send_cq, 0);

	if (!rc)
		rc = ibv_req_notify_cq(w->conn.recv_cq, 0);
	return rc ? fail("cannot arm a CQ: %s", strerror(rc)) : 0;
}

static void
drain_events(struct worker *w)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(w->conn.channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

/*
 * Nothing to do: with --events arms the CQs, and when a further look found nothing either, sleeps.
 * A mere target sleeps on the out-of-band channel alone.
 */
static int
sleep_for_work(struct run *r)
{
	struct pollfd p[4];
	nfds_t n = 0;

	for (int i = 0; i < r->n && !r->armed; i++) {
		if (r->w[i].conn.channel && arm(&r->w[i]))
			return -1;
	}
	if (!r->armed) {
		r->armed = true;
		return 0;
	}
	for (int i = 0; i < r->n; i++) {
		p[n++] = (struct pollfd){ .fd = r->w[i].link.fd, .events = POLLIN };
		if (r->w[i].conn.channel)
			p[n++] = (struct pollfd){ .fd = r->w[i].conn.channel->fd, .events = POLLIN };
	}
	if (poll(p, n, SLEEP_MS) > 0) {
		for (int i = 0; i < r->n; i++) {
			if (r->w[i].conn.channel)
				drain_events(&r->w[i]);
		}
	}
	r->armed = false;
	r->looked_ns = 0;
	return 0;
}

static bool
may_sleep(const struct run *r)
{
	const struct worker *w = &r->w[0];

	return w->test->events || (w->target_only && w->options->target_sleeps && r->n == 1);
}

/* One round. 1 when the size is through, 0 to go on, -1 failed. */
static int
round_of_steps(struct run *r)
{
	int through = 0, rc, progress = 0;

	for (int i = 0; i < r->n; i++) {
		rc = r->w[i].act->step(&r->w[i]);
		if (rc < 0)
			return -1;
		progress |= rc;
		rc = course_advance(&r->w[i]);
		if (rc < 0)
			return -1;
		through += rc;
	}
	if (through == r->n)
		return 1;
	r->progress |= progress;
	if (progress)
		r->armed = false;
	else if (may_sleep(r) && sleep_for_work(r))
		return -1;
	if (++r->steps % STEPS_PER_CLOCK && !may_sleep(r))
		return 0;
	return run_interrupted > 1 ? fail("interrupted") : look_around(r);
}

int
run_size(struct worker *w, int n, uint64_t size)
{
	struct run r = { .w = w, .n = n, .msg = malloc(sizeof(*r.msg)) };
	int rc = r.msg ? 0 : fail("out of memory");
	uint64_t begin_ns;

	for (int i = 0; i < n && !rc; i++)
		rc = course_start(&w[i], size);
	for (int i = 0; i < n && !rc; i++)
		rc = course_ready(&w[i], r.msg, PEER_WAIT_MS);
	if (rc > 0) {
		free(r.msg);
		return 1;
	}
	begin_ns = now_ns();
	while (!rc)
		rc = round_of_steps(&r);
	for (int i = 0; i < n && rc < 0; i++)
		fail("until then, in %.3f s: %llu messages sent and completed, %llu received",
		     (double)(now_ns() - begin_ns) / 1e9, (unsigned long long)w[i].mine.messages,
		     (unsigned long long)w[i].mine.received);
	free(r.msg);
	return rc < 0 ? -1 : 0;
}

bool
run_ends(const struct worker *w, int n)
{
	for (int i = 0; i < n; i++) {
		if (w[i].stop || w[i].peer_stops)
			return true;
	}
	return false;
}

void
run_close(struct worker *w, int n)
{
	for (int i = 0; i < n; i++) {
		if (w[i].state)
			w[i].act->close(&w[i]);
		conn_free(&w[i].conn);
		link_close(&w[i].link);
		free(w[i].latency);
		free(w[i].windows);
	}
}

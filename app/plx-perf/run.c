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

#include "say.h"

#define LOOK_NS 1000000ull
#define STEPS_PER_CLOCK 64		/* reading the clock costs as much as an idle step */
#define PEER_WAIT_MS 20000
#define SLEEP_MS 50
#define FIGURE_WORDS (sizeof(struct figures) / sizeof(uint64_t))

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
start(struct worker *w, uint64_t size)
{
	const struct op *op = test_op(w->test);

	w->size = size;
	w->target_only = !worker_sends(w) && !(op->props & OP_TAKES_RECV) && !w->test->verify &&
		(w->test->mode != MODE_LAT || op->props & OP_FETCHES);
	w->done_sent = w->bye_sent = w->done_heard = w->bye_heard = false;
	w->announced = 0;
	memset(&w->mine, 0, sizeof(w->mine));
	memset(&w->theirs, 0, sizeof(w->theirs));
	histogram_reset(w->latency);
	w->windows->n = 0;
	if (w->act->start(w))
		return -1;
	if (link_send(&w->link, MSG_READY, NULL, 0))
		return fail("%s closed its connection between two sizes", w->link.peer);
	return 0;
}

static int
hear(struct worker *w, const struct msg *m)
{
	if (m->kind == MSG_FAIL)
		return fail("%s stopped with an error; see what it says", w->link.peer);
	if (m->kind == MSG_STOP) {
		w->stop = true;
	} else if (m->kind == MSG_DONE && m->n == 2) {
		w->done_heard = true;
		w->announced = m->word[0];
		w->peer_stops = w->peer_stops || m->word[1];
	} else if (m->kind == MSG_BYE && m->n == FIGURE_WORDS) {
		w->bye_heard = true;
		memcpy(&w->theirs, m->word, sizeof(w->theirs));
	} else {
		return fail("%s is out of step; run the same version at both ends", w->link.peer);
	}
	return 0;
}

/*
 * The peer's process is gone. What this end has in flight ends with an error completion in the time
 * that the QP's attributes say, and that line tells more; who waits for nothing ends here.
 */
static int
bereft(struct worker *w, uint64_t now)
{
	uint64_t limit = conn_give_up_ns(w->test) + 2000000000ull;

	if (w->bye_heard)
		return 0;
	if (!w->act->waits(w))
		return fail("%s closed its connection in the middle of the test: it was killed or its "
			    "machine is gone", w->link.peer);
	w->stop = true;
	if (now - w->last_progress_ns > limit)
		return fail("%s is dead, and no completion said so within %.1f s", w->link.peer,
			    (double)limit / 1e9);
	return 0;
}

static int
check_stall(const struct worker *w, uint64_t now)
{
	uint64_t limit = w->options->stall_s * 1000000000ull, retries = conn_give_up_ns(w->test);

	if (limit < retries && retries < 3600000000000ull)
		limit = retries;
	if (now - w->last_progress_ns < limit || w->bye_sent || w->target_only)
		return 0;
	/* who only receives cannot know that something should have come before DONE says so */
	if (w->done_sent && !w->done_heard)
		return 0;
	return fail("nothing completed for %.0f s: %llu messages sent and completed, %llu received, "
		    "%llu announced by %s; is one end stopped?", (double)limit / 1e9,
		    (unsigned long long)w->mine.messages, (unsigned long long)w->mine.received,
		    (unsigned long long)w->announced, w->link.peer);
}

static int
look(struct run *r, struct worker *w, uint64_t now)
{
	int rc;

	if (r->progress)
		w->last_progress_ns = now;
	if (run_interrupted && !w->stop) {
		w->stop = true;
		link_send(&w->link, MSG_STOP, NULL, 0);
	}
	while ((rc = link_take(&w->link, r->msg, 0)) > 0) {
		if (hear(w, r->msg))
			return -1;
	}
	if (w->link.closed && bereft(w, now))
		return -1;
	return check_stall(w, now);
}

static int
look_around(struct run *r)
{
	uint64_t now = now_ns();

	if (now - r->looked_ns < LOOK_NS)
		return 0;
	r->looked_ns = now;
	for (int i = 0; i < r->n; i++) {
		if (look(r, &r->w[i], now))
			return -1;
	}
	r->progress = false;
	return 0;
}

static void
say_bye(struct worker *w)
{
	struct usage u = stats_usage();

	w->mine.nivcsw = u.nivcsw - w->usage_before.nivcsw;
	w->mine.nvcsw = u.nvcsw - w->usage_before.nvcsw;
	link_send(&w->link, MSG_BYE, (const uint64_t *)&w->mine, FIGURE_WORDS);
	w->bye_sent = true;
}

/* Sends DONE and BYE when it is time. 1 when this worker is through with the size, 0, or -1. */
static int
advance(struct worker *w)
{
	int all = 0;

	if (!w->done_sent && w->act->sent(w)) {
		uint64_t word[2] = { w->mine.messages, w->stop };

		link_send(&w->link, MSG_DONE, word, 2);
		w->done_sent = true;
	}
	if (w->done_sent && !w->bye_sent && w->done_heard)
		all = w->act->received(w, w->announced);
	if (all > 0)
		say_bye(w);
	return all < 0 ? -1 : w->bye_sent && w->bye_heard;
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
		rc = advance(&r->w[i]);
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
		rc = start(&w[i], size);
	for (int i = 0; i < n && !rc; i++) {
		rc = link_expect(&w[i].link, r.msg, MSG_READY, 0, PEER_WAIT_MS);
		w[i].usage_before = stats_usage();
		w[i].last_progress_ns = now_ns();
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

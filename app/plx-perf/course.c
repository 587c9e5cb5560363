/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: where does an end stand in the course of one size, and is the other end still with it?
 * Called by run.c before the traffic, after each step and once a millisecond.
 */
#include "course.h"

#include <string.h>

#include "run.h"
#include "say.h"

#define FIGURE_WORDS (sizeof(struct figures) / sizeof(uint64_t))

int
course_start(struct worker *w, uint64_t size)
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

int
course_ready(struct worker *w, struct msg *m, int wait_ms)
{
	int rc = link_take(&w->link, m, wait_ms);

	/* interrupted after it had said that it is through with the size before */
	if (rc > 0 && m->kind == MSG_STOP) {
		w->stop = true;
		return 1;
	}
	w->usage_before = stats_usage();
	w->last_progress_ns = now_ns();
	return link_check(&w->link, rc, m, MSG_READY, 0, wait_ms);
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

int
course_look(struct worker *w, struct msg *m, bool progress, uint64_t now)
{
	if (progress)
		w->last_progress_ns = now;
	if (run_interrupted && !w->stop) {
		w->stop = true;
		link_send(&w->link, MSG_STOP, NULL, 0);
	}
	/* behind BYE there may be READY of the next size already */
	while (!w->bye_heard && link_take(&w->link, m, 0) > 0) {
		w->last_progress_ns = now;
		if (hear(w, m))
			return -1;
	}
	if (w->link.closed && bereft(w, now))
		return -1;
	return check_stall(w, now);
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

int
course_advance(struct worker *w)
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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How does a completion reach a CQ whose home is another core? By a feed: the QP's core fills it as it
 * fills any CQ, and its arm word, which the home core sets whenever it has polled everything, says
 * whether a note is due. Called by the loops of both cores, with the lock of the one that is named;
 * eng_*() by control threads.
 */
#include "engine/core.h"

#include <errno.h>

#include "transport/numbers.h"

/* The home core. The next CQE of the feed, or NULL. */
static const struct plx_cqe *
next(const struct eng_feed *f)
{
	const struct feed_end *from = &f->end_home;
	const struct plx_cqe *cqe = &from->ring[from->head & ((1u << from->log2_size) - 1)];

	return __atomic_load_n(&cqe->phase, __ATOMIC_ACQUIRE) ==
	       plx_cqe_phase(from->head, from->log2_size) ? cqe : NULL;
}

/*
 * The home core. True: there may be more. The place in the feed is free before the program can see the
 * completion and post anew for it: so the feed is full only when the CQ itself would be.
 */
static bool
move(struct core *c, struct eng_feed *f)
{
	struct feed_end *from = &f->end_home;
	const struct plx_cqe *cqe;
	uint32_t n = 0;

	while (n < CORE_FEED && (cqe = next(f))) {
		struct plx_cqe moved = *cqe;

		__atomic_store_n(&from->ctl->head, ++from->head, __ATOMIC_RELEASE);
		xport_forward(&c->x, &f->home->cq, &moved);
		n++;
	}
	return n == CORE_FEED;
}

/*
 * The home core. D-4 as an application does it: arm, fence, look again. While the word is not set the
 * note is this core's, so what takes long goes on in the next round.
 */
static int
take_news(struct core *c, void *arg)
{
	struct eng_feed *f = arg;
	uint32_t *armed = &f->end_home.ctl->arm;

	f->again = false;
	do {
		if (move(c, f)) {
			f->again = true;
			core_post(c, &f->news);
			return 0;
		}
		__atomic_store_n(armed, PLX_CQ_ARM_ANY, __ATOMIC_RELEASE);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	} while (next(f) && __atomic_exchange_n(armed, PLX_CQ_ARM_NONE, __ATOMIC_ACQ_REL));
	return 0;
}

void
core_feed_news(struct core *c, struct eng_feed *f)
{
	(void)c;
	core_post(f->home_core, &f->news);
}

/* The home core. */
static int
take_ended(struct core *c, void *arg)
{
	struct eng_feed *f = arg;

	xport_cq_end(&c->x, &f->home->cq);
	return 0;
}

/* A note that is sent once. */
static void
post_once(struct core *to, struct mail *note, int (*fn)(struct core *c, void *arg), struct eng_feed *f)
{
	if (note->fn)
		return;
	note->fn = fn;
	note->arg = f;
	core_post(to, note);
}

void
core_feed_ended(struct core *c, struct eng_feed *f)
{
	(void)c;
	post_once(f->home_core, &f->ended, take_ended, f);
}

/* The feed's core: its home is at its end, and needs not be told. */
static int
take_end(struct core *c, void *arg)
{
	struct eng_feed *f = arg;

	f->ended.fn = take_ended;
	xport_cq_end(&c->x, &f->at.cq);
	core_take_events(c);
	return 0;
}

void
core_cq_ended(struct core *c, struct eng_cq *cq)
{
	(void)c;
	for (struct eng_feed *f = cq->feeds; f; f = f->next)
		post_once(f->core, &f->end, take_end, f);
}

static void send_last(struct eng_qp *q);

static struct eng_feed *
feed_of_recvs(const struct eng_qp *q)
{
	const struct eng_cq *cq = (const struct eng_cq *)qp_conf(q->qp)->recv_cq;

	return cq ? cq->feed : NULL;
}

/* The QP's core: back from there. */
static int
last_is_back(struct core *c, void *arg)
{
	struct eng_qp *q = arg;

	q->last_away = false;
	core_qp_raised(c, q, EV_QP_LAST_WQE_REACHED);
	if (q->last_again)
		send_last(q);
	return 0;
}

/* The home core. What was in the feed when the note left is in the CQ when it goes back. With other
 * control words the feed is being refitted: this end has yet to follow. */
static int
last_at_home(struct core *c, void *arg)
{
	struct eng_qp *q = arg;
	struct eng_feed *f = feed_of_recvs(q);
	uint32_t turns = (1u << f->end_home.log2_size) / CORE_FEED + 1;

	if (f->end_home.ctl != q->last_ctl) {
		core_post(c, &q->last_note);
		return 0;
	}
	while (turns-- && move(c, f))
		;
	q->last_note.fn = last_is_back;
	core_post(q->core, &q->last_note);
	return 0;
}

static void
send_last(struct eng_qp *q)
{
	struct eng_feed *f = feed_of_recvs(q);

	q->last_away = true;
	q->last_again = false;
	q->last_ctl = f->at.cq.ctl;
	q->last_note.fn = last_at_home;
	q->last_note.arg = q;
	core_post(f->home_core, &q->last_note);
}

/* An application that has the event polls what is there and takes it for all (E8). */
bool
core_feed_last(struct eng_qp *q)
{
	if (!feed_of_recvs(q))
		return false;
	if (q->last_away)
		q->last_again = true;
	else
		send_last(q);
	return true;
}

/* The home core. */
static int
join(struct core *c, void *arg)
{
	struct eng_feed *f = arg;

	f->next = f->home->feeds;
	f->home->feeds = f;
	if (f->home->cq.overflowed)
		core_cq_ended(c, f->home);
	return 0;
}

void
eng_feed_add(struct eng_feed *f, struct eng_cq *home, struct core *home_core, struct core *core,
	     struct plx_cq_ctl *ctl, struct plx_cqe *ring)
{
	memset(f, 0, sizeof(*f));
	cq_init(&f->at.cq, ctl, ring, home->cq.log2_size, home->cq.limit);
	f->at.cq.lossy = home->cq.lossy;
	f->at.cq.clock = home->cq.clock;
	ctl->arm = PLX_CQ_ARM_ANY;
	f->at.feed = f;
	f->end_home = (struct feed_end){ ctl, ring, f->at.cq.log2_size, 0 };
	f->home = home;
	f->home_core = home_core;
	f->core = core;
	f->news.fn = take_news;
	f->news.arg = f;
	eng_call(home_core, join, f);
}

struct refit {
	struct eng_feed *feed;
	struct feed_end to;
	struct plx_cqe *ring;
};

/* The feed's core. A note that is due is due to the home core at once: what comes next tells of nothing
 * until the other end follows. */
static int
refit(struct core *c, void *arg)
{
	const struct refit *r = arg;
	struct cq *cq = &r->feed->at.cq;

	if (cq->event_due) {
		list_del(&cq->event_node);
		cq->event_due = false;
		core_feed_news(c, r->feed);
	}
	cq_refit(cq, r->to.ctl, r->ring, r->to.log2_size);
	return 0;
}

/* The home core. All notes of the old ring have run: another is on its way only when the last one did
 * not poll everything. */
static int
follow(struct core *c, void *arg)
{
	const struct refit *r = arg;
	struct eng_feed *f = r->feed;

	while (move(c, f))
		;
	f->end_home = r->to;
	return f->again ? 0 : take_news(c, f);
}

void
eng_feed_refit(struct eng_feed *f, struct plx_cq_ctl *ctl, struct plx_cqe *ring, uint32_t log2_size)
{
	struct refit r = { .feed = f, .to = { ctl, ring, log2_size, 0 }, .ring = ring };

	eng_call(f->core, refit, &r);
	eng_call(f->home_core, follow, &r);
}

static int
move_all(struct core *c, void *arg)
{
	while (move(c, arg))
		;
	return 0;
}

void
eng_feed_settle(struct eng_feed *f)
{
	eng_call(f->home_core, move_all, f);
}

void
core_cq_del(struct core *c, struct eng_cq *cq)
{
	core_take_events(c);
	core_release(c, cq);
	if (cq->cq.event_due && list_linked(&cq->cq.event_node))
		list_del(&cq->cq.event_node);
	if (cq->error_due)
		list_del(&cq->error_node);
}

static int
leave_feed(struct core *c, void *arg)
{
	core_cq_del(c, arg);
	return 0;
}

static int
leave_home(struct core *c, void *arg)
{
	struct eng_cq *cq = arg;

	for (struct eng_feed *f = cq->feeds; f; f = f->next)
		if (f->again)
			return -EAGAIN;
	core_cq_del(c, cq);
	return 0;
}

/* The feeds first, so that nothing new comes; then what is on its way to their home, then what that
 * may have told them. */
void
eng_cq_del(struct eng_cq *cq, struct core *home_core)
{
	for (struct eng_feed *f = cq->feeds; f; f = f->next)
		eng_call(f->core, leave_feed, &f->at);
	while (eng_call(home_core, leave_home, cq) == -EAGAIN)
		;
	for (struct eng_feed *f = cq->feeds; f; f = f->next)
		eng_flush(f->core);
}

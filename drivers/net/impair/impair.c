/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bad network in front of a good port: received frames are lost, doubled, delayed, held back and
 * changed, each by its fate (fate.h). What is sent passes. Burst functions run on the owning core, the
 * rest on the control thread.
 *
 * A frame's way: number, fate, change, the queue of the delayed, the few that are held for later ones
 * to pass, the queue of the ready. All three are first in, first out: jitter shifts frames in time
 * but does not reorder them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "base/log.h"
#include "base/random.h"
#include "fifo.h"
#include "impair.h"

#define BURST 64u		/* of one call, at most */
#define HOLD_NS UINT64_C(10000000) /* a held frame that too few pass; the last one of a stream */
#define DELAYED_MAX 4096u
#define READY_MAX 1024u		/* what one call can make ready, by far */

extern const struct port_driver drv_impair;

/* X(NAME, name, text) */
#define IMPAIR_LIST(X) \
	X(RECEIVED, received, "frames that the port below received") \
	X(DROPPED, dropped, "frames lost") \
	X(DOUBLED, duplicated, "frames doubled") \
	X(REORDERED, reordered, "frames held for later ones to pass") \
	X(DELAYED, delayed, "frames delayed") \
	X(CORRUPTED, corrupted, "frames with a bit flipped") \
	X(MARKED, marked, "frames marked congestion experienced") \
	X(EARLY, early, "frames given on too early: too many were delayed") \
	X(UNCHANGED, unchanged, "frames left as they were: no buffer, or not IP")

enum impair_count {
#define IMPAIR_ENUM(NAME, name, text) IMPAIR_##NAME,
	IMPAIR_LIST(IMPAIR_ENUM)
#undef IMPAIR_ENUM
	IMPAIR_COUNT
};

struct impair {
	struct port_impair conf;
	uint64_t index;		/* of the next frame that is received */
	uint64_t passed;	/* frames that were not held */
	uint64_t hz;
	struct fifo delayed, held, ready;
	uint64_t count[IMPAIR_COUNT];	/* any thread may read */
};

static void
count(struct impair *im, enum impair_count which)
{
	__atomic_store_n(&im->count[which], im->count[which] + 1, __ATOMIC_RELAXED);
}

static uint64_t
to_ticks(const struct impair *im, uint64_t ns)
{
	return ns * im->hz / NS_PER_S;	/* ns is 2 s at most */
}

/* To the engine, with its double. */
static void
give(struct port *p, const struct waiting *w)
{
	struct impair *im = p->priv;
	struct waiting twin;

	fifo_push(&im->ready, w);
	if (!w->dup)
		return;
	twin = (struct waiting){ .m = rte_pktmbuf_copy(w->m, p->pool, 0, UINT32_MAX) };
	if (twin.m)
		fifo_push(&im->ready, &twin);
	count(im, twin.m ? IMPAIR_DOUBLED : IMPAIR_UNCHANGED);
}

static void
give_held(struct port *p)
{
	struct impair *im = p->priv;
	struct waiting w = fifo_pop(&im->held);

	give(p, &w);
}

static void
hold(struct port *p, struct waiting *w, uint64_t now)
{
	struct impair *im = p->priv;

	if (fifo_len(&im->held) == im->held.limit)
		give_held(p);
	w->passed = im->passed + im->conf.reorder_by;
	w->due = now + to_ticks(im, HOLD_NS);
	fifo_push(&im->held, w);
	count(im, IMPAIR_REORDERED);
}

/* Its delay is over. */
static void
pass(struct port *p, struct waiting *w, uint64_t now)
{
	struct impair *im = p->priv;
	const struct waiting *first;

	if (w->reorder) {
		hold(p, w, now);
		return;
	}
	give(p, w);
	im->passed++;
	while ((first = fifo_first(&im->held)) && first->passed <= im->passed)
		give_held(p);
}

static void
delay(struct port *p, struct waiting *w, uint64_t ns, uint64_t now)
{
	struct impair *im = p->priv;

	if (fifo_len(&im->delayed) == im->delayed.limit) {
		struct waiting first = fifo_pop(&im->delayed);

		count(im, IMPAIR_EARLY);
		pass(p, &first, now);
	}
	w->due = now + to_ticks(im, ns);	/* or when the one before it goes, if that is later */
	fifo_push(&im->delayed, w);
	count(im, IMPAIR_DELAYED);
}

static void
arrive(struct port *p, struct rte_mbuf *m, uint64_t now)
{
	struct impair *im = p->priv;
	struct fate f = fate_draw(&im->conf, im->index++);
	struct waiting w = { .m = m, .dup = f.dup, .reorder = f.reorder };

	count(im, IMPAIR_RECEIVED);
	if (f.drop) {
		count(im, IMPAIR_DROPPED);
		rte_pktmbuf_free(m);
		return;
	}
	if (f.ecn)
		count(im, change_mark_ce(&w.m, p->pool) ? IMPAIR_MARKED : IMPAIR_UNCHANGED);
	if (f.corrupt)
		count(im, change_flip_bit(&w.m, p->pool, f.bit) ? IMPAIR_CORRUPTED : IMPAIR_UNCHANGED);
	if (im->conf.delay_us)
		delay(p, &w, f.delay_ns, now);
	else
		pass(p, &w, now);
}

static bool
is_due(struct fifo *q, uint64_t now)
{
	const struct waiting *first = fifo_first(q);

	return first && (int64_t)(first->due - now) <= 0;
}

static void
give_due(struct port *p, uint16_t n, uint64_t now)
{
	struct impair *im = p->priv;

	while (fifo_len(&im->ready) < n && is_due(&im->delayed, now)) {
		struct waiting w = fifo_pop(&im->delayed);

		pass(p, &w, now);
	}
	while (is_due(&im->held, now))
		give_held(p);
}

static uint16_t
impair_rx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	struct impair *im = p->priv;
	uint64_t now = rte_rdtsc();
	uint32_t ready;
	uint16_t i, got = 0;

	n = RTE_MIN(n, (uint16_t)BURST);
	give_due(p, n, now);
	ready = fifo_len(&im->ready);
	if (ready < n)
		got = p->lower->drv->rx(p->lower, queue, bufs, (uint16_t)(n - ready));
	for (i = 0; i < got; i++)
		arrive(p, bufs[i], now);
	for (i = 0; i < n && fifo_len(&im->ready); i++)
		bufs[i] = fifo_pop(&im->ready).m;
	return i;
}

static uint16_t
impair_tx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	return p->lower->drv->tx(p->lower, queue, bufs, n);
}

static uint64_t
ns_until(const struct impair *im, struct fifo *q, uint64_t now)
{
	const struct waiting *first = fifo_first(q);

	if (!first)
		return UINT64_MAX;
	return is_due(q, now) ? 0 : (first->due - now) * NS_PER_S / im->hz + 1;
}

static uint64_t
impair_due(struct port *p)
{
	struct impair *im = p->priv;
	uint64_t now = rte_rdtsc(), own;

	if (fifo_len(&im->ready))
		return 0;
	own = RTE_MIN(ns_until(im, &im->delayed, now), ns_until(im, &im->held, now));
	return RTE_MIN(own, port_lower_due(p));
}

static void
impair_counters(struct port *p, void (*each)(void *arg, const char *name, const char *text, uint64_t n),
		void *arg)
{
	const struct impair *im = p->priv;

#define IMPAIR_EACH(NAME, name, text) \
	each(arg, "impair_" #name, text, __atomic_load_n(&im->count[IMPAIR_##NAME], __ATOMIC_RELAXED));
	IMPAIR_LIST(IMPAIR_EACH)
#undef IMPAIR_EACH
}

/* Where a line ends that counters are added to. */
struct line {
	char text[LOG_TEXT_MAX];
	size_t len;
};

static void
add_counter(void *arg, const char *name, const char *text, uint64_t n)
{
	struct line *l = arg;
	int len;

	(void)text;
	if (!n)
		return;
	len = snprintf(l->text + l->len, sizeof(l->text) - l->len, ", %llu %s", (unsigned long long)n,
		       name + sizeof("impair_") - 1);
	l->len = RTE_MIN(l->len + (size_t)len, sizeof(l->text) - 1);
}

static void
impair_free(struct impair *im)
{
	fifo_fini(&im->delayed);
	fifo_fini(&im->held);
	fifo_fini(&im->ready);
	free(im);
}

static void
impair_close(struct port *p)
{
	struct impair *im = p->priv;
	struct line l = { .len = 0 };

	impair_counters(p, add_counter, &l);
	log_line(PLX_LOG_INFO, "impair: seed=%llu%s", (unsigned long long)im->conf.seed,
		 l.len ? l.text : ": no frame was received");
	impair_free(im);
	p->priv = NULL;
}

/* Delayed frames are kept from the port below, which needs most of its buffers itself. */
static int
make_queues(struct impair *im, const struct rte_mempool *pool)
{
	uint32_t limit = RTE_MAX(1u, RTE_MIN(DELAYED_MAX, pool->size / 4));

	if (fifo_init(&im->delayed, DELAYED_MAX, limit) != 0 ||
	    fifo_init(&im->held, PORT_REORDER_MAX, PORT_REORDER_MAX) != 0)
		return -ENOMEM;
	return fifo_init(&im->ready, READY_MAX, READY_MAX);
}

static int
impair_stack(struct port *p, const char *args, char *why, size_t why_len)
{
	struct impair *im = calloc(1, sizeof(*im));
	int ret = im ? port_impair_parse(args, &im->conf, why, why_len) : -ENOMEM;

	if (ret == 0)
		ret = make_queues(im, p->pool);
	if (ret != 0)
		goto fail;
	if (!im->conf.has_seed) {
		im->conf.seed = random_u32();
		log_line(PLX_LOG_INFO, "impair: seed=%llu makes the same frames suffer again",
			 (unsigned long long)im->conf.seed);
	}
	im->hz = rte_get_tsc_hz();
	p->priv = im;
	return 0;
fail:
	if (ret == -ENOMEM)
		snprintf(why, why_len, "impair: out of memory");
	if (im)
		impair_free(im);
	return ret;
}

const struct port_driver drv_impair = {
	.name = "impair",
	.close = impair_close,
	.rx = impair_rx,
	.tx = impair_tx,
	.link_up = port_lower_link_up,
	.wait_fd = port_lower_wait_fd,
	.wait_arm = port_lower_wait_arm,
	.wait_clear = port_lower_wait_clear,
	.stack = impair_stack,
	.due = impair_due,
	.counters = impair_counters,
};

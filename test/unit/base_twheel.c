/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/base/twheel: never early, late by less than a grain, no distance too far. */
#include "base/twheel.h"

#include "check.h"

#define NODES 4096
#define MS UINT64_C(1000000)

struct timer {
	struct twheel_node node;
	uint64_t at;
	uint64_t fired_at;	/* 0: not yet */
	unsigned int fired;
};

/* What a run of callbacks sees. */
struct run {
	struct twheel *w;
	uint64_t now, prev;	/* of this advance and of the one before */
	uint64_t last_tick;
	unsigned int early, late, disorder;
};

static struct twheel wheel;
static struct timer timers[NODES];
static uint64_t seed;

static uint64_t
next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void
on_fire(void *arg, struct twheel_node *n)
{
	struct timer *t = container_of(n, struct timer, node);
	struct run *r = arg;

	t->fired_at = r->now;
	t->fired++;
	r->early += r->now < t->at;
	/* The advance before must not have been late enough to fire it. */
	r->late += r->prev >= t->at + TWHEEL_GRAIN_NS;
	r->disorder += n->tick < r->last_tick;
	r->last_tick = n->tick;
}

static unsigned int
advance(struct run *r, uint64_t now)
{
	unsigned int fired;

	r->prev = r->now;
	r->now = now;
	r->last_tick = 0;
	fired = twheel_advance(r->w, now, on_fire, r);
	return fired;
}

static struct run
start(uint64_t now)
{
	twheel_init(&wheel, now);
	memset(timers, 0, sizeof(timers));
	return (struct run){ .w = &wheel, .now = now };
}

static void
arm(struct timer *t, uint64_t at)
{
	t->at = at;
	twheel_arm(&wheel, &t->node, at);
}

static void
twheel_arm__grain_is_at_most_10_us(void)
{
	CHECK(TWHEEL_GRAIN_NS <= 10000);
}

static void
twheel_advance__fires_at_the_first_tick_not_before(void)
{
	for (uint64_t off = 0; off < 2 * TWHEEL_GRAIN_NS; off += 257) {
		uint64_t now = 7 * MS, at = now + off;
		uint64_t due = (at + TWHEEL_GRAIN_NS - 1) / TWHEEL_GRAIN_NS * TWHEEL_GRAIN_NS;
		struct run r = start(now);

		arm(&timers[0], at);
		if (due > now + 1)
			CHECK_EQ(advance(&r, due - 1), 0);
		CHECK_EQ(advance(&r, due > now ? due : now), 1);
		CHECK(!twheel_armed(&timers[0].node));
		CHECK_EQ(twheel_next(&wheel), UINT64_MAX);
	}
}

static void
twheel_advance__past_fires_at_once(void)
{
	struct run r = start(500 * MS);

	arm(&timers[0], 3);
	arm(&timers[1], 500 * MS - TWHEEL_GRAIN_NS);
	CHECK_EQ(twheel_next(&wheel), 0);
	CHECK_EQ(advance(&r, 500 * MS), 2);
	CHECK_EQ(advance(&r, 500 * MS), 0);
}

static void
twheel_advance__time_going_back_is_harmless(void)
{
	struct run r = start(500 * MS);

	arm(&timers[0], 501 * MS);
	CHECK_EQ(advance(&r, 100), 0);
	CHECK_EQ(advance(&r, 502 * MS), 1);
}

/* Distances spread over all magnitudes, steps too. */
static void
random_run(uint64_t base, uint64_t salt)
{
	uint64_t far = base;
	struct run r = start(base);
	unsigned int fired = 0;

	seed = salt * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (int i = 0; i < NODES; i++) {
		uint64_t at = base + (next_random() >> (18 + next_random() % 45));

		arm(&timers[i], at);
		far = at > far ? at : far;
	}
	for (uint64_t now = base; now < far + TWHEEL_GRAIN_NS; ) {
		now += 1 + (next_random() >> (19 + next_random() % 36));
		fired += advance(&r, now);
		if (r.early || r.late || r.disorder)
			break;
	}
	CHECK_EQ(r.early, 0);
	CHECK_EQ(r.late, 0);
	CHECK_EQ(r.disorder, 0);
	CHECK_EQ(fired, NODES);
	for (int i = 0; i < NODES; i++)
		CHECK_EQ(timers[i].fired, 1);
	CHECK_EQ(twheel_next(&wheel), UINT64_MAX);
}

static void
twheel_advance__random_distances_and_steps(void)
{
	static const uint64_t bases[] = {
		0, 1, TWHEEL_GRAIN_NS - 1, 123456789012345, UINT64_C(1) << 43,
		(UINT64_C(1) << 49) - 5, UINT64_C(1755000000000000000),
	};

	for (unsigned int i = 0; i < sizeof(bases) / sizeof(bases[0]); i++) {
		random_run(bases[i], i + 1);
		if (check_failed)
			return;
	}
}

/* The longest local ACK timeout, four times that, and the end of time. */
static void
twheel_arm__far_timers(void)
{
	static const uint64_t dist[] = {
		UINT64_C(4096) << 31, UINT64_C(4096) << 33, UINT64_C(1) << 62,
	};
	uint64_t now = 12345678901;

	for (unsigned int i = 0; i < sizeof(dist) / sizeof(dist[0]); i++) {
		struct run r = start(now);

		arm(&timers[0], now + dist[i]);
		arm(&timers[1], UINT64_MAX);
		CHECK_EQ(advance(&r, now + dist[i] / 2), 0);
		CHECK_EQ(advance(&r, now + dist[i] - 1), 0);
		CHECK_EQ(advance(&r, now + dist[i] + TWHEEL_GRAIN_NS), 1);
		CHECK(twheel_armed(&timers[1].node));
		CHECK_EQ(advance(&r, UINT64_MAX), 0);	/* its tick is past the last one */
		twheel_cancel(&wheel, &timers[1].node);
	}
}

static void
twheel_next__is_a_lower_bound_with_few_wakes(void)
{
	for (unsigned int shift = 0; shift < 45; shift++) {
		uint64_t now = 98765432123, at = now + (UINT64_C(5) << shift), next;
		struct run r = start(now);
		unsigned int wakes = 0;

		arm(&timers[0], at);
		while ((next = twheel_next(&wheel)) != UINT64_MAX) {
			CHECK(next < at + TWHEEL_GRAIN_NS);
			CHECK(next > r.now || next == 0 || !wakes);
			CHECK(wakes++ < TWHEEL_LEVELS);
			advance(&r, next > now ? next : now);
		}
		CHECK_EQ(timers[0].fired, 1);
		CHECK(timers[0].fired_at >= at && timers[0].fired_at < at + TWHEEL_GRAIN_NS);
	}
}

static void
twheel_cancel__removes_from_every_wheel(void)
{
	struct run r = start(77);

	for (int i = 0; i < 50; i++)
		arm(&timers[i], 77 + (UINT64_C(1) << i));
	for (int i = 0; i < 50; i++) {
		twheel_cancel(&wheel, &timers[i].node);
		CHECK(!twheel_armed(&timers[i].node));
		twheel_cancel(&wheel, &timers[i].node);
	}
	CHECK_EQ(twheel_next(&wheel), UINT64_MAX);
	CHECK_EQ(advance(&r, UINT64_C(1) << 55), 0);
}

static void
twheel_arm__moves_an_armed_node(void)
{
	struct run r = start(0);

	arm(&timers[0], 10 * MS);
	arm(&timers[0], 20 * MS);
	CHECK_EQ(advance(&r, 15 * MS), 0);
	arm(&timers[0], 16 * MS);
	CHECK_EQ(advance(&r, 17 * MS), 1);
	CHECK_EQ(advance(&r, 30 * MS), 0);
}

/* Callbacks that arm themselves again, arm others, and cancel those of the same tick. */
struct chain {
	struct twheel_node node, victim;
	unsigned int runs;
	uint64_t period, now;
};

static void
rearm(void *arg, struct twheel_node *n)
{
	struct chain *c = arg;

	CHECK(n == &c->node);
	c->runs++;
	twheel_cancel(&wheel, &c->victim);
	twheel_arm(&wheel, n, c->now + c->period);
}

static void
twheel_advance__rearm_and_cancel_in_callback(void)
{
	struct chain c = { .period = MS };

	twheel_init(&wheel, 0);
	twheel_arm(&wheel, &c.node, MS);
	twheel_arm(&wheel, &c.victim, MS);
	for (c.now = 0; c.now < 100 * MS; c.now += 10000)
		twheel_advance(&wheel, c.now, rearm, &c);
	CHECK(c.runs >= 98 && c.runs <= 100);
	CHECK(!twheel_armed(&c.victim));
}

static void
twheel_advance__rearm_for_the_past_waits_for_the_next(void)
{
	struct chain c = { .period = -2 * TWHEEL_GRAIN_NS };	/* before now */

	twheel_init(&wheel, 0);
	twheel_arm(&wheel, &c.node, MS);
	c.now = 2 * MS;
	CHECK(twheel_advance(&wheel, c.now, rearm, &c) <= 2);
	CHECK_EQ(twheel_next(&wheel), 0);
	c.runs = 0;
	CHECK_EQ(twheel_advance(&wheel, c.now, rearm, &c), 1);
	CHECK_EQ(c.runs, 1);
}

static const struct check_case cases[] = {
	CHECK_CASE(twheel_arm__grain_is_at_most_10_us),
	CHECK_CASE(twheel_advance__fires_at_the_first_tick_not_before),
	CHECK_CASE(twheel_advance__past_fires_at_once),
	CHECK_CASE(twheel_advance__time_going_back_is_harmless),
	CHECK_CASE(twheel_advance__random_distances_and_steps),
	CHECK_CASE(twheel_arm__far_timers),
	CHECK_CASE(twheel_next__is_a_lower_bound_with_few_wakes),
	CHECK_CASE(twheel_cancel__removes_from_every_wheel),
	CHECK_CASE(twheel_arm__moves_an_armed_node),
	CHECK_CASE(twheel_advance__rearm_and_cancel_in_callback),
	CHECK_CASE(twheel_advance__rearm_for_the_past_waits_for_the_next),
};

CHECK_MAIN(cases)

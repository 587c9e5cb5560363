/* SPDX-License-Identifier: BSD-3-Clause */
/* The ring between two cores: full, empty, over its end, and with a thread at each end. */
#include "engine/core.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "check.h"

static struct handoff *ring;

/* Numbers stand for frames. */
static struct rte_mbuf *
frame(uintptr_t n)
{
	return (struct rte_mbuf *)(n + 1);
}

static void
new_ring(void)
{
	if (!ring)
		ring = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_CACHE_LINE_ROUNDUP(sizeof(*ring)));
	memset(ring, 0, sizeof(*ring));
}

static uint32_t
put(uintptr_t from, uint32_t n)
{
	struct rte_mbuf *bufs[HANDOFF_SLOTS + 8];

	for (uint32_t i = 0; i < n; i++)
		bufs[i] = frame(from + i);
	return handoff_put(ring, bufs, n);
}

static void
handoff_put__takes_what_there_is_room_for(void)
{
	struct rte_mbuf **there;

	new_ring();
	CHECK_EQ(handoff_peek(ring, &there), 0);
	CHECK_EQ(put(0, HANDOFF_SLOTS - 1), HANDOFF_SLOTS - 1);
	CHECK_EQ(put(HANDOFF_SLOTS - 1, 5), 1);
	CHECK_EQ(put(0, 1), 0);
	CHECK_EQ(handoff_fill(ring), HANDOFF_SLOTS);
	CHECK_EQ(handoff_peek(ring, &there), HANDOFF_SLOTS);
	handoff_took(ring, 3);
	CHECK_EQ(put(HANDOFF_SLOTS, 5), 3);
	CHECK_EQ(handoff_peek(ring, &there), HANDOFF_SLOTS - 3);	/* up to the ring's end */
	CHECK(there[0] == frame(3));
	handoff_took(ring, HANDOFF_SLOTS - 3);
	CHECK_EQ(handoff_peek(ring, &there), 3);
	CHECK(there[0] == frame(HANDOFF_SLOTS) && there[2] == frame(HANDOFF_SLOTS + 2));
}

static void
handoff_peek__leaves_what_was_not_taken(void)
{
	struct rte_mbuf **there;

	new_ring();
	CHECK_EQ(put(0, 4), 4);
	CHECK_EQ(handoff_peek(ring, &there), 4);
	handoff_took(ring, 1);
	CHECK_EQ(handoff_peek(ring, &there), 3);
	CHECK(there[0] == frame(1));
}

#define FRAMES 300000u

static void *
producer(void *arg)
{
	uint32_t at = 0;

	(void)arg;
	while (at < FRAMES) {
		uint32_t n = at % 61 + 1;
		uint32_t done = put(at, RTE_MIN(n, FRAMES - at));

		at += done;
		if (!done)
			sched_yield();
	}
	return NULL;
}

static void
handoff__two_threads(void)
{
	struct rte_mbuf **there;
	uint32_t at = 0;
	pthread_t t;

	new_ring();
	pthread_create(&t, NULL, producer, NULL);
	while (at < FRAMES) {
		uint32_t n = handoff_peek(ring, &there);

		n = RTE_MIN(n, at % 47 + 1);
		for (uint32_t i = 0; i < n; i++)
			CHECK(there[i] == frame(at + i));
		handoff_took(ring, n);
		at += n;
		if (!n)
			sched_yield();
	}
	pthread_join(t, NULL);
	CHECK_EQ(handoff_fill(ring), 0);
}

#define ROOM 8u

static struct rte_mbuf mine[CORE_OUT], others[HANDOFF_SLOTS];
static uint32_t room, sent_mine, sent_others;

/* Less than this core has, every time. */
static uint16_t
full_tx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	uint16_t k = (uint16_t)RTE_MIN(n, room);

	(void)p;
	(void)queue;
	for (uint16_t i = 0; i < k; i++)
		*(bufs[i] >= mine && bufs[i] < mine + CORE_OUT ? &sent_mine : &sent_others) += 1;
	room -= k;
	return k;
}

static bool
is_up(struct port *p)
{
	(void)p;
	return true;
}

/* A port that takes less than all takes something of every core. */
static void
core_tx__full_port_is_shared(void)
{
	static const struct port_driver drv = { .name = "full", .tx = full_tx, .link_up = is_up };
	struct core *c = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_CACHE_LINE_ROUNDUP(sizeof(*c)));
	struct engine engine = { .num_cores = 2 };
	struct port port = { .drv = &drv };
	struct rte_mbuf *bufs[HANDOFF_SLOTS];
	struct peer peers[2] = { { .core = c }, { .core = c } };

	memset(c, 0, sizeof(*c));
	new_ring();
	for (uint32_t i = 0; i < HANDOFF_SLOTS; i++)
		bufs[i] = &others[i];
	CHECK_EQ(handoff_put(ring, bufs, HANDOFF_SLOTS / 2), HANDOFF_SLOTS / 2);
	peers[1].tx = ring;
	c->engine = &engine;
	c->port = &port;
	c->peers = peers;
	c->serves_port = true;
	for (uint32_t round = 0; round < 20; round++) {
		for (c->num_txq = 0; c->num_txq < CORE_OUT; c->num_txq++)
			c->txq[c->num_txq] = &mine[c->num_txq];
		room = ROOM;
		core_tx(c);
		CHECK_EQ(room, 0);
	}
	CHECK_EQ(sent_mine, 10 * ROOM);
	CHECK_EQ(sent_others, 10 * ROOM);
	free(c);
}

static const struct check_case cases[] = {
	CHECK_CASE(core_tx__full_port_is_shared),
	CHECK_CASE(handoff_put__takes_what_there_is_room_for),
	CHECK_CASE(handoff_peek__leaves_what_was_not_taken),
	CHECK_CASE(handoff__two_threads),
};

CHECK_MAIN(cases)

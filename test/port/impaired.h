/* SPDX-License-Identifier: BSD-3-Clause */
/* A loop with the impair driver on it, and what came out of that. Each case has a process of its own. */
#ifndef PORT_IMPAIRED_H
#define PORT_IMPAIRED_H

#include "port_rig.h"

#define LEN 200u
#define MOST 400000u

/* X(name): what the driver counts */
#define COUNTER_LIST(X) \
	X(received) X(dropped) X(duplicated) X(reordered) X(delayed) X(corrupted) X(marked) X(early) \
	X(unchanged)

struct counters {
#define COUNTER_MEMBER(name) uint64_t name;
	COUNTER_LIST(COUNTER_MEMBER)
#undef COUNTER_MEMBER
};

static struct port top;
static uint32_t got[MOST];	/* numbers of the frames that came out, in order */
static uint32_t num_got;
static uint32_t wrong;		/* that did not come out as they went in */
static bool in_place;		/* a frame's number is its place, not what it says */

static inline int
on(struct rig *r, const char *args)
{
	num_got = wrong = 0;
	return port_stack(&top, "impair", &r->port, args, r->why, sizeof(r->why));
}

/* Closes the upper port alone: what it held is back then, so all buffers are. */
static inline bool
off(struct rig *r)
{
	top.drv->close(&top);
	top.drv = NULL;
	return rig_in_use(r) == 0;
}

static inline void
take_counter(void *arg, const char *name, const char *text, uint64_t n)
{
	struct counters *c = arg;

	(void)text;
#define COUNTER_TAKE(member) \
	if (strcmp(name, "impair_" #member) == 0) \
		c->member = n;
	COUNTER_LIST(COUNTER_TAKE)
#undef COUNTER_TAKE
}

static inline struct counters
counted(void)
{
	struct counters c;

	memset(&c, 0xff, sizeof(c));
	top.drv->counters(&top, take_counter, &c);
	return c;
}

/* Between what the chance p makes of n: five standard deviations. */
static inline bool
fair(uint64_t is, uint32_t n, double p)
{
	double off_by = (double)is - p * n;

	return off_by * off_by <= 25 * n * p * (1 - p);
}

static inline uint16_t
pull_burst(struct rig *r)
{
	struct rte_mbuf *bufs[RIG_BURST];
	uint16_t n = port_rx(&top, 0, bufs, RIG_BURST);

	for (uint16_t i = 0; i < n; i++) {
		uint32_t seq = num_got;

		if (!in_place)
			memcpy(&seq, rte_pktmbuf_mtod(bufs[i], uint8_t *) + 14, 4);
		wrong += rig_judge(r, bufs[i], r->side, seq, LEN) != 1;
		if (num_got < MOST)
			got[num_got++] = seq;
	}
	rte_pktmbuf_free_bulk(bufs, n);
	return n;
}

static inline void
pull(struct rig *r)
{
	while (pull_burst(r) > 0)
		;
}

/* Sends n frames from number `from` on, in bursts, and receives after each. */
static inline bool
push(struct rig *r, uint32_t from, uint32_t n)
{
	for (uint32_t i = 0; i < n;) {
		struct rte_mbuf *bufs[RIG_BURST];
		uint16_t k;

		for (k = 0; k < RIG_BURST && i < n; k++)
			if (!(bufs[k] = rig_frame(r, r->peer_mac, from + i++, LEN)))
				return false;
		if (port_tx(&top, 0, bufs, k) != k)
			return false;
		pull(r);
	}
	return true;
}

/* Receives until nothing waits any more. */
static inline void
drain(struct rig *r)
{
	uint64_t end = rig_ms() + 3000;

	while (top.drv->due(&top) != UINT64_MAX && rig_ms() < end)
		pull(r);
	pull(r);
}

static inline bool
in_order(void)
{
	for (uint32_t i = 1; i < num_got; i++)
		if (got[i] < got[i - 1])
			return false;
	return true;
}

static inline int
start(struct rig *r)
{
	RIG_CHECK(rig_open(r, "loop", false) == 0);
	memcpy(r->peer_mac, r->port.mac, 6);
	return 0;
}

/* For lists X(case, what it runs in a process of its own). */
#define CASE_FUNCTION(name, fn) \
	static void \
	name(void) \
	{ \
		CHECK_EQ(rig_alone(fn), 0); \
	}
#define CASE_ROW(name, fn) CHECK_CASE(name),

#endif

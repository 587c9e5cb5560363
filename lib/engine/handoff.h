/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames from one core to another: a ring with one thread at each end, for whoever holds a core's lock
 * is that core. The consumer looks at what is there and then says how much of it it took.
 */
#ifndef ENGINE_HANDOFF_H
#define ENGINE_HANDOFF_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

struct rte_mbuf;
struct core;

#define HANDOFF_SLOTS 1024u	/* power of two */

struct handoff {
	/* the core that gives; counters run freely */
	uint32_t tail __rte_cache_aligned;
	uint32_t head_seen;
	/* the core that takes */
	uint32_t head __rte_cache_aligned;
	struct rte_mbuf *slot[HANDOFF_SLOTS] __rte_cache_aligned;
};

/* Gives at most n; how many. */
static inline uint32_t
handoff_put(struct handoff *h, struct rte_mbuf **bufs, uint32_t n)
{
	uint32_t room = HANDOFF_SLOTS - (h->tail - h->head_seen);

	if (room < n) {
		h->head_seen = __atomic_load_n(&h->head, __ATOMIC_ACQUIRE);
		room = HANDOFF_SLOTS - (h->tail - h->head_seen);
		n = RTE_MIN(n, room);
	}
	for (uint32_t i = 0; i < n; i++)
		h->slot[(h->tail + i) & (HANDOFF_SLOTS - 1)] = bufs[i];
	if (n)
		__atomic_store_n(&h->tail, h->tail + n, __ATOMIC_RELEASE);
	return n;
}

/* How many are there; the core that takes. */
static inline uint32_t
handoff_fill(const struct handoff *h)
{
	return __atomic_load_n(&h->tail, __ATOMIC_ACQUIRE) - h->head;
}

/* What is there in one piece: *out points to it, and it stays until handoff_took(). */
static inline uint32_t
handoff_peek(struct handoff *h, struct rte_mbuf ***out)
{
	uint32_t n = handoff_fill(h);
	uint32_t at = h->head & (HANDOFF_SLOTS - 1);

	*out = &h->slot[at];
	return RTE_MIN(n, HANDOFF_SLOTS - at);
}

static inline void
handoff_took(struct handoff *h, uint32_t n)
{
	__atomic_store_n(&h->head, h->head + n, __ATOMIC_RELEASE);
}

/* What a core shares with another one. With one core there is none. */
struct peer {
	struct core *core;
	struct handoff *rx_out;	/* received frames that belong to it */
	struct handoff *rx_in;	/* ... that it received and that are ours */
	struct handoff *tx;	/* to be sent: from here to the core that serves the port, or the other
				 * way round; NULL between two cores of which neither serves it */
	bool poke;		/* was given something in this round: wake it if it sleeps */
};

/* Control thread, when all cores exist and before any runs. 0 or -ENOMEM. */
struct engine;
int handoff_init(struct engine *e);
/* Control thread, when no core runs any more; also after an init that failed. */
void handoff_fini(struct engine *e);

/* The rest with the core's lock, and only where there are several cores (core.peers). */

/* Gives a frame to that core's receive. False: there is no room. */
bool handoff_give(struct core *c, uint32_t to, struct rte_mbuf *m);
/* Of n received frames keeps those of this core at the front; gives the others to their owners, or
 * drops what finds no room there. How many are kept. */
unsigned int handoff_sort(struct core *c, struct rte_mbuf **bufs, unsigned int n);
/* As core_loop_take(); what is another core's goes there, or waits. *moved: how many went. */
unsigned int handoff_loop_take(struct core *c, struct rte_mbuf **bufs, unsigned int n,
			       unsigned int *moved);
/* At most n frames of this core that others received. */
unsigned int handoff_rx_take(struct core *c, struct rte_mbuf **bufs, unsigned int n);
/* On a core that does not serve the port: gives what waits in its txq to the one that does, as far as
 * there is room; how many. They are counted when they are sent. */
uint32_t handoff_tx_give(struct core *c);
/* On the core that serves the port: sends what the others gave; how many. */
uint32_t handoff_tx_send(struct core *c);
/* At the end of a round: wakes who was given something. */
void handoff_poke(struct core *c);

#endif

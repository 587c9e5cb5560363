/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where do frames to be sent lie, and how do they reach the port? Called by the loop, with the lock.
 *
 * Transport fills outbox slots; each lies in an mbuf that is lent to it. Filled ones go to the queue
 * of the port, or to the queue of frames for ourselves when no network would bring them back: those
 * are neither impaired nor recorded. A loop brings back what it is given. What is for a group goes to
 * the port, and round it as a copy where QPs of ours are attached. What the port does not take stays
 * there; the outbox offers as many slots as both queues have room for, so that no frame is ever without
 * a place.
 *
 * On a port that gathers, the payload of a slot of the core that serves it may lie in the program's
 * memory: gather.c.
 */
#include "engine/core.h"

#include <errno.h>

#include <rte_cycles.h>

static void
lend(struct core *c, uint32_t at)
{
	c->slot[at].data = rte_pktmbuf_mtod(c->lent[at], uint8_t *);
}

static void
set_cap(struct core *c)
{
	uint32_t full = CORE_TXQ - CORE_NET_TX;		/* the rest is for lib/net */
	uint32_t port_room = c->num_txq < full ? full - c->num_txq : 0;
	uint32_t loop_room = CORE_LOOP - (c->loop_tail - c->loop_head);

	c->out.cap = RTE_MIN(c->num_lent, RTE_MIN(port_room, loop_room));
	c->out.used = 0;
}

/* The first `used` mbufs are gone: new ones in their place. Without memory the others move down. */
static void
refill(struct core *c, uint32_t used)
{
	struct rte_mempool *pool = c->port->pool;

	if (used && rte_pktmbuf_alloc_bulk(pool, c->lent, used) != 0) {
		c->num_lent -= used;
		memmove(c->lent, c->lent + used, c->num_lent * sizeof(c->lent[0]));
		used = c->num_lent;
	}
	for (uint32_t i = 0; i < used; i++)
		lend(c, i);
	while (c->num_lent < CORE_OUT) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

		if (!m)
			break;
		c->lent[c->num_lent] = m;
		lend(c, c->num_lent++);
	}
}

int
core_tx_init(struct core *c)
{
	c->out.slot = c->slot;
	c->out.ext_min = UINT32_MAX;
	/* frames that another core sends are not to be had back from it */
	if (c->port->gathers && c->serves_port && gather_init(c) < 0)
		return -ENOMEM;
	refill(c, 0);
	set_cap(c);
	return c->num_lent == CORE_OUT ? 0 : -ENOMEM;
}

void
core_tx_fini(struct core *c)
{
	rte_pktmbuf_free_bulk(c->lent, c->num_lent);
	rte_pktmbuf_free_bulk(c->txq, c->num_txq);
	for (; c->loop_head != c->loop_tail; c->loop_head++)
		rte_pktmbuf_free(c->loopq[c->loop_head & (CORE_LOOP - 1)]);
	c->num_lent = c->num_txq = 0;
}

void
core_net_send(void *core, const uint8_t *frame, size_t len)
{
	struct core *c = core;
	struct rte_mbuf *m;

	if (c->num_txq + c->out.cap >= CORE_TXQ || len > c->port->max_frame)
		return;
	m = rte_pktmbuf_alloc(c->port->pool);
	if (!m)
		return;
	memcpy(rte_pktmbuf_mtod(m, void *), frame, len);
	m->data_len = (uint16_t)len;
	m->pkt_len = (uint32_t)len;
	c->txq[c->num_txq++] = m;
}

unsigned int
core_loop_take(struct core *c, struct rte_mbuf **bufs, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n && c->loop_head != c->loop_tail; i++)
		bufs[i] = c->loopq[c->loop_head++ & (CORE_LOOP - 1)];
	return i;
}

/* Past the port, or there too. */
static void
go_round(struct core *c, struct rte_mbuf *m, enum out_way way)
{
	if (way == OUT_SELF) {
		c->loopq[c->loop_tail++ & (CORE_LOOP - 1)] = m;
		return;
	}
	core_group_loop(c, m);
	c->txq[c->num_txq++] = m;
}

static void
collect(struct core *c)
{
	uint32_t to_self = c->loop_tail;
	bool past_port = !c->port->loops;

	for (uint32_t i = 0; i < c->out.used; i++) {
		struct rte_mbuf *m = c->lent[i];

		m->data_len = (uint16_t)c->slot[i].len;
		m->pkt_len = c->slot[i].len;
		if (__builtin_expect(c->slot[i].ext, 0))
			gather_attach(c, m, i);
		if (c->slot[i].way != OUT_WIRE && past_port)
			go_round(c, m, c->slot[i].way);
		else
			c->txq[c->num_txq++] = m;
	}
	if (c->loop_tail != to_self)
		cnt_add(&c->cnt, CNT_SELF_FRAMES, c->loop_tail - to_self);
	refill(c, c->out.used);
}

/* The port took less than all. A port without a link takes nothing: then frames are lost, as on a
 * cable that is pulled out. */
static void
keep_rest(struct core *c, uint32_t sent)
{
	uint32_t rest = c->num_txq - sent;

	cnt_add(&c->cnt, CNT_TX_FULL, 1);
	if (c->port->drv->link_up(c->port)) {
		memmove(c->txq, c->txq + sent, rest * sizeof(c->txq[0]));
		c->num_txq = rest;
		return;
	}
	cnt_add(&c->cnt, CNT_TX_LOST, rest);
	rte_pktmbuf_free_bulk(c->txq + sent, rest);
	c->num_txq = 0;
}

static uint64_t
bytes_of(struct rte_mbuf **m, uint32_t n)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++)
		bytes += m[i]->pkt_len;
	return bytes;
}

/* Frames that are taken are the port's: they are measured before. */
static uint32_t
send(struct core *c)
{
	uint64_t bytes = bytes_of(c->txq, c->num_txq);
	uint32_t sent = port_tx(c->port, 0, c->txq, (uint16_t)c->num_txq);

	__atomic_store_n(&c->sent_tsc, rte_rdtsc(), __ATOMIC_RELAXED);
	cnt_add(&c->cnt, CNT_TX_FRAMES, sent);
	if (__builtin_expect(sent == c->num_txq, 1)) {
		c->num_txq = 0;
	} else {
		bytes -= bytes_of(c->txq + sent, c->num_txq - sent);
		keep_rest(c, sent);
	}
	cnt_add(&c->cnt, CNT_TX_BYTES, bytes);
	return sent;
}

/* Of several cores one has the port: every other time it sends for the others first, so that a port
 * which takes less than all takes something of everybody. */
static uint32_t
send_beside_peers(struct core *c)
{
	uint32_t sent = 0;

	if (!c->serves_port)
		return c->num_txq ? handoff_tx_give(c) : 0;
	c->peers_first = !c->peers_first;
	if (c->peers_first)
		sent = handoff_tx_send(c);
	if (c->num_txq)
		sent += send(c);
	if (!c->peers_first)
		sent += handoff_tx_send(c);
	return sent;
}

unsigned int
core_tx(struct core *c)
{
	uint32_t sent = 0;

	if (c->out.used)
		collect(c);
	if (__builtin_expect(c->peers != NULL, 0))
		sent = send_beside_peers(c);
	else if (c->num_txq)
		sent = send(c);
	if (__builtin_expect(c->gather != NULL, 0))
		gather_round(c);
	set_cap(c);
	/* what waits for our own receive is work; what waits for a port that takes nothing is not */
	return sent + (c->loop_tail - c->loop_head);
}

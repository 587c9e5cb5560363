/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which core's is this frame? One core polls the port's receive queue and sends for all; a QPN's low
 * bits name the core that owns the QP. Called by the loop where there are several cores, with the lock
 * of the core at hand.
 *
 * Nothing waits for a core that is behind: a received frame that finds no room is dropped, as by a NIC
 * whose ring is full. Frames to be sent stay with their core until there is room.
 */
#include "engine/handoff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core.h"
#include "transport/mcast.h"

#define QPN_FIRST 2u		/* 0 is nobody's, 1 the GSI QP (A18) */

static struct handoff *
ring_new(void)
{
	size_t size = RTE_CACHE_LINE_ROUNDUP(sizeof(struct handoff));
	struct handoff *h = aligned_alloc(RTE_CACHE_LINE_SIZE, size);

	if (h)
		memset(h, 0, size);
	return h;
}

static void
ring_free(struct handoff *h)
{
	struct rte_mbuf **bufs;
	uint32_t n;

	if (!h)
		return;
	while ((n = handoff_peek(h, &bufs)) != 0) {
		rte_pktmbuf_free_bulk(bufs, n);
		handoff_took(h, n);
	}
	free(h);
}

/* From a to b, both ways where it is for b to send. */
static int
join(struct core *a, struct core *b)
{
	struct peer *there = &a->peers[b->index], *back = &b->peers[a->index];

	there->core = b;
	there->rx_out = back->rx_in = ring_new();
	if (!there->rx_out)
		return -ENOMEM;
	if (!b->serves_port)
		return 0;
	there->tx = back->tx = ring_new();
	return there->tx ? 0 : -ENOMEM;
}

int
handoff_init(struct engine *e)
{
	int rc = 0;

	if (e->num_cores == 1)
		return 0;
	for (uint32_t i = 0; i < e->num_cores; i++) {
		e->core[i]->peers = calloc(e->num_cores, sizeof(struct peer));
		if (!e->core[i]->peers)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < e->num_cores && rc == 0; i++)
		for (uint32_t j = 0; j < e->num_cores && rc == 0; j++)
			if (i != j)
				rc = join(e->core[i], e->core[j]);
	return rc;
}

void
handoff_fini(struct engine *e)
{
	for (uint32_t i = 0; i < e->num_cores; i++) {
		struct core *c = e->core[i];

		for (uint32_t j = 0; c->peers && j < e->num_cores; j++) {
			ring_free(c->peers[j].rx_out);
			if (!c->serves_port)
				ring_free(c->peers[j].tx);
		}
	}
	for (uint32_t i = 0; i < e->num_cores; i++) {
		free(e->core[i]->peers);
		e->core[i]->peers = NULL;
	}
}

/* Who is to look at the frame, once: for what is no good RoCE packet of some QP, this core. */
static uint32_t
owner_of(struct core *c, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct wire_pkt pkt;
	uint32_t at;

	if (wire_classify(frame, m->data_len) != WIRE_KIND_ROCE)
		return c->index;
	if (!core_is_for_us(c, frame)) {	/* a group may have QPs of several cores */
		core_group_spread(c, m);
		return c->index;
	}
	if (wire_parse(frame, m->data_len, &pkt) != DROP_NONE || pkt.dest_qpn == MCAST_QPN)
		return c->index;
	if (pkt.dest_qpn < QPN_FIRST)
		return ENG_PORT_CORE;	/* QP 1 is there */
	at = eng_qpn_core(c->engine, pkt.dest_qpn);
	return at < c->engine->num_cores ? at : c->index;
}

bool
handoff_give(struct core *c, uint32_t to, struct rte_mbuf *m)
{
	struct peer *p = &c->peers[to];

	if (!handoff_put(p->rx_out, &m, 1))
		return false;
	p->poke = true;
	return true;
}

static void
drop(struct core *c, struct rte_mbuf *m)
{
	cnt_drop(&c->cnt, DROP_HANDOFF);
	rte_pktmbuf_free(m);
}

unsigned int
handoff_sort(struct core *c, struct rte_mbuf **bufs, unsigned int n)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = bufs[i];
		uint32_t owner = c->index;

		/* a frame in pieces that cannot be joined is dropped here, by who receives it */
		if (likely(m->nb_segs == 1) || rte_pktmbuf_linearize(m) == 0)
			owner = owner_of(c, m);
		if (owner == c->index)
			bufs[kept++] = m;
		else if (!handoff_give(c, owner, m))
			drop(c, m);
	}
	return kept;
}

unsigned int
handoff_loop_take(struct core *c, struct rte_mbuf **bufs, unsigned int n, unsigned int *moved)
{
	unsigned int kept = 0;

	*moved = 0;
	while (kept < n && c->loop_head != c->loop_tail) {
		struct rte_mbuf *m = c->loopq[c->loop_head & (CORE_LOOP - 1)];
		uint32_t owner = owner_of(c, m);

		if (owner == c->index)
			bufs[kept++] = m;
		else if (handoff_give(c, owner, m))
			(*moved)++;
		else
			break;	/* nothing of ours is lost for want of room: it waits here */
		c->loop_head++;
	}
	return kept;
}

unsigned int
handoff_rx_take(struct core *c, struct rte_mbuf **bufs, unsigned int n)
{
	unsigned int got = 0;

	/* each time another one is the first */
	c->peer_turn = c->peer_turn + 1 < c->engine->num_cores ? c->peer_turn + 1 : 0;
	for (uint32_t i = 0; i < c->engine->num_cores && got < n; i++) {
		uint32_t at = c->peer_turn + i;
		struct peer *p = &c->peers[at < c->engine->num_cores ? at : at - c->engine->num_cores];
		struct rte_mbuf **there;
		uint32_t k;

		if (!p->rx_in)
			continue;
		k = handoff_peek(p->rx_in, &there);
		k = RTE_MIN(k, n - got);
		memcpy(bufs + got, there, k * sizeof(*bufs));
		if (k)
			handoff_took(p->rx_in, k);
		got += k;
	}
	return got;
}

uint32_t
handoff_tx_give(struct core *c)
{
	struct peer *p = &c->peers[ENG_PORT_CORE];
	uint32_t n = handoff_put(p->tx, c->txq, c->num_txq);

	p->poke |= n != 0;
	c->num_txq -= n;
	if (c->num_txq)
		memmove(c->txq, c->txq + n, c->num_txq * sizeof(c->txq[0]));
	return n;
}

/* The port took less than all. Without a link it takes nothing: then frames are lost. */
static uint32_t
lose_or_keep(struct core *c, struct rte_mbuf **rest, uint32_t n)
{
	cnt_add(&c->cnt, CNT_TX_FULL, 1);
	if (c->port->drv->link_up(c->port))
		return 0;
	cnt_add(&c->cnt, CNT_TX_LOST, n);
	rte_pktmbuf_free_bulk(rest, n);
	return n;
}

/* False: the port takes no more. */
static bool
send_for(struct core *c, struct peer *p, uint32_t *sent)
{
	uint64_t bytes[CORE_OUT + 1];
	struct rte_mbuf **bufs;
	uint32_t n = handoff_peek(p->tx, &bufs), k;

	if (!n)
		return true;
	n = RTE_MIN(n, CORE_OUT);
	/* its owner may have gone to sleep with more than there was room for */
	if (unlikely(handoff_fill(p->tx) > HANDOFF_SLOTS - CORE_TXQ))
		p->poke = true;
	/* frames that are taken are the port's: they are measured before */
	bytes[0] = 0;
	for (uint32_t i = 0; i < n; i++)
		bytes[i + 1] = bytes[i] + bufs[i]->pkt_len;
	k = port_tx(c->port, 0, bufs, (uint16_t)n);
	cnt_add(&c->cnt, CNT_TX_FRAMES, k);
	cnt_add(&c->cnt, CNT_TX_BYTES, bytes[k]);
	*sent += k;
	if (unlikely(k < n))
		k += lose_or_keep(c, bufs + k, n - k);
	handoff_took(p->tx, k);
	return k == n;
}

uint32_t
handoff_tx_send(struct core *c)
{
	uint32_t sent = 0, num = c->engine->num_cores;

	for (uint32_t i = 0; i < num; i++) {
		uint32_t at = c->peer_turn + i;
		struct peer *p = &c->peers[at < num ? at : at - num];

		if (p->tx && !send_for(c, p, &sent))
			break;
	}
	return sent;
}

void
handoff_poke(struct core *c)
{
	for (uint32_t i = 0; i < c->engine->num_cores; i++) {
		struct peer *p = &c->peers[i];

		if (!p->poke)
			continue;
		p->poke = false;
		core_wake(p->core);
	}
}

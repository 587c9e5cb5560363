/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port that gathers, on a loop: what is sent is copied to the other end at once, but the mbufs that
 * it was sent in stay with the port, which reads them a last time when it lets them go: when it is
 * asked to clean, when the test says so, or never.
 *
 * It takes the place of the loop driver in the table that lib/port searches.
 */
#ifndef UNIT_LAZY_PORT_H
#define UNIT_LAZY_PORT_H

#include <pthread.h>

#include <rte_mbuf.h>

#include "port/port_driver.h"
#include "wire/icrc.h"

#define LAZY_MAX 2048u

enum lazy_how {
	LAZY_AT_ONCE,
	LAZY_WHEN_ASKED,
	LAZY_BY_HAND,
};

struct lazy {
	pthread_mutex_t lock;		/* of the rest: the core, the test, a thread of it */
	enum lazy_how how;
	bool takes;			/* false: the ring is full */
	uint32_t lose;			/* one in so many frames with a payload elsewhere is lost; 0: none */
	uint32_t chains;		/* frames with a payload elsewhere */
	uint32_t spoilt;		/* whose memory was another at the last look */
	uint32_t asked;			/* to clean */
	uint32_t num;
	struct { struct rte_mbuf *m; uint32_t sum; } held[LAZY_MAX];
};

static struct lazy lazy = { .lock = PTHREAD_MUTEX_INITIALIZER, .takes = true };

extern const struct port_driver drv_loop;

static uint32_t
lazy_sum(const struct rte_mbuf *m)
{
	uint32_t sum = 0;

	for (; m; m = m->next)
		sum = wire_icrc_update(sum, rte_pktmbuf_mtod(m, const void *), m->data_len);
	return sum;
}

/* With the lock. */
static void
lazy_let_go(uint32_t index)
{
	struct rte_mbuf *m = lazy.held[index].m;

	if (lazy_sum(m) != lazy.held[index].sum)
		lazy.spoilt++;
	lazy.held[index] = lazy.held[--lazy.num];
	rte_pktmbuf_free(m);
}

/* The newest first. How many. */
static uint32_t
lazy_let_all_go(void)
{
	uint32_t n;

	pthread_mutex_lock(&lazy.lock);
	n = lazy.num;
	while (lazy.num)
		lazy_let_go(lazy.num - 1);
	pthread_mutex_unlock(&lazy.lock);
	return n;
}

/* Frames with a payload elsewhere. */
static uint32_t
lazy_holds(void)
{
	uint32_t n = 0;

	pthread_mutex_lock(&lazy.lock);
	for (uint32_t i = 0; i < lazy.num; i++)
		n += lazy.held[i].m->nb_segs > 1;
	pthread_mutex_unlock(&lazy.lock);
	return n;
}

static uint32_t
lazy_read(const uint32_t *count)
{
	uint32_t n;

	pthread_mutex_lock(&lazy.lock);
	n = *count;
	pthread_mutex_unlock(&lazy.lock);
	return n;
}

static void
lazy_set(enum lazy_how how, bool takes, uint32_t lose)
{
	pthread_mutex_lock(&lazy.lock);
	lazy.how = how;
	lazy.takes = takes;
	lazy.lose = lose;
	pthread_mutex_unlock(&lazy.lock);
}

/* With the lock. False: there is no room. */
static bool
lazy_send(struct port *p, struct rte_mbuf *m)
{
	struct rte_mbuf *flat;

	if (!lazy.takes || lazy.num == LAZY_MAX)
		return false;
	flat = rte_pktmbuf_copy(m, p->pool, 0, UINT32_MAX);
	if (!flat)
		return false;
	if ((m->nb_segs > 1 && lazy.lose && (lazy.chains * 2654435761u >> 16) % lazy.lose == 0) ||
	    drv_loop.tx(p, 0, &flat, 1) != 1)
		rte_pktmbuf_free(flat);
	lazy.chains += m->nb_segs > 1;
	lazy.held[lazy.num].m = m;
	lazy.held[lazy.num++].sum = lazy_sum(m);
	if (lazy.how == LAZY_AT_ONCE)
		lazy_let_go(lazy.num - 1);
	return true;
}

static uint16_t
lazy_tx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	uint16_t i = 0;

	(void)queue;
	pthread_mutex_lock(&lazy.lock);
	while (i < n && lazy_send(p, bufs[i]))
		i++;
	pthread_mutex_unlock(&lazy.lock);
	return i;
}

static uint16_t
lazy_rx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	return drv_loop.rx(p, queue, bufs, n);
}

static void
lazy_clean(struct port *p, uint16_t queue)
{
	(void)p;
	(void)queue;
	pthread_mutex_lock(&lazy.lock);
	lazy.asked++;
	while (lazy.num && lazy.how == LAZY_WHEN_ASKED)
		lazy_let_go(lazy.asked * 7919 % lazy.num);
	pthread_mutex_unlock(&lazy.lock);
}

static int
lazy_open(struct port *p, const struct port_conf *conf, char *why, size_t why_len)
{
	int ret = drv_loop.open(p, conf, why, why_len);

	p->gathers = true;
	return ret;
}

static void
lazy_close(struct port *p)
{
	lazy_let_all_go();
	drv_loop.close(p);
}

static bool
lazy_link_up(struct port *p)
{
	(void)p;
	return true;
}

static const struct port_driver drv_lazy = {
	.name = "loop",
	.open = lazy_open,
	.close = lazy_close,
	.rx = lazy_rx,
	.tx = lazy_tx,
	.link_up = lazy_link_up,
	.tx_clean = lazy_clean,
};

const struct port_driver *const port_drivers[] = { &drv_lazy, NULL };

#endif

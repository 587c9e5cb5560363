/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which memory of the program does the port still read? Called by the loop with the lock, by who frees
 * an mbuf (came_back), and by control threads that must not answer while something is out.
 */
#include "engine/gather.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/core.h"

#define TAIL_ROOM 8u		/* pad and ICRC */
#define MIN_PAYLOAD 2048u	/* below that two more segments cost more than the copy */
#define WAIT_STEP_US 50
#define WAIT_STEPS 20000u	/* a second and more: of what never comes back nothing waits for ever */

struct ticket {
	struct rte_mbuf_ext_shared_info shared;
	struct gather *of;
	struct ticket *next;		/* in `back` */
	/* the core's */
	struct qp *qp;			/* NULL: it was reset or is gone */
	uint32_t wr, key;
	bool out;
	bool given_up;			/* nobody waits for it any more */
};

struct gather {
	struct ticket *back;		/* any thread: came back; the newest first */
	struct rte_mempool *pool;	/* of the second and third segments */
	uint32_t num_free;
	uint32_t orphans;		/* out, of QPs that are gone, and waited for */
	uint64_t look_at;		/* when to ask the port again, ns */
	struct ticket *free[GATHER_TICKETS];
	struct ticket ticket[GATHER_TICKETS];
};

int
gather_init(struct core *c)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	struct gather *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	snprintf(name, sizeof(name), "plx_%p", (void *)g);
	g->pool = port_pool_new(name, 2 * GATHER_TICKETS + 512, TAIL_ROOM, c->port->numa);
	if (!g->pool) {
		free(g);
		return -ENOMEM;
	}
	while (g->num_free < GATHER_TICKETS) {
		struct ticket *t = &g->ticket[g->num_free];

		t->of = g;
		g->free[g->num_free++] = t;
	}
	c->gather = g;
	c->out.ext = c->ext;
	c->out.ext_min = MIN_PAYLOAD;
	c->out.ext_room = g->num_free;
	return 0;
}

static void
take_back(struct gather *g, struct xport *x)
{
	struct ticket *t = __atomic_exchange_n(&g->back, NULL, __ATOMIC_ACQUIRE);

	for (; t; t = t->next) {
		t->out = false;
		g->free[g->num_free++] = t;
		if (t->qp)
			qp_ext_back(t->qp, x, t->wr);
		else if (!t->given_up)
			g->orphans--;
	}
}

bool
gather_fini(struct gather *g)
{
	if (!g)
		return true;
	take_back(g, NULL);	/* of QPs there are none any more */
	if (g->num_free < GATHER_TICKETS)
		return false;
	rte_mempool_free(g->pool);
	free(g);
	return true;
}

/* Of rte_mbuf_ext_shared_info: any thread that frees the last mbuf of a frame. */
static void
came_back(void *addr, void *opaque)
{
	struct ticket *t = opaque;

	(void)addr;
	t->next = __atomic_load_n(&t->of->back, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&t->of->back, &t->next, t, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

static void
write_ticket(struct ticket *t, const struct out_ext *ext)
{
	t->shared.free_cb = came_back;
	t->shared.fcb_opaque = t;
	rte_mbuf_ext_refcnt_set(&t->shared, 1);
	t->qp = ext->qp;
	t->wr = ext->wr;
	t->key = ext->key;
	t->out = true;
	t->given_up = false;
}

/* There is room for the whole frame in m after all. */
static void
copy(struct core *c, struct rte_mbuf *m, const struct out_ext *ext)
{
	uint8_t *at = rte_pktmbuf_mtod_offset(m, uint8_t *, ext->at);

	memmove(at + ext->len, at, m->data_len - ext->at - ext->len);
	memcpy(at, ext->data, ext->len);
	qp_ext_back(ext->qp, &c->x, ext->wr);
}

void
gather_attach(struct core *c, struct rte_mbuf *m, uint32_t i)
{
	const struct out_ext *ext = &c->ext[i];
	struct gather *g = c->gather;
	uint16_t tail_len = (uint16_t)(m->data_len - ext->at - ext->len);
	struct rte_mbuf *part[2];
	struct ticket *t;

	if (rte_pktmbuf_alloc_bulk(g->pool, part, 2) != 0) {
		copy(c, m, ext);
		return;
	}
	t = g->free[--g->num_free];
	write_ticket(t, ext);
	/* an address serves as IOVA: no port that gathers here looks at it */
	rte_pktmbuf_attach_extbuf(part[0], (void *)(uintptr_t)ext->data, (uintptr_t)ext->data,
				  (uint16_t)ext->len, &t->shared);
	part[0]->data_len = (uint16_t)ext->len;
	part[0]->next = part[1];
	memcpy(rte_pktmbuf_mtod(part[1], void *), rte_pktmbuf_mtod_offset(m, void *, ext->at), tail_len);
	part[1]->data_len = tail_len;
	m->data_len = (uint16_t)ext->at;
	m->next = part[0];
	m->nb_segs = 3;
}

static struct ticket *
ticket_of(const struct rte_mbuf *m)
{
	return m->nb_segs == 3 && RTE_MBUF_HAS_EXTBUF(m->next) ? m->next->shinfo->fcb_opaque : NULL;
}

/* Frames that the port has not taken yet and that match are not sent. */
static void
recall(struct core *c, bool (*match)(const struct ticket *t, uint32_t key), uint32_t key)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->num_txq; i++) {
		const struct ticket *t = ticket_of(c->txq[i]);

		if (t && match(t, key))
			rte_pktmbuf_free(c->txq[i]);
		else
			c->txq[kept++] = c->txq[i];
	}
	c->num_txq = kept;
}

static bool
is_useless(const struct ticket *t, uint32_t key)
{
	(void)key;
	return !t->qp || !qp_ext_wanted(t->qp, t->wr);
}

static bool
is_of_region(const struct ticket *t, uint32_t key)
{
	return t->key == key;
}

/* A port that frees what it sent when it sends more must be asked. */
static void
ask_port(struct core *c)
{
	struct gather *g = c->gather;

	if (c->x.now < g->look_at)
		return;
	g->look_at = c->x.now + GATHER_LOOK_NS;
	recall(c, is_useless, 0);
	port_tx_clean(c->port, 0);
	take_back(g, &c->x);
}

void
gather_round(struct core *c)
{
	struct gather *g = c->gather;

	if (__atomic_load_n(&g->back, __ATOMIC_RELAXED))
		take_back(g, &c->x);
	if (__builtin_expect(c->x.held != 0, 0))
		ask_port(c);
	c->out.ext_room = g->num_free;
}

void
gather_forget(struct core *c, const struct qp *qp)
{
	struct gather *g = c->gather;

	if (!g)
		return;
	for (uint32_t i = 0; i < GATHER_TICKETS; i++) {
		if (!g->ticket[i].out || g->ticket[i].qp != qp)
			continue;
		g->ticket[i].qp = NULL;
		g->orphans += !g->ticket[i].given_up;	/* that one nobody waits for */
	}
	recall(c, is_useless, 0);
	take_back(g, &c->x);
}

/* Control side. What is waited for: of which region, or, without a key, of QPs that are gone. */
struct wait {
	uint32_t key;
	bool give_up;
};

static int
still_out(struct core *c, void *arg)
{
	const struct wait *w = arg;
	struct gather *g = c->gather;
	int n = 0;

	if (w->key)
		recall(c, is_of_region, w->key);
	port_tx_clean(c->port, 0);
	take_back(g, &c->x);
	if (!w->key && !g->orphans)
		return 0;
	for (uint32_t i = 0; i < GATHER_TICKETS; i++) {
		struct ticket *t = &g->ticket[i];

		if (!t->out || t->given_up || (w->key ? t->key != w->key : t->qp != NULL))
			continue;
		n++;
		if (!w->give_up)
			continue;
		t->given_up = true;
		if (!t->qp)
			g->orphans--;
	}
	return n;
}

static int
wait_for(struct engine *e, uint32_t key)
{
	struct wait w = { .key = key };
	int n = 0;

	for (uint32_t step = 0; step <= WAIT_STEPS; step++) {
		n = 0;
		w.give_up = step == WAIT_STEPS;
		for (uint32_t i = 0; i < eng_num_cores(e); i++)
			if (eng_core(e, i)->gather)
				n += eng_call(eng_core(e, i), still_out, &w);
		if (!n)
			return 0;
		usleep(WAIT_STEP_US);
	}
	return n;
}

int
eng_wait_qps(struct engine *e)
{
	return wait_for(e, 0);
}

int
eng_wait_region(struct engine *e, uint32_t key)
{
	return wait_for(e, key);
}

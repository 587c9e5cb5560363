/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who has which MAC? The neighbour table and its timers: asking, refreshing, forgetting. Called by
 * paths, by arp.c and nd.c with what they heard, and by net_timer(); owning core.
 */
#include "net/neigh.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "net/net_priv.h"
#include "net/path.h"

/* What the timer does in each state: ask (everybody, or the owner of the MAC), every gap; after
 * that many tries (0: for ever) it goes on to the next state, which begins with a gap. */
static const struct neigh_rule {
	bool asks, everybody;
	uint64_t gap;
	uint8_t tries;
	enum neigh_state next;
} rules[] = {
	[NEIGH_ASK]    = { true,  true,  1 * NEIGH_SECOND,  3, NEIGH_SILENT },
	[NEIGH_SILENT] = { true,  true,  5 * NEIGH_SECOND,  0, NEIGH_SILENT },
	[NEIGH_FRESH]  = { false, false, 30 * NEIGH_SECOND, 0, NEIGH_PROBE },
	[NEIGH_PROBE]  = { true,  false, 1 * NEIGH_SECOND,  3, NEIGH_LOST },
	[NEIGH_LOST]   = { true,  true,  5 * NEIGH_SECOND,  0, NEIGH_LOST },
};

int
neigh_init(struct neigh_table *t)
{
	t->slots = calloc(NEIGH_MAX, sizeof(*t->slots));
	t->buckets = calloc(NEIGH_BUCKETS, sizeof(*t->buckets));
	if (!t->slots || !t->buckets) {
		neigh_fini(t);
		return -ENOMEM;
	}
	list_init(&t->idle);
	list_init(&t->busy);
	for (uint32_t i = 0; i < NEIGH_BUCKETS; i++)
		list_init(&t->buckets[i]);
	for (uint32_t i = 0; i < NEIGH_MAX; i++) {
		list_init(&t->slots[i].paths);
		list_push(&t->idle, &t->slots[i].turn);
	}
	t->wake = NET_NEVER;
	t->seed = random_u64();
	return 0;
}

void
neigh_fini(struct neigh_table *t)
{
	free(t->slots);
	free(t->buckets);
	t->slots = NULL;
	t->buckets = NULL;
}

/* Every bit of v moves every bit of the result: addresses differ in their last bytes only. */
static uint64_t
mix(uint64_t v)
{
	v = (v ^ v >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	v = (v ^ v >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return v ^ v >> 32;
}

static struct list *
bucket_of(struct neigh_table *t, const uint8_t gid[16])
{
	uint64_t a, b;

	memcpy(&a, gid, 8);
	memcpy(&b, gid + 8, 8);
	return &t->buckets[mix(mix(a ^ t->seed) ^ b) % NEIGH_BUCKETS];
}

static struct neigh *
neigh_find(struct neigh_table *t, const uint8_t gid[16])
{
	struct list *l = bucket_of(t, gid);

	list_for_each(node, l) {
		struct neigh *e = container_of(node, struct neigh, bucket);

		if (gid_equal(e->gid, gid))
			return e;
	}
	return NULL;
}

/* The slot unused for longest becomes this neighbour; it stands nowhere but in its bucket and in
 * the idle list. NULL when every slot has paths. */
static struct neigh *
neigh_make(struct neigh_table *t, const uint8_t gid[16])
{
	struct list_node *node = list_pop(&t->idle);
	struct neigh *e;

	if (!node)
		return NULL;
	e = container_of(node, struct neigh, turn);
	if (e->state != NEIGH_FREE)
		list_del(&e->bucket);
	memcpy(e->gid, gid, 16);
	e->state = NEIGH_ASK;
	e->tries = 0;
	e->said = false;
	list_push(bucket_of(t, gid), &e->bucket);
	list_push(&t->idle, &e->turn);
	return e;
}

bool
neigh_has_mac(const struct neigh *e)
{
	return e->state >= NEIGH_FRESH;
}

static void
neigh_due(struct neigh_table *t, struct neigh *e, uint64_t due)
{
	e->due = due;
	if (due < t->wake)
		t->wake = due;
}

static void
neigh_enter(struct neigh *e, enum neigh_state state)
{
	e->state = state;
	e->tries = 0;
}

static void
neigh_ask(struct net *n, const struct neigh *e)
{
	const uint8_t *mac = rules[e->state].everybody ? NULL : e->mac;
	/* asks come only while there is a path; its source is the address the peer will want */
	const struct path *p = container_of(e->paths.head.next, struct path, node);

	assert(!list_empty(&e->paths));
	if (gid_is_ip4(e->gid))
		arp_ask(n, p->src_gid, e->gid, mac);
	else
		nd_ask(n, p->src_gid, e->gid, mac);
}

static void
neigh_complain(struct net *n, struct neigh *e)
{
	char addr[GID_TEXT_LEN], line[256];
	bool ip4 = gid_is_ip4(e->gid);

	if (e->said || !n->out.say)
		return;
	e->said = true;
	gid_text(e->gid, addr);
	snprintf(line, sizeof(line),
		 "no answer from %s (%s, %u tries): is the peer running, on the same wire%s, and is"
		 " that its address? still asking",
		 addr, ip4 ? "ARP" : "ND", rules[NEIGH_ASK].tries, n->vlan_tci ? " and VLAN" : "");
	n->out.say(n->out.arg, line);
}

/* The timer of one neighbour that has paths. */
static void
neigh_tick(struct net *n, struct neigh *e, uint64_t now)
{
	struct neigh_table *t = &n->neigh;
	const struct neigh_rule *r = &rules[e->state];

	if (e->state == NEIGH_FRESH) {
		if (now - e->confirmed < r->gap) { /* traffic confirmed it in between */
			neigh_due(t, e, e->confirmed + r->gap);
			return;
		}
		neigh_enter(e, r->next);
		r = &rules[e->state];
	}
	if (r->tries && e->tries == r->tries) {
		neigh_enter(e, r->next);
		neigh_complain(n, e);
	} else {
		neigh_ask(n, e);
		if (r->tries)
			e->tries++;
	}
	neigh_due(t, e, now + rules[e->state].gap);
}

void
neigh_timer(struct net *n, uint64_t now)
{
	struct neigh_table *t = &n->neigh;

	if (now < t->wake)
		return;
	t->wake = NET_NEVER;
	list_for_each(node, &t->busy) {
		struct neigh *e = container_of(node, struct neigh, turn);

		if (e->due <= now)
			neigh_tick(n, e, now);
		else
			neigh_due(t, e, e->due);
	}
}

void
neigh_hurry(struct net *n)
{
	list_for_each(node, &n->neigh.busy) {
		struct neigh *e = container_of(node, struct neigh, turn);

		if (neigh_has_mac(e))
			continue;
		neigh_enter(e, NEIGH_ASK);
		neigh_due(&n->neigh, e, 0);
	}
}

int
neigh_attach(struct net *n, const uint8_t gid[16], struct path *p, uint64_t now)
{
	struct neigh_table *t = &n->neigh;
	struct neigh *e = neigh_find(t, gid);

	if (!e)
		e = neigh_make(t, gid);
	if (!e)
		return -ENOMEM;
	p->neigh = e;
	if (list_empty(&e->paths)) {
		list_del(&e->turn);
		list_push(&t->busy, &e->turn);
		list_push(&e->paths, &p->node);
		neigh_tick(n, e, now);
	} else {
		list_push(&e->paths, &p->node);
	}
	return 0;
}

void
neigh_detach(struct net *n, struct path *p)
{
	struct neigh *e = p->neigh;

	p->neigh = NULL;
	list_del(&p->node);
	if (!list_empty(&e->paths))
		return;
	list_del(&e->turn);
	list_push(&n->neigh.idle, &e->turn);
	/* whoever wants it next begins with three tries again */
	neigh_enter(e, neigh_has_mac(e) ? NEIGH_FRESH : NEIGH_ASK);
}

/* The MAC is right at this moment. */
static void
neigh_confirm(struct net *n, struct neigh *e, uint64_t now)
{
	e->confirmed = now;
	if (e->state != NEIGH_FRESH)
		neigh_enter(e, NEIGH_FRESH);
	if (list_empty(&e->paths)) { /* used just now: the last to make room */
		list_del(&e->turn);
		list_push(&n->neigh.idle, &e->turn);
	}
}

/* Tells every path. `changed` may close its own path. */
static void
neigh_tell(struct neigh *e)
{
	struct list_node *next;

	for (struct list_node *node = e->paths.head.next; node != &e->paths.head; node = next) {
		struct path *p = container_of(node, struct path, node);

		next = node->next;
		path_set_mac(p, e->mac);
		if (p->changed)
			p->changed(p, p->arg);
	}
}

bool
neigh_learn(struct net *n, const uint8_t gid[16], const uint8_t mac[6], uint64_t now, bool make,
	    bool replace)
{
	struct neigh *e = neigh_find(&n->neigh, gid);
	bool news;

	if (!e && make)
		e = neigh_make(&n->neigh, gid);
	if (!e)
		return false;
	news = !neigh_has_mac(e) || memcmp(e->mac, mac, 6) != 0;
	if (news && neigh_has_mac(e) && !replace)
		return false;
	memcpy(e->mac, mac, 6);
	neigh_confirm(n, e, now);
	if (!list_empty(&e->paths))
		neigh_due(&n->neigh, e, now + rules[NEIGH_FRESH].gap);
	if (news)
		neigh_tell(e);
	return true;
}

void
neigh_alive(struct net *n, const uint8_t gid[16], uint64_t now)
{
	struct neigh *e = neigh_find(&n->neigh, gid);

	if (e && neigh_has_mac(e))
		neigh_confirm(n, e, now);
}

void
net_confirm(struct net *n, const uint8_t gid[16], const uint8_t mac[6], uint64_t now)
{
	struct neigh *e = neigh_find(&n->neigh, gid);

	if (e && neigh_has_mac(e) && memcmp(e->mac, mac, 6) == 0)
		neigh_confirm(n, e, now);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbours: who has which MAC, asked for as long as a path wants to know. A bounded table; the
 * one unused for longest makes room, one with paths never does. Owning core.
 */
#ifndef NET_NEIGH_H
#define NET_NEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

#define NEIGH_MAX 4096u
#define NEIGH_BUCKETS 4096u
#define NEIGH_SECOND UINT64_C(1000000000)

struct net;
struct path;

enum neigh_state {
	NEIGH_FREE,
	NEIGH_ASK,	/* no MAC: ask everybody, a second apart */
	NEIGH_SILENT,	/* no MAC, no answer: go on asking, slowly */
	NEIGH_FRESH,	/* MAC confirmed not long ago */
	NEIGH_PROBE,	/* MAC known but not confirmed lately: ask its owner. Stays in use */
	NEIGH_LOST,	/* the owner did not answer: ask everybody, slowly. Stays in use */
};

struct neigh {
	uint8_t gid[16];
	uint8_t mac[6];			/* from NEIGH_FRESH on */
	enum neigh_state state;
	uint8_t tries;			/* asked in this state */
	bool said;			/* that it does not answer */
	uint64_t confirmed;		/* when its MAC was last known to be right, ns */
	uint64_t due;			/* of its timer, while it has paths, ns */
	struct list paths;		/* struct path, by node */
	struct list_node bucket;
	struct list_node turn;		/* in table.idle without paths, in table.busy with */
};

struct neigh_table {
	struct neigh *slots;
	struct list *buckets;
	struct list idle;	/* free ones and those without paths, longest unused first */
	struct list busy;	/* those with paths: these have timers */
	uint64_t wake;		/* not later than the first due of a busy one, or NET_NEVER */
	uint64_t seed;		/* so that no peer can choose a bucket */
};

/* 0 or -ENOMEM. */
int neigh_init(struct neigh_table *t);
void neigh_fini(struct neigh_table *t);

/* Registers the path with the neighbour `gid`, made if need be; begins to ask if its MAC is not
 * known or old. p->neigh->state tells. 0, or -ENOMEM when every slot has paths. */
int neigh_attach(struct net *n, const uint8_t gid[16], struct path *p, uint64_t now);
void neigh_detach(struct net *n, struct path *p);
bool neigh_has_mac(const struct neigh *e);

/* Its MAC is known not to be older than now. `make`: also of a neighbour not yet in the table.
 * `replace`: also when it was thought to have another MAC. False when nothing was learned. */
bool neigh_learn(struct net *n, const uint8_t gid[16], const uint8_t mac[6], uint64_t now,
		 bool make, bool replace);
/* The neighbour says it is there, without naming its MAC. */
void neigh_alive(struct net *n, const uint8_t gid[16], uint64_t now);

/* Asks, refreshes and forgets what is due; t->wake says when it is again. */
void neigh_timer(struct net *n, uint64_t now);

/* The link came up: those not yet resolved are asked again at the next net_timer(), at once. */
void neigh_hurry(struct net *n);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is at this address, and which header reaches them: the GID table, neighbours by ARP and ND,
 * ICMP echo, paths, membership of multicast groups by IGMP and MLD. Sans-IO: frames are written to
 * slots that the caller lends, time is given. All of it belongs to the core that serves the port's
 * first queue; others reach it by mailbox.
 */
#ifndef NET_NET_H
#define NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "telemetry/counters.h"
#include "wire/build.h"

#define NET_MAX_GIDS 256u
#define NET_MAX_GROUPS 1024u
#define NET_NEVER UINT64_MAX

struct net_addr {
	uint8_t gid[16];		/* ::ffff:a.b.c.d for IPv4 */
	uint8_t prefix_len;		/* of the family: 0..32 or 0..128 */
};

struct net_conf {
	uint8_t mac[6];
	uint32_t ip_mtu;
	uint16_t vlan_tci;		/* 0: untagged */
	struct net_addr addr[NET_MAX_GIDS - 1]; /* in order; none: 10.11.x.y/16 from the MAC */
	uint32_t num_addrs;
	uint8_t gw4[16], gw6[16];	/* gateways as GIDs; all zero: none */
};

/* A frame to be sent: the callee copies it to wherever frames go, or drops it (ARP, ND repeat). */
struct net_out {
	void (*send)(void *arg, const uint8_t *frame, size_t len);
	void *arg;
	/* One readable line for the user, for what happens once (an unresolved neighbour). */
	void (*say)(void *arg, const char *line);
};

struct net;

/* Control thread, before the core runs. GID 0 is the link-local one of the MAC, then the
 * addresses in their order. NULL without memory or with a bad conf (then *why is set). */
struct net *net_new(const struct net_conf *conf, const struct net_out *out, const char **why);
void net_free(struct net *n);

/* 0 and the GID, or -ENODATA for an empty slot, -EINVAL beyond the table. */
int gid_get(const struct net *n, uint32_t index, uint8_t gid[16]);
/* Index of one of our own GIDs, or -1. */
int gid_find(const struct net *n, const uint8_t gid[16]);

/* Which way a packet goes, as asked by a QP's address vector. */
struct path_req {
	uint32_t sgid_index;
	uint8_t dgid[16];
	uint32_t flow_label;
	uint16_t udp_sport;
	uint8_t hop_limit;		/* 0: 64; so is 1 by a gateway */
	uint8_t traffic_class;
	bool group;			/* dgid may be a multicast group's */
};

/*
 * A resolved or waiting path. It stays registered with its neighbour until path_close(): when the
 * neighbour is resolved, or its MAC changes, `changed` is called with ready set and a new template;
 * of all paths it may close this one only.
 */
struct path {
	struct wire_tmpl tmpl;
	uint8_t src_gid[16], dst_gid[16];
	bool ready;
	bool loop;			/* dgid is one of our own */
	bool group;			/* dgid is a multicast group */
	void (*changed)(struct path *p, void *arg);
	void *arg;
	struct wire_tmpl_conf conf;
	struct neigh *neigh;
	struct list_node node;
};

/*
 * 0 (p->ready says whether it can be used at once; if not, resolution has begun; a group always can,
 * F9), -EINVAL (empty sgid_index, families differ, multicast unless req->group), -ENETUNREACH (no
 * route: not on a link of ours and no gateway), -ENOMEM (paths to NEIGH_MAX other neighbours are there).
 */
int path_open(struct net *n, struct path *p, const struct path_req *req, uint64_t now,
	      void (*changed)(struct path *p, void *arg), void *arg);
void path_close(struct net *n, struct path *p);

/* A received frame that is not RoCE. DROP_NONE when it was ours (ARP, ND, echo), which is then
 * counted; else the reason, which the caller counts. */
enum drop_reason net_rx(struct net *n, const uint8_t *frame, size_t len, uint64_t now,
			struct cnt_block *cnt);

/* A RoCE frame came from this address with this MAC: refreshes a neighbour that is already known
 * with it, never makes one, never changes its MAC. */
void net_confirm(struct net *n, const uint8_t gid[16], const uint8_t mac[6], uint64_t now);

/*
 * A receiver joins a multicast group: the first one is announced by IGMPv3 or MLDv2 (by IGMPv2 or
 * MLDv1 for some minutes after a querier of those was heard), twice, and again when a querier asks or
 * the link comes up. 0, -EINVAL (wire_gid_is_group() says no), -ENOSPC (NET_MAX_GROUPS are joined).
 */
int group_join(struct net *n, const uint8_t gid[16], uint64_t now);
/* One of them leaves; the last one is announced, too. 0, or -EINVAL when nobody has joined it. */
int group_leave(struct net *n, const uint8_t gid[16], uint64_t now);

/* When net_timer() must be called (retries, expiry), ns, or NET_NEVER. */
uint64_t net_wake_at(const struct net *n);
void net_timer(struct net *n, uint64_t now);

/* Gratuitous ARP and unsolicited neighbour advertisement for all our addresses: at start, link up.
 * Whoever has not answered yet is asked again, and groups are announced, at the next net_timer(),
 * which is due at once. */
void net_announce(struct net *n);

#endif

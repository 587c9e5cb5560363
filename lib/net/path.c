/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which header reaches an address? Routes (on-link by prefix, else the family's gateway, else
 * none) and the template of each path. Called when a QP or AH gets its address vector; owning core.
 */
#include "net/path.h"

#include <errno.h>
#include <string.h>

#include "net/net_priv.h"

#define DEFAULT_HOP_LIMIT 64u

void
path_set_mac(struct path *p, const uint8_t mac[6])
{
	memcpy(p->conf.dst_mac, mac, 6);
	wire_tmpl_make(&p->tmpl, &p->conf);
	p->ready = true;
}

/* A group's MAC follows from its address (F9): nobody is asked, and no gateway takes it for us. */
static void
path_set_group(struct path *p)
{
	uint8_t mac[6];

	wire_group_mac(p->dst_gid, mac);
	path_set_mac(p, mac);
}

/* Who takes a packet for dgid off our hands: itself, or a gateway. NULL: nobody. */
static const uint8_t *
next_hop(const struct net *n, const uint8_t dgid[16])
{
	const uint8_t *gw = gid_is_ip4(dgid) ? n->gw4 : n->gw6;

	if (gid_on_link(n, dgid))
		return dgid;
	return gid_is_zero(gw) ? NULL : gw;
}

static void
path_fill(struct path *p, const struct net *n, const struct path_req *req)
{
	memcpy(p->dst_gid, req->dgid, 16);
	memcpy(p->conf.src_mac, n->mac, 6);
	memcpy(p->conf.src_gid, p->src_gid, 16);
	memcpy(p->conf.dst_gid, p->dst_gid, 16);
	p->conf.vlan_tci = n->vlan_tci;
	p->conf.udp_sport = req->udp_sport;
	p->conf.hop_limit = req->hop_limit ? req->hop_limit : DEFAULT_HOP_LIMIT;
	p->conf.traffic_class = req->traffic_class;
	p->conf.flow_label = req->flow_label;
}

int
path_open(struct net *n, struct path *p, const struct path_req *req, uint64_t now,
	  void (*changed)(struct path *p, void *arg), void *arg)
{
	const uint8_t *hop;
	int ret;

	memset(p, 0, sizeof(*p));
	p->changed = changed;
	p->arg = arg;
	if (gid_get(n, req->sgid_index, p->src_gid) != 0)
		return -EINVAL;
	p->group = req->group && wire_gid_is_group(req->dgid);
	if ((!gid_is_unicast(req->dgid) && !p->group) || gid_is_subnet_broadcast(n, req->dgid) ||
	    gid_is_ip4(req->dgid) != gid_is_ip4(p->src_gid))
		return -EINVAL;
	path_fill(p, n, req);
	if (p->group) {
		path_set_group(p);
		return 0;
	}
	if (gid_find(n, p->dst_gid) >= 0) {
		p->loop = true;
		path_set_mac(p, n->mac);
		return 0;
	}
	hop = next_hop(n, p->dst_gid);
	if (!hop)
		return -ENETUNREACH;
	/* A7 says the AH's; but a first router drops what has one hop left, which ibv_rc_pingpong asks
	 * for everywhere. The kernel's stacks put the route's there too. */
	if (hop != p->dst_gid && p->conf.hop_limit == 1)
		p->conf.hop_limit = DEFAULT_HOP_LIMIT;
	ret = neigh_attach(n, hop, p, now);
	if (ret == 0 && neigh_has_mac(p->neigh))
		path_set_mac(p, p->neigh->mac);
	return ret;
}

void
path_close(struct net *n, struct path *p)
{
	if (p->neigh)
		neigh_detach(n, p);
	p->ready = false;
}

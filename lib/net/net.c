/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port's addresses and neighbours as one thing: making it, the second layer of frames in and out,
 * announcing. Made by the control thread, then the owning core's. net_rx() counts what was ours;
 * what it returns is the caller's to count.
 */
#include "net/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/net_priv.h"

#define VLAN_ID 0x0fffu

bool
mac_is_unicast(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return !(mac[0] & 1) && memcmp(mac, zero, 6) != 0;
}

/* 10.11.x.y/16 from the MAC's last two bytes; never the subnet's own two addresses. */
static void
default_addr(struct net_addr *a, const uint8_t mac[6])
{
	uint16_t host = get_be16(mac + 4);
	uint8_t ip[4] = { 10, 11 };

	if (host == 0)
		host = 1;
	if (host == 0xffff)
		host = 0xfffe;
	put_be16(ip + 2, host);
	gid_from_ip4(a->gid, ip);
	a->prefix_len = 16;
}

static const char *
addr_add(struct net *n, const struct net_addr *a)
{
	if (a->prefix_len > (gid_is_ip4(a->gid) ? 32 : 128))
		return "the prefix of an address is longer than the address";
	if (!gid_is_unicast(a->gid))
		return "an address is not one of a single host";
	if (gid_find(n, a->gid) >= 0)
		return "an address is given twice (the link-local one of the MAC is always there)";
	n->gid[n->num_gids++] = *a;
	return NULL;
}

static const char *
addrs_fill(struct net *n, const struct net_conf *conf)
{
	struct net_addr own = { .prefix_len = 64 };
	const char *why;

	gid_from_mac(own.gid, conf->mac);
	why = addr_add(n, &own);
	if (conf->num_addrs == 0 && !why) {
		default_addr(&own, conf->mac);
		why = addr_add(n, &own);
	}
	for (uint32_t i = 0; i < conf->num_addrs && !why; i++)
		why = addr_add(n, &conf->addr[i]);
	for (uint32_t i = 1; i < n->num_gids && !why; i++)
		if (gid_is_subnet_broadcast(n, n->gid[i].gid))
			why = "--ip: the broadcast address of its own subnet: give a host's address";
	return why;
}

static const char *
gateways_fill(struct net *n, const struct net_conf *conf)
{
	const uint8_t *gw[2] = { conf->gw4, conf->gw6 };

	memcpy(n->gw4, conf->gw4, 16);
	memcpy(n->gw6, conf->gw6, 16);
	for (int i = 0; i < 2; i++) {
		if (gid_is_zero(gw[i]))
			continue;
		if (!gid_is_unicast(gw[i]) || gid_is_ip4(gw[i]) != (i == 0))
			return "a gateway is not an address of a single host";
		if (!gid_on_link(n, gw[i]))
			return "--gw: in no subnet of --ip: give --ip the length of the gateway's subnet";
		if (gid_find(n, gw[i]) >= 0)
			return "a gateway is an address of this port itself";
	}
	return NULL;
}

static const char *
conf_check(const struct net_conf *conf)
{
	if (!mac_is_unicast(conf->mac))
		return "the MAC is not one of a single host";
	if (conf->num_addrs > NET_MAX_GIDS - 1)
		return "more than 255 addresses";
	if ((conf->vlan_tci & VLAN_ID) == VLAN_ID)
		return "VLAN 4095 is reserved";
	if (conf->ip_mtu < 576 || conf->ip_mtu > 65535)
		return "the MTU is not between 576 and 65535";
	return NULL;
}

struct net *
net_new(const struct net_conf *conf, const struct net_out *out, const char **why)
{
	struct net *n = NULL;
	const char *bad = conf_check(conf);

	if (bad)
		goto fail;
	bad = "no memory for addresses and neighbours";
	n = calloc(1, sizeof(*n));
	if (!n)
		goto fail;
	n->echo = malloc(ETH_LEN + VLAN_LEN + conf->ip_mtu);
	if (!n->echo || neigh_init(&n->neigh) != 0 || groups_init(&n->groups) != 0)
		goto fail;
	memcpy(n->mac, conf->mac, 6);
	n->vlan_tci = conf->vlan_tci;
	n->ip_mtu = conf->ip_mtu;
	n->out = *out;
	bad = addrs_fill(n, conf);
	if (!bad)
		bad = gateways_fill(n, conf);
	if (bad)
		goto fail;
	return n;
fail:
	net_free(n);
	if (why)
		*why = bad;
	return NULL;
}

void
net_free(struct net *n)
{
	if (!n)
		return;
	groups_fini(&n->groups);
	neigh_fini(&n->neigh);
	free(n->echo);
	free(n);
}

uint8_t *
net_put_l2(const struct net *n, uint8_t *frame, const uint8_t dst_mac[6], uint16_t type)
{
	memcpy(frame, dst_mac, 6);
	memcpy(frame + 6, n->mac, 6);
	frame += 12;
	if (n->vlan_tci)
		frame = put_be16(put_be16(frame, ETH_TYPE_VLAN), n->vlan_tci);
	return put_be16(frame, type);
}

void
net_conflict(struct net *n, const uint8_t gid[16], const uint8_t mac[6])
{
	char addr[GID_TEXT_LEN], line[256];

	/* our own announcements come back on a loop and from some switches */
	if (n->conflict_said || !n->out.say || memcmp(mac, n->mac, 6) == 0)
		return;
	n->conflict_said = true;
	gid_text(gid, addr);
	snprintf(line, sizeof(line),
		 "%s is also used by %02x:%02x:%02x:%02x:%02x:%02x: give each host an address of"
		 " its own",
		 addr, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	n->out.say(n->out.arg, line);
}

/* The frame is for us: our MAC or a group, our VLAN. */
static enum drop_reason
l2_parse(const struct net *n, const uint8_t *frame, size_t len, struct net_frame *f)
{
	size_t at = ETH_LEN;
	uint16_t vlan = 0;

	if (len < ETH_LEN)
		return DROP_SHORT;
	f->dst_mac = frame;
	f->src_mac = frame + 6;
	f->type = get_be16(frame + 12);
	if (f->type == ETH_TYPE_VLAN) {
		if (len < ETH_LEN + VLAN_LEN)
			return DROP_SHORT;
		vlan = get_be16(frame + 14) & VLAN_ID;
		f->type = get_be16(frame + 16);
		at += VLAN_LEN;
	}
	/* no tag and a tag that only has a priority both mean VLAN 0 */
	if (vlan != (n->vlan_tci & VLAN_ID) || !mac_is_unicast(f->src_mac))
		return DROP_L2;
	if (!(f->dst_mac[0] & 1) && memcmp(f->dst_mac, n->mac, 6) != 0)
		return DROP_L2;
	f->l3 = frame + at;
	f->l3_len = len - at;
	return DROP_NONE;
}

enum drop_reason
net_rx(struct net *n, const uint8_t *frame, size_t len, uint64_t now, struct cnt_block *cnt)
{
	struct net_frame f;
	enum drop_reason why = l2_parse(n, frame, len, &f);

	if (why != DROP_NONE)
		return why;
	switch (f.type) {
	case ETH_TYPE_ARP:
		return arp_rx(n, &f, now, cnt);
	case ETH_TYPE_IP4:
		if (f.l3_len >= IP4_LEN && f.l3[9] == IP_PROTO_IGMP)
			return igmp_rx(n, &f, now, cnt);
		return icmp4_rx(n, &f, cnt);
	case ETH_TYPE_IP6:
		return icmp6_rx(n, &f, now, cnt);
	default:
		return DROP_NOT_ROCE;
	}
}

uint64_t
net_wake_at(const struct net *n)
{
	return n->neigh.wake < n->groups.wake ? n->neigh.wake : n->groups.wake;
}

void
net_timer(struct net *n, uint64_t now)
{
	neigh_timer(n, now);
	groups_timer(n, now);
}

void
net_announce(struct net *n)
{
	for (uint32_t i = 0; i < n->num_gids; i++) {
		if (gid_is_ip4(n->gid[i].gid))
			arp_announce(n, n->gid[i].gid);
		else
			nd_announce(n, n->gid[i].gid);
	}
	neigh_hurry(n);
	groups_announce(n);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ARP (RFC 826, 5227): answering for our addresses, asking for others, announcing ours. Called by
 * net_rx() and the neighbour timers; owning core.
 */
#include <string.h>

#include "net/net_priv.h"

#define ARP_LEN 28u
#define ARP_REQUEST 1u
#define ARP_REPLY 2u

/* Offsets in the packet */
enum {
	ARP_OP = 6,
	ARP_SHA = 8,
	ARP_SPA = 14,
	ARP_THA = 18,
	ARP_TPA = 24,
};

/* Ethernet, IPv4, and their address lengths */
static const uint8_t arp_kind[6] = { 0, 1, 8, 0, 6, 4 };
static const uint8_t everybody[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
static const uint8_t nobody[6];

static void
arp_send(struct net *n, uint16_t op, const uint8_t *eth_dst, const uint8_t *spa, const uint8_t *tha,
	 const uint8_t *tpa)
{
	uint8_t frame[ETH_LEN + VLAN_LEN + ARP_LEN];
	uint8_t *arp = net_put_l2(n, frame, eth_dst, ETH_TYPE_ARP);

	memcpy(arp, arp_kind, sizeof(arp_kind));
	put_be16(arp + ARP_OP, op);
	memcpy(arp + ARP_SHA, n->mac, 6);
	memcpy(arp + ARP_SPA, spa, 4);
	memcpy(arp + ARP_THA, tha, 6);
	memcpy(arp + ARP_TPA, tpa, 4);
	n->out.send(n->out.arg, frame, (size_t)(arp + ARP_LEN - frame));
}

void
arp_ask(struct net *n, const uint8_t src[16], const uint8_t target[16], const uint8_t *mac)
{
	arp_send(n, ARP_REQUEST, mac ? mac : everybody, src + 12, nobody, target + 12);
}

void
arp_announce(struct net *n, const uint8_t gid[16])
{
	arp_send(n, ARP_REQUEST, everybody, gid + 12, nobody, gid + 12);
}

/* Somebody who asks us is about to send to us: no second exchange is needed then. */
static enum drop_reason
arp_request(struct net *n, const uint8_t *arp, const uint8_t sender[16], uint64_t now)
{
	bool on_link = gid_is_unicast(sender) && gid_on_link(n, sender);

	if (on_link)
		neigh_learn(n, sender, arp + ARP_SHA, now, true, true);
	/* a sender of 0.0.0.0 probes whether the address is in use: answered too */
	arp_send(n, ARP_REPLY, arp + ARP_SHA, arp + ARP_TPA, arp + ARP_SHA, arp + ARP_SPA);
	return DROP_NONE;
}

enum drop_reason
arp_rx(struct net *n, const struct net_frame *f, uint64_t now, struct cnt_block *cnt)
{
	const uint8_t *arp = f->l3;
	uint8_t sender[16], target[16];
	uint16_t op;

	if (f->l3_len < ARP_LEN)
		return DROP_SHORT;
	op = get_be16(arp + ARP_OP);
	if (memcmp(arp, arp_kind, sizeof(arp_kind)) != 0 || !mac_is_unicast(arp + ARP_SHA) ||
	    (op != ARP_REQUEST && op != ARP_REPLY))
		return DROP_NOT_ROCE;
	gid_from_ip4(sender, arp + ARP_SPA);
	gid_from_ip4(target, arp + ARP_TPA);
	if (gid_find(n, sender) >= 0) { /* our own, looped back, or somebody with our address */
		net_conflict(n, sender, arp + ARP_SHA);
		cnt_add(cnt, CNT_RX_ARP, 1);
		return DROP_NONE;
	}
	if (gid_find(n, target) >= 0) {
		cnt_add(cnt, CNT_RX_ARP, 1);
		if (op == ARP_REQUEST)
			return arp_request(n, arp, sender, now);
		/* an answer is only good for a neighbour we asked for */
		neigh_learn(n, sender, arp + ARP_SHA, now, false, true);
		return DROP_NONE;
	}
	/* an announcement of a neighbour of ours */
	if (gid_equal(sender, target) && neigh_learn(n, sender, arp + ARP_SHA, now, false, true)) {
		cnt_add(cnt, CNT_RX_ARP, 1);
		return DROP_NONE;
	}
	return DROP_NOT_ROCE;
}

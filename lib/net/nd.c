/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighbour discovery (RFC 4861): solicitations for our addresses are answered, others' addresses
 * asked for, ours announced. Router and redirect messages are not for us: gateways are configured.
 * Called by icmp6_rx() and the neighbour timers; owning core.
 */
#include <string.h>

#include "net/net_priv.h"

#define ND_NS 135u
#define ND_NA 136u
#define ND_LEN 24u		/* type, code, checksum, flags, target */
#define ND_OPT_LEN 8u		/* one option with a MAC */
#define ND_OPT_SOURCE 1u
#define ND_OPT_TARGET 2u
#define ND_HOP_LIMIT 255u	/* proves that no router passed it on */

#define NA_SOLICITED 0x40u
#define NA_OVERRIDE 0x20u

static const uint8_t all_nodes[16] = { 0xff, 0x02, [15] = 1 };

/* ff02::1:ff00:0/104 with the last three bytes of the address */
static void
solicited_node(uint8_t group[16], const uint8_t gid[16])
{
	static const uint8_t prefix[13] = { 0xff, 0x02, [11] = 1, [12] = 0xff };

	memcpy(group, prefix, sizeof(prefix));
	memcpy(group + 13, gid + 13, 3);
}

struct nd_msg {
	uint8_t type, flags, option;
	const uint8_t *dst_mac;		/* NULL: the group of dst */
	const uint8_t *src, *dst, *target;
};

static void
nd_send(struct net *n, const struct nd_msg *m)
{
	uint8_t frame[ETH_LEN + VLAN_LEN + IP6_LEN + ND_LEN + ND_OPT_LEN] = { 0 };
	uint8_t group[6], *ip6, *msg;

	wire_group_mac(m->dst, group);
	ip6 = net_put_l2(n, frame, m->dst_mac ? m->dst_mac : group, ETH_TYPE_IP6);
	ip6[0] = 0x60;
	put_be16(ip6 + 4, ND_LEN + ND_OPT_LEN);
	ip6[6] = IP_PROTO_ICMP6;
	ip6[7] = ND_HOP_LIMIT;
	memcpy(ip6 + 8, m->src, 16);
	memcpy(ip6 + 24, m->dst, 16);
	msg = ip6 + IP6_LEN;
	msg[0] = m->type;
	msg[4] = m->flags;
	memcpy(msg + 8, m->target, 16);
	msg[ND_LEN] = m->option;
	msg[ND_LEN + 1] = 1; /* units of 8 bytes */
	memcpy(msg + ND_LEN + 2, n->mac, 6);
	put_be16(msg + 2, csum_icmp6(ip6, msg, ND_LEN + ND_OPT_LEN));
	n->out.send(n->out.arg, frame, (size_t)(msg + ND_LEN + ND_OPT_LEN - frame));
}

void
nd_ask(struct net *n, const uint8_t src[16], const uint8_t target[16], const uint8_t *mac)
{
	uint8_t group[16];
	struct nd_msg m = { .type = ND_NS, .option = ND_OPT_SOURCE, .dst_mac = mac, .src = src,
			    .dst = mac ? target : group, .target = target };

	solicited_node(group, target);
	nd_send(n, &m);
}

void
nd_announce(struct net *n, const uint8_t gid[16])
{
	struct nd_msg m = { .type = ND_NA, .flags = NA_OVERRIDE, .option = ND_OPT_TARGET,
			    .src = gid, .dst = all_nodes, .target = gid };

	nd_send(n, &m);
}

/* Finds the MAC in the option of that type. False when an option has no length or does not fit:
 * the message is then to be dropped (RFC 4861, 7.1). *mac is NULL when there is none. */
static bool
nd_option(const uint8_t *opt, size_t len, uint8_t type, const uint8_t **mac)
{
	*mac = NULL;
	while (len > 0) {
		size_t opt_len;

		if (len < 2)
			return false;
		opt_len = (size_t)opt[1] * 8;
		if (opt_len == 0 || opt_len > len)
			return false;
		if (opt[0] == type && opt_len == ND_OPT_LEN && mac_is_unicast(opt + 2))
			*mac = opt + 2;
		opt += opt_len;
		len -= opt_len;
	}
	return true;
}

static enum drop_reason
nd_solicited(struct net *n, const struct net_frame *f, const uint8_t *msg, const uint8_t *mac,
	     uint64_t now)
{
	const uint8_t *src = f->l3 + 8, *dst = f->l3 + 24, *target = msg + 8;
	bool detecting = gid_is_zero(src); /* duplicates: a newcomer without an address */
	uint8_t group[16];
	struct nd_msg m = { .type = ND_NA, .option = ND_OPT_TARGET, .src = target,
			    .target = target };

	solicited_node(group, target);
	if (gid_is_ip4(target) || gid_find(n, target) < 0)
		return DROP_NOT_ROCE;
	if (!gid_equal(dst, group) && (detecting || !gid_equal(dst, target)))
		return DROP_DST_GID;
	if (detecting ? mac != NULL : !gid_is_unicast(src) || gid_is_ip4(src))
		return DROP_NOT_ROCE;
	if (gid_find(n, src) >= 0) { /* our own, looped back, or somebody with our address */
		net_conflict(n, src, mac ? mac : f->src_mac);
		return DROP_NONE;
	}
	if (detecting) {
		m.dst = all_nodes;
		m.flags = NA_OVERRIDE;
		nd_send(n, &m);
		return DROP_NONE;
	}
	if (mac && gid_on_link(n, src))
		neigh_learn(n, src, mac, now, true, true);
	m.dst = src;
	m.dst_mac = mac ? mac : f->src_mac;
	m.flags = NA_SOLICITED | NA_OVERRIDE;
	nd_send(n, &m);
	return DROP_NONE;
}

static enum drop_reason
nd_advertised(struct net *n, const struct net_frame *f, const uint8_t *msg, const uint8_t *mac,
	      uint64_t now)
{
	const uint8_t *dst = f->l3 + 24, *target = msg + 8;
	bool solicited = msg[4] & NA_SOLICITED;

	if (!gid_is_unicast(target) || gid_is_ip4(target) || (dst[0] == 0xff && solicited))
		return DROP_NOT_ROCE;
	if (dst[0] != 0xff && gid_find(n, dst) < 0)
		return DROP_DST_GID;
	if (gid_find(n, target) >= 0)
		net_conflict(n, target, mac ? mac : f->src_mac);
	else if (mac)
		neigh_learn(n, target, mac, now, false, msg[4] & NA_OVERRIDE);
	else if (solicited)
		neigh_alive(n, target, now);
	return DROP_NONE;
}

enum drop_reason
nd_rx(struct net *n, const struct net_frame *f, const uint8_t *msg, size_t len, uint64_t now,
      struct cnt_block *cnt)
{
	bool ask = msg[0] == ND_NS;
	enum drop_reason why;
	const uint8_t *mac;

	if (len < ND_LEN)
		return DROP_SHORT;
	if (f->l3[7] != ND_HOP_LIMIT || msg[1] != 0)
		return DROP_L3;
	if (!nd_option(msg + ND_LEN, len - ND_LEN, ask ? ND_OPT_SOURCE : ND_OPT_TARGET, &mac))
		return DROP_LENGTH;
	why = ask ? nd_solicited(n, f, msg, mac, now) : nd_advertised(n, f, msg, mac, now);
	if (why == DROP_NONE)
		cnt_add(cnt, CNT_RX_ND, 1);
	return why;
}

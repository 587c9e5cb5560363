/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ICMP and ICMPv6: echo requests to our addresses are answered with as many bytes, so that ping
 * tells whether the wire works; neighbour discovery goes on to nd.c. Called by net_rx(); owning
 * core.
 */
#include <string.h>

#include "net/net_priv.h"

#define IP4_DF 0x4000u
#define ICMP_LEN 8u
#define ICMP_ECHO_REPLY 0u
#define ICMP_ECHO_REQUEST 8u
#define ICMP6_ECHO_REQUEST 128u
#define ICMP6_ECHO_REPLY 129u
#define ICMP6_NS 135u
#define ICMP6_NA 136u
#define IP_PROTO_FRAGMENT6 44u
#define HOP_LIMIT 64u

uint32_t
csum_add(uint32_t sum, const uint8_t *bytes, size_t len)
{
	for (; len > 1; bytes += 2, len -= 2)
		sum += get_be16(bytes);
	return len ? sum + (uint32_t)(bytes[0] << 8) : sum;
}

uint16_t
csum_fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

uint16_t
csum_icmp6(const uint8_t *ip6, const uint8_t *msg, size_t len)
{
	uint32_t sum = csum_add((uint32_t)len + IP_PROTO_ICMP6, ip6 + 8, 32);

	return csum_fold(csum_add(sum, msg, len));
}

/* The IPv4 packet in f is whole, right and for us, and holds ICMP; *total is its length. */
static enum drop_reason
ip4_check(const struct net *n, const struct net_frame *f, size_t *total)
{
	const uint8_t *ip = f->l3;
	uint8_t src[16], dst[16];

	if (f->l3_len < IP4_LEN)
		return DROP_SHORT;
	*total = get_be16(ip + 2);
	if (ip[0] != 0x45 || csum_fold(csum_add(0, ip, IP4_LEN)) != 0)
		return DROP_L3;
	if (*total < IP4_LEN || *total > f->l3_len)
		return DROP_LENGTH;
	if (get_be16(ip + 6) & IP4_FRAGMENT)
		return DROP_FRAGMENT;
	gid_from_ip4(dst, ip + 16);
	if (gid_find(n, dst) < 0)
		return DROP_DST_GID;
	gid_from_ip4(src, ip + 12);
	return ip[9] == IP_PROTO_ICMP && gid_is_unicast(src) && !gid_is_subnet_broadcast(n, src) ?
		       DROP_NONE :
		       DROP_NOT_ROCE;
}

static void
echo4_answer(struct net *n, const struct net_frame *f, size_t total)
{
	uint8_t *ip = net_put_l2(n, n->echo, f->src_mac, ETH_TYPE_IP4);
	uint8_t *icmp = ip + IP4_LEN;

	memcpy(ip, f->l3, total);
	ip[1] = 0;
	put_be16(ip + 4, 0);
	put_be16(ip + 6, IP4_DF);
	ip[8] = HOP_LIMIT;
	memcpy(ip + 12, f->l3 + 16, 4);
	memcpy(ip + 16, f->l3 + 12, 4);
	put_be16(ip + 10, 0);
	put_be16(ip + 10, csum_fold(csum_add(0, ip, IP4_LEN)));
	icmp[0] = ICMP_ECHO_REPLY;
	put_be16(icmp + 2, 0);
	put_be16(icmp + 2, csum_fold(csum_add(0, icmp, total - IP4_LEN)));
	n->out.send(n->out.arg, n->echo, (size_t)(ip - n->echo) + total);
}

enum drop_reason
icmp4_rx(struct net *n, const struct net_frame *f, struct cnt_block *cnt)
{
	const uint8_t *icmp = f->l3 + IP4_LEN;
	enum drop_reason why;
	size_t total;

	why = ip4_check(n, f, &total);
	if (why != DROP_NONE)
		return why;
	if (total < IP4_LEN + ICMP_LEN)
		return DROP_SHORT;
	/* only to us alone: never an answer to a broadcast */
	if (icmp[0] != ICMP_ECHO_REQUEST || icmp[1] != 0 || total > n->ip_mtu ||
	    !mac_is_unicast(f->dst_mac) || csum_fold(csum_add(0, icmp, total - IP4_LEN)) != 0)
		return DROP_NOT_ROCE;
	echo4_answer(n, f, total);
	cnt_add(cnt, CNT_RX_ECHO, 1);
	return DROP_NONE;
}

static void
echo6_answer(struct net *n, const struct net_frame *f, size_t len)
{
	uint8_t *ip6 = net_put_l2(n, n->echo, f->src_mac, ETH_TYPE_IP6);
	uint8_t *icmp = ip6 + IP6_LEN;

	memcpy(ip6, f->l3, IP6_LEN + len);
	put_be16(put_be16(ip6, 0x6000), 0); /* version; no class, no label */
	ip6[7] = HOP_LIMIT;
	memcpy(ip6 + 8, f->l3 + 24, 16);
	memcpy(ip6 + 24, f->l3 + 8, 16);
	icmp[0] = ICMP6_ECHO_REPLY;
	put_be16(icmp + 2, 0);
	put_be16(icmp + 2, csum_icmp6(ip6, icmp, len));
	n->out.send(n->out.arg, n->echo, (size_t)(icmp - n->echo) + len);
}

static enum drop_reason
echo6_rx(struct net *n, const struct net_frame *f, size_t len, struct cnt_block *cnt)
{
	const uint8_t *src = f->l3 + 8, *dst = f->l3 + 24;

	if (gid_is_ip4(dst) || gid_find(n, dst) < 0)
		return DROP_DST_GID;
	if (len < ICMP_LEN)
		return DROP_SHORT;
	if (f->l3[IP6_LEN + 1] != 0 || !gid_is_unicast(src) || gid_is_ip4(src) ||
	    IP6_LEN + len > n->ip_mtu || !mac_is_unicast(f->dst_mac))
		return DROP_NOT_ROCE;
	echo6_answer(n, f, len);
	cnt_add(cnt, CNT_RX_ECHO, 1);
	return DROP_NONE;
}

enum drop_reason
icmp6_rx(struct net *n, const struct net_frame *f, uint64_t now, struct cnt_block *cnt)
{
	const uint8_t *ip6 = f->l3, *msg = ip6 + IP6_LEN;
	size_t len;

	if (f->l3_len < IP6_LEN)
		return DROP_SHORT;
	len = get_be16(ip6 + 4);
	if (ip6[0] >> 4 != 6)
		return DROP_L3;
	if (len > f->l3_len - IP6_LEN)
		return DROP_LENGTH;
	if (ip6[6] == IP_PROTO_HOP_BY_HOP)
		return mld_rx(n, f, now, cnt);
	if (ip6[6] != IP_PROTO_ICMP6)
		return ip6[6] == IP_PROTO_FRAGMENT6 ? DROP_FRAGMENT : DROP_NOT_ROCE;
	if (len < 4)
		return DROP_SHORT;
	if (csum_icmp6(ip6, msg, len) != 0)
		return DROP_NOT_ROCE;
	if (msg[0] == ICMP6_ECHO_REQUEST)
		return echo6_rx(n, f, len, cnt);
	if (msg[0] == ICMP6_NS || msg[0] == ICMP6_NA)
		return nd_rx(n, f, msg, len, now, cnt);
	return DROP_NOT_ROCE;
}

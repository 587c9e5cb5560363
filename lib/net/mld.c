/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MLD: reports of IPv6 groups (version 2, RFC 3810; version 1, RFC 2710) and the queries that ask for
 * them. Called by group.c and icmp6_rx(); owning core.
 */
#include <string.h>

#include "net/net_priv.h"

#define MLD_QUERY 130u
#define MLD_V1_REPORT 131u
#define MLD_V1_DONE 132u
#define MLD_V2_REPORT 143u
#define MLD_V1_LEN 24u
#define MLD_V2_QUERY_LEN 28u
#define MLD_V2_LEN 8u		/* in front of the records */
#define MLD_RECORD_LEN 20u
#define ALERT_LEN 8u		/* hop-by-hop header with the option that makes routers look */
#define HEADS_LEN (ETH_LEN + VLAN_LEN + IP6_LEN + ALERT_LEN)
#define OPT_PAD1 0u
#define OPT_ALERT 5u
#define MSEC_NS UINT64_C(1000000)

static const uint8_t all_v2_routers[16] = { 0xff, 0x02, [15] = 0x16 };
static const uint8_t all_routers[16] = { 0xff, 0x02, [15] = 2 };
/* next header, length, router alert for MLD (RFC 2711), two bytes of padding */
static const uint8_t alert[ALERT_LEN] = { IP_PROTO_ICMP6, 0, OPT_ALERT, 2, 0, 0, 1, 0 };

/* As igmp.c's. The source is the link-local address, which is always there. */
static uint8_t *
begin(const struct net *n, uint8_t *frame, const uint8_t dst[16], size_t len)
{
	uint8_t mac[6], *ip6;

	wire_group_mac(dst, mac);
	ip6 = net_put_l2(n, frame, mac, ETH_TYPE_IP6);
	ip6[0] = 0x60;
	put_be16(ip6 + 4, (uint16_t)(ALERT_LEN + len));
	ip6[6] = IP_PROTO_HOP_BY_HOP;
	ip6[7] = 1;
	memcpy(ip6 + 8, n->gid[0].gid, 16);
	memcpy(ip6 + 24, dst, 16);
	memcpy(ip6 + IP6_LEN, alert, ALERT_LEN);
	return ip6 + IP6_LEN + ALERT_LEN;
}

static void
finish(struct net *n, const uint8_t *frame, uint8_t *msg, size_t len)
{
	put_be16(msg + 2, csum_icmp6(msg - ALERT_LEN - IP6_LEN, msg, len));
	n->out.send(n->out.arg, frame, (size_t)(msg - frame) + len);
}

void
mld_report(struct net *n, const struct group_record *r, size_t num)
{
	uint8_t frame[HEADS_LEN + MLD_V2_LEN + MLD_RECORDS * MLD_RECORD_LEN] = { 0 };
	size_t len = MLD_V2_LEN + num * MLD_RECORD_LEN;
	uint8_t *msg = begin(n, frame, all_v2_routers, len), *at = msg + MLD_V2_LEN;

	msg[0] = MLD_V2_REPORT;
	put_be16(msg + 6, (uint16_t)num);
	for (size_t i = 0; i < num; i++, at += MLD_RECORD_LEN) {
		at[0] = (uint8_t)r[i].word;
		memcpy(at + 4, r[i].gid, 16);
	}
	finish(n, frame, msg, len);
}

void
mld_report_old(struct net *n, const struct group_record *r)
{
	uint8_t frame[HEADS_LEN + MLD_V1_LEN] = { 0 };
	bool leaves = r->word == GROUP_LEAVES;
	uint8_t *msg = begin(n, frame, leaves ? all_routers : r->gid, MLD_V1_LEN);

	msg[0] = leaves ? MLD_V1_DONE : MLD_V1_REPORT;
	memcpy(msg + 8, r->gid, 16);
	finish(n, frame, msg, MLD_V1_LEN);
}

/* Is there the option without which a query does not count (RFC 3810, 6.2)? */
static bool
has_alert(const uint8_t *opt, size_t len)
{
	while (len > 0) {
		size_t opt_len;

		if (opt[0] == OPT_PAD1) {
			opt++;
			len--;
			continue;
		}
		if (len < 2)
			return false;
		opt_len = 2u + opt[1];
		if (opt_len > len)
			return false;
		if (opt[0] == OPT_ALERT && opt[1] == 2 && get_be16(opt + 2) == 0)
			return true;
		opt += opt_len;
		len -= opt_len;
	}
	return false;
}

/* Maximum Response Code in ms (RFC 3810, 5.1.3). */
static uint64_t
v2_msecs(uint16_t code)
{
	return code < 0x8000 ? code : (uint64_t)((code & 0xfff) | 0x1000) << (((code >> 12) & 7) + 3);
}

static enum drop_reason
query(struct net *n, const uint8_t *msg, size_t len, uint64_t now, struct cnt_block *cnt)
{
	struct group_query q = { .family = GROUP_IP6, .old = len == MLD_V1_LEN };
	uint16_t code;

	if (msg[0] != MLD_QUERY)
		return DROP_NOT_ROCE;
	if (len < MLD_V1_LEN || (len > MLD_V1_LEN && len < MLD_V2_QUERY_LEN))
		return DROP_LENGTH;
	code = get_be16(msg + 4);
	q.within = MSEC_NS * (q.old ? code : v2_msecs(code));
	if (!gid_is_zero(msg + 8))
		q.gid = msg + 8;
	group_query(n, &q, now);
	cnt_add(cnt, CNT_RX_QUERY, 1);
	return DROP_NONE;
}

/* f->l3 is an IPv6 header whose payload is whole and begins with hop-by-hop options. */
enum drop_reason
mld_rx(struct net *n, const struct net_frame *f, uint64_t now, struct cnt_block *cnt)
{
	const uint8_t *ip6 = f->l3, *hop = ip6 + IP6_LEN;
	size_t len = get_be16(ip6 + 4), hop_len;

	if (len < ALERT_LEN)
		return DROP_SHORT;
	hop_len = (hop[1] + 1u) * 8;
	if (hop[0] != IP_PROTO_ICMP6)
		return DROP_NOT_ROCE;
	if (len < hop_len + 4)
		return DROP_LENGTH;
	/* not passed on by a router, to us or a group */
	if (ip6[7] != 1 || !gid_is_link_local(ip6 + 8) || !has_alert(hop + 2, hop_len - 2) ||
	    csum_icmp6(ip6, hop + hop_len, len - hop_len) != 0)
		return DROP_NOT_ROCE;
	if (ip6[24] != 0xff && gid_find(n, ip6 + 24) < 0)
		return DROP_DST_GID;
	return query(n, hop + hop_len, len - hop_len, now, cnt);
}

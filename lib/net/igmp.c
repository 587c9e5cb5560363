/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * IGMP: reports of IPv4 groups (version 3, RFC 3376; version 2, RFC 2236) and the queries that ask for
 * them. Called by group.c and net_rx(); owning core.
 */
#include <string.h>

#include "net/net_priv.h"

#define IGMP_QUERY 0x11u
#define IGMP_V2_REPORT 0x16u
#define IGMP_V2_LEAVE 0x17u
#define IGMP_V3_REPORT 0x22u
#define IGMP_LEN 8u		/* of version 2, and in front of the records of 3 */
#define IGMP_RECORD_LEN 8u
#define IGMP_V3_QUERY_LEN 12u
#define IP4_ALERT_LEN 24u	/* with the option that makes routers look (RFC 2113) */
#define HEADS_LEN (ETH_LEN + VLAN_LEN + IP4_ALERT_LEN)
#define IP4_DF 0x4000u
#define TOS_CONTROL 0xc0u	/* internetwork control */
#define TENTH_NS UINT64_C(100000000)
#define V1_TENTHS 100u		/* version 1 says no time (RFC 2236, 4) */

static const uint8_t all_v3_routers[4] = { 224, 0, 0, 22 }, all_routers[4] = { 224, 0, 0, 2 };
static const uint8_t router_alert[4] = { 0x94, 4, 0, 0 };

/* The first IPv4 address of the port; a host without one reports as 0.0.0.0 (RFC 3376, 4.2.13). */
static void
put_source(const struct net *n, uint8_t *at)
{
	for (uint32_t i = 0; i < n->num_gids; i++) {
		if (!gid_is_ip4(n->gid[i].gid))
			continue;
		memcpy(at, n->gid[i].gid + 12, 4);
		return;
	}
}

/* `frame` is zeroed, with room for the headers and `len` bytes of IGMP, which the caller writes where
 * this returns. */
static uint8_t *
begin(const struct net *n, uint8_t *frame, const uint8_t dst[4], size_t len)
{
	uint8_t group[16], mac[6], *ip;

	gid_from_ip4(group, dst);
	wire_group_mac(group, mac);
	ip = net_put_l2(n, frame, mac, ETH_TYPE_IP4);
	ip[0] = 0x40 | IP4_ALERT_LEN / 4;
	ip[1] = TOS_CONTROL;
	put_be16(ip + 2, (uint16_t)(IP4_ALERT_LEN + len));
	put_be16(ip + 6, IP4_DF);
	ip[8] = 1;
	ip[9] = IP_PROTO_IGMP;
	put_source(n, ip + 12);
	memcpy(ip + 16, dst, 4);
	memcpy(ip + IP4_LEN, router_alert, sizeof(router_alert));
	put_be16(ip + 10, csum_fold(csum_add(0, ip, IP4_ALERT_LEN)));
	return ip + IP4_ALERT_LEN;
}

static void
finish(struct net *n, const uint8_t *frame, uint8_t *igmp, size_t len)
{
	put_be16(igmp + 2, csum_fold(csum_add(0, igmp, len)));
	n->out.send(n->out.arg, frame, (size_t)(igmp - frame) + len);
}

void
igmp_report(struct net *n, const struct group_record *r, size_t num)
{
	uint8_t frame[HEADS_LEN + IGMP_LEN + IGMP_RECORDS * IGMP_RECORD_LEN] = { 0 };
	size_t len = IGMP_LEN + num * IGMP_RECORD_LEN;
	uint8_t *igmp = begin(n, frame, all_v3_routers, len), *at = igmp + IGMP_LEN;

	igmp[0] = IGMP_V3_REPORT;
	put_be16(igmp + 6, (uint16_t)num);
	for (size_t i = 0; i < num; i++, at += IGMP_RECORD_LEN) {
		at[0] = (uint8_t)r[i].word;
		memcpy(at + 4, r[i].gid + 12, 4);
	}
	finish(n, frame, igmp, len);
}

void
igmp_report_old(struct net *n, const struct group_record *r)
{
	uint8_t frame[HEADS_LEN + IGMP_LEN] = { 0 };
	const uint8_t *group = r->gid + 12;
	bool leaves = r->word == GROUP_LEAVES;
	uint8_t *igmp = begin(n, frame, leaves ? all_routers : group, IGMP_LEN);

	igmp[0] = leaves ? IGMP_V2_LEAVE : IGMP_V2_REPORT;
	memcpy(igmp + 4, group, 4);
	finish(n, frame, igmp, IGMP_LEN);
}

/* Max Resp Code in tenths of a second (RFC 3376, 4.1.1). */
static uint64_t
v3_tenths(uint8_t code)
{
	return code < 0x80 ? code : (uint64_t)((code & 0xf) | 0x10) << (((code >> 4) & 7) + 3);
}

/* The IPv4 packet is whole, right, not from another link and for us or a group; *head and *total are
 * its lengths. */
static enum drop_reason
check(const struct net *n, const struct net_frame *f, size_t *head, size_t *total)
{
	const uint8_t *ip = f->l3;
	uint8_t dst[16];

	*head = (ip[0] & 0xfu) * 4;
	*total = get_be16(ip + 2);
	if (ip[0] >> 4 != 4 || *head < IP4_LEN)
		return DROP_L3;
	if (*total > f->l3_len || *total < *head + IGMP_LEN)
		return DROP_LENGTH;
	if (get_be16(ip + 6) & IP4_FRAGMENT)
		return DROP_FRAGMENT;
	gid_from_ip4(dst, ip + 16);
	if (!wire_gid_is_group(dst) && gid_find(n, dst) < 0)
		return DROP_DST_GID;
	return csum_fold(csum_add(0, ip, *head)) == 0 && ip[8] == 1 ? DROP_NONE : DROP_L3;
}

enum drop_reason
igmp_rx(struct net *n, const struct net_frame *f, uint64_t now, struct cnt_block *cnt)
{
	struct group_query q = { .family = GROUP_IP4 };
	size_t head, total, len;
	enum drop_reason why = check(n, f, &head, &total);
	const uint8_t *igmp = f->l3 + head;
	uint8_t gid[16];

	if (why != DROP_NONE)
		return why;
	len = total - head;
	if (igmp[0] != IGMP_QUERY || csum_fold(csum_add(0, igmp, len)) != 0)
		return DROP_NOT_ROCE;
	if (len > IGMP_LEN && len < IGMP_V3_QUERY_LEN)
		return DROP_LENGTH;
	q.old = len == IGMP_LEN;
	q.within = TENTH_NS * (q.old ? (igmp[1] ? igmp[1] : V1_TENTHS) : v3_tenths(igmp[1]));
	gid_from_ip4(gid, igmp + 4);
	if (get_be32(igmp + 4) != 0)
		q.gid = gid;
	group_query(n, &q, now);
	cnt_add(cnt, CNT_RX_QUERY, 1);
	return DROP_NONE;
}

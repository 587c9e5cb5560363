/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What do the bytes of a received frame say? Called by the engine's receive path for each frame, by
 * tests and by the printer, on any thread; pure.
 *
 * Each step first tests that the bytes it reads are there, and only then subtracts. The IPv4 header
 * checksum is not verified: the ICRC covers every field we use but TOS and TTL, which may change.
 */
#include "wire/parse.h"

#include "wire/build.h"
#include "wire/hdr.h"

/* Where the L3 header starts, and the EtherType before it. One 802.1Q tag is looked through (A1). */
struct l2 {
	size_t l3;
	uint16_t type;
	uint16_t tci;
};

static bool
parse_l2(const uint8_t *frame, size_t len, struct l2 *l2)
{
	if (len < ETH_HDR_LEN)
		return false;
	l2->l3 = ETH_HDR_LEN;
	l2->type = be16_load(frame + ETH_TYPE);
	l2->tci = 0;
	if (l2->type != ETH_TYPE_VLAN)
		return true;
	if (len < ETH_HDR_LEN + VLAN_TAG_LEN)
		return false;
	l2->tci = be16_load(frame + ETH_HDR_LEN);
	l2->type = be16_load(frame + ETH_HDR_LEN + 2);
	l2->l3 += VLAN_TAG_LEN;
	return true;
}

/* The bytes of the L3 payload that the IP header claims and the frame holds. */
struct l3 {
	const uint8_t *udp;
	size_t udp_len;
};

static enum drop_reason
parse_ip4(const uint8_t *ip, size_t room, struct l3 *l3, struct wire_pkt *out)
{
	size_t total;

	if (room < IP4_HDR_LEN + UDP_HDR_LEN)
		return DROP_SHORT;
	if (ip[IP4_VER_IHL] != 0x45 || ip[IP4_PROTO] != IP_PROTO_UDP)
		return DROP_L3;
	if (be16_load(ip + IP4_FRAG) & IP4_FRAG_MF_OFFSET)
		return DROP_FRAGMENT;
	total = be16_load(ip + IP4_LEN);
	if (total < IP4_HDR_LEN + UDP_HDR_LEN || total > room)
		return DROP_LENGTH;
	l3->udp = ip + IP4_HDR_LEN;
	l3->udp_len = total - IP4_HDR_LEN;
	out->ip6 = false;
	out->traffic_class = ip[IP4_TOS];
	out->hop_limit = ip[IP4_TTL];
	gid_from_ip4(out->src_gid, ip + IP4_SRC);
	gid_from_ip4(out->dst_gid, ip + IP4_DST);
	return DROP_NONE;
}

/* RFC 4291, 2.5.5.2: a node's own word for an address of IPv4. It names our GIDs and our peers, but in an
 * IPv6 header it is nobody's: such a packet would be another way to them, past who looks at IPv4 only. */
static inline uint64_t
is_mapped(const uint8_t gid[16])
{
	return !(be64_load(gid) | (be32_load(gid + 8) ^ 0xffff));
}

static enum drop_reason
parse_ip6(const uint8_t *ip, size_t room, struct l3 *l3, struct wire_pkt *out)
{
	uint32_t word;
	size_t payload;

	if (room < IP6_HDR_LEN + UDP_HDR_LEN)
		return DROP_SHORT;
	word = be32_load(ip + IP6_VER_TC_FL);
	if (word >> 28 != 6 || ip[IP6_NEXT] != IP_PROTO_UDP ||
	    (is_mapped(ip + IP6_SRC) | is_mapped(ip + IP6_DST)))
		return DROP_L3;
	payload = be16_load(ip + IP6_LEN);
	if (payload < UDP_HDR_LEN || payload > room - IP6_HDR_LEN)
		return DROP_LENGTH;
	l3->udp = ip + IP6_HDR_LEN;
	l3->udp_len = payload;
	out->ip6 = true;
	out->traffic_class = (uint8_t)(word >> 20);
	out->hop_limit = ip[IP6_HOPS];
	memcpy(out->src_gid, ip + IP6_SRC, 16);
	memcpy(out->dst_gid, ip + IP6_DST, 16);
	return DROP_NONE;
}

static enum drop_reason
parse_udp(const struct l3 *l3, struct wire_pkt *out)
{
	if (be16_load(l3->udp + UDP_DPORT) != WIRE_ROCE_PORT)
		return DROP_NOT_ROCE;
	/* Not equal is not merely odd: the bytes between would be covered by no length (X2). */
	if (be16_load(l3->udp + UDP_LEN) != l3->udp_len)
		return DROP_LENGTH;
	if (l3->udp_len < UDP_HDR_LEN + WIRE_BTH_LEN + WIRE_ICRC_LEN)
		return DROP_LENGTH;
	out->udp_sport = be16_load(l3->udp + UDP_SPORT);	/* any value (A3) */
	out->bth = l3->udp + UDP_HDR_LEN;
	out->icrc = l3->udp + l3->udp_len - WIRE_ICRC_LEN;
	return DROP_NONE;
}

static void
parse_bth_fields(const uint8_t *bth, struct wire_pkt *out)
{
	out->opcode = bth[BTH_OPCODE];
	out->se = bth[BTH_FLAGS] & BTH_SE;
	out->mig_req = bth[BTH_FLAGS] & BTH_MIG;
	out->pad = bth[BTH_FLAGS] >> BTH_PAD_SHIFT & 3;
	out->pkey = be16_load(bth + BTH_PKEY);
	out->fecn = bth[BTH_ECN] & BTH_FECN;
	out->becn = bth[BTH_ECN] & BTH_BECN;
	out->dest_qpn = be24_load(bth + BTH_QPN);
	out->ack_req = bth[BTH_ACK] & BTH_ACK_REQ;
	out->psn = psn_make(be24_load(bth + BTH_PSN));
}

static enum drop_reason
parse_bth(struct wire_pkt *out)
{
	const uint8_t *bth = out->bth;
	const struct wire_op_info *info = &wire_op_info[bth[BTH_OPCODE]];
	size_t body = (size_t)(out->icrc - bth) - WIRE_BTH_LEN;
	size_t pad;

	if (bth[BTH_FLAGS] & BTH_TVER)
		return DROP_TVER;
	if (!info->name)
		return DROP_OPCODE;
	pad = bth[BTH_FLAGS] >> BTH_PAD_SHIFT & 3;
	/* Payload and pad together are whole words (A11), so pad 3 behind three bytes is no payload
	 * of nothing but a lie (X3). */
	if (body < info->ext_len + pad || (body - info->ext_len) & 3)
		return DROP_LENGTH;
	parse_bth_fields(bth, out);
	out->info = info;
	out->payload = bth + WIRE_BTH_LEN + info->ext_len;
	out->payload_len = (uint32_t)(body - info->ext_len - pad);
	return DROP_NONE;
}

/* One reader for each entry of WIRE_EXT_LIST, called by that name; each is given its header. */

static void
read_XRCETH(const uint8_t *p, struct wire_pkt *out)
{
	out->xrc_srqn = be24_load(p + 1);
}

static void
read_DETH(const uint8_t *p, struct wire_pkt *out)
{
	out->deth.qkey = be32_load(p);
	out->deth.src_qpn = be24_load(p + 5);
}

static void
read_FETH(const uint8_t *p, struct wire_pkt *out)
{
	uint32_t word = be32_load(p);

	out->feth.type = word & FETH_TYPE_MASK;
	out->feth.level = word >> FETH_LEVEL_SHIFT & FETH_LEVEL_MASK;
}

static void
read_RETH(const uint8_t *p, struct wire_pkt *out)
{
	out->reth.va = be64_load(p);
	out->reth.rkey = be32_load(p + 8);
	out->reth.len = be32_load(p + 12);
}

static void
read_ATOMICETH(const uint8_t *p, struct wire_pkt *out)
{
	out->atomic.va = be64_load(p);
	out->atomic.rkey = be32_load(p + 8);
	out->atomic.swap_add = be64_load(p + 12);
	out->atomic.compare = be64_load(p + 20);
}

static void
read_AETH(const uint8_t *p, struct wire_pkt *out)
{
	out->aeth.syndrome = p[0];
	out->aeth.msn = be24_load(p + 1);
}

static void
read_ATOMICACKETH(const uint8_t *p, struct wire_pkt *out)
{
	out->atomic_orig = be64_load(p);
}

static void
read_IMM(const uint8_t *p, struct wire_pkt *out)
{
	memcpy(&out->imm, p, sizeof(out->imm));		/* stays in network order (A22) */
}

static void
read_IETH(const uint8_t *p, struct wire_pkt *out)
{
	out->inv_rkey = be32_load(p);
}

static void
parse_ext(struct wire_pkt *out)
{
	const uint8_t *p = out->bth + WIRE_BTH_LEN;
	unsigned int ext = out->info->ext;

#define READ_IF_NAMED(name, len) \
	if (ext & WIRE_EXT_##name) { \
		read_##name(p, out); \
		p += (len); \
	}
	WIRE_EXT_LIST(READ_IF_NAMED)
#undef READ_IF_NAMED
}

enum drop_reason
wire_parse(const uint8_t *frame, size_t len, struct wire_pkt *out)
{
	enum drop_reason why;
	struct l2 l2;
	struct l3 l3;

	if (!parse_l2(frame, len, &l2))
		return DROP_SHORT;
	if (l2.type == ETH_TYPE_IP4)
		why = parse_ip4(frame + l2.l3, len - l2.l3, &l3, out);
	else if (l2.type == ETH_TYPE_IP6)
		why = parse_ip6(frame + l2.l3, len - l2.l3, &l3, out);
	else
		why = DROP_L2;		/* a second tag too */
	if (why == DROP_NONE)
		why = parse_udp(&l3, out);
	if (why == DROP_NONE)
		why = parse_bth(out);
	if (why != DROP_NONE)
		return why;

	out->frame = frame;
	out->l3 = frame + l2.l3;
	out->vlan_tci = l2.tci;
	out->ce = (out->traffic_class & IP_ECN_MASK) == IP_ECN_CE;
	parse_ext(out);
	return DROP_NONE;
}

enum wire_kind
wire_classify(const uint8_t *frame, size_t len)
{
	const uint8_t *ip;
	size_t room, hdr;
	struct l2 l2;
	uint8_t proto;

	if (!parse_l2(frame, len, &l2))
		return WIRE_KIND_OTHER;
	ip = frame + l2.l3;
	room = len - l2.l3;
	if (l2.type == ETH_TYPE_IP4 && room >= IP4_HDR_LEN) {
		hdr = (ip[IP4_VER_IHL] & 0xfu) * 4;
		if (hdr < IP4_HDR_LEN)
			hdr = IP4_HDR_LEN;
		proto = ip[IP4_PROTO];
	} else if (l2.type == ETH_TYPE_IP6 && room >= IP6_HDR_LEN) {
		hdr = IP6_HDR_LEN;
		proto = ip[IP6_NEXT];
	} else {
		return WIRE_KIND_OTHER;
	}
	if (proto != IP_PROTO_UDP || room < hdr + UDP_HDR_LEN ||
	    be16_load(ip + hdr + UDP_DPORT) != WIRE_ROCE_PORT)
		return WIRE_KIND_OTHER;
	return WIRE_KIND_ROCE;
}

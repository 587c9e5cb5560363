/* SPDX-License-Identifier: BSD-3-Clause */
/* The frames of engine_hostile.c: what a QP's peer may well send next, and what becomes of that. */
#ifndef UNIT_ENGINE_HOSTILE_FRAMES_H
#define UNIT_ENGINE_HOSTILE_FRAMES_H

#include "engine_hostile.h"

#include "wire/group.h"
#include "wire_frame.h"

/* Its length behind the BTH, as far as it is known, and what it says of the rest. */
static uint32_t
wanted_len(const struct peer_qp *p, uint32_t traits)
{
	uint32_t left = p->len - p->done;

	if (one_in(12))
		return pick(MTU + 9);
	if (!(traits & WIRE_LAST))
		return MTU;
	if ((traits & WIRE_WRITE) && !(traits & WIRE_FIRST))
		return left < 2 * MTU ? left : MTU;
	return p->class == WIRE_UD ? pick(1400) : 1 + pick(MTU);
}

static uint8_t
next_op(const struct peer_qp *p)
{
	static const uint8_t begin[] = { WIRE_SEND_FIRST, WIRE_SEND_ONLY, WIRE_SEND_ONLY_IMM,
		WIRE_WRITE_FIRST, WIRE_WRITE_ONLY, WIRE_WRITE_ONLY_IMM, WIRE_READ_REQUEST, WIRE_FETCH_ADD };

	if (p == &h.qp[INI])
		return (uint8_t)(WIRE_READ_RESP_FIRST + pick(6));
	if (p->class == WIRE_UD)
		return WIRE_SEND_ONLY + (uint8_t)pick(2);
	if (one_in(12))
		return (uint8_t)pick(0x18);
	if (p->sends)
		return WIRE_SEND_MIDDLE + (uint8_t)pick(3);
	if (p->writes)
		return p->len - p->done > MTU ? WIRE_WRITE_MIDDLE : WIRE_WRITE_LAST + (uint8_t)pick(2);
	return begin[pick(p->class == WIRE_UC ? 6 : 8)];
}

static uint32_t
some_key(const struct queue *q)
{
	uint32_t pd = q ? q->pd : 0;

	switch (pick(30)) {
	case 0:
		return h.slots_key[pd];
	case 1:
		return h.region_key[!pd];
	case 2:
		return pick(1u << 31);
	default:
		return h.region_key[pd];
	}
}

static uint64_t
some_va(void)
{
	uint64_t region = (uintptr_t)w.buf + REGION;

	if (one_in(30))
		return region - 8 + pick(2) * (REGION_LEN - MTU + 8);
	return region + pick(REGION_LEN / 8 - 3 * MTU / 8) * 8;
}

static uint32_t
some_srq(void)
{
	switch (pick(60)) {
	case 0:
		return h.foreign_srq;
	case 1:
		return pick(1u << 24);
	default:
		return h.q[Q_A + pick(2)].number;
	}
}

/* Extension headers and payload. */
static size_t
compose_body(uint8_t *body, const struct peer_qp *p, const struct wire_op_info *info, uint8_t *pad)
{
	const struct queue *named = &h.q[Q_A + pick(2)];
	bool first = info->traits & WIRE_FIRST, last = info->traits & WIRE_LAST;
	uint32_t len = info->traits & WIRE_PAYLOAD ? wanted_len(p, info->traits) : 0;
	uint8_t *at = body;

	if (info->ext & WIRE_EXT_XRCETH) {
		uint32_t srqn = p->sends || p->writes ? p->q->number : named->number;

		at = wire_put_xrceth(at, one_in(40) ? some_srq() : srqn);
	}
	if (info->ext & WIRE_EXT_DETH)
		at = wire_put_deth(at, one_in(8) ? pick(1u << 31) : p->qkey, pick(1u << 24));
	if (info->ext & WIRE_EXT_FETH)
		at = wire_put_feth(at, one_in(8) ? pick(16) : FETH_GLOBAL, one_in(8) ? pick(4) : pick(2));
	if (info->ext & WIRE_EXT_RETH) {
		uint32_t all = first && last ? len : MTU + 1 + pick(2 * MTU);

		at = wire_put_reth(at, some_va(), some_key(p->class == WIRE_XRC ? named : p->q),
				   info->traits & WIRE_READ ? pick(1000) : all);
	}
	if (info->ext & WIRE_EXT_ATOMICETH)
		at = wire_put_atomic(at, some_va() + one_in(20), some_key(named), 1 + pick(9), pick(9));
	if (info->ext & WIRE_EXT_AETH)
		at = wire_put_aeth(at, one_in(3) ? (uint8_t)pick(256) : 0x1f, pick(1u << 24));
	if (info->ext & WIRE_EXT_ATOMICACKETH)
		at = wire_put_atomic_ack(at, pick(1u << 31));
	if (info->ext & WIRE_EXT_IMM)
		at = wire_put_imm(at, pick(1u << 31));
	if (info->ext & WIRE_EXT_IETH)
		at = wire_put_ieth(at, some_key(named));
	for (*pad = -len & 3, len += *pad; len; len--)
		*at++ = (uint8_t)pick(256);
	return (size_t)(at - body);
}

static void
compose_address(struct wire_tmpl_conf *conf, const struct peer_qp *p, uint32_t *qpn)
{
	bool ip6 = p->class == WIRE_UD ? pick(2) : p->ip6;

	*conf = frame_conf(ip6);
	memcpy(conf->dst_mac, h.mac, 6);
	memcpy(conf->dst_gid, h.gid[!ip6], 16);
	if (p->class != WIRE_UD || one_in(2))
		memcpy(conf->src_gid, h.gid[!ip6], 16);
	*qpn = p->e.m.qp_num;
	if (p->class != WIRE_UD || one_in(2))
		return;
	memcpy(conf->dst_gid, ip6 ? group6 : group4, 16);
	wire_group_mac(conf->dst_gid, conf->dst_mac);
	*qpn = 0xffffff;
}

/* What the next frame of this QP may well be. */
static void
compose(struct frame *f)
{
	static uint8_t body[2048];
	struct peer_qp *p = &h.qp[pick(NUM_PEERS)];
	struct wire_bth bth = { .mig_req = one_in(2), .ack_req = one_in(2), .se = one_in(4), .pkey = 0xffff };
	struct wire_tmpl_conf conf;
	size_t len;

	do
		bth.opcode = wire_opcode((enum wire_class)p->class, (enum wire_op)next_op(p));
	while (!wire_op_info[bth.opcode].name);
	bth.psn = p == &h.qp[INI] ? psn_make(pick(64)) : p->epsn;
	if (one_in(10))
		bth.psn = psn_add(bth.psn, pick(8) - 4);
	compose_address(&conf, p, &bth.dest_qpn);
	len = compose_body(body, p, &wire_op_info[bth.opcode], &bth.pad);
	frame_make_conf(f, &conf, &bth, body, len);
}

/* As far as its lengths let it have one. */
static void
seal_again(struct frame *f)
{
	bool ip6 = be16_load(f->l3 - 2) == ETH_TYPE_IP6;
	uint32_t hdr = ip6 ? IP6_HDR_LEN : IP4_HDR_LEN;
	uint32_t total = ip6 ? IP6_HDR_LEN + be16_load(f->l3 + IP6_LEN) : be16_load(f->l3 + IP4_LEN);

	if (total >= hdr + UDP_HDR_LEN + WIRE_BTH_LEN + WIRE_ICRC_LEN &&
	    (size_t)(f->l3 - f->bytes) + total <= f->len)
		wire_icrc_seal(f->l3, ip6, total - WIRE_ICRC_LEN);
}

static void
other_length(struct frame *f)
{
	bool ip6 = be16_load(f->l3 - 2) == ETH_TYPE_IP6;
	uint8_t *ip_len = f->l3 + (ip6 ? IP6_LEN : IP4_LEN);
	uint32_t more = pick(24), less = 12, which = pick(4);

	if (which != 1)
		be16_store(ip_len, (uint16_t)(be16_load(ip_len) + more - less));
	if (which != 2)
		be16_store(f->udp + UDP_LEN, (uint16_t)(be16_load(f->udp + UDP_LEN) + more - less));
	if (which == 3)
		f->len = f->len + more - less;
}

static void
insert_tag(struct frame *f)
{
	memmove(f->bytes + 16, f->bytes + 12, f->len - 12);
	be16_store(f->bytes + 12, ETH_TYPE_VLAN);
	be16_store(f->bytes + 14, (uint16_t)pick(1 << 16));
	f->len += VLAN_TAG_LEN;
	f->l3 += VLAN_TAG_LEN;
	f->udp += VLAN_TAG_LEN;
	f->bth += VLAN_TAG_LEN;
}

static void
other_address(struct frame *f)
{
	const uint8_t *gids[] = { group4, group6, h.gid[0], h.gid[1] }, *gid = gids[pick(4)];
	bool ip6 = be16_load(f->l3 - 2) == ETH_TYPE_IP6;

	if (one_in(2)) {
		wire_group_mac(gid, f->bytes);
	} else if (one_in(2)) {
		memcpy(f->bytes, h.mac, 6);
	} else {
		size_t at = one_in(2) ? (ip6 ? IP6_DST : IP4_DST) : (ip6 ? IP6_SRC : IP4_SRC);

		memcpy(f->l3 + at, ip6 ? gid : gid + 12, ip6 ? 16 : 4);
	}
}

static void
change(struct frame *f)
{
	uint8_t *at = f->l3 + pick((uint32_t)(f->bytes + f->len - f->l3));

	switch (pick(12)) {
	case 0:
		f->bytes[pick((uint32_t)f->len)] ^= (uint8_t)(1 << pick(8));
		return;		/* as the wire does, not sealed again */
	case 1:
	case 2:
		*at ^= (uint8_t)(1 << pick(8));
		break;
	case 3:
		*at = (uint8_t)pick(256);
		break;
	case 4:
		f->len = ETH_HDR_LEN + pick((uint32_t)f->len - ETH_HDR_LEN + 1);
		return;
	case 5:
		other_length(f);
		break;
	case 6:
		f->len += pick(64);
		break;
	case 7:
		insert_tag(f);
		break;
	case 8:
		f->bth[BTH_OPCODE] = (uint8_t)pick(256);
		break;
	case 9:
		f->bth[BTH_FLAGS] ^= (uint8_t)(pick(4) << BTH_PAD_SHIFT);
		break;
	case 10:
		other_address(f);
		break;
	default:
		be24_store(f->bth + BTH_QPN, one_in(2) ? h.qp[pick(NUM_PEERS)].e.m.qp_num :
					     0xfffffe + pick(4));
		break;
	}
	seal_again(f);
}

static void
next_frame(struct frame *f)
{
	size_t max = eng_port(stack_running()->eng)->max_frame;

	compose(f);
	for (uint32_t n = one_in(2) ? 1 + pick(2) : 0; n; n--)
		if (f->len > ETH_HDR_LEN + IP6_HDR_LEN + UDP_HDR_LEN + WIRE_BTH_LEN + 8)
			change(f);
	if (f->len > max)
		f->len = max;
}

#endif

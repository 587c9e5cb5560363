/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which bytes do these values make? Templates are made on the control side, one for each path; the
 * wire_put_ functions run for each packet on the owning core. Pure.
 */
#include "wire/build.h"

#include <assert.h>
#include <string.h>

#include "wire/hdr.h"

/* Ones' complement sum of the IPv4 header, not inverted. */
static uint32_t
ip4_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < IP4_HDR_LEN; i += 2)
		sum += be16_load(ip + i);
	return sum;
}

static uint16_t
fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

static uint8_t *
make_eth(uint8_t *at, const struct wire_tmpl_conf *conf, uint16_t type)
{
	memcpy(at + ETH_DST, conf->dst_mac, 6);
	memcpy(at + ETH_SRC, conf->src_mac, 6);
	at += ETH_TYPE;
	if (conf->vlan_tci) {
		at = be16_store(at, ETH_TYPE_VLAN);
		at = be16_store(at, conf->vlan_tci);
	}
	return be16_store(at, type);
}

/* Length 0, and the checksum that goes with it (A7). */
static uint8_t *
make_ip4(uint8_t *ip, const struct wire_tmpl_conf *conf)
{
	memset(ip, 0, IP4_HDR_LEN);
	ip[IP4_VER_IHL] = 0x45;
	ip[IP4_TOS] = conf->traffic_class;
	be16_store(ip + IP4_FRAG, IP4_FRAG_DF);
	ip[IP4_TTL] = conf->hop_limit;
	ip[IP4_PROTO] = IP_PROTO_UDP;
	memcpy(ip + IP4_SRC, conf->src_gid + 12, 4);
	memcpy(ip + IP4_DST, conf->dst_gid + 12, 4);
	be16_store(ip + IP4_CSUM, (uint16_t)~fold(ip4_sum(ip)));
	return ip + IP4_HDR_LEN;
}

static uint8_t *
make_ip6(uint8_t *ip, const struct wire_tmpl_conf *conf)
{
	be32_store(ip + IP6_VER_TC_FL, 6u << 28 | (uint32_t)conf->traffic_class << 20 |
				       (conf->flow_label & 0xfffff));
	be16_store(ip + IP6_LEN, 0);
	ip[IP6_NEXT] = IP_PROTO_UDP;
	ip[IP6_HOPS] = conf->hop_limit;
	memcpy(ip + IP6_SRC, conf->src_gid, 16);
	memcpy(ip + IP6_DST, conf->dst_gid, 16);
	return ip + IP6_HDR_LEN;
}

/* The checksum stays 0 in both families (A6). */
static uint8_t *
make_udp(uint8_t *udp, const struct wire_tmpl_conf *conf)
{
	memset(udp, 0, UDP_HDR_LEN);
	be16_store(udp + UDP_SPORT, conf->udp_sport);
	be16_store(udp + UDP_DPORT, WIRE_ROCE_PORT);
	return udp + UDP_HDR_LEN;
}

void
wire_tmpl_make(struct wire_tmpl *t, const struct wire_tmpl_conf *conf)
{
	uint8_t *at;

	assert(gid_is_ip4(conf->src_gid) == gid_is_ip4(conf->dst_gid));
	memset(t, 0, sizeof(*t));
	t->ip6 = !gid_is_ip4(conf->dst_gid);
	at = make_eth(t->bytes, conf, t->ip6 ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
	t->l3 = (uint8_t)(at - t->bytes);
	at = t->ip6 ? make_ip6(at, conf) : make_ip4(at, conf);
	at = make_udp(at, conf);
	t->len = (uint8_t)(at - t->bytes);
}

uint8_t *
wire_put_tmpl(uint8_t *frame, const struct wire_tmpl *t, uint32_t ib_len)
{
	uint16_t udp_len = (uint16_t)(UDP_HDR_LEN + ib_len + WIRE_ICRC_LEN);
	uint8_t *ip = frame + t->l3, *bth = frame + t->len;

	/* All of it, used or not: a fixed size is a few wide moves, and the slot has the room. */
	memcpy(frame, t->bytes, sizeof(t->bytes));
	be16_store(bth - UDP_HDR_LEN + UDP_LEN, udp_len);
	if (t->ip6) {
		be16_store(ip + IP6_LEN, udp_len);
	} else {
		uint16_t total = (uint16_t)(IP4_HDR_LEN + udp_len);
		uint32_t sum = (uint16_t)~be16_load(ip + IP4_CSUM);

		be16_store(ip + IP4_LEN, total);
		be16_store(ip + IP4_CSUM, (uint16_t)~fold(sum + total));
	}
	return bth;
}

uint8_t *
wire_put_bth(uint8_t *at, const struct wire_bth *bth)
{
	/* TVer, FECN, BECN and all reserved bits are sent 0 (A10, A17). */
	at[BTH_OPCODE] = bth->opcode;
	at[BTH_FLAGS] = (uint8_t)((bth->se ? BTH_SE : 0) | (bth->mig_req ? BTH_MIG : 0) |
				  (bth->pad & 3u) << BTH_PAD_SHIFT);
	be16_store(at + BTH_PKEY, bth->pkey);
	be32_store(at + BTH_ECN, bth->dest_qpn & 0xffffff);
	be32_store(at + BTH_ACK, (bth->ack_req ? BTH_ACK_REQ << 24 : 0) | bth->psn.v);
	return at + WIRE_BTH_LEN;
}

uint8_t *
wire_put_xrceth(uint8_t *at, uint32_t srqn)
{
	return be32_store(at, srqn & 0xffffff);
}

uint8_t *
wire_put_deth(uint8_t *at, uint32_t qkey, uint32_t src_qpn)
{
	at = be32_store(at, qkey);
	return be32_store(at, src_qpn & 0xffffff);
}

uint8_t *
wire_put_feth(uint8_t *at, uint32_t type, uint32_t level)
{
	return be32_store(at, (type & FETH_TYPE_MASK) | (level & FETH_LEVEL_MASK) << FETH_LEVEL_SHIFT);
}

uint8_t *
wire_put_reth(uint8_t *at, uint64_t va, uint32_t rkey, uint32_t len)
{
	at = be64_store(at, va);
	at = be32_store(at, rkey);
	return be32_store(at, len);
}

uint8_t *
wire_put_atomic(uint8_t *at, uint64_t va, uint32_t rkey, uint64_t swap_add, uint64_t compare)
{
	at = be64_store(at, va);
	at = be32_store(at, rkey);
	at = be64_store(at, swap_add);
	return be64_store(at, compare);
}

uint8_t *
wire_put_aeth(uint8_t *at, uint8_t syndrome, uint32_t msn)
{
	return be32_store(at, (uint32_t)syndrome << 24 | (msn & 0xffffff));
}

uint8_t *
wire_put_atomic_ack(uint8_t *at, uint64_t orig)
{
	return be64_store(at, orig);
}

uint8_t *
wire_put_imm(uint8_t *at, uint32_t imm)
{
	memcpy(at, &imm, sizeof(imm));		/* as given: network order (A22) */
	return at + sizeof(imm);
}

uint8_t *
wire_put_ieth(uint8_t *at, uint32_t rkey)
{
	return be32_store(at, rkey);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which packet are these bytes? By section 1.A; strict: what a host under test sends must be right. */
#include "pkt.h"

#include <string.h>

#include "crc.h"

/* What is left to read; `short_` sticks once more was asked for than there is. */
struct in {
	const uint8_t *at, *end;
	bool short_;
};

static uint64_t
get(struct in *in, unsigned int bytes)
{
	uint64_t v = 0;

	if ((size_t)(in->end - in->at) < bytes) {
		in->short_ = true;
		in->at = in->end;
		return 0;
	}
	while (bytes--)
		v = v << 8 | *in->at++;
	return v;
}

static void
get_bytes(struct in *in, uint8_t *dst, size_t bytes)
{
	if ((size_t)(in->end - in->at) < bytes) {
		in->short_ = true;
		in->at = in->end;
		return;
	}
	memcpy(dst, in->at, bytes);
	in->at += bytes;
}

static const char *
get_l2(struct in *in, struct pkt *p)
{
	uint64_t type;

	get_bytes(in, p->dst_mac, 6);
	get_bytes(in, p->src_mac, 6);
	type = get(in, 2);
	if (type == 0x8100) {
		p->vlan = (uint16_t)get(in, 2);
		type = get(in, 2);
	}
	p->ip6 = type == 0x86dd;
	return type == 0x86dd || type == 0x0800 ? NULL : "EtherType is neither IPv4 nor IPv6";
}

/* Cuts in->end to what the IP header says. */
static const char *
get_ip4(struct in *in, struct pkt *p)
{
	const uint8_t *h = in->at;
	uint64_t b = get(in, 1), total;
	uint32_t sum = 0;

	if (b != 0x45)
		return "IPv4 header is not version 4 with IHL 5";
	p->tos = (uint8_t)get(in, 1);
	total = get(in, 2);
	p->ip_id = (uint16_t)get(in, 2);
	p->frag = (uint16_t)get(in, 2);
	p->ttl = (uint8_t)get(in, 1);
	p->proto = (uint8_t)get(in, 1);
	get(in, 2);
	p->src[10] = p->src[11] = p->dst[10] = p->dst[11] = 0xff;
	get_bytes(in, p->src + 12, 4);
	get_bytes(in, p->dst + 12, 4);
	if (in->short_ || total < 20 || total > (size_t)(in->end - h))
		return "IPv4 total length does not fit the frame";
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)h[i] << 8 | h[i + 1];
	p->ip_sum_ok = (sum & 0xffff) + (sum >> 16) == 0xffff;
	if (p->frag != 0x4000)
		return "IPv4 flags and offset are not DF alone";
	in->end = h + total;
	return NULL;
}

static const char *
get_ip6(struct in *in, struct pkt *p)
{
	uint64_t w = get(in, 4), len = get(in, 2);

	if (w >> 28 != 6)
		return "IPv6 version is not 6";
	p->tos = (uint8_t)(w >> 20);
	p->flow = w & 0xfffff;
	p->proto = (uint8_t)get(in, 1);
	p->ttl = (uint8_t)get(in, 1);
	get_bytes(in, p->src, 16);
	get_bytes(in, p->dst, 16);
	if (in->short_ || len > (size_t)(in->end - in->at))
		return "IPv6 payload length does not fit the frame";
	in->end = in->at + len;
	return NULL;
}

static const char *
get_udp(struct in *in, struct pkt *p)
{
	size_t left = (size_t)(in->end - in->at);
	uint64_t len;

	if (p->proto != 17)
		return "not UDP";
	p->sport = (uint16_t)get(in, 2);
	p->dport = (uint16_t)get(in, 2);
	len = get(in, 2);
	p->udp_csum = (uint16_t)get(in, 2);
	if (in->short_ || len != left)
		return "UDP length is not what IP leaves (A4)";
	return p->dport == 4791 ? NULL : "UDP destination is not 4791";
}

static void
get_bth(struct in *in, struct pkt *p)
{
	uint64_t b;

	p->opcode = (uint8_t)get(in, 1);
	b = get(in, 1);
	p->se = b >> 7 & 1;
	p->mig = b >> 6 & 1;
	p->pad = b >> 4 & 3;
	p->tver = b & 15;
	p->pkey = (uint16_t)get(in, 2);
	b = get(in, 1);
	p->fecn = b >> 7 & 1;
	p->becn = b >> 6 & 1;
	p->resv6 = b & 63;
	p->dqpn = (uint32_t)get(in, 3);
	b = get(in, 1);
	p->ackreq = b >> 7 & 1;
	p->resv7 = b & 127;
	p->psn = (uint32_t)get(in, 3);
}

static void
get_exts(struct in *in, struct pkt *p)
{
	uint16_t ext = pkt_exts(p->opcode);

	if (ext & EXT_XRC)
		p->xrc_srqn = (uint32_t)get(in, 4);
	if (ext & EXT_DETH) {
		p->qkey = (uint32_t)get(in, 4);
		p->src_qpn = (uint32_t)get(in, 4);
	}
	if (ext & EXT_FETH) {
		uint64_t word = get(in, 4);

		p->plt = word & 15;
		p->sel = word >> 4 & 3;
	}
	if (ext & (EXT_RETH | EXT_ATOMIC)) {
		p->va = get(in, 8);
		p->rkey = (uint32_t)get(in, 4);
	}
	if (ext & EXT_RETH)
		p->len = (uint32_t)get(in, 4);
	if (ext & EXT_ATOMIC) {
		p->swap_add = get(in, 8);
		p->compare = get(in, 8);
	}
	if (ext & EXT_AETH) {
		p->syndrome = (uint8_t)get(in, 1);
		p->msn = (uint32_t)get(in, 3);
	}
	if (ext & EXT_ORIG)
		p->orig = get(in, 8);
	if (ext & EXT_IMM)
		p->imm = (uint32_t)get(in, 4);
	if (ext & EXT_IETH)
		p->ieth = (uint32_t)get(in, 4);
}

/* Payload, pad and ICRC. */
static const char *
get_tail(struct in *in, struct pkt *p, const uint8_t *l3)
{
	size_t left = (size_t)(in->end - in->at);
	uint32_t stored = 0;

	if (in->short_ || left < (size_t)p->pad + 4)
		return "shorter than headers, pad and ICRC (A12)";
	p->payload = in->at;
	p->payload_len = (uint32_t)(left - 4 - (size_t)p->pad);
	for (int i = 0; i < 4; i++)
		stored |= (uint32_t)in->end[-4 + i] << 8 * i;
	p->icrc_ok = crc_icrc(l3, (size_t)(in->end - 4 - l3)) == stored;
	return NULL;
}

const char *
pkt_decode(const uint8_t *frame, size_t len, struct pkt *p)
{
	struct in in = { frame, frame + len, false };
	const uint8_t *l3;
	const char *why;

	memset(p, 0, sizeof(*p));
	p->ihl = 5;
	p->ip_sum_ok = true;
	why = get_l2(&in, p);
	l3 = in.at;
	if (!why)
		why = p->ip6 ? get_ip6(&in, p) : get_ip4(&in, p);
	if (!why)
		why = get_udp(&in, p);
	if (why)
		return why;
	get_bth(&in, p);
	if (in.short_)
		return "shorter than a BTH";
	if (!pkt_op(p->opcode))
		return "no such opcode (A13)";
	get_exts(&in, p);
	return get_tail(&in, p, l3);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which bytes is this packet? By section 1.A; may also write packets that are wrong on purpose. */
#include "pkt.h"

#include <string.h>

#include "crc.h"

struct out {
	uint8_t *at;
};

static void
put(struct out *o, uint64_t v, unsigned int bytes)
{
	while (bytes--)
		*o->at++ = (uint8_t)(v >> 8 * bytes);
}

static void
put_bytes(struct out *o, const void *src, size_t n)
{
	if (n)
		memcpy(o->at, src, n);
	o->at += n;
}

static void
put_l2(struct out *o, const struct pkt *p)
{
	put_bytes(o, p->dst_mac, 6);
	put_bytes(o, p->src_mac, 6);
	if (p->vlan) {
		put(o, 0x8100, 2);
		put(o, p->vlan, 2);
	}
	put(o, p->ethertype ? p->ethertype : p->ip6 ? 0x86dd : 0x0800, 2);
}

static uint16_t
ip4_checksum(const uint8_t *h, unsigned int bytes)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < bytes; i += 2)
		sum += (uint32_t)h[i] << 8 | h[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void
put_ip4(struct out *o, const struct pkt *p, uint32_t l4_len)
{
	uint8_t *h = o->at;
	uint16_t sum;

	put(o, 0x40u | p->ihl, 1);
	put(o, p->tos, 1);
	put(o, (uint32_t)((int)(p->ihl * 4 + l4_len) + p->ip_len_add), 2);
	put(o, p->ip_id, 2);
	put(o, p->frag, 2);
	put(o, p->ttl, 1);
	put(o, p->proto, 1);
	put(o, 0, 2);
	put_bytes(o, p->src + 12, 4);
	put_bytes(o, p->dst + 12, 4);
	for (unsigned int i = 5; i < p->ihl; i++)
		put(o, 0x01010101, 4);	/* option "no operation" */
	sum = ip4_checksum(h, (unsigned int)(o->at - h));
	h[10] = (uint8_t)(sum >> 8);
	h[11] = (uint8_t)sum;
}

static void
put_ip6(struct out *o, const struct pkt *p, uint32_t l4_len)
{
	put(o, 6u << 28 | (uint32_t)p->tos << 20 | p->flow, 4);
	put(o, (uint32_t)((int)l4_len + p->ip_len_add), 2);
	put(o, p->proto, 1);
	put(o, p->ttl, 1);
	put_bytes(o, p->src, 16);
	put_bytes(o, p->dst, 16);
}

static void
put_bth(struct out *o, const struct pkt *p, unsigned int pad)
{
	put(o, p->opcode, 1);
	put(o, (unsigned int)p->se << 7 | (unsigned int)p->mig << 6 | pad << 4 | p->tver, 1);
	put(o, p->pkey, 2);
	put(o, (unsigned int)p->fecn << 7 | (unsigned int)p->becn << 6 | p->resv6, 1);
	put(o, p->dqpn, 3);
	put(o, (unsigned int)p->ackreq << 7 | p->resv7, 1);
	put(o, p->psn, 3);
}

static void
put_exts(struct out *o, const struct pkt *p)
{
	uint16_t ext = pkt_exts(p->opcode);

	if (ext & EXT_XRC)
		put(o, p->xrc_srqn & 0xffffff, 4);
	if (ext & EXT_DETH) {
		put(o, p->qkey, 4);
		put(o, p->src_qpn & 0xffffff, 4);
	}
	if (ext & EXT_FETH)
		put(o, (uint32_t)p->sel << 4 | p->plt, 4);
	if (ext & (EXT_RETH | EXT_ATOMIC)) {
		put(o, p->va, 8);
		put(o, p->rkey, 4);
	}
	if (ext & EXT_RETH)
		put(o, p->len, 4);
	if (ext & EXT_ATOMIC) {
		put(o, p->swap_add, 8);
		put(o, p->compare, 8);
	}
	if (ext & EXT_AETH) {
		put(o, p->syndrome, 1);
		put(o, p->msn, 3);
	}
	if (ext & EXT_ORIG)
		put(o, p->orig, 8);
	if (ext & EXT_IMM)
		put(o, p->imm, 4);
	if (ext & EXT_IETH)
		put(o, p->ieth, 4);
}

/* BTH to the end of the pad. */
static size_t
body(const struct pkt *p, uint8_t *at)
{
	unsigned int natural = -p->payload_len & 3;
	unsigned int pad = p->pad < 0 ? natural : (unsigned int)p->pad;
	struct out o = { at };
	size_t len;

	put_bth(&o, p, p->body && p->pad < 0 ? 0 : pad);
	if (p->body) {
		put_bytes(&o, p->body, p->body_len);
		return (size_t)(o.at - at);
	}
	put_exts(&o, p);
	put_bytes(&o, p->payload, p->payload_len);
	for (unsigned int i = 0; i < natural; i++)
		put(&o, p->pad_byte, 1);
	len = (size_t)(o.at - at);
	return p->cut < len ? len - p->cut : 0;
}

size_t
pkt_encode(const struct pkt *p, uint8_t *out)
{
	uint8_t bytes[PKT_MAX];
	size_t len = body(p, bytes), l4 = 8 + len + 4;
	struct out o = { out };
	uint8_t *l3;
	uint32_t icrc;

	put_l2(&o, p);
	l3 = o.at;
	if (p->ip6)
		put_ip6(&o, p, (uint32_t)l4);
	else
		put_ip4(&o, p, (uint32_t)l4);
	put(&o, p->sport, 2);
	put(&o, p->dport, 2);
	put(&o, (uint32_t)((int)l4 + p->udp_len_add), 2);
	put(&o, p->udp_csum, 2);
	put_bytes(&o, bytes, len);
	icrc = crc_icrc(l3, (size_t)(o.at - l3)) ^ p->icrc_xor;
	for (int i = 0; i < 4; i++)	/* least significant byte first (A26) */
		put(&o, icrc >> 8 * i & 0xff, 1);
	for (uint32_t i = 0; i < p->trail; i++)
		put(&o, 0xee, 1);
	if (p->flip && (p->flip - 1) / 8 < (size_t)(o.at - out))
		out[(p->flip - 1) / 8] ^= (uint8_t)(1u << (p->flip - 1) % 8);
	return (size_t)(o.at - out);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes and byte offsets of every header we read or write, and loads and stores in network order.
 * Offsets are counted from the start of their own header (conformance table 1.A). Pure.
 */
#ifndef WIRE_HDR_H
#define WIRE_HDR_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define ETH_HDR_LEN 14u
#define ETH_DST 0
#define ETH_SRC 6
#define ETH_TYPE 12
#define ETH_TYPE_IP4 0x0800u
#define ETH_TYPE_IP6 0x86ddu
#define ETH_TYPE_VLAN 0x8100u
#define VLAN_TAG_LEN 4u

#define IP4_HDR_LEN 20u
#define IP4_VER_IHL 0
#define IP4_TOS 1
#define IP4_LEN 2
#define IP4_ID 4
#define IP4_FRAG 6
#define IP4_TTL 8
#define IP4_PROTO 9
#define IP4_CSUM 10
#define IP4_SRC 12
#define IP4_DST 16
#define IP4_FRAG_DF 0x4000u
#define IP4_FRAG_MF_OFFSET 0x3fffu	/* MF and the fragment offset */

#define IP6_HDR_LEN 40u
#define IP6_VER_TC_FL 0
#define IP6_LEN 4
#define IP6_NEXT 6
#define IP6_HOPS 7
#define IP6_SRC 8
#define IP6_DST 24

#define IP_PROTO_UDP 17
#define IP_ECN_MASK 3u
#define IP_ECN_CE 3u

#define UDP_HDR_LEN 8u
#define UDP_SPORT 0
#define UDP_DPORT 2
#define UDP_LEN 4
#define UDP_CSUM 6

#define BTH_OPCODE 0
#define BTH_FLAGS 1			/* SE, MigReq, pad, TVer */
#define BTH_PKEY 2
#define BTH_ECN 4			/* FECN, BECN, six reserved bits */
#define BTH_QPN 5
#define BTH_ACK 8
#define BTH_PSN 9
#define BTH_SE 0x80u
#define BTH_MIG 0x40u
#define BTH_PAD_SHIFT 4
#define BTH_TVER 0x0fu
#define BTH_FECN 0x80u
#define BTH_BECN 0x40u
#define BTH_ACK_REQ 0x80u

/* Extension headers: X(name in enum wire_ext, bytes), in wire order (A21). */
#define WIRE_EXT_LIST(X) \
	X(XRCETH, 4) \
	X(DETH, 8) \
	X(FETH, 4) \
	X(RETH, 16) \
	X(ATOMICETH, 28) \
	X(AETH, 4) \
	X(ATOMICACKETH, 8) \
	X(IMM, 4) \
	X(IETH, 4)

enum wire_ext_len {
#define WIRE_EXT_LEN(name, len) WIRE_LEN_##name = len,
	WIRE_EXT_LIST(WIRE_EXT_LEN)
#undef WIRE_EXT_LEN
};

/* FETH: placement type in bits 3-0, selectivity level in bits 5-4; the rest is sent 0 and ignored. */
#define FETH_TYPE_MASK 0xfu
#define FETH_LEVEL_SHIFT 4
#define FETH_LEVEL_MASK 0x3u
#define FETH_GLOBAL 1u			/* types: visible to all; survives a loss of power */
#define FETH_PERSISTENT 2u
#define FETH_RANGE 0u			/* levels: of the range in the RETH; of the whole region */
#define FETH_REGION 1u

#define WIRE_CNP_BODY_LEN 16u		/* the reserved zero bytes after a CNP's BTH (A29) */

static inline uint16_t
be16_load(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline uint32_t
be24_load(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint32_t
be32_load(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline uint64_t
be64_load(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline uint8_t *
be16_store(uint8_t *p, uint16_t v)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline uint8_t *
be24_store(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
	return p + 3;
}

static inline uint8_t *
be32_store(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

static inline uint8_t *
be64_store(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
	return p + sizeof(v);
}

/* The GID of an IPv4 address: ::ffff:a.b.c.d. */
static inline void
gid_from_ip4(uint8_t gid[16], const uint8_t ip[4])
{
	memset(gid, 0, 10);
	memset(gid + 10, 0xff, 2);
	memcpy(gid + 12, ip, 4);
}

static inline int
gid_is_ip4(const uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid, mapped, sizeof(mapped)) == 0;
}

#endif

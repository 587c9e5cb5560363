/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Are the runner's encoder, decoder and CRC right? Against the public known answers V1-V8 and the 14
 * ICRC values of the field cases; then against lib/wire, which must agree with it.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "crc.h"
#include "pkt.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/parse.h"

static const char *const vectors[] = {
	"45c2003c718c4000401191610a0011010a001201000012b7002800008100ffff4000011800000000000000"
	"0000000000000000000000000082fd002a",
	"45010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff000000d300cf1710463081"
	"8be28935d90e9a95505401be885e50000078f353f3",
	"6e21face002c11ff2022000000000000000000000000102320230000000000000000000000001024c00012"
	"b7002ce7c52460ffff000000d300cf17104630818be28935d90e9a95505401be885e5000003e5b743b",
	"45000030000040004011b6b9c0000201c0000202c00012b7001c00001140ffff00000011000001001f0000"
	"018f0748a1",
	"45020034000140004011b6b2c0000201c0000202c00112b7002000000470ffff0000001280ffffff68656c"
	"6c6f0000002d61dabd",
	"600123450028114020010db800000000000000000000000120010db8000000000000000000000002d23a12"
	"b7002800000c40ffff00000013807fffff1122334455667788deadbeef00001001b8278182",
	"45000048000040004011b6a1c0000201c0000202c00212b7003400001440ffff0000001480000005000000"
	"0000001000000012340000000000000001000000000000000061d4440f",
	"45000044000040004011b6a5c0000201c0000202c00312b700300000aa40ffff0000001580000006000200"
	"010000000000002000000056780000000401020304ad31bd9c",
};
#define VECTORS (sizeof(vectors) / sizeof(vectors[0]))

/* The vector behind a 14-byte Ethernet header. */
static size_t
frame_of(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex) / 2;

	memset(out, 0x02, 14);
	out[12] = hex[0] == '6' ? 0x86 : 0x08;
	out[13] = hex[0] == '6' ? 0xdd : 0x00;
	for (size_t i = 0; i < n; i++) {
		char byte[3] = { hex[2 * i], hex[2 * i + 1], 0 };

		out[14 + i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return 14 + n;
}

static void
encode__vectors_round_trip(void)
{
	for (size_t i = 0; i < VECTORS; i++) {
		uint8_t in[256], out[PKT_MAX];
		size_t n = frame_of(vectors[i], in);
		struct pkt p;

		CHECK(pkt_decode(in, n, &p) == NULL);
		CHECK(p.icrc_ok);
		p.pad = -1;
		CHECK_EQ(pkt_encode(&p, out), n);
		CHECK_MEM(in, out, n);
	}
}

static void
decode__vector_fields(void)
{
	uint8_t in[256];
	struct pkt p;

	CHECK(!pkt_decode(in, frame_of(vectors[4], in), &p));
	CHECK_EQ(p.opcode, 0x04);
	CHECK_EQ(p.psn, 0xffffff);
	CHECK(p.ackreq && p.mig && !p.se);
	CHECK_EQ(p.pad, 3);
	CHECK_EQ(p.payload_len, 5);
	CHECK_MEM(p.payload, "hello", 5);
	CHECK(!pkt_decode(in, frame_of(vectors[5], in), &p));
	CHECK_EQ(p.va, 0x1122334455667788u);
	CHECK_EQ(p.rkey, 0xdeadbeef);
	CHECK_EQ(p.len, 4097);
	CHECK(!pkt_decode(in, frame_of(vectors[6], in), &p));
	CHECK_EQ(p.swap_add, 1);
	CHECK_EQ(p.rkey, 0x1234);
	CHECK(!pkt_decode(in, frame_of(vectors[7], in), &p));
	CHECK_EQ(p.xrc_srqn, 0x20001);
	CHECK_EQ(p.len, 4);
}

static void
decode__flipped_byte_fails(void)
{
	uint8_t in[256];
	size_t n = frame_of(vectors[4], in);
	unsigned int kept = 0;

	for (size_t i = 14; i < n; i++) {
		struct pkt p;

		in[i] ^= 0x01;
		if (!pkt_decode(in, n, &p) && p.icrc_ok)
			kept++;
		in[i] ^= 0x01;
	}
	/* TOS, TTL, header checksum (2), UDP checksum (2), BTH byte 4 */
	CHECK_EQ(kept, 7);
}

/* The 14 values of the field cases: payload lengths, over IPv4 and IPv6. */
static const struct {
	uint32_t len;
	uint8_t icrc[2][4];
} field_icrc[] = {
	{ 0, { { 0xb7, 0x9e, 0x59, 0x3f }, { 0x2c, 0x09, 0x4c, 0x2f } } },
	{ 1, { { 0xa1, 0xd6, 0x35, 0x77 }, { 0x96, 0x13, 0x5e, 0xd0 } } },
	{ 2, { { 0x56, 0x18, 0x44, 0x3d }, { 0x61, 0xdd, 0x2f, 0x9a } } },
	{ 3, { { 0x48, 0xa5, 0x7b, 0x76 }, { 0x7f, 0x60, 0x10, 0xd1 } } },
	{ 4, { { 0x56, 0x8f, 0xcd, 0xc6 }, { 0x61, 0x4a, 0xa6, 0x61 } } },
	{ 5, { { 0x97, 0x1c, 0x14, 0x5e }, { 0xeb, 0x94, 0xea, 0xe5 } } },
	{ 1023, { { 0x1b, 0x59, 0xd3, 0xfd }, { 0x58, 0x8f, 0x92, 0x75 } } },
};

static void
field_case(struct pkt *p, bool ip6, const uint8_t *payload, uint32_t len)
{
	static const uint8_t v4[2][4] = { { 10, 0, 0, 1 }, { 10, 0, 0, 2 } };

	pkt_defaults(p);
	p->ip6 = ip6;
	if (ip6) {
		p->src[0] = p->dst[0] = 0xfd;
		p->src[15] = 1;
		p->dst[15] = 2;
	} else {
		memcpy(p->src + 12, v4[0], 4);
		memcpy(p->dst + 12, v4[1], 4);
	}
	p->sport = 0xc123;
	p->opcode = 0x04;
	p->ackreq = true;
	p->dqpn = 0x11;
	p->psn = 0xffffff;
	p->payload = payload;
	p->payload_len = len;
}

static void
encode__field_case_icrcs(void)
{
	uint8_t payload[1024], out[PKT_MAX];

	for (unsigned int i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(7 * i + 1);
	for (size_t i = 0; i < sizeof(field_icrc) / sizeof(field_icrc[0]); i++) {
		for (int six = 0; six < 2; six++) {
			struct pkt p;
			size_t n;

			field_case(&p, six, payload, field_icrc[i].len);
			n = pkt_encode(&p, out);
			CHECK_MEM(out + n - 4, field_icrc[i].icrc[six], 4);
		}
	}
}

static void
crc__state_after_lrh(void)
{
	uint8_t ones[8];

	memset(ones, 0xff, sizeof(ones));
	CHECK_EQ(crc_run(0xffffffffu, ones, 8), 0xdebb20e3u);	/* A24 */
	CHECK_EQ(~crc_run(0xffffffffu, (const uint8_t *)"123456789", 9), 0xcbf43926u);
}

static void
wire__agrees_on_icrc(void)
{
	for (size_t i = 0; i < VECTORS; i++) {
		uint8_t in[256], want[4];
		size_t n = frame_of(vectors[i], in);

		memcpy(want, in + n - 4, 4);
		memset(in + n - 4, 0, 4);
		wire_icrc_seal(in + 14, in[12] == 0x86, n - 14 - 4);
		CHECK_MEM(in + n - 4, want, 4);
	}
}

static void
wire__agrees_on_opcodes(void)
{
	for (unsigned int c = 0; c < 256; c++) {
		const struct wire_op_info *w = &wire_op_info[c];

		if (!w->name)	/* the product may know fewer */
			continue;
		CHECK(pkt_op((uint8_t)c) != NULL);
		if (c == 0x81)	/* the product counts a CNP's 16 zero bytes as a header */
			continue;
		CHECK_EQ(!!(w->traits & WIRE_RESPONSE), pkt_op((uint8_t)c)->response);
		CHECK_EQ(w->ext_len, 4 * !!(w->ext & WIRE_EXT_XRCETH) + 8 * !!(w->ext & WIRE_EXT_DETH) +
			 16 * !!(w->ext & WIRE_EXT_RETH) + 28 * !!(w->ext & WIRE_EXT_ATOMICETH) +
			 4 * !!(w->ext & WIRE_EXT_AETH) + 8 * !!(w->ext & WIRE_EXT_ATOMICACKETH) +
			 4 * !!(w->ext & WIRE_EXT_IMM) + 4 * !!(w->ext & WIRE_EXT_IETH) +
			 4 * !!(w->ext & WIRE_EXT_FETH));
	}
	for (unsigned int op = 0; op < 0x20; op++)	/* and every RC opcode */
		CHECK_EQ(!!wire_op_info[op].name, !!pkt_op((uint8_t)op));
}

/* Every RC opcode with every payload length mod 4, both families. */
static void
wire__agrees_on_fields(void)
{
	static const uint8_t payload[8] = "12345678";
	uint8_t out[PKT_MAX];

	for (unsigned int i = 0; i < 0x20 * 8; i++) {
		const struct pkt_op *o = pkt_op((uint8_t)(i >> 3));
		struct wire_pkt w;
		struct pkt p;
		size_t n;

		if (!o)
			continue;
		field_case(&p, i & 4, payload, o->payload ? i & 3 : 0);
		p.opcode = (uint8_t)(i >> 3);
		p.va = 0x0102030405060708u;
		p.rkey = 0x090a0b0c;
		p.len = 0x0d0e0f10;
		p.syndrome = 0x1f;
		p.msn = 0x123456;
		p.orig = 0xfedcba9876543210u;
		n = pkt_encode(&p, out);
		CHECK_EQ(wire_parse(out, n, &w), DROP_NONE);
		CHECK(wire_icrc_ok(&w));
		CHECK_EQ(w.payload_len, p.payload_len);
		CHECK_EQ(w.psn.v, p.psn);
		if (o->ext & EXT_RETH)
			CHECK(w.reth.va == p.va && w.reth.rkey == p.rkey && w.reth.len == p.len);
		if (o->ext & EXT_AETH)
			CHECK(w.aeth.syndrome == p.syndrome && w.aeth.msn == p.msn);
		if (o->ext & EXT_ORIG)
			CHECK_EQ(w.atomic_orig, p.orig);
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(encode__vectors_round_trip),
	CHECK_CASE(decode__vector_fields),
	CHECK_CASE(decode__flipped_byte_fails),
	CHECK_CASE(encode__field_case_icrcs),
	CHECK_CASE(crc__state_after_lrh),
	CHECK_CASE(wire__agrees_on_icrc),
	CHECK_CASE(wire__agrees_on_opcodes),
	CHECK_CASE(wire__agrees_on_fields),
};
CHECK_MAIN(cases)

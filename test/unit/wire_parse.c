/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/wire/parse and print: every field, every reason to drop, no byte outside (X1-X4, FC04). */
#include "wire/parse.h"

#include "check.h"
#include "wire/print.h"
#include "wire_frame.h"
#include "wire_table.h"

static struct frame f;
static const uint8_t zeros[96];

static enum drop_reason
parse(void)
{
	return frame_parse_at_edge(f.bytes, f.len);
}

/* A good RC SEND_ONLY of 4 bytes, to be spoilt. */
static void
good(bool ip6)
{
	frame_make(&f, ip6, 0x04, 0, "abcd", 4);
}

static void
wire_parse__bth_fields(void)
{
	struct wire_tmpl_conf conf = frame_conf(true);
	struct wire_bth bth = {
		.opcode = 0x04, .se = true, .mig_req = true, .ack_req = true, .pad = 3,
		.pkey = 0x7abc, .dest_qpn = 0x123456, .psn = { 0xfedcba },
	};
	struct wire_pkt p;

	conf.traffic_class = 0xab;	/* ECN 3 */
	conf.hop_limit = 7;
	conf.vlan_tci = 0x6064;
	frame_make_conf(&f, &conf, &bth, "hello\0\0\0", 8);
	f.bth[4] = 0xff;
	f.bth[8] |= 0x7f;	/* reserved bits do not matter */
	CHECK_EQ(wire_parse(f.bytes, f.len, &p), DROP_NONE);
	CHECK(p.frame == f.bytes && p.l3 == f.l3 && p.bth == f.bth && p.payload == f.bth + 12);
	CHECK(p.payload_len == 5 && p.pad == 3 && p.icrc == f.bytes + f.len - 4);
	CHECK(p.info == &wire_op_info[0x04] && p.opcode == 0x04);
	CHECK(p.se && p.mig_req && p.ack_req && p.becn && p.fecn && p.ip6 && p.ce);
	CHECK(p.hop_limit == 7 && p.traffic_class == 0xab && p.vlan_tci == 0x6064);
	CHECK(p.udp_sport == 0xc123 && p.pkey == 0x7abc && p.dest_qpn == 0x123456);
	CHECK_EQ(p.psn.v, 0xfedcba);
	CHECK_MEM(p.src_gid, frame_gid6[0], 16);
	CHECK_MEM(p.dst_gid, frame_gid6[1], 16);
}

static void
wire_parse__ip4_gids_and_no_flags(void)
{
	struct wire_tmpl_conf conf = frame_conf(false);
	struct wire_bth bth = { .opcode = 0x04 };
	struct wire_pkt p;

	conf.traffic_class = 2;		/* ECT(0) is no CE */
	frame_make_conf(&f, &conf, &bth, NULL, 0);
	CHECK_EQ(wire_parse(f.bytes, f.len, &p), DROP_NONE);
	CHECK(!p.se && !p.mig_req && !p.ack_req && !p.becn && !p.fecn && !p.ip6 && !p.ce);
	CHECK(p.vlan_tci == 0 && p.payload_len == 0 && p.pad == 0);
	CHECK_MEM(p.src_gid, frame_gid4[0], 16);
	CHECK_MEM(p.dst_gid, frame_gid4[1], 16);
}

/* A body whose bytes count up from 1 gives each field at its place a value of its own. */
static struct wire_pkt
parse_counting(uint8_t opcode)
{
	uint8_t body[64];
	struct wire_pkt p;

	for (unsigned int i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(i + 1);
	frame_make(&f, false, opcode, 0, body, sizeof(body));
	memset(&p, 0, sizeof(p));
	wire_parse(f.bytes, f.len, &p);
	return p;
}

static void
wire_parse__reth_imm(void)
{
	struct wire_pkt p = parse_counting(0x0b);

	CHECK_EQ(p.reth.va, 0x0102030405060708);
	CHECK_EQ(p.reth.rkey, 0x090a0b0c);
	CHECK_EQ(p.reth.len, 0x0d0e0f10);
	CHECK_EQ(p.imm, htobe32(0x11121314));
	CHECK_EQ(p.payload[0], 0x15);
}

static void
wire_parse__atomic(void)
{
	struct wire_pkt p = parse_counting(0x13);

	CHECK_EQ(p.atomic.va, 0x0102030405060708);
	CHECK_EQ(p.atomic.rkey, 0x090a0b0c);
	CHECK_EQ(p.atomic.swap_add, 0x0d0e0f1011121314);
	CHECK_EQ(p.atomic.compare, 0x15161718191a1b1c);
}

static void
wire_parse__aeth_atomic_ack(void)
{
	struct wire_pkt p = parse_counting(0x12);

	CHECK_EQ(p.aeth.syndrome, 1);
	CHECK_EQ(p.aeth.msn, 0x020304);
	CHECK_EQ(p.atomic_orig, 0x05060708090a0b0c);
}

static void
wire_parse__ieth(void)
{
	struct wire_pkt p = parse_counting(0x17);

	CHECK_EQ(p.inv_rkey, 0x01020304);
	CHECK_EQ(p.payload[0], 5);
}

static void
wire_parse__deth_imm(void)
{
	struct wire_pkt p = parse_counting(0x65);

	CHECK_EQ(p.deth.qkey, 0x01020304);
	CHECK_EQ(p.deth.src_qpn, 0x060708);
	CHECK_EQ(p.imm, htobe32(0x090a0b0c));
}

static void
wire_parse__feth_stands_before_reth(void)
{
	struct wire_pkt p = parse_counting(0x1c);

	CHECK_EQ(p.feth.type, 4);
	CHECK_EQ(p.feth.level, 0);
	CHECK_EQ(p.reth.va, 0x05060708090a0b0c);
	CHECK_EQ(p.reth.rkey, 0x0d0e0f10);
	CHECK_EQ(p.reth.len, 0x11121314);
	p = parse_counting(0x1d);
	CHECK_EQ(p.reth.va, 0x0102030405060708);
	CHECK_EQ(p.payload_len % 4, 0);
}

/* Type and level have 4 and 2 bits of the word's last byte; the others are ignored. */
static void
wire_parse__feth_every_byte(void)
{
	for (unsigned int v = 0; v < 256; v++) {
		uint8_t body[20] = { 0xff, 0xff, 0xff, (uint8_t)v };
		struct wire_pkt p;

		frame_make(&f, false, 0x1c, 0, body, sizeof(body));
		CHECK_EQ(wire_parse(f.bytes, f.len, &p), DROP_NONE);
		CHECK_EQ(p.feth.type, v % 16);
		CHECK_EQ(p.feth.level, v / 16 % 4);
		CHECK_EQ(p.payload_len, 0);
	}
}

static void
wire_parse__xrceth_stands_first(void)
{
	struct wire_pkt p = parse_counting(0xab);

	CHECK_EQ(p.xrc_srqn, 0x020304);
	CHECK_EQ(p.reth.va, 0x05060708090a0b0c);
	CHECK_EQ(p.imm, htobe32(0x15161718));
	p = parse_counting(0xb0);	/* responses have none */
	CHECK_EQ(p.aeth.syndrome, 1);
}

/* Every opcode, body length and pad, both families, by the test's own table (X1, X3, A12, A13). */
static void
wire_parse__every_opcode_length_and_pad(void)
{
	for (unsigned int op = 0; op < 256; op++)
		for (unsigned int body = 0; body <= 64; body++)
			for (unsigned int pad_ip6 = 0; pad_ip6 < 8; pad_ip6++) {
				unsigned int pad = pad_ip6 & 3;
				enum drop_reason want = DROP_NONE;

				frame_make(&f, pad_ip6 & 4, (uint8_t)op, (uint8_t)pad, zeros, body);
				if (!table_hdr_bytes[op])
					want = DROP_OPCODE;
				else if (12 + body < table_hdr_bytes[op] + pad || body % 4)
					want = DROP_LENGTH;
				CHECK_EQ(parse(), want);
			}
}

/* Cut anywhere, no frame passes. */
static void
wire_parse__cut_frames(void)
{
	struct wire_tmpl_conf conf = frame_conf(true);
	struct wire_bth bth = { .opcode = 0x0b };

	conf.vlan_tci = 5;
	for (int i = 0; i < 3; i++) {
		if (i < 2)
			frame_make(&f, i, 0x0b, 0, zeros, 24);
		else
			frame_make_conf(&f, &conf, &bth, zeros, 24);
		for (size_t len = 0; len < f.len; len++) {
			enum drop_reason why = frame_parse_at_edge(f.bytes, len);

			CHECK(why == DROP_SHORT || why == DROP_LENGTH);
		}
		CHECK_EQ(parse(), DROP_NONE);
	}
}

/* Bytes after the L3 length are Ethernet's (A5, FC05). */
static void
wire_parse__trailing_bytes_are_ignored(void)
{
	for (int ip6 = 0; ip6 < 2; ip6++)
		for (size_t more = 1; more <= 18; more++) {
			struct wire_pkt p;

			good(ip6);
			CHECK_EQ(wire_parse(f.bytes, f.len + more, &p), DROP_NONE);
			CHECK(p.payload_len == 4 && wire_icrc_ok(&p));
		}
}

/* X(case, spoils the frame, reason) */
#define SPOILT(X) \
	X(ip4, L2, "EtherType of RoCE v1", be16_store(f.bytes + 12, 0x8915)) \
	X(ip4, L2, "802.1ad tag", be16_store(f.bytes + 12, 0x88a8)) \
	X(ip4, L2, "two 802.1Q tags", \
	  (be16_store(f.bytes + 12, 0x8100), be16_store(f.bytes + 16, 0x8100))) \
	X(ip4, L2, "a length, no type", be16_store(f.bytes + 12, 0x0040)) \
	X(ip4, L3, "IHL 4", f.l3[0] = 0x44) \
	X(ip4, L3, "IHL 6", f.l3[0] = 0x46) \
	X(ip4, L3, "IHL 15", f.l3[0] = 0x4f) \
	X(ip4, L3, "version 6 under IPv4's type", f.l3[0] = 0x65) \
	X(ip4, L3, "TCP", f.l3[9] = 6) \
	X(ip4, FRAGMENT, "MF", f.l3[6] |= 0x20) \
	X(ip4, FRAGMENT, "offset 1", f.l3[7] = 1) \
	X(ip4, FRAGMENT, "offset 4096", f.l3[6] |= 0x10) \
	X(ip4, LENGTH, "total length 0", be16_store(f.l3 + 2, 0)) \
	X(ip4, LENGTH, "total length 19", be16_store(f.l3 + 2, 19)) \
	X(ip4, LENGTH, "total length 27", be16_store(f.l3 + 2, 27)) \
	X(ip4, LENGTH, "total length past the frame", \
	  be16_store(f.l3 + 2, (uint16_t)(f.len - 13))) \
	X(ip4, LENGTH, "total length 65535", be16_store(f.l3 + 2, 65535)) \
	X(ip4, LENGTH, "UDP length one less", f.udp[5]--) \
	X(ip4, LENGTH, "UDP length four more", f.udp[5] += 4) \
	X(ip4, LENGTH, "UDP length 0", be16_store(f.udp + 4, 0)) \
	X(ip4, LENGTH, "UDP length 65535", be16_store(f.udp + 4, 65535)) \
	X(ip4, LENGTH, "both lengths four less than BTH and ICRC", \
	  (be16_store(f.l3 + 2, 40), be16_store(f.udp + 4, 20))) \
	X(ip4, NOT_ROCE, "another port", f.udp[3]++) \
	X(ip4, TVER, "TVer 1", f.bth[1] |= 1) \
	X(ip4, TVER, "TVer 8", f.bth[1] |= 8) \
	X(ip4, OPCODE, "RD", f.bth[0] = 0x44) \
	X(ip4, OPCODE, "RC 0x15", f.bth[0] = 0x15) \
	X(ip4, OPCODE, "0xff", f.bth[0] = 0xff) \
	X(ip6, L3, "version 4 under IPv6's type", f.l3[0] = 0x45) \
	X(ip6, L3, "hop-by-hop options", f.l3[6] = 0) \
	X(ip6, L3, "fragment header", f.l3[6] = 44) \
	X(ip6, L3, "destination options", f.l3[6] = 60) \
	X(ip6, L3, "from an address of IPv4", memcpy(f.l3 + 8, frame_gid4[0], 16)) \
	X(ip6, L3, "to an address of IPv4", memcpy(f.l3 + 24, frame_gid4[1], 16)) \
	X(ip6, LENGTH, "payload length 0", be16_store(f.l3 + 4, 0)) \
	X(ip6, LENGTH, "payload length 7", be16_store(f.l3 + 4, 7)) \
	X(ip6, LENGTH, "payload length past the frame", f.l3[5]++) \
	X(ip6, LENGTH, "payload length 65535", be16_store(f.l3 + 4, 65535)) \
	X(ip6, LENGTH, "UDP length one less", f.udp[5]--) \
	X(ip6, NOT_ROCE, "another port", f.udp[3]++)

static void
wire_parse__reasons(void)
{
	const int ip4 = 0, ip6 = 1;

#define TRY(family, reason, what, spoil) \
	good(family); \
	(void)(spoil); \
	if (parse() != DROP_##reason) \
		printf("  %s\n", what); \
	CHECK_EQ(parse(), DROP_##reason);
	SPOILT(TRY)
#undef TRY
}

/* What must not matter: UDP source port and checksum, IPv4 id, TTL, checksum; DF (A3, A6, A8). */
static void
wire_parse__accepts(void)
{
	good(false);
	be16_store(f.udp, 0);
	be16_store(f.udp + 6, 0xbeef);
	be16_store(f.l3 + 4, 0x1234);
	f.l3[6] = 0;
	f.l3[8] = 1;
	f.l3[10] ^= 0x55;
	CHECK_EQ(parse(), DROP_NONE);
	f.bth[4] = 0xff;
	f.bth[8] = 0xff;
	CHECK_EQ(parse(), DROP_NONE);
}

/* Random bytes behind a plausible start. */
static void
wire_parse__random_bytes(void)
{
	uint8_t noise[128];

	srand(4791);
	for (int i = 0; i < 300000; i++) {
		size_t len = (size_t)rand() % sizeof(noise);

		for (size_t b = 0; b < sizeof(noise); b++)
			noise[b] = (uint8_t)rand();
		if (i & 1)
			be16_store(noise + 12, i & 2 ? 0x0800 : 0x86dd);
		if (i & 4) {
			noise[14] = i & 2 ? 0x45 : 0x60;
			noise[i & 2 ? 23 : 20] = 17;
			noise[20 + (i & 2 ? 0 : 100)] = 0;
			be16_store(noise + 14 + (i & 2 ? 22 : 42), 4791);
		}
		frame_parse_at_edge(noise, len);
	}
}

static void
wire_classify__roce_and_others(void)
{
	good(false);
	CHECK_EQ(wire_classify(f.bytes, f.len), WIRE_KIND_ROCE);
	f.l3[7] = 1;	/* a fragment with its ports: wire_parse() counts it */
	CHECK_EQ(wire_classify(f.bytes, f.len), WIRE_KIND_ROCE);
	f.udp[3]++;
	CHECK_EQ(wire_classify(f.bytes, f.len), WIRE_KIND_OTHER);
	good(true);
	CHECK_EQ(wire_classify(f.bytes, f.len), WIRE_KIND_ROCE);
	CHECK_EQ(wire_classify(f.bytes, 14 + 40 + 7), WIRE_KIND_OTHER);
	f.l3[6] = 58;
	CHECK_EQ(wire_classify(f.bytes, f.len), WIRE_KIND_OTHER);
	good(false);
	be16_store(f.bytes + 12, 0x0806);
	CHECK_EQ(wire_classify(f.bytes, f.len), WIRE_KIND_OTHER);
	CHECK_EQ(wire_classify(f.bytes, 0), WIRE_KIND_OTHER);
}

/* With options the ports stand further back; such a frame is RoCE, for wire_parse() to count. */
static void
wire_classify__options(void)
{
	frame_make(&f, false, 0x04, 0, zeros, 64);
	f.l3[0] = 0x46;
	CHECK_EQ(wire_classify(f.bytes, f.len), WIRE_KIND_OTHER);
	be16_store(f.udp + 4 + 2, 4791);
	CHECK_EQ(wire_classify(f.bytes, f.len), WIRE_KIND_ROCE);
	f.l3[0] = 0x4f;
	CHECK_EQ(wire_classify(f.bytes, 14 + 60 + 7), WIRE_KIND_OTHER);
}

static void
wire_text__every_header(void)
{
	char text[WIRE_TEXT_MAX];
	struct wire_pkt p = parse_counting(0xab);

	CHECK(!strcmp(wire_text(text, sizeof(text), &p),
		      "10.0.0.1 > 10.0.0.2 XRC_WRITE_ONLY_IMM qpn 0x000011 psn 16777215 ack"
		      " pad 0 len 40 xrceth(srq 0x020304)"
		      " reth(va 0x5060708090a0b0c rkey 0xd0e0f10 len 286397204) imm(0x15161718)"));
	p = parse_counting(0x1c);
	CHECK(strstr(wire_text(text, sizeof(text), &p), " feth(type 4 level 0) reth(va 0x5060708"));
	good(true);
	CHECK(!strcmp(wire_frame_text(text, sizeof(text), f.bytes, f.len),
		      "fd00::1 > fd00::2 RC_SEND_ONLY qpn 0x000011 psn 16777215 ack pad 0 len 4"));
	f.bth[1] |= 1;
	CHECK(!strcmp(wire_frame_text(text, sizeof(text), f.bytes, f.len),
		      "dropped: transport version is not 0 (82 bytes)"));
}

static void
wire_text__fits_and_is_cut(void)
{
	char text[WIRE_TEXT_MAX + 1];

	for (unsigned int op = 0; op < 256; op++) {
		struct wire_pkt p;

		if (!table_hdr_bytes[op])
			continue;
		p = parse_counting((uint8_t)op);
		memset(text, 'x', sizeof(text));
		wire_text(text, WIRE_TEXT_MAX, &p);
		CHECK(strlen(text) < WIRE_TEXT_MAX - 60);	/* long IPv6 addresses still fit */
		for (size_t size = 1; size < 40; size++) {
			memset(text, 'x', sizeof(text));
			wire_text(text, size, &p);
			CHECK_EQ(strlen(text), size - 1);
		}
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(wire_parse__bth_fields),
	CHECK_CASE(wire_parse__ip4_gids_and_no_flags),
	CHECK_CASE(wire_parse__reth_imm),
	CHECK_CASE(wire_parse__atomic),
	CHECK_CASE(wire_parse__aeth_atomic_ack),
	CHECK_CASE(wire_parse__ieth),
	CHECK_CASE(wire_parse__deth_imm),
	CHECK_CASE(wire_parse__feth_stands_before_reth),
	CHECK_CASE(wire_parse__feth_every_byte),
	CHECK_CASE(wire_parse__xrceth_stands_first),
	CHECK_CASE(wire_parse__every_opcode_length_and_pad),
	CHECK_CASE(wire_parse__cut_frames),
	CHECK_CASE(wire_parse__trailing_bytes_are_ignored),
	CHECK_CASE(wire_parse__reasons),
	CHECK_CASE(wire_parse__accepts),
	CHECK_CASE(wire_parse__random_bytes),
	CHECK_CASE(wire_classify__roce_and_others),
	CHECK_CASE(wire_classify__options),
	CHECK_CASE(wire_text__every_header),
	CHECK_CASE(wire_text__fits_and_is_cut),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/wire/build: the bytes of each header, byte for byte (A1, A4, A6, A7, A9-A11, A17, A21). */
#include "wire/build.h"

#include "check.h"
#include "wire_frame.h"

static struct frame f;

static unsigned int
ip4_checksum_residue(const uint8_t *ip)
{
	uint32_t s = 0;

	for (int i = 0; i < 20; i += 2)
		s += be16_load(ip + i);
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

static void
wire_put_tmpl__ip4_bytes(void)
{
	static const uint8_t want[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00,
		0x45, 0x02, 0x00, 0x30, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x26, 0xb9,
		10, 0, 0, 1, 10, 0, 0, 2,
		0xc1, 0x23, 0x12, 0xb7, 0x00, 0x1c, 0x00, 0x00,
	};
	struct wire_tmpl_conf conf = frame_conf(false);
	uint8_t frame[WIRE_MAX_HEADERS];
	struct wire_tmpl t;

	conf.traffic_class = 2;
	wire_tmpl_make(&t, &conf);
	CHECK(!t.ip6 && t.l3 == 14 && t.len == 42);
	CHECK(wire_put_tmpl(frame, &t, 16) == frame + 42);
	CHECK_MEM(frame, want, sizeof(want));
	CHECK_EQ(ip4_checksum_residue(frame + 14), 0xffff);
}

/* Every length leaves a valid header checksum. */
static void
wire_put_tmpl__ip4_checksum_for_every_length(void)
{
	struct wire_tmpl_conf conf = frame_conf(false);
	uint8_t frame[WIRE_MAX_HEADERS];
	struct wire_tmpl t;

	for (unsigned int salt = 0; salt < 3; salt++) {
		memset(conf.src_gid + 12, 0xff * (int)(salt & 1), 4);
		conf.hop_limit = (uint8_t)(1 + 127 * salt);
		conf.traffic_class = (uint8_t)(salt * 127);
		wire_tmpl_make(&t, &conf);
		for (uint32_t len = 12; len < 65000; len++) {
			wire_put_tmpl(frame, &t, len);
			CHECK(ip4_checksum_residue(frame + 14) == 0xffff);
			CHECK(be16_load(frame + 16) == 20 + 8 + len + 4);
		}
	}
}

static void
wire_put_tmpl__ip6_bytes(void)
{
	static const uint8_t want[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd,
		0x6e, 0x21, 0xfa, 0xce, 0x00, 0x1c, 0x11, 0xff,
		0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
		0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
		0xc1, 0x23, 0x12, 0xb7, 0x00, 0x1c, 0x00, 0x00,
	};
	struct wire_tmpl_conf conf = frame_conf(true);
	uint8_t frame[WIRE_MAX_HEADERS];
	struct wire_tmpl t;

	conf.traffic_class = 0xe2;
	conf.flow_label = 0xfff1face;	/* 20 bits of it */
	conf.hop_limit = 255;
	wire_tmpl_make(&t, &conf);
	CHECK(t.ip6 && t.l3 == 14 && t.len == 62);
	wire_put_tmpl(frame, &t, 16);
	CHECK_MEM(frame, want, sizeof(want));
}

static void
wire_tmpl_make__vlan(void)
{
	static const uint8_t want[] = {
		2, 0, 0, 0, 0, 1, 0x81, 0x00, 0x60, 0x64, 0x86, 0xdd, 0x60,
	};
	struct wire_tmpl_conf conf = frame_conf(true);
	uint8_t frame[WIRE_MAX_HEADERS];
	struct wire_tmpl t;

	conf.vlan_tci = 0x6064;
	wire_tmpl_make(&t, &conf);
	CHECK(t.l3 == 18 && t.len == 66 && t.len == WIRE_MAX_L2L4);
	CHECK(wire_put_tmpl(frame, &t, 12) == frame + 66);
	CHECK_MEM(frame + 6, want, sizeof(want));
}

static void
wire_put_bth__each_field_alone(void)
{
	static const struct {
		struct wire_bth bth;
		uint8_t want[12];
	} rows[] = {
		{ { .opcode = 0xaa }, { 0xaa } },
		{ { .se = true }, { 0, 0x80 } },
		{ { .mig_req = true }, { 0, 0x40 } },
		{ { .pad = 3 }, { 0, 0x30 } },
		{ { .pkey = 0x8123 }, { [2] = 0x81, 0x23 } },
		{ { .dest_qpn = 0xff123456 }, { [5] = 0x12, 0x34, 0x56 } },
		{ { .ack_req = true }, { [8] = 0x80 } },
		{ { .psn = { 0xabcdef } }, { [9] = 0xab, 0xcd, 0xef } },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t at[13];

		memset(at, 0xee, sizeof(at));
		CHECK(wire_put_bth(at, &rows[i].bth) == at + 12);
		CHECK_MEM(at, rows[i].want, 12);
		CHECK_EQ(at[12], 0xee);
	}
}

static void
wire_put_ext__bytes(void)
{
	static const uint8_t reth[] = {
		1, 2, 3, 4, 5, 6, 7, 8, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0x10, 1,
	};
	static const uint8_t atomic[] = { 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0x12, 0x34,
					  0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
					  0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28 };
	static const uint8_t aeth[] = { 0x62, 0xab, 0xcd, 0xef };
	static const uint8_t ieth[] = { 0x11, 0x22, 0x33, 0x44 };
	static const uint8_t xrceth[] = { 0, 0xab, 0xcd, 0xef };
	static const uint8_t feth[] = { 0, 0, 0, 0x12 };
	static const uint8_t deth[] = { 0x80, 0x01, 0, 0, 0, 0xab, 0xcd, 0xef };
	uint8_t at[40];

	CHECK(wire_put_xrceth(at, 0xffabcdef) == at + 4);	/* its first byte is reserved */
	CHECK_MEM(at, xrceth, 4);
	CHECK(wire_put_reth(at, 0x0102030405060708, 0xdeadbeef, 4097) == at + 16);
	CHECK_MEM(at, reth, 16);
	CHECK(wire_put_atomic(at, 0x0102030405060708, 0x1234, 0x1112131415161718,
			      0x2122232425262728) == at + 28);
	CHECK_MEM(at, atomic, 28);
	CHECK(wire_put_aeth(at, 0x62, 0xffabcdef) == at + 4);
	CHECK_MEM(at, aeth, 4);
	CHECK(wire_put_atomic_ack(at, 0x0102030405060708) == at + 8);
	CHECK_MEM(at, reth, 8);
	CHECK(wire_put_imm(at, htobe32(0x11223344)) == at + 4);	/* FC48 */
	CHECK_MEM(at, ieth, 4);
	CHECK(wire_put_ieth(at, 0x11223344) == at + 4);
	CHECK_MEM(at, ieth, 4);
	CHECK(wire_put_feth(at, 0xfffffff2, 0xfffffffd) == at + 4);	/* 4 bits and 2 */
	CHECK_EQ(at[3], 0x12);
	CHECK_MEM(at, feth, 4);
	CHECK(wire_put_deth(at, 0x80010000, 0xffabcdef) == at + 8);
	CHECK_MEM(at, deth, 8);
}

/* Each published packet of ours, built from its values. */
static void
wire_put__published_read_request(void)
{
	static const uint8_t want[] = {
		0x60, 0x01, 0x23, 0x45, 0x00, 0x28, 0x11, 0x40,
		0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
		0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
		0xd2, 0x3a, 0x12, 0xb7, 0x00, 0x28, 0x00, 0x00,
		0x0c, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x13, 0x80, 0x7f, 0xff, 0xff,
		0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0xde, 0xad, 0xbe, 0xef,
		0x00, 0x00, 0x10, 0x01, 0xb8, 0x27, 0x81, 0x82,
	};
	struct wire_tmpl_conf conf = {
		.src_gid = { 0x20, 1, 0x0d, 0xb8, [15] = 1 },
		.dst_gid = { 0x20, 1, 0x0d, 0xb8, [15] = 2 },
		.flow_label = 0x12345, .hop_limit = 64, .udp_sport = 0xd23a,
	};
	struct wire_bth bth = {
		.opcode = 0x0c, .mig_req = true, .ack_req = true, .pkey = 0xffff, .dest_qpn = 0x13,
		.psn = { 0x7fffff },
	};
	uint8_t reth[16];

	wire_put_reth(reth, 0x1122334455667788, 0xdeadbeef, 4097);
	frame_make_conf(&f, &conf, &bth, reth, 16);
	CHECK_EQ(f.len, ETH_HDR_LEN + sizeof(want));
	CHECK_MEM(f.l3, want, sizeof(want));
}

/* V8: the XRCETH stands in front of the RETH (A21). */
static void
wire_put__published_xrc_write(void)
{
	static const uint8_t want[] = {
		0x45, 0x00, 0x00, 0x44, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb6, 0xa5,
		192, 0, 2, 1, 192, 0, 2, 2,
		0xc0, 0x03, 0x12, 0xb7, 0x00, 0x30, 0x00, 0x00,
		0xaa, 0x40, 0xff, 0xff, 0x00, 0x00, 0x00, 0x15, 0x80, 0x00, 0x00, 0x06,
		0x00, 0x02, 0x00, 0x01,
		0, 0, 0, 0, 0, 0, 0x20, 0x00, 0x00, 0x00, 0x56, 0x78, 0x00, 0x00, 0x00, 0x04,
		1, 2, 3, 4, 0xad, 0x31, 0xbd, 0x9c,
	};
	struct wire_tmpl_conf conf = {
		.src_gid = { [10] = 0xff, 0xff, 192, 0, 2, 1 },
		.dst_gid = { [10] = 0xff, 0xff, 192, 0, 2, 2 },
		.hop_limit = 64, .udp_sport = 0xc003,
	};
	struct wire_bth bth = {
		.opcode = wire_opcode(WIRE_XRC, WIRE_WRITE_ONLY), .mig_req = true, .ack_req = true,
		.pkey = 0xffff, .dest_qpn = 0x15, .psn = { 6 },
	};
	uint8_t ext[24] = { 0 }, *at = wire_put_xrceth(ext, 0x20001);

	at = wire_put_reth(at, 0x2000, 0x5678, 4);
	memcpy(at, (uint8_t[]){ 1, 2, 3, 4 }, 4);
	frame_make_conf(&f, &conf, &bth, ext, 24);
	CHECK_EQ(f.len, ETH_HDR_LEN + sizeof(want));
	CHECK_MEM(f.l3, want, sizeof(want));
}

static const struct check_case cases[] = {
	CHECK_CASE(wire_put_tmpl__ip4_bytes),
	CHECK_CASE(wire_put_tmpl__ip4_checksum_for_every_length),
	CHECK_CASE(wire_put_tmpl__ip6_bytes),
	CHECK_CASE(wire_tmpl_make__vlan),
	CHECK_CASE(wire_put_bth__each_field_alone),
	CHECK_CASE(wire_put_ext__bytes),
	CHECK_CASE(wire_put__published_read_request),
	CHECK_CASE(wire_put__published_xrc_write),
};

CHECK_MAIN(cases)

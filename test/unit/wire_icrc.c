/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/wire/icrc: known answers, what is masked, and that no bit flip passes (A23-A27). */
#include "wire/icrc.h"

#include "check.h"
#include "wire_frame.h"

/* The eight published packets, from the IP header to the ICRC. */
static const struct {
	const char *name, *hex;
} vectors[] = {
	{ "V1 CNP",
	  "45c2003c718c4000401191610a0011010a001201000012b7002800008100ffff4000011800000000"
	  "0000000000000000000000000000000082fd002a" },
	{ "V2 UC SEND_ONLY",
	  "45010040047840004011b4d5c0a80007c0a80007c00012b7002caca22460ffff000000d300cf1710"
	  "4630818be28935d90e9a95505401be885e50000078f353f3" },
	{ "V3 UC SEND_ONLY IPv6",
	  "6e21face002c11ff2022000000000000000000000000102320230000000000000000000000001024"
	  "c00012b7002ce7c52460ffff000000d300cf17104630818be28935d90e9a95505401be885e500000"
	  "3e5b743b" },
	{ "V4 RC ACK",
	  "45000030000040004011b6b9c0000201c0000202c00012b7001c00001140ffff0000001100000100"
	  "1f0000018f0748a1" },
	{ "V5 RC SEND_ONLY",
	  "45020034000140004011b6b2c0000201c0000202c00112b7002000000470ffff0000001280ffffff"
	  "68656c6c6f0000002d61dabd" },
	{ "V6 RC READ_REQUEST IPv6",
	  "600123450028114020010db800000000000000000000000120010db8000000000000000000000002"
	  "d23a12b7002800000c40ffff00000013807fffff1122334455667788deadbeef00001001b8278182" },
	{ "V7 RC FETCH_ADD",
	  "45000048000040004011b6a1c0000201c0000202c00212b7003400001440ffff0000001480000005"
	  "0000000000001000000012340000000000000001000000000000000061d4440f" },
	{ "V8 XRC WRITE_ONLY",
	  "45000044000040004011b6a5c0000201c0000202c00312b700300000aa40ffff0000001580000006"
	  "000200010000000000002000000056780000000401020304ad31bd9c" },
};

#define VECTORS (sizeof(vectors) / sizeof(vectors[0]))

/* An Ethernet header in front; returns the length of the frame. */
static size_t
vector_frame(unsigned int v, uint8_t *frame)
{
	size_t n = strlen(vectors[v].hex) / 2;

	memset(frame, 0, ETH_HDR_LEN);
	for (size_t i = 0; i < n; i++)
		sscanf(vectors[v].hex + 2 * i, "%2hhx", frame + ETH_HDR_LEN + i);
	be16_store(frame + ETH_TYPE, frame[ETH_HDR_LEN] >> 4 == 6 ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
	return ETH_HDR_LEN + n;
}

static uint32_t
sum(const uint8_t *l3, size_t len)
{
	bool ip6 = l3[0] >> 4 == 6;
	size_t headers = (ip6 ? 40 : 20) + 8 + 12;

	return wire_icrc_update(wire_icrc_start(l3, ip6), l3 + headers, len - headers);
}

static void
wire_icrc_ok__vectors(void)
{
	for (unsigned int v = 0; v < VECTORS; v++) {
		uint8_t frame[256];
		size_t len = vector_frame(v, frame);
		struct wire_pkt pkt;

		printf("  %s\n", vectors[v].name);
		CHECK_EQ(wire_parse(frame, len, &pkt), DROP_NONE);
		CHECK(wire_icrc_ok(&pkt));
		memset(frame + len - 4, 0, 4);
		CHECK(!wire_icrc_ok(&pkt));
		wire_icrc_seal(frame + ETH_HDR_LEN, pkt.ip6, len - ETH_HDR_LEN - 4);
		CHECK(wire_icrc_ok(&pkt));
	}
}

/* Payload byte i is 7i + 1; every byte of the frame is made by our own builder. */
static const struct {
	uint32_t len;
	uint32_t ip4, ip6;	/* as the bytes stand on the wire */
} answers[] = {
	{ 0, 0xb79e593f, 0x2c094c2f },
	{ 1, 0xa1d63577, 0x96135ed0 },
	{ 2, 0x5618443d, 0x61dd2f9a },
	{ 3, 0x48a57b76, 0x7f6010d1 },
	{ 4, 0x568fcdc6, 0x614aa661 },
	{ 5, 0x971c145e, 0xeb94eae5 },
	{ 1023, 0x1b59d3fd, 0x588f9275 },
};

static void
wire_icrc_seal__payload_sizes_both_families(void)
{
	static struct frame f;
	uint8_t body[1024];

	for (unsigned int i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		uint32_t len = answers[i].len, pad = -len & 3;

		memset(body, 0, sizeof(body));
		for (uint32_t b = 0; b < len; b++)
			body[b] = (uint8_t)(7 * b + 1);
		for (int ip6 = 0; ip6 < 2; ip6++) {
			frame_make(&f, ip6, 0x04, (uint8_t)pad, body, len + pad);
			CHECK_EQ(be32_load(f.bytes + f.len - 4),
				 ip6 ? answers[i].ip6 : answers[i].ip4);
		}
	}
}

static void
wire_icrc_update__start_state(void)
{
	static const uint8_t ones[8] = { 255, 255, 255, 255, 255, 255, 255, 255 };

	CHECK_EQ(wire_icrc_update(0, ones, 8), (uint32_t)~0xdebb20e3u);	/* A24 */
}

/* Offsets from L3 that the ICRC does not see; everything else it must (A25). */
static bool
is_masked(const uint8_t *l3, size_t at, unsigned int bit)
{
	bool ip6 = l3[0] >> 4 == 6;
	size_t udp = ip6 ? 40 : 20;

	if (at == udp + 6 || at == udp + 7 || at == udp + 8 + 4)
		return true;
	if (!ip6)
		return at == 1 || at == 8 || at == 10 || at == 11;
	/* the version's four bits are covered, the traffic class beside them is not */
	return (at == 0 && bit < 4) || (at >= 1 && at <= 3) || at == 7;
}

static void
wire_icrc_start__every_bit_is_masked_or_covered(void)
{
	for (unsigned int v = 0; v < VECTORS; v++) {
		uint8_t frame[256], *l3 = frame + ETH_HDR_LEN;
		size_t len = vector_frame(v, frame) - ETH_HDR_LEN - 4;
		bool ip6 = l3[0] >> 4 == 6;
		size_t headers = (ip6 ? 40 : 20) + 8 + 12;
		uint32_t good = sum(l3, len);

		for (size_t bit = 0; bit < len * 8; bit++) {
			bool masked = is_masked(l3, bit / 8, bit % 8);
			uint32_t crc;

			l3[bit / 8] ^= (uint8_t)(1 << bit % 8);
			crc = wire_icrc_start(l3, ip6);
			crc = wire_icrc_update(crc, l3 + headers, len - headers);
			l3[bit / 8] ^= (uint8_t)(1 << bit % 8);
			CHECK_EQ(crc == good, masked);
		}
	}
}

/* The Ethernet header and the VLAN tag are not covered (A27). */
static void
wire_icrc_seal__vlan_changes_nothing(void)
{
	static struct frame plain, tagged;
	struct wire_tmpl_conf conf = frame_conf(false);
	struct wire_bth bth = { .opcode = 0x04, .pkey = 0xffff, .dest_qpn = 5 };

	frame_make_conf(&plain, &conf, &bth, "abcd", 4);
	conf.vlan_tci = 0x6064;
	conf.dst_mac[5] = 0x77;
	frame_make_conf(&tagged, &conf, &bth, "abcd", 4);
	CHECK_EQ(tagged.len, plain.len + 4);
	CHECK_MEM(tagged.l3, plain.l3, plain.len - ETH_HDR_LEN);
}

/* One bit of the ICRC itself, each of 32 (X5). */
static void
wire_icrc_ok__each_wrong_bit(void)
{
	for (unsigned int v = 0; v < VECTORS; v++) {
		uint8_t frame[256];
		size_t len = vector_frame(v, frame);
		struct wire_pkt pkt;

		CHECK_EQ(wire_parse(frame, len, &pkt), DROP_NONE);
		for (unsigned int bit = 0; bit < 32; bit++) {
			frame[len - 4 + bit / 8] ^= (uint8_t)(1 << bit % 8);
			CHECK(!wire_icrc_ok(&pkt));
			frame[len - 4 + bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		CHECK(wire_icrc_ok(&pkt));
	}
}

/* Bit by bit, written from the definition (A23), on the value that lib/wire calls its state. */
static uint32_t
slow_update(uint32_t crc, const uint8_t *p, size_t len)
{
	crc = ~crc;
	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	}
	return ~crc;
}

static uint8_t src[3 * 4096 + 64], dst[3 * 4096 + 64];

static void
wire_icrc_copy__copies_and_sums(void)
{
	static const size_t lens[] = {
		0, 1, 2, 3, 4, 15, 16, 17, 63, 64, 255, 1024, 4095, 4096, 4097, 8192, 3 * 4096 + 5,
	};

	for (size_t i = 0; i < sizeof(src); i++)
		src[i] = (uint8_t)(i * 131 + (i >> 8));
	for (unsigned int i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		for (size_t off = 0; off < 4; off++) {
			uint32_t want = slow_update(0x12345678, src + off, lens[i]);
			uint8_t *to = dst + 3 - off;

			memset(dst, 0x5a, sizeof(dst));
			CHECK_EQ(wire_icrc_copy(0x12345678, to, src + off, lens[i]), want);
			CHECK_EQ(wire_icrc_update(0x12345678, src + off, lens[i]), want);
			CHECK_MEM(to, src + off, lens[i]);
			CHECK_EQ(to[lens[i]], 0x5a);
		}
}

static void
wire_icrc_update__in_pieces(void)
{
	uint32_t whole = slow_update(7, src, 1000), crc = 7;

	for (size_t at = 0, n = 1; at < 1000; at += n, n = n * 3 % 97) {
		n = n > 1000 - at ? 1000 - at : n;
		crc = wire_icrc_update(crc, src + at, n);
	}
	CHECK_EQ(crc, whole);
}

static const struct check_case cases[] = {
	CHECK_CASE(wire_icrc_ok__vectors),
	CHECK_CASE(wire_icrc_seal__payload_sizes_both_families),
	CHECK_CASE(wire_icrc_update__start_state),
	CHECK_CASE(wire_icrc_start__every_bit_is_masked_or_covered),
	CHECK_CASE(wire_icrc_seal__vlan_changes_nothing),
	CHECK_CASE(wire_icrc_ok__each_wrong_bit),
	CHECK_CASE(wire_icrc_copy__copies_and_sums),
	CHECK_CASE(wire_icrc_update__in_pieces),
};

CHECK_MAIN(cases)

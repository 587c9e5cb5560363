/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/wire: the small encodings, aeth.[ch], mtu.h, udp4791.h (A2, A32, table 1.F). */
#include "check.h"
#include "wire/aeth.h"
#include "wire/mtu.h"
#include "wire/udp4791.h"

static void
aeth_kind__all_256_syndromes(void)
{
	for (unsigned int s = 0; s < 256; s++) {
		enum aeth_kind want = AETH_RESERVED;

		if (s < 0x20)
			want = AETH_ACK;
		else if (s < 0x40)
			want = AETH_RNR;
		else if (s >= 0x60 && s < 0x80)
			want = AETH_NAK;
		CHECK_EQ(aeth_kind((uint8_t)s), want);
		CHECK_EQ(aeth_value((uint8_t)s), s % 32);
	}
	CHECK_EQ(aeth_kind(AETH_NAK_SEQ), AETH_NAK);
	CHECK_EQ(aeth_kind(AETH_ACK_UNLIMITED), AETH_ACK);
}

/* In units of 10 us, from the specification's table in ms. */
static const uint32_t rnr_10us[32] = {
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024,
	1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
};

static void
rnr_timer_ns__every_code(void)
{
	for (unsigned int c = 0; c < 32; c++) {
		CHECK_EQ(rnr_timer_ns[c], rnr_10us[c] * UINT64_C(10000));
		CHECK_EQ(aeth_rnr((uint8_t)c), 0x20 + c);
		CHECK_EQ(aeth_kind(aeth_rnr((uint8_t)c)), AETH_RNR);
		CHECK_EQ(aeth_value(aeth_rnr((uint8_t)c)), c);
	}
}

static void
ack_timeout_ns__every_code(void)
{
	CHECK_EQ(ack_timeout_ns(0), 0);
	CHECK_EQ(ack_timeout_ns(1), 8192);
	CHECK_EQ(ack_timeout_ns(14), 67108864);
	CHECK_EQ(ack_timeout_ns(18), 1073741824);
	CHECK_EQ(ack_timeout_ns(31), UINT64_C(8796093022208));
}

static void
mtu_bytes__five_values(void)
{
	static const uint32_t want[] = { 0, 256, 512, 1024, 2048, 4096, 0, 0 };

	for (unsigned int e = 0; e < 8; e++) {
		CHECK_EQ(mtu_bytes(e), want[e]);
		if (want[e])
			CHECK_EQ(mtu_enum(want[e]), e);
	}
	CHECK_EQ(mtu_bytes(UINT32_MAX), 0);
	CHECK_EQ(mtu_enum(0), 0);
	CHECK_EQ(mtu_enum(1500), 0);
}

static void
mtu_enum_for_port__edges(void)
{
	CHECK_EQ(mtu_enum_for_port(1500), 3);
	CHECK_EQ(mtu_enum_for_port(4200), 5);
	CHECK_EQ(mtu_enum_for_port(9000), 5);
	for (unsigned int e = 1; e <= 5; e++) {
		CHECK_EQ(mtu_enum_for_port(mtu_bytes(e) + 80), e);
		CHECK_EQ(mtu_enum_for_port(mtu_bytes(e) + 79), e - 1);
	}
	CHECK_EQ(mtu_enum_for_port(0), 0);
	CHECK_EQ(mtu_enum_for_port(UINT32_MAX), 5);
}

static void
udp4791_sport_of_label__known_answers(void)
{
	CHECK_EQ(udp4791_sport_of_label(0), 0xc000);
	CHECK_EQ(udp4791_sport_of_label(1), 0xc001);
	CHECK_EQ(udp4791_sport_of_label(0x3fff), 0xffff);
	CHECK_EQ(udp4791_sport_of_label(0x4000), 0xc001);
	CHECK_EQ(udp4791_sport_of_label(0x12345), 0xe341);
	CHECK_EQ(udp4791_sport_of_label(0xfffff), 0xffc0);
}

static void
udp4791_sport_of_label__every_label_in_range(void)
{
	for (uint32_t fl = 0; fl <= 0xfffff; fl++)
		CHECK(udp4791_sport_of_label(fl) >= 0xc000);
	CHECK_EQ(udp4791_sport_of_label(0xfff12345), 0xe341);	/* 20 bits count */
}

static void
udp4791_sport__label_wins_over_qpns(void)
{
	CHECK_EQ(udp4791_sport(0x12345, 1, 2), 0xe341);
	CHECK_EQ(udp4791_sport(0, 0x1234, 0x5678),
		 udp4791_sport_of_label(udp4791_label_of_qpns(0x1234, 0x5678)));
	CHECK_EQ(udp4791_sport(0, 0x1234, 0x5678), udp4791_sport(0, 0x5678, 0x1234));
	/* 0xffffff * 0xffffff = 0xfffffe000001 in pieces: 0x00001, 0xffffe, 0xff -> xor */
	CHECK_EQ(udp4791_label_of_qpns(0xffffff, 0xffffff), 0x00001 ^ 0xfffe0 ^ 0xff);
}

/* 64 QPs without a label spread over the ports (FC10). */
static void
udp4791_sport__many_qps_many_ports(void)
{
	unsigned int distinct = 0;
	uint16_t ports[64];

	for (uint32_t i = 0; i < 64; i++) {
		unsigned int j = 0;

		ports[i] = udp4791_sport(0, 0x100 + i * 7919, 0x200 + i * 104729);
		while (ports[j] != ports[i])
			j++;
		distinct += j == i;
	}
	CHECK(distinct >= 32);
}

static const struct check_case cases[] = {
	CHECK_CASE(aeth_kind__all_256_syndromes),
	CHECK_CASE(rnr_timer_ns__every_code),
	CHECK_CASE(ack_timeout_ns__every_code),
	CHECK_CASE(mtu_bytes__five_values),
	CHECK_CASE(mtu_enum_for_port__edges),
	CHECK_CASE(udp4791_sport_of_label__known_answers),
	CHECK_CASE(udp4791_sport_of_label__every_label_in_range),
	CHECK_CASE(udp4791_sport__label_wins_over_qpns),
	CHECK_CASE(udp4791_sport__many_qps_many_ports),
};

CHECK_MAIN(cases)

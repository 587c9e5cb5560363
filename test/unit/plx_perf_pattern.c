/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes and sizes of verified messages. */
#include "check.h"

#include <stdbool.h>
#include <stdlib.h>

#include "pattern.h"

static uint8_t buffer[4096];

/* Every offset and buffer alignment gives the bytes that pattern_byte() says. */
static void
pattern_fill__any_alignment(void)
{
	uint64_t key = pattern_key(1, 2, 3);

	for (uint64_t at = 0; at < 20; at++) {
		for (size_t shift = 0; shift < 9; shift++) {
			for (size_t len = 0; len < 40; len++) {
				memset(buffer, 0, 64);
				pattern_fill(buffer + shift, key, at, len);
				for (size_t i = 0; i < len; i++)
					CHECK_EQ(buffer[shift + i], pattern_byte(key, at + i));
				CHECK_EQ(buffer[shift + len], 0);
				CHECK_EQ(pattern_check(buffer + shift, key, at, len), len);
			}
		}
	}
}

static void
pattern_check__finds_each_byte(void)
{
	uint64_t key = pattern_key(1, 2, 3);
	size_t len = 77;

	for (uint64_t at = 0; at < 8; at++) {
		pattern_fill(buffer, key, at, len);
		for (size_t i = 0; i < len; i++) {
			buffer[i] ^= 0x10;
			CHECK_EQ(pattern_check(buffer, key, at, len), i);
			buffer[i] ^= 0x10;
		}
	}
}

static void
pattern_key__differs(void)
{
	uint64_t key = pattern_key(1, 2, 3);

	CHECK(key != pattern_key(2, 2, 3));
	CHECK(key != pattern_key(1, 3, 3));
	CHECK(key != pattern_key(1, 2, 4));
	pattern_fill(buffer, key, 0, 256);
	CHECK(pattern_check(buffer, pattern_key(1, 2, 4), 0, 256) < 4);
	/* bytes shifted by a packet or a word are wrong bytes */
	CHECK(pattern_check(buffer, key, 8, 200) < 4);
}

static void
canary_check__finds_each_byte(void)
{
	memset(buffer, PATTERN_CANARY, 100);
	for (size_t i = 0; i < 100; i++) {
		CHECK_EQ(canary_check(buffer, i), i);
		buffer[i] ^= 1;
		CHECK_EQ(canary_check(buffer, 100), i);
		buffer[i] ^= 1;
	}
}

static void
plan_message__in_range(void)
{
	for (uint64_t n = 0; n < 20000; n++) {
		struct plan p = plan_message(7, 1, n, 3, 100000);

		CHECK(p.size >= 3 && p.size <= 100000);
		CHECK(p.source_shift < 64 && p.sink_shift < 64);
		CHECK_EQ(plan_message(7, 1, n, 50, 50).size, 50);
		/* shifts do not depend on the range: receives are posted before it is known */
		CHECK_EQ(plan_message(7, 1, n, 50, 50).sink_shift, p.sink_shift);
	}
}

/* Sizes that stand on an edge of the protocol do occur, and so do all parts of the range. */
static void
plan_message__meets_edges(void)
{
	static const uint32_t edges[] = { 0, 1, 1023, 1024, 1025, 4095, 4096, 4097, 65536, 1u << 20 };
	bool seen[sizeof(edges) / sizeof(edges[0])] = { false };
	uint32_t decile[10] = { 0 };

	for (uint64_t n = 0; n < 200000; n++) {
		uint32_t size = plan_message(1, 0, n, 0, 1u << 20).size;

		for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); e++)
			seen[e] |= size == edges[e];
		decile[(uint64_t)size * 10 / ((1u << 20) + 1)]++;
	}
	for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); e++)
		CHECK(seen[e]);
	for (int d = 0; d < 10; d++)
		CHECK(decile[d] > 10000);
}

static void
plan_split__adds_up(void)
{
	uint32_t piece[32];

	for (uint32_t n = 1; n <= 32; n++) {
		for (uint64_t r = 0; r < 200; r++) {
			uint32_t len = (uint32_t)(pattern_mix(r) % 100000), sum = 0;

			plan_split(r, len, n, piece);
			for (uint32_t i = 0; i < n; i++)
				sum += piece[i];
			CHECK_EQ(sum, len);
		}
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(pattern_fill__any_alignment),
	CHECK_CASE(pattern_check__finds_each_byte),
	CHECK_CASE(pattern_key__differs),
	CHECK_CASE(canary_check__finds_each_byte),
	CHECK_CASE(plan_message__in_range),
	CHECK_CASE(plan_message__meets_edges),
	CHECK_CASE(plan_split__adds_up),
};

CHECK_MAIN(cases)

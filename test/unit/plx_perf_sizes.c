/* SPDX-License-Identifier: BSD-3-Clause */
/* Size lists as they are written on plx-perf's command line and as a client sends them. */
#include "check.h"

#include <errno.h>

#include "sizes.h"

static void
number_parse__units(void)
{
	uint64_t v = 0;

	CHECK_EQ(number_parse("0", &v), 0);
	CHECK_EQ(v, 0);
	CHECK_EQ(number_parse("4096", &v), 0);
	CHECK_EQ(v, 4096);
	CHECK_EQ(number_parse("64k", &v), 0);
	CHECK_EQ(v, 65536);
	CHECK_EQ(number_parse("10G", &v), 0);
	CHECK_EQ(v, 10737418240u);
	CHECK_EQ(number_parse("17179869183G", &v), 0);
	CHECK_EQ(v, UINT64_MAX - ((1u << 30) - 1));
}

static void
number_parse__refuses(void)
{
	static const char *const bad[] = {
		"", "-1", "+1", " 1", "K", "1KK", "1T", "1.5", "0x10", "1 ", "18446744073709551616",
		"17179869184G",
	};
	uint64_t v;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(number_parse(bad[i], &v) == -EINVAL);
}

static void
sizes_parse__one(void)
{
	struct sizes s;

	CHECK_EQ(sizes_parse("64K", &s), 0);
	CHECK_EQ(s.n, 1);
	CHECK_EQ(s.each[0], 65536);
	CHECK_EQ(s.low, 65536);
	CHECK_EQ(s.high, 65536);
	CHECK_EQ(s.random, 0);
	CHECK(sizes_valid(&s));
}

static void
sizes_parse__list_and_range(void)
{
	static const uint64_t want[] = { 7, 0, 1, 2, 4, 5, 3 };
	struct sizes s;

	CHECK_EQ(sizes_parse("7,0-5,3", &s), 0);
	CHECK_EQ(s.n, 7);
	CHECK_MEM(s.each, want, sizeof(want));
	CHECK_EQ(s.low, 0);
	CHECK_EQ(s.high, 7);
	CHECK(sizes_valid(&s));
}

static void
sizes_parse__all(void)
{
	struct sizes s;

	CHECK_EQ(sizes_parse("0-8M", &s), 0);
	CHECK_EQ(s.n, 25);
	CHECK_EQ(s.each[0], 0);
	CHECK_EQ(s.each[1], 1);
	CHECK_EQ(s.each[24], 8u << 20);
	CHECK_EQ(sizes_parse("4-4", &s), 0);
	CHECK_EQ(s.n, 1);
}

static void
sizes_parse__random(void)
{
	struct sizes s;

	CHECK_EQ(sizes_parse("random:0-1M", &s), 0);
	CHECK_EQ(s.n, 0);
	CHECK_EQ(s.random, 1);
	CHECK_EQ(s.low, 0);
	CHECK_EQ(s.high, 1u << 20);
	CHECK(sizes_valid(&s));
}

static void
sizes_parse__refuses(void)
{
	static const char *const bad[] = {
		"", ",", "1,", ",1", "5-4", "1-", "-4", "1-2-3", "1x", "random:", "random:4-1",
		"random:1-2,3",
	};
	struct sizes s;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(sizes_parse(bad[i], &s) == -EINVAL);
	CHECK(sizes_parse("1025M", &s) == -ERANGE);
	CHECK(sizes_parse("random:0-1025M", &s) == -ERANGE);
	CHECK(sizes_parse("0-1G,0-1G,0-1G", &s) == -E2BIG);
}

static void
sizes_valid__refuses(void)
{
	struct sizes s;

	sizes_parse("1,2", &s);
	s.high = 1;
	CHECK(!sizes_valid(&s));
	sizes_parse("1,2", &s);
	s.n = SIZES_MAX + 1;
	CHECK(!sizes_valid(&s));
	sizes_parse("1,2", &s);
	s.random = 1;
	CHECK(!sizes_valid(&s));
	sizes_parse("random:1-2", &s);
	s.random = 0;
	CHECK(!sizes_valid(&s));
	sizes_parse("random:1-2", &s);
	s.high = SIZE_LARGEST + 1;
	CHECK(!sizes_valid(&s));
}

static const struct check_case cases[] = {
	CHECK_CASE(number_parse__units),
	CHECK_CASE(number_parse__refuses),
	CHECK_CASE(sizes_parse__one),
	CHECK_CASE(sizes_parse__list_and_range),
	CHECK_CASE(sizes_parse__all),
	CHECK_CASE(sizes_parse__random),
	CHECK_CASE(sizes_parse__refuses),
	CHECK_CASE(sizes_valid__refuses),
};

CHECK_MAIN(cases)

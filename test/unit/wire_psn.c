/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/wire/psn.h: 24 bits, compared by signed difference (A19). */
#include "wire/psn.h"

#include "check.h"

static const uint32_t edges[] = {
	0, 1, 2, 0x7ffffe, 0x7fffff, 0x800000, 0x800001, 0xfffffe, 0xffffff,
};

#define EDGES (sizeof(edges) / sizeof(edges[0]))

static void
psn_make__masks(void)
{
	CHECK_EQ(psn_make(0x1000000).v, 0);
	CHECK_EQ(psn_make(0xfffffffe).v, 0xfffffe);
}

static void
psn_add__wraps_both_ways(void)
{
	CHECK_EQ(psn_add(psn_make(0xffffff), 1).v, 0);
	CHECK_EQ(psn_sub(psn_make(0), 1).v, 0xffffff);
	for (unsigned int i = 0; i < EDGES; i++)
		for (unsigned int j = 0; j < EDGES; j++) {
			struct psn a = psn_make(edges[i]);

			CHECK(psn_eq(psn_sub(psn_add(a, edges[j]), edges[j]), a));
			CHECK(psn_add(a, edges[j]).v <= PSN_MASK);
		}
}

/* Ahead is below 2^23, behind is 2^23 and above; from every edge. */
static void
psn_diff__edges(void)
{
	for (unsigned int i = 0; i < EDGES; i++) {
		struct psn a = psn_make(edges[i]);

		CHECK_EQ(psn_diff(a, a), 0);
		CHECK_EQ(psn_diff(psn_add(a, 1), a), 1);
		CHECK(psn_diff(psn_sub(a, 1), a) == -1);
		CHECK_EQ(psn_diff(psn_add(a, 0x7fffff), a), 0x7fffff);
		CHECK(psn_diff(psn_add(a, 0x800000), a) == -0x800000);
		CHECK(psn_diff(psn_sub(a, 0x7fffff), a) == -0x7fffff);
	}
}

static void
psn_diff__exhaustive(void)
{
	for (uint32_t d = 0; d <= PSN_MASK; d++) {
		int32_t want = d < 0x800000 ? (int32_t)d : (int32_t)d - 0x1000000;

		CHECK(psn_diff(psn_make(0xabcdef + d), psn_make(0xabcdef)) == want);
	}
}

static void
psn_in__half_open(void)
{
	struct psn from = psn_make(0xfffffe);

	CHECK(!psn_in(from, from, 0));
	CHECK(psn_in(from, from, 1));
	CHECK(psn_in(psn_make(1), from, 4));
	CHECK(!psn_in(psn_make(2), from, 4));
	CHECK(!psn_in(psn_make(0xfffffd), from, 0x800000));
	CHECK(psn_in(psn_add(from, 0x7fffff), from, 0x800000));
}

static const struct check_case cases[] = {
	CHECK_CASE(psn_make__masks),
	CHECK_CASE(psn_add__wraps_both_ways),
	CHECK_CASE(psn_diff__edges),
	CHECK_CASE(psn_diff__exhaustive),
	CHECK_CASE(psn_in__half_open),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/base/random: a permutation is one, undone by its inverse, and not the same twice. */
#include "base/random.h"

#include <stdlib.h>

#include "base/bitset.h"
#include "check.h"

static void
perm_apply__bijective_for_every_small_width(void)
{
	for (unsigned int bits = 2; bits <= 17; bits++) {
		uint64_t *seen = calloc(BITSET_WORDS(1u << bits), sizeof(*seen));
		struct perm p;

		perm_init(&p, bits);
		for (uint32_t x = 0; x < 1u << bits; x++) {
			uint32_t y = perm_apply(&p, x);

			CHECK(y < 1u << bits && !bitset_test(seen, y));
			CHECK(perm_invert(&p, y) == x);
			bitset_set(seen, y);
		}
		free(seen);
	}
}

static void
perm_apply__bijective_on_24_bits(void)
{
	uint64_t *seen = calloc(BITSET_WORDS(1u << 24), sizeof(*seen));
	struct perm p;

	perm_init(&p, 24);
	for (uint32_t x = 0; x < 1u << 24; x += 3) {
		uint32_t y = perm_apply(&p, x);

		CHECK(y < 1u << 24 && !bitset_test(seen, y));
		bitset_set(seen, y);
	}
	free(seen);
}

static void
perm_invert__32_bits(void)
{
	struct perm p;

	perm_init(&p, 32);
	for (uint32_t i = 0; i < 100000; i++) {
		uint32_t x = i * 2654435761u;

		CHECK(perm_invert(&p, perm_apply(&p, x)) == x);
	}
	CHECK(perm_invert(&p, perm_apply(&p, UINT32_MAX)) == UINT32_MAX);
}

/* One input bit changes about half of the output bits: consecutive indices tell nothing. */
static void
perm_apply__neighbours_look_unrelated(void)
{
	uint64_t flips = 0, n = 20000;
	struct perm p;

	perm_init(&p, 24);
	for (uint32_t x = 0; x < n; x++)
		flips += (uint64_t)__builtin_popcount(perm_apply(&p, x) ^ perm_apply(&p, x ^ 1));
	CHECK(flips > n * 115 / 10 && flips < n * 125 / 10);	/* 12 of 24 expected */
}

static void
perm_init__another_key_each_time(void)
{
	struct perm a, b;
	unsigned int same = 0;

	perm_init(&a, 24);
	perm_init(&b, 24);
	for (uint32_t x = 0; x < 1000; x++)
		same += perm_apply(&a, x) == perm_apply(&b, x);
	CHECK(same < 5);
}

static void
random_u64__all_bits_move(void)
{
	uint64_t ones = 0, zeros = 0;
	uint32_t ones32 = 0;

	for (int i = 0; i < 64; i++) {
		uint64_t v = random_u64();

		ones |= v;
		zeros |= ~v;
		ones32 |= random_u32();
	}
	CHECK_EQ(ones, UINT64_MAX);
	CHECK_EQ(zeros, UINT64_MAX);
	CHECK_EQ(ones32, UINT32_MAX);
}

static const struct check_case cases[] = {
	CHECK_CASE(perm_apply__bijective_for_every_small_width),
	CHECK_CASE(perm_apply__bijective_on_24_bits),
	CHECK_CASE(perm_invert__32_bits),
	CHECK_CASE(perm_apply__neighbours_look_unrelated),
	CHECK_CASE(perm_init__another_key_each_time),
	CHECK_CASE(random_u64__all_bits_move),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/* Bits in an array of words that the caller owns; one thread. */
#ifndef BASE_BITSET_H
#define BASE_BITSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Words for n bits. */
#define BITSET_WORDS(n) (((size_t)(n) + 63) / 64)

static inline bool
bitset_test(const uint64_t *set, size_t bit)
{
	return set[bit / 64] >> (bit % 64) & 1;
}

static inline void
bitset_set(uint64_t *set, size_t bit)
{
	set[bit / 64] |= UINT64_C(1) << (bit % 64);
}

static inline void
bitset_clear(uint64_t *set, size_t bit)
{
	set[bit / 64] &= ~(UINT64_C(1) << (bit % 64));
}

/* First set bit at or after `from` in a set of n bits; n when there is none. */
static inline size_t
bitset_next(const uint64_t *set, size_t n, size_t from)
{
	for (size_t w = from / 64; w < BITSET_WORDS(n); w++) {
		uint64_t word = set[w];

		if (w == from / 64)
			word &= UINT64_MAX << (from % 64);
		if (word) {
			size_t bit = w * 64 + (size_t)__builtin_ctzll(word);

			return bit < n ? bit : n;
		}
	}
	return n;
}

static inline size_t
bitset_count(const uint64_t *set, size_t n)
{
	size_t count = 0;

	for (size_t w = 0; w < BITSET_WORDS(n); w++)
		count += (size_t)__builtin_popcountll(set[w]);
	return count;
}

#define bitset_for_each(bit, set, n) \
	for (size_t bit = bitset_next(set, n, 0); bit < (n); bit = bitset_next(set, n, bit + 1))

#endif

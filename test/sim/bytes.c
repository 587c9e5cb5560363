/* SPDX-License-Identifier: BSD-3-Clause */
/* Is this memory what it must be? See bytes.h. */
#include "bytes.h"

#include <string.h>

/* Word k of a stream. */
static inline uint64_t
word(uint64_t stream, uint64_t k)
{
	uint64_t z = (stream << 16) + (k + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return z ^ z >> 27;
}

void
bytes_fill(uint8_t *at, uint32_t len, uint64_t stream)
{
	uint32_t i;
	uint64_t w;

	for (i = 0; i + 8 <= len; i += 8) {
		w = word(stream, i / 8);
		memcpy(at + i, &w, 8);
	}
	w = word(stream, i / 8);
	memcpy(at + i, &w, len - i);
}

uint32_t
bytes_wrong(const uint8_t *at, uint32_t len, uint64_t stream)
{
	for (uint32_t i = 0; i < len; i += 8) {
		uint64_t w = word(stream, i / 8);
		uint32_t n = len - i < 8 ? len - i : 8;

		if (memcmp(at + i, &w, n) == 0)
			continue;
		while (at[i] == ((const uint8_t *)&w)[i % 8])
			i++;
		return i;
	}
	return len;
}

void
bytes_poison(uint8_t *at, uint32_t len)
{
	memset(at, BYTES_POISON, len);
}

uint32_t
bytes_written(const uint8_t *at, uint32_t len)
{
	/* all bytes are equal when each is its neighbour's equal */
	if (!len || (at[0] == BYTES_POISON && memcmp(at, at + 1, len - 1) == 0))
		return len;
	for (uint32_t i = 0; i < len; i++)
		if (at[i] != BYTES_POISON)
			return i;
	return len;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: which bytes must be where? Pure; called by the verifying sender and receiver. */
#include "pattern.h"

#include <string.h>

#define GAMMA 0x9e3779b97f4a7c15ull

uint64_t
pattern_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

uint64_t
pattern_key(uint64_t seed, uint64_t stream, uint64_t message)
{
	return pattern_mix(pattern_mix(pattern_mix(seed + GAMMA) ^ stream) + message * GAMMA);
}

static uint64_t
word_at(uint64_t key, uint64_t index)
{
	return pattern_mix(key + (index + 1) * GAMMA);
}

uint8_t
pattern_byte(uint64_t key, uint64_t at)
{
	return (uint8_t)(word_at(key, at / 8) >> (at % 8 * 8));
}

void
pattern_fill(void *to, uint64_t key, uint64_t at, size_t len)
{
	uint8_t *p = to;
	uint64_t w;

	for (; len && at % 8; at++, len--)
		*p++ = pattern_byte(key, at);
	for (; len >= 8; at += 8, len -= 8, p += 8) {
		w = word_at(key, at / 8);
		memcpy(p, &w, 8);
	}
	for (; len; at++, len--)
		*p++ = pattern_byte(key, at);
}

/* As pattern_check, byte by byte: for the ends, and to find the place once it is known to differ. */
static size_t
check_bytes(const uint8_t *p, uint64_t key, uint64_t at, size_t len)
{
	size_t i = 0;

	while (i < len && p[i] == pattern_byte(key, at + i))
		i++;
	return i;
}

size_t
pattern_check(const void *from, uint64_t key, uint64_t at, size_t len)
{
	const uint8_t *p = from;
	size_t i = 0, head = (8 - at % 8) % 8;
	uint64_t w;

	if (head > len)
		head = len;
	i = check_bytes(p, key, at, head);
	if (i < head)
		return i;
	for (; len - i >= 8; i += 8) {
		memcpy(&w, p + i, 8);
		if (w != word_at(key, (at + i) / 8))
			break;
	}
	return i + check_bytes(p + i, key, at + i, len - i);
}

size_t
canary_check(const void *from, size_t len)
{
	const uint8_t *p = from;
	uint64_t want, w;
	size_t i = 0;

	memset(&want, PATTERN_CANARY, 8);
	for (; len - i >= 8; i += 8) {
		memcpy(&w, p + i, 8);
		if (w != want)
			break;
	}
	while (i < len && p[i] == PATTERN_CANARY)
		i++;
	return i;
}

static uint64_t
edge_size(uint64_t random, uint64_t low, uint64_t high)
{
	uint64_t step = 256u << (random & 7);		/* 256 .. 32768: every path MTU is among them */
	uint64_t multiples = high / step + 1;
	uint64_t v;

	/* half of them are few packets long, where first, middle, last and only ones meet */
	if (random >> 6 & 1 && multiples > 5)
		multiples = 5;
	v = (random >> 16) % multiples * step;

	switch (random >> 3 & 7) {
	case 0:
		return low;
	case 1:
		return high;
	case 2:
	case 3:
		return v ? v - 1 : 0;
	case 4:
	case 5:
		return v + 1;
	default:
		return v;
	}
}

struct plan
plan_message(uint64_t seed, uint64_t stream, uint64_t message, uint64_t low, uint64_t high)
{
	uint64_t r = pattern_key(~seed, stream, message);
	uint64_t s = pattern_mix(r + GAMMA);
	uint64_t size = low + s % (high - low + 1);
	struct plan p;

	if ((r & 3) == 0)
		size = edge_size(s, low, high);
	if (size < low || size > high)
		size = high;
	p.size = (uint32_t)size;
	p.source_shift = (uint32_t)(r >> 8 & 63);
	p.sink_shift = (uint32_t)(r >> 16 & 63);
	p.random = pattern_mix(s + GAMMA);
	return p;
}

void
plan_split(uint64_t random, uint32_t len, uint32_t n, uint32_t *piece)
{
	uint32_t left = len;

	for (uint32_t i = 0; i + 1 < n; i++) {
		random = pattern_mix(random + GAMMA);
		/* twice the even share, so that early pieces do not eat everything */
		uint32_t most = (uint32_t)(2ull * left / (n - i));

		piece[i] = (uint32_t)(random % ((uint64_t)most + 1));
		left -= piece[i];
	}
	piece[n - 1] = left;
}

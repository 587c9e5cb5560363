/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which number can nobody guess? Called by the control side when objects are made, on any thread.
 */
#include "base/random.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#define ROUNDS 6	/* four suffice against one who chooses inputs and sees outputs */

void
random_bytes(void *buf, size_t len)
{
	uint8_t *p = buf;

	while (len) {
		ssize_t n = getrandom(p, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			abort();	/* no kernel we run on; guessable keys are no way out */
		p += n;
		len -= (size_t)n;
	}
}

uint32_t
random_u32(void)
{
	uint32_t v;

	random_bytes(&v, sizeof(v));
	return v;
}

uint64_t
random_u64(void)
{
	uint64_t v;

	random_bytes(&v, sizeof(v));
	return v;
}

static uint64_t
rotl(uint64_t x, unsigned int n)
{
	return x << n | x >> (64 - n);
}

static void
sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[2] += v[3];
	v[1] = rotl(v[1], 13) ^ v[0];
	v[3] = rotl(v[3], 16) ^ v[2];
	v[0] = rotl(v[0], 32);
	v[2] += v[1];
	v[0] += v[3];
	v[1] = rotl(v[1], 17) ^ v[2];
	v[3] = rotl(v[3], 21) ^ v[0];
	v[2] = rotl(v[2], 32);
}

/* One block in, 2 + 4 rounds: a pseudo-random function of (round, half) under the key. */
static uint32_t
mix(const struct perm *p, unsigned int round, uint32_t half)
{
	uint64_t block = (uint64_t)round << 32 | half;
	uint64_t v[4] = {
		p->key[0] ^ UINT64_C(0x736f6d6570736575), p->key[1] ^ UINT64_C(0x646f72616e646f6d),
		p->key[0] ^ UINT64_C(0x6c7967656e657261), p->key[1] ^ UINT64_C(0x7465646279746573),
	};

	v[3] ^= block;
	sip_round(v);
	sip_round(v);
	v[0] ^= block;
	v[2] ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return (uint32_t)(v[0] ^ v[1] ^ v[2] ^ v[3]);
}

void
perm_init(struct perm *p, unsigned int bits)
{
	assert(bits >= 2 && bits <= 32);
	random_bytes(p->key, sizeof(p->key));
	p->bits = bits;
}

/*
 * The halves need not be of one size: even rounds change the low one by the high one, odd rounds
 * the high one by the low one. Each step undoes itself, so the inverse is the steps backwards.
 */
static void
step(const struct perm *p, unsigned int round, uint32_t *low, uint32_t *high)
{
	unsigned int low_bits = p->bits / 2, high_bits = p->bits - low_bits;

	if (round & 1)
		*high ^= mix(p, round, *low) & ((1u << high_bits) - 1);
	else
		*low ^= mix(p, round, *high) & ((1u << low_bits) - 1);
}

uint32_t
perm_apply(const struct perm *p, uint32_t x)
{
	unsigned int low_bits = p->bits / 2;
	uint32_t low = x & ((1u << low_bits) - 1), high = x >> low_bits;

	for (unsigned int round = 0; round < ROUNDS; round++)
		step(p, round, &low, &high);
	return high << low_bits | low;
}

uint32_t
perm_invert(const struct perm *p, uint32_t y)
{
	unsigned int low_bits = p->bits / 2;
	uint32_t low = y & ((1u << low_bits) - 1), high = y >> low_bits;

	for (unsigned int round = ROUNDS; round-- > 0; )
		step(p, round, &low, &high);
	return high << low_bits | low;
}

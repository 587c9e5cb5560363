/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of the frame with this number? Called for every received frame, by the impair driver
 * on the owning core and by simulations. Pure.
 *
 * The generator has a counter instead of a state: the seed and the kind make a stream's start, the
 * frame's number its place in it, and a mixing function the number there.
 */
#include "fate.h"

/* Streams. A place in this list is part of what a seed means: new ones at the end. */
enum stream {
	STREAM_DROP,
	STREAM_DUP,
	STREAM_REORDER,
	STREAM_DELAY,
	STREAM_CORRUPT,
	STREAM_BIT,
	STREAM_ECN,
};

/* 2^64 divided by the golden ratio: multiples of it are spread over all numbers. */
#define STRIDE UINT64_C(0x9e3779b97f4a7c15)

/* The finaliser of MurmurHash3, with Stafford's constants (variant 13): each bit of the input
 * changes each bit of the output with a chance of a half. */
static uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static uint64_t
draw(uint64_t seed, enum stream stream, uint64_t index)
{
	uint64_t start = mix(mix(seed + STRIDE) + STRIDE * (uint64_t)stream);

	return mix(start + STRIDE * (index + 1));
}

static bool
happens(const struct port_impair *conf, uint64_t chance, enum stream stream, uint64_t index)
{
	return chance && draw(conf->seed, stream, index) >> 32 < chance;
}

static uint64_t
delay_ns(const struct port_impair *conf, uint64_t index)
{
	uint64_t jitter = (uint64_t)conf->jitter_us * 1000, delay = (uint64_t)conf->delay_us * 1000;

	if (!jitter)
		return delay;
	return delay - jitter + draw(conf->seed, STREAM_DELAY, index) % (2 * jitter + 1);
}

struct fate
fate_draw(const struct port_impair *conf, uint64_t index)
{
	struct fate f = { .drop = happens(conf, conf->drop, STREAM_DROP, index) };

	if (f.drop)
		return f;
	f.dup = happens(conf, conf->dup, STREAM_DUP, index);
	f.reorder = happens(conf, conf->reorder, STREAM_REORDER, index);
	f.ecn = happens(conf, conf->ecn, STREAM_ECN, index);
	f.delay_ns = delay_ns(conf, index);
	f.corrupt = happens(conf, conf->corrupt, STREAM_CORRUPT, index);
	if (f.corrupt)
		f.bit = draw(conf->seed, STREAM_BIT, index);
	return f;
}

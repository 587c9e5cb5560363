/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a verified message, as a function of seed, stream, message number and offset: both
 * ends compute them, nothing needs to be sent beside the data. Pure.
 */
#ifndef PLX_PERF_PATTERN_H
#define PLX_PERF_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#define PATTERN_CANARY 0xc5		/* every byte of a sink that no message has filled */

/* 64 well mixed bits of x (a permutation). */
uint64_t pattern_mix(uint64_t x);

/* What one message of one stream starts from. */
uint64_t pattern_key(uint64_t seed, uint64_t stream, uint64_t message);

/* Writes bytes [at, at + len) of the pattern of `key` to `to`, at any alignment. */
void pattern_fill(void *to, uint64_t key, uint64_t at, size_t len);

/* The first index below len at which `from` differs from bytes [at, at + len), or len. */
size_t pattern_check(const void *from, uint64_t key, uint64_t at, size_t len);

/* The byte at offset `at`. */
uint8_t pattern_byte(uint64_t key, uint64_t at);

/* The first index below len at which a byte is not PATTERN_CANARY, or len. */
size_t canary_check(const void *from, size_t len);

/*
 * What message n of a stream looks like, in sizes low..high: a quarter of them stand on an edge
 * (the ends of the range, multiples of 256 and their neighbours), the rest is uniform.
 */
struct plan {
	uint32_t size;
	uint32_t source_shift;		/* 0..63: how far the buffer is off alignment */
	uint32_t sink_shift;
	uint64_t random;		/* 64 further bits */
};

struct plan plan_message(uint64_t seed, uint64_t stream, uint64_t message, uint64_t low,
			 uint64_t high);

/* Cuts `len` bytes into `n` pieces (some may be empty), chosen by `random`. Sum of piece[] is len. */
void plan_split(uint64_t random, uint32_t len, uint32_t n, uint32_t *piece);

#endif

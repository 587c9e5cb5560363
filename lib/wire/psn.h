/* SPDX-License-Identifier: BSD-3-Clause */
/* Packet sequence numbers: 24 bits, compared by signed difference (A19). */
#ifndef WIRE_PSN_H
#define WIRE_PSN_H

#include <stdbool.h>
#include <stdint.h>

#define PSN_MASK 0xffffffu

struct psn {
	uint32_t v;		/* always below 2^24 */
};

static inline struct psn
psn_make(uint32_t v)
{
	return (struct psn){ v & PSN_MASK };
}

static inline struct psn
psn_add(struct psn p, uint32_t n)
{
	return psn_make(p.v + n);
}

static inline struct psn
psn_sub(struct psn p, uint32_t n)
{
	return psn_make(p.v - n);
}

/* a - b in [-2^23, 2^23): positive when a is ahead of b. */
static inline int32_t
psn_diff(struct psn a, struct psn b)
{
	return (int32_t)((a.v - b.v) << 8) >> 8;
}

static inline bool
psn_eq(struct psn a, struct psn b)
{
	return a.v == b.v;
}

/* p lies in [from, from + n); n at most 2^23. */
static inline bool
psn_in(struct psn p, struct psn from, uint32_t n)
{
	return ((p.v - from.v) & PSN_MASK) < n;
}

#endif

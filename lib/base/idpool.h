/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers first .. first + count - 1 for objects that peers name by number. A number that was given
 * back rests before it is handed out again: a late packet for the old owner must not reach a new
 * one (FC31). Numbers never used go out first, in ascending order; then those given back, oldest first.
 * One thread. Whoever wants unguessable numbers puts a permutation on top (base/random.h).
 */
#ifndef BASE_IDPOOL_H
#define BASE_IDPOOL_H

#include <stdbool.h>
#include <stdint.h>

struct idpool {
	uint32_t first, count;
	uint32_t min_rest;	/* a number comes back when so many later ones rest too, */
	uint64_t min_ns;	/* and not before so long after it was given back */
	uint32_t fresh;		/* numbers below first + fresh have been out */
	uint32_t resting;	/* entries in the ring */
	uint32_t head;		/* the oldest of them */
	uint32_t *ring;		/* count entries */
	uint64_t *since;	/* when each entry of the ring was given back */
	uint64_t *out;		/* bitset of those handed out */
};

/* 0, -EINVAL for a count of 0 or min_rest not below it, -ENOMEM. Memory is touched as used. */
int idpool_init(struct idpool *p, uint32_t first, uint32_t count, uint32_t min_rest,
		uint64_t min_ns);
void idpool_fini(struct idpool *p);

/* 0 and *id, or -ENOSPC: all are out, or those that are not still rest. `now` in ns. */
int idpool_get(struct idpool *p, uint64_t now, uint32_t *id);

/* 0, or -EINVAL for a number that is not out. */
int idpool_put(struct idpool *p, uint64_t now, uint32_t id);

bool idpool_is_out(const struct idpool *p, uint32_t id);

#endif

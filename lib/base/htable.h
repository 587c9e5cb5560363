/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hash table from 64-bit keys to pointers: open addressing, linear probing, at most three quarters
 * full. One thread. Keys are hashed with a random seed: a peer that chooses keys cannot make them
 * collide.
 */
#ifndef BASE_HTABLE_H
#define BASE_HTABLE_H

#include <stddef.h>
#include <stdint.h>

struct htable_slot {
	uint64_t key;
	void *value;		/* NULL: empty */
};

struct htable {
	struct htable_slot *slots;
	size_t mask;		/* slots - 1, a power of two less one */
	size_t used;
	uint64_t seed;
};

/* Room for `expected` entries without growing; 0 for a small table. 0 or -ENOMEM. */
int htable_init(struct htable *t, size_t expected);

/* The values are the caller's. */
void htable_fini(struct htable *t);

/* The value, or NULL. */
void *htable_get(const struct htable *t, uint64_t key);

/* value is not NULL. 0, -EEXIST and nothing changed, or -ENOMEM (it grows as needed). */
int htable_put(struct htable *t, uint64_t key, void *value);

/* Removes the key; its value, or NULL when it was not there. */
void *htable_del(struct htable *t, uint64_t key);

/*
 * Walk: start with *at == 0; each call gives the next entry's value, NULL at the end. The table
 * must not change during a walk.
 */
void *htable_next(const struct htable *t, size_t *at, uint64_t *key);

#endif

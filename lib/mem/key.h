/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers by which memory is named, of regions and of windows; for this room alone. A key is 24 bits
 * of a keyed permutation of an index, which are its place, and 8 more: random for a region, the
 * consumer's for a window. Places are given and taken back by the control side (one thread at a time, its
 * own lock); cores look into them without a lock.
 */
#ifndef MEM_KEY_H
#define MEM_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

#define KEY_TAG_MASK 0xffu
/* Nothing else is named by a place for so long after its last owner went (threats.md 3.2 c), unless there
 * is no place that was never used. */
#define KEY_REST_MS 1024u

/* Places are looked up in leaves, which are there while a key of theirs is out: no inversion per packet, and
 * no more memory than keys are scattered over. */
#define KEY_BITS 24u
#define KEY_LEAF_BITS 6u
#define KEY_LEAF_SIZE (1u << KEY_LEAF_BITS)
#define KEY_LEAVES (1u << (KEY_BITS - KEY_LEAF_BITS))

struct mr;
struct key_rest;

struct key_leaf {
	struct mr *at[KEY_LEAF_SIZE];	/* atomic; by place */
	/* control thread only */
	uint32_t used;			/* places with something */
	uint32_t last;			/* of a leaf that is found no more: the key that went last */
	struct key_leaf *next;
};

struct mr_table {
	struct key_leaf *leaf[KEY_LEAVES];	/* atomic */
	/* control thread only */
	struct perm perm;
	uint32_t max, num;		/* of keys that are out */
	uint32_t fresh;			/* indices from here on were never used */
	struct key_rest *oldest, **newest;	/* places that rest */
	struct key_leaf *going;		/* a core may still look into them, until key_give(last) */
	uint64_t (*now_ms)(void);	/* a monotonic clock */
};

/* A place of its own: its key with a tag of 0, in *base, and the tag that its last key had, in *tag. 0 or
 * -ENOMEM. Nothing is found there yet. */
int key_take(struct mr_table *t, uint32_t *base, uint8_t *tag);
/* It rests from now on; all cores were quiet since nothing was published there. `owner`, of at least
 * KEY_REST_SIZE bytes from malloc(), is nobody's any more: where there is no other memory it serves for the
 * place while it rests. */
void key_give(struct mr_table *t, uint32_t key, void *owner);
#define KEY_REST_SIZE 24u

/* What is found at the key's place, from now on; NULL: nothing. Of a place that was taken. */
void key_publish(struct mr_table *t, uint32_t key, struct mr *mr);

/* Core. What is found at the key's place, whatever its tag, or NULL; there until the next quiet point. */
static inline struct mr *
key_at(const struct mr_table *t, uint32_t key)
{
	uint32_t place = key >> (32 - KEY_BITS);
	const struct key_leaf *leaf = __atomic_load_n(&t->leaf[place >> KEY_LEAF_BITS], __ATOMIC_ACQUIRE);

	return leaf ? __atomic_load_n(&leaf->at[place & (KEY_LEAF_SIZE - 1)], __ATOMIC_ACQUIRE) : NULL;
}

#endif

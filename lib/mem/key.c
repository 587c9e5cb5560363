/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which numbers is memory named by, and when may one be used again? Asked when regions and windows come
 * and go, by the control thread.
 */
#include "mem/key.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "mem/mr.h"

struct key_rest {
	struct key_rest *next;
	uint64_t until;		/* ms */
	uint32_t key;		/* its last one */
};
_Static_assert(sizeof(struct key_rest) <= KEY_REST_SIZE, "as key.h says");

static uint64_t
coarse_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

struct mr_table *
mr_table_new(uint32_t max)
{
	struct mr_table *t;

	if (!max || max > 1u << KEY_BITS)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->max = max;
	t->newest = &t->oldest;
	t->now_ms = coarse_ms;
	perm_init(&t->perm, KEY_BITS);
	return t;
}

static void
leaf_free(struct key_leaf *leaf)
{
	for (uint32_t i = 0; i < KEY_LEAF_SIZE; i++)
		free(leaf->at[i]);
	free(leaf);
}

void
mr_table_free(struct mr_table *t)
{
	struct key_leaf *leaf;
	struct key_rest *r;

	if (!t)
		return;
	while ((leaf = t->going)) {
		t->going = leaf->next;
		free(leaf);
	}
	while ((r = t->oldest)) {
		t->oldest = r->next;
		free(r);
	}
	for (uint32_t i = 0; i < KEY_LEAVES; i++)
		if (t->leaf[i])
			leaf_free(t->leaf[i]);
	free(t);
}

static struct key_leaf **
leaf_of(struct mr_table *t, uint32_t key)
{
	return &t->leaf[key >> (32 - KEY_BITS + KEY_LEAF_BITS)];
}

static int
leaf_make(struct mr_table *t, uint32_t key)
{
	struct key_leaf **at = leaf_of(t, key), *leaf;

	if (*at)
		return 0;
	leaf = calloc(1, sizeof(*leaf));
	if (!leaf)
		return -ENOMEM;
	__atomic_store_n(at, leaf, __ATOMIC_RELEASE);
	return 0;
}

/* Nothing is found in it any more; a core may be looking. */
static void
leaf_put_aside(struct mr_table *t, uint32_t key)
{
	struct key_leaf **at = leaf_of(t, key), *leaf = *at;

	__atomic_store_n(at, NULL, __ATOMIC_RELEASE);
	leaf->last = key;
	leaf->next = t->going;
	t->going = leaf;
}

/* None is looking any more. */
static void
leaf_drop(struct mr_table *t, uint32_t key)
{
	struct key_leaf **at = &t->going, *leaf;

	while ((leaf = *at) && (leaf->last ^ key) & ~KEY_TAG_MASK)
		at = &leaf->next;
	if (!leaf)
		return;
	*at = leaf->next;
	free(leaf);
}

static int
take_rested(struct mr_table *t, uint32_t *base, uint8_t *tag)
{
	struct key_rest *r = t->oldest;

	if (leaf_make(t, r->key))
		return -ENOMEM;
	t->oldest = r->next;
	if (!t->oldest)
		t->newest = &t->oldest;
	*base = r->key & ~KEY_TAG_MASK;
	*tag = (uint8_t)r->key;
	free(r);
	return 0;
}

static int
take_fresh(struct mr_table *t, uint32_t *base, uint8_t *tag)
{
	*base = perm_apply(&t->perm, t->fresh) << (32 - KEY_BITS);
	*tag = 0;
	if (leaf_make(t, *base))
		return -ENOMEM;
	t->fresh++;
	return 0;
}

int
key_take(struct mr_table *t, uint32_t *base, uint8_t *tag)
{
	bool all_used = t->fresh == 1u << KEY_BITS;
	int rc = 0;

	if (t->num == t->max)
		return -ENOMEM;
	if (t->oldest && (all_used || t->oldest->until <= t->now_ms()))
		rc = take_rested(t, base, tag);
	else
		rc = take_fresh(t, base, tag);
	if (rc == 0)
		t->num++;
	return rc;
}

void
key_give(struct mr_table *t, uint32_t key, void *owner)
{
	struct key_rest *r = malloc(sizeof(*r));

	if (r)
		free(owner);
	else
		r = owner;
	leaf_drop(t, key);
	*r = (struct key_rest){ .key = key, .until = t->now_ms() + KEY_REST_MS };
	*t->newest = r;
	t->newest = &r->next;
	t->num--;
}

void
key_publish(struct mr_table *t, uint32_t key, struct mr *mr)
{
	uint32_t place = key >> (32 - KEY_BITS);
	struct key_leaf *leaf = *leaf_of(t, key);
	struct mr **at = &leaf->at[place & (KEY_LEAF_SIZE - 1)];

	leaf->used += (mr != NULL) - (*at != NULL);
	__atomic_store_n(at, mr, __ATOMIC_RELEASE);
	if (!leaf->used)
		leaf_put_aside(t, key);
}

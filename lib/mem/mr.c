/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which region does a key name, and may this access touch it? Regions are added and removed by the
 * control thread; look-ups are a core's, without a lock.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/random.h"
#include "mem/mr.h"

#define KEY_BITS 24u
#define KEY_SPAN (1u << KEY_BITS)
#define TAG_MASK 0xffu
/* Keys are looked up by their permuted 24 bits in leaves made when needed: no inversion per packet,
 * and no more memory than regions are scattered over. */
#define LEAF_BITS 6u
#define LEAF_SIZE (1u << LEAF_BITS)
#define NUM_LEAVES (KEY_SPAN >> LEAF_BITS)
/* Indices that rest before they are used again, as long as fresh ones are to be had. */
#define QUARANTINE 1024u

struct mr_table {
	struct perm perm;
	uint32_t max;
	struct mr ***leaf;	/* NUM_LEAVES of LEAF_SIZE regions, by key >> 8 */
	/* control thread only */
	struct mr **by_index;
	uint8_t *tag;		/* low 8 bits of the key that an index had last */
	uint32_t fresh;		/* indices from here on were never used */
	uint32_t *freed;	/* ring of `max` indices, oldest first */
	uint32_t freed_head, freed_count;
};

struct mr_table *
mr_table_new(uint32_t max)
{
	struct mr_table *t;

	if (!max || max > KEY_SPAN)
		return NULL;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->max = max;
	t->leaf = calloc(NUM_LEAVES, sizeof(struct mr **));
	t->by_index = calloc(max, sizeof(struct mr *));
	t->tag = calloc(max, 1);
	t->freed = calloc(max, sizeof(*t->freed));
	if (!t->leaf || !t->by_index || !t->tag || !t->freed) {
		mr_table_free(t);
		return NULL;
	}
	perm_init(&t->perm, KEY_BITS);
	return t;
}

void
mr_table_free(struct mr_table *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->fresh; i++)
		free(t->by_index[i]);
	for (uint32_t i = 0; t->leaf && i < NUM_LEAVES; i++)
		free(t->leaf[i]);
	free(t->freed);
	free(t->tag);
	free(t->by_index);
	free(t->leaf);
	free(t);
}

static int
index_take(struct mr_table *t, uint32_t *index)
{
	bool rested = t->freed_count > QUARANTINE;

	if (!rested && t->fresh < t->max) {
		*index = t->fresh++;
		return 0;
	}
	if (!t->freed_count)
		return -ENOMEM;
	*index = t->freed[t->freed_head];
	t->freed_head = (t->freed_head + 1) % t->max;
	t->freed_count--;
	return 0;
}

static void
index_give(struct mr_table *t, uint32_t index)
{
	t->freed[(t->freed_head + t->freed_count) % t->max] = index;
	t->freed_count++;
}

/* The tag differs from the last one of this index: an old key never fits the successor (FC28). */
static uint32_t
key_make(struct mr_table *t, uint32_t index)
{
	uint8_t tag = (uint8_t)(t->tag[index] + 1 + random_u32() % TAG_MASK);

	t->tag[index] = tag;
	return perm_apply(&t->perm, index) << 8 | tag;
}

static bool
desc_ok(const struct mr *d)
{
	if (d->outside != MEM_OK && d->outside != MEM_BAD_RANGE)
		return !d->length;
	return d->length && d->length - 1 <= UINT64_MAX - d->iova &&
	       d->length - 1 <= UINTPTR_MAX - (uintptr_t)d->base;
}

/* Where the region of a key stands; NULL when its leaf does not exist. */
static struct mr **
place_of(const struct mr_table *t, uint32_t key)
{
	uint32_t at = key >> (32 - KEY_BITS);
	struct mr **leaf = __atomic_load_n(&t->leaf[at >> LEAF_BITS], __ATOMIC_ACQUIRE);

	return leaf ? &leaf[at & (LEAF_SIZE - 1)] : NULL;
}

static struct mr **
place_make(struct mr_table *t, uint32_t key)
{
	uint32_t at = key >> (32 - KEY_BITS);
	struct mr **leaf;

	if (!t->leaf[at >> LEAF_BITS]) {
		leaf = calloc(LEAF_SIZE, sizeof(struct mr *));
		if (!leaf)
			return NULL;
		__atomic_store_n(&t->leaf[at >> LEAF_BITS], leaf, __ATOMIC_RELEASE);
	}
	return place_of(t, key);
}

/* 0, -EINVAL, -ENOMEM. Without index and key yet. */
static int
mr_make(const struct mr *desc, struct mr **out)
{
	struct mr *mr;

	if (!desc_ok(desc))
		return -EINVAL;
	mr = malloc(sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	*mr = *desc;
	if (mr->outside == MEM_OK)
		mr->outside = MEM_BAD_RANGE;
	*out = mr;
	return 0;
}

int
mr_add(struct mr_table *t, const struct mr *desc, struct mr **out)
{
	struct mr **place, *mr;
	int rc = mr_make(desc, &mr);

	if (rc < 0)
		return rc;
	if (index_take(t, &mr->index))
		goto free_mr;
	mr->key = key_make(t, mr->index);
	place = place_make(t, mr->key);
	if (!place)
		goto give_index;
	t->by_index[mr->index] = mr;
	__atomic_store_n(place, mr, __ATOMIC_RELEASE);
	*out = mr;
	return 0;

give_index:
	index_give(t, mr->index);
free_mr:
	free(mr);
	return -ENOMEM;
}

int
mr_replace(struct mr_table *t, struct mr *mr, const struct mr *desc, bool new_key, struct mr **out)
{
	struct mr *next;
	int rc = mr_make(desc, &next);

	if (rc < 0)
		return rc;
	next->index = mr->index;
	next->key = new_key ? key_make(t, mr->index) : mr->key;
	t->by_index[mr->index] = next;
	/* another tag, the same place: the old key ends where the new one begins */
	__atomic_store_n(place_of(t, next->key), next, __ATOMIC_RELEASE);
	*out = next;
	return 0;
}

void
mr_discard(struct mr *mr)
{
	free(mr);
}

struct mr *
mr_by_index(const struct mr_table *t, uint32_t index)
{
	return index < t->max ? t->by_index[index] : NULL;
}

void
mr_unpublish(struct mr_table *t, struct mr *mr)
{
	t->by_index[mr->index] = NULL;
	__atomic_store_n(place_of(t, mr->key), NULL, __ATOMIC_RELEASE);
}

void
mr_release(struct mr_table *t, struct mr *mr)
{
	index_give(t, mr->index);
	free(mr);
}

const struct mr *
mr_find(const struct mr_table *t, uint32_t key)
{
	struct mr **place = place_of(t, key);
	const struct mr *mr = place ? __atomic_load_n(place, __ATOMIC_ACQUIRE) : NULL;

	return mr && mr->key == key ? mr : NULL;
}

static inline enum mem_result
check_rights(const struct mr *mr, uint32_t pd, uint32_t need)
{
	if (!mr)
		return MEM_BAD_KEY;
	if (mr->pd != pd)
		return MEM_BAD_PD;
	return (mr->access & need) == need ? MEM_OK : MEM_BAD_ACCESS;
}

enum mem_result
mr_check(const struct mr_table *t, uint32_t key, uint32_t pd, uint32_t need, uint64_t va,
	 uint64_t len, uint8_t **ptr)
{
	const struct mr *mr = mr_find(t, key);
	enum mem_result res = check_rights(mr, pd, need);

	if (res != MEM_OK)
		return res;
	if (len > mr->length || va < mr->iova || va - mr->iova > mr->length - len)
		return mr->outside;
	*ptr = mr->base + (va - mr->iova);
	return MEM_OK;
}

enum mem_result
mr_check_whole(const struct mr_table *t, uint32_t key, uint32_t pd, uint32_t need)
{
	return check_rights(mr_find(t, key), pd, need);
}

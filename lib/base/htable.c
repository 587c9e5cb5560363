/* SPDX-License-Identifier: BSD-3-Clause */
/* Which object has this number or address? One thread for each table, control side or core. */
#include "base/htable.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/random.h"

#define SLOTS_MIN 16u

static size_t
home_of(const struct htable *t, uint64_t key)
{
	uint64_t h = (key ^ t->seed) * UINT64_C(0x9e3779b97f4a7c15);

	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	return (size_t)(h ^ h >> 32) & t->mask;
}

static size_t
slots_for(size_t entries)
{
	size_t slots = SLOTS_MIN;

	while (slots - slots / 4 < entries)
		slots *= 2;
	return slots;
}

static int
alloc_slots(struct htable *t, size_t slots)
{
	t->slots = calloc(slots, sizeof(*t->slots));
	if (!t->slots)
		return -ENOMEM;
	t->mask = slots - 1;
	t->used = 0;
	return 0;
}

int
htable_init(struct htable *t, size_t expected)
{
	t->seed = random_u64();
	return alloc_slots(t, slots_for(expected));
}

void
htable_fini(struct htable *t)
{
	free(t->slots);
	t->slots = NULL;
	t->used = 0;
}

/* The key's slot, or the empty one where its chain ends; there always is one. */
static struct htable_slot *
find(const struct htable *t, uint64_t key)
{
	size_t i = home_of(t, key);

	while (t->slots[i].value && t->slots[i].key != key)
		i = (i + 1) & t->mask;
	return &t->slots[i];
}

void *
htable_get(const struct htable *t, uint64_t key)
{
	return find(t, key)->value;
}

static int
grow(struct htable *t)
{
	struct htable old = *t;
	int rc = alloc_slots(t, (old.mask + 1) * 2);

	if (rc) {
		*t = old;
		return rc;
	}
	for (size_t i = 0; i <= old.mask; i++)
		if (old.slots[i].value)
			*find(t, old.slots[i].key) = old.slots[i];
	t->used = old.used;
	free(old.slots);
	return 0;
}

int
htable_put(struct htable *t, uint64_t key, void *value)
{
	size_t slots = t->mask + 1;
	struct htable_slot *s = find(t, key);

	assert(value);
	if (s->value)
		return -EEXIST;
	if (t->used + 1 > slots - slots / 4) {
		int rc = grow(t);

		if (rc)
			return rc;
		s = find(t, key);
	}
	*s = (struct htable_slot){ .key = key, .value = value };
	t->used++;
	return 0;
}

/*
 * The chain behind a removed slot moves up, so that no tombstones gather: an entry may fill the
 * hole when its home is not between the hole and its place.
 */
static void
close_hole(struct htable *t, size_t hole)
{
	for (size_t i = (hole + 1) & t->mask; t->slots[i].value; i = (i + 1) & t->mask) {
		size_t home = home_of(t, t->slots[i].key);

		if (((i - home) & t->mask) >= ((i - hole) & t->mask)) {
			t->slots[hole] = t->slots[i];
			hole = i;
		}
	}
	t->slots[hole].value = NULL;
}

void *
htable_del(struct htable *t, uint64_t key)
{
	struct htable_slot *s = find(t, key);
	void *value = s->value;

	if (value) {
		close_hole(t, (size_t)(s - t->slots));
		t->used--;
	}
	return value;
}

void *
htable_next(const struct htable *t, size_t *at, uint64_t *key)
{
	while (*at <= t->mask) {
		const struct htable_slot *s = &t->slots[(*at)++];

		if (s->value) {
			*key = s->key;
			return s->value;
		}
	}
	return NULL;
}

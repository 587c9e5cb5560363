/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which object is this handle? Control threads, under the stack's lock; cores look up without it.
 * Pages are made as they are needed and stay, so that a reader never sees memory go away.
 */
#include "serve/table.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct table_slot *
slot_of(const struct table *t, uint32_t handle)
{
	struct table_slot *page;

	if (handle / TABLE_PAGE >= TABLE_PAGES)
		return NULL;
	page = __atomic_load_n(&t->page[handle / TABLE_PAGE], __ATOMIC_ACQUIRE);
	return page ? &page[handle % TABLE_PAGE] : NULL;
}

void
table_init(struct table *t, uint32_t max)
{
	const uint32_t room = TABLE_PAGE * TABLE_PAGES;

	memset(t, 0, sizeof(*t));
	t->max = max < room ? max : room;
}

void
table_fini(struct table *t)
{
	for (uint32_t i = 0; i < TABLE_PAGES; i++)
		free(t->page[i]);
	memset(t, 0, sizeof(*t));
}

/* A handle that was never out; its slot, or NULL without memory. */
static struct table_slot *
fresh(struct table *t, uint32_t *handle)
{
	struct table_slot **page = &t->page[t->fresh / TABLE_PAGE];

	if (!*page) {
		struct table_slot *made = calloc(TABLE_PAGE, sizeof(*made));

		if (!made)
			return NULL;
		__atomic_store_n(page, made, __ATOMIC_RELEASE);
	}
	*handle = t->fresh++;
	return slot_of(t, *handle);
}

static struct table_slot *
reused(struct table *t, uint32_t *handle)
{
	struct table_slot *s;

	*handle = t->first_free - 1;
	s = slot_of(t, *handle);
	t->first_free = s->next_free;
	return s;
}

int
table_add(struct table *t, void *obj, uint32_t *handle, uint32_t *gen)
{
	struct table_slot *s;

	if (t->num == t->max)
		return -ENOMEM;
	s = t->first_free ? reused(t, handle) : fresh(t, handle);
	if (!s)
		return -ENOMEM;
	t->num++;
	s->gen++;
	if (gen)
		*gen = s->gen;
	__atomic_store_n(&s->obj, obj, __ATOMIC_RELEASE);
	return 0;
}

void
table_del(struct table *t, uint32_t handle)
{
	struct table_slot *s = slot_of(t, handle);

	if (!s || !s->obj)
		return;
	__atomic_store_n(&s->obj, NULL, __ATOMIC_RELEASE);
	s->next_free = t->first_free;
	t->first_free = handle + 1;
	t->num--;
}

void *
table_get(const struct table *t, uint32_t handle)
{
	const struct table_slot *s = slot_of(t, handle);

	return s ? __atomic_load_n(&s->obj, __ATOMIC_ACQUIRE) : NULL;
}

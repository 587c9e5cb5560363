/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which region does a key name, and may this access touch it? Regions are added and removed by the
 * control thread; look-ups are a core's, without a lock.
 */
#include "mem/mr.h"

#include <errno.h>
#include <stdlib.h>

#include "mem/key.h"

_Static_assert(sizeof(struct mr) >= KEY_REST_SIZE, "its memory serves for its place");

static bool
desc_ok(const struct mr *d)
{
	if (!d->length)
		return d->outside == MEM_NOWHERE || d->outside == MEM_BAD_RANGE;
	if (d->outside == MEM_NOWHERE)
		return false;
	return d->length - 1 <= UINT64_MAX - d->iova &&
	       d->length - 1 <= UINTPTR_MAX - (uintptr_t)d->base;
}

/* The tag differs from the last one of this place: an old key never fits the successor (FC28). */
static uint32_t
with_tag(uint32_t base, uint8_t last)
{
	return base | ((last + 1 + random_u32() % KEY_TAG_MASK) & KEY_TAG_MASK);
}

/* 0, -EINVAL, -ENOMEM. Without a key yet. */
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
	mr->direct = mr->outside == MEM_ASK ? 0 : mr->length;
	mr->windows = 0;
	*out = mr;
	return 0;
}

int
mr_add(struct mr_table *t, const struct mr *desc, struct mr **out)
{
	uint32_t base;
	struct mr *mr;
	uint8_t last;
	int rc = mr_make(desc, &mr);

	if (rc < 0)
		return rc;
	if (key_take(t, &base, &last)) {
		free(mr);
		return -ENOMEM;
	}
	mr->key = with_tag(base, last);
	key_publish(t, mr->key, mr);
	*out = mr;
	return 0;
}

int
mr_replace(struct mr_table *t, struct mr *mr, const struct mr *desc, bool new_key, struct mr **out)
{
	struct mr *next;
	int rc = mr_make(desc, &next);

	if (rc == 0 && mr_close(mr)) {
		free(next);
		rc = -EBUSY;
	}
	if (rc < 0)
		return rc;
	next->key = new_key ? with_tag(mr->key & ~KEY_TAG_MASK, (uint8_t)mr->key) : mr->key;
	/* another tag, the same place: the old key ends where the new one begins */
	key_publish(t, next->key, next);
	*out = next;
	return 0;
}

void
mr_discard(struct mr *mr)
{
	free(mr);
}

int
mr_close(struct mr *mr)
{
	uint32_t none = 0;

	return __atomic_compare_exchange_n(&mr->windows, &none, MR_CLOSED, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED) ? 0 : -EBUSY;
}

void
mr_open(struct mr *mr)
{
	__atomic_store_n(&mr->windows, 0, __ATOMIC_RELEASE);
}

void
mr_unpublish(struct mr_table *t, struct mr *mr)
{
	key_publish(t, mr->key, NULL);
}

void
mr_release(struct mr_table *t, struct mr *mr)
{
	key_give(t, mr->key, mr);
}

struct mr *
mr_find(const struct mr_table *t, uint32_t key)
{
	struct mr *mr = key_at(t, key);

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

/* What no pointer leads to. Regions that lead there pay for it, the others do not come here. */
static __attribute__((noinline, cold)) enum mem_result
indirect(const struct mr *mr, uint64_t va, uint64_t len, uint8_t **ptr)
{
	if (mr->outside != MEM_ASK)
		return mr->outside;
	if (len > mr->length || va < mr->iova || va - mr->iova > mr->length - len)
		return MEM_BAD_RANGE;
	*ptr = (uint8_t *)((uintptr_t)mr->base + (va - mr->iova));	/* all memory: from NULL */
	return MEM_ASK;
}

enum mem_result
mr_check(const struct mr_table *t, uint32_t key, uint32_t pd, uint32_t need, uint64_t va,
	 uint64_t len, uint8_t **ptr)
{
	const struct mr *mr = mr_find(t, key);
	enum mem_result res = check_rights(mr, pd, need);

	if (res != MEM_OK)
		return res;
	if (len > mr->direct || va < mr->iova || va - mr->iova > mr->direct - len)
		return indirect(mr, va, len, ptr);
	*ptr = mr->base + (va - mr->iova);
	return MEM_OK;
}

enum mem_result
mr_check_whole(const struct mr_table *t, uint32_t key, uint32_t pd, uint32_t need)
{
	return check_rights(mr_find(t, key), pd, need);
}

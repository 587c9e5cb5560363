/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of lib/mem/mr.c: keys, their end, and the edges of the range test. */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "mem/mr.h"

static uint8_t memory[4096];

static struct mr
desc(uint64_t iova, uint64_t length)
{
	return (struct mr){
		.pd = 7,
		.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE,
		.iova = iova,
		.length = length,
		.base = memory,
	};
}

static void
mr_check__range_edges(void)
{
	struct mr_table *t = mr_table_new(8);
	struct mr d = desc(0x1000, 4096), *mr;
	uint8_t *p = NULL;

	CHECK_EQ(mr_add(t, &d, &mr), 0);
#define CHK(va, len) mr_check(t, mr->key, 7, MEM_REMOTE_WRITE, va, len, &p)
	CHECK_EQ(CHK(0x1000, 4096), MEM_OK);
	CHECK(p == memory);
	CHECK_EQ(CHK(0x1fff, 1), MEM_OK);
	CHECK(p == memory + 4095);
	CHECK_EQ(CHK(0x1fff, 2), MEM_BAD_RANGE);
	CHECK_EQ(CHK(0x0fff, 1), MEM_BAD_RANGE);
	CHECK_EQ(CHK(0x0fff, 2), MEM_BAD_RANGE);
	CHECK_EQ(CHK(0x1000, 4097), MEM_BAD_RANGE);
	CHECK_EQ(CHK(0x2000, 0), MEM_OK);
	CHECK_EQ(CHK(0x2001, 0), MEM_BAD_RANGE);
	CHECK_EQ(CHK(UINT64_MAX, 2), MEM_BAD_RANGE);
	CHECK_EQ(CHK(0x1001, UINT64_MAX), MEM_BAD_RANGE);
	CHECK_EQ(CHK(0x1800, UINT64_MAX - 0x17ff), MEM_BAD_RANGE);
	CHECK_EQ(CHK(0, 1), MEM_BAD_RANGE);
#undef CHK
	mr_table_free(t);
}

static void
mr_check__range_at_the_top_of_the_address_space(void)
{
	struct mr_table *t = mr_table_new(8);
	struct mr d = desc(UINT64_MAX - 4095, 4096), *mr;
	uint8_t *p;

	CHECK_EQ(mr_add(t, &d, &mr), 0);
	CHECK_EQ(mr_check(t, mr->key, 7, 0, UINT64_MAX, 1, &p), MEM_OK);
	CHECK(p == memory + 4095);
	CHECK_EQ(mr_check(t, mr->key, 7, 0, UINT64_MAX, 2, &p), MEM_BAD_RANGE);
	d.iova++;
	CHECK_EQ(mr_add(t, &d, &mr), -EINVAL);
	d = desc(0x1000, 0);
	CHECK_EQ(mr_add(t, &d, &mr), -EINVAL);
	mr_table_free(t);
}

static void
mr_check__rights_and_domain(void)
{
	struct mr_table *t = mr_table_new(8);
	struct mr d = desc(0, 4096), *mr;
	uint8_t *p;

	CHECK_EQ(mr_add(t, &d, &mr), 0);
	CHECK_EQ(mr_check(t, mr->key, 8, MEM_REMOTE_WRITE, 0, 1, &p), MEM_BAD_PD);
	CHECK_EQ(mr_check(t, mr->key, 7, MEM_REMOTE_READ, 0, 1, &p), MEM_BAD_ACCESS);
	CHECK_EQ(mr_check(t, mr->key, 7, MEM_REMOTE_READ | MEM_REMOTE_WRITE, 0, 1, &p), MEM_BAD_ACCESS);
	CHECK_EQ(mr_check(t, mr->key, 7, 0, 0, 1, &p), MEM_OK);
	for (uint32_t bit = 0; bit < 32; bit++)
		CHECK_EQ(mr_check(t, mr->key ^ (1u << bit), 7, 0, 0, 1, &p), MEM_BAD_KEY);
	mr_table_free(t);
}

static void
mr_unpublish__old_keys_stay_dead(void)
{
	struct mr_table *t = mr_table_new(4);
	struct mr d = desc(0, 64), *mr;
	uint32_t old[200];
	uint8_t *p;

	for (uint32_t i = 0; i < 200; i++) {
		CHECK_EQ(mr_add(t, &d, &mr), 0);
		old[i] = mr->key;
		CHECK(mr_find(t, mr->key) == mr);
		if (i)
			CHECK(mr->key != old[i - 1]);
		mr_unpublish(t, mr);
		CHECK(mr_find(t, old[i]) == NULL);
		CHECK_EQ(mr_check(t, old[i], 7, 0, 0, 1, &p), MEM_BAD_KEY);
		mr_release(t, mr);
	}
	mr_table_free(t);
}

static int
key_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static void
mr_add__keys_are_distinct_until_full(void)
{
	enum { MAX = 3000 };
	static uint32_t keys[MAX];
	struct mr_table *t = mr_table_new(MAX);
	struct mr d = desc(0, 64), *mr = NULL;

	for (uint32_t i = 0; i < MAX; i++) {
		CHECK_EQ(mr_add(t, &d, &mr), 0);
		keys[i] = mr->key;
	}
	CHECK_EQ(mr_add(t, &d, &mr), -ENOMEM);
	for (uint32_t i = 0; i < MAX; i++)
		CHECK(mr_find(t, keys[i]) && mr_find(t, keys[i])->key == keys[i]);
	mr = mr_find(t, keys[17]);
	mr_unpublish(t, mr);
	mr_release(t, mr);
	CHECK_EQ(mr_add(t, &d, &mr), 0);
	qsort(keys, MAX, sizeof(keys[0]), key_cmp);
	for (uint32_t i = 1; i < MAX; i++)
		CHECK(keys[i] != keys[i - 1]);
	mr_table_free(t);
}

static void
mr_replace__the_old_or_the_new_at_one_place(void)
{
	struct mr_table *t = mr_table_new(4);
	struct mr d = desc(0x1000, 4096), *old, *mr;
	uint32_t key;
	uint8_t *p = NULL;

	CHECK_EQ(mr_add(t, &d, &old), 0);
	key = old->key;
	d.pd = 8;
	d.access = MEM_REMOTE_READ;
	CHECK_EQ(mr_replace(t, old, &d, false, &mr), 0);
	CHECK(mr->key == key);
	CHECK_EQ(old->pd, 7);	/* a core may be reading it */
	mr_discard(old);
	CHECK_EQ(mr_check(t, key, 7, 0, 0x1000, 1, &p), MEM_BAD_PD);
	CHECK_EQ(mr_check(t, key, 8, MEM_LOCAL_WRITE, 0x1000, 1, &p), MEM_BAD_ACCESS);
	CHECK_EQ(mr_check(t, key, 8, MEM_REMOTE_READ, 0x1000, 1, &p), MEM_OK);
	old = mr;
	d = desc(0x5000, 64);
	d.base = memory + 64;
	CHECK_EQ(mr_replace(t, old, &d, true, &mr), 0);
	mr_discard(old);
	CHECK(mr->key != key && mr->key >> 8 == key >> 8);
	CHECK_EQ(mr_check(t, key, 7, 0, 0x5000, 1, &p), MEM_BAD_KEY);
	CHECK_EQ(mr_check(t, mr->key, 7, 0, 0x5000, 64, &p), MEM_OK);
	CHECK(p == memory + 64);
	mr_table_free(t);
}

static void
mr_replace__failure_changes_nothing(void)
{
	struct mr_table *t = mr_table_new(4);
	struct mr d = desc(0x1000, 4096), *mr, *other = NULL;
	uint8_t *p;

	CHECK_EQ(mr_add(t, &d, &mr), 0);
	d.length = 0;
	CHECK_EQ(mr_replace(t, mr, &d, true, &other), -EINVAL);
	CHECK(!other && mr_find(t, mr->key) == mr);
	CHECK_EQ(mr_check(t, mr->key, 7, 0, 0x1fff, 1, &p), MEM_OK);
	mr_table_free(t);
}

/* A region of nothing: at any address, and never a peer's. */
static void
mr_check__region_of_nothing(void)
{
	static const uint64_t va[] = { 0, 1, 0x1000, UINT64_MAX };
	struct mr_table *t = mr_table_new(8);
	struct mr d = { .pd = 7, .access = MEM_LOCAL_WRITE, .outside = MEM_NOWHERE }, *mr;
	uint8_t *p = memory;

	CHECK_EQ(mr_add(t, &d, &mr), 0);
	for (size_t i = 0; i < 4; i++) {
		CHECK_EQ(mr_check(t, mr->key, 7, MEM_LOCAL_WRITE, va[i], 1, &p), MEM_NOWHERE);
		CHECK_EQ(mr_check(t, mr->key, 7, 0, va[i], UINT32_MAX, &p), MEM_NOWHERE);
		CHECK_EQ(mr_check(t, mr->key, 7, MEM_REMOTE_READ, va[i], 1, &p), MEM_BAD_ACCESS);
		CHECK_EQ(mr_check(t, mr->key, 8, 0, va[i], 1, &p), MEM_BAD_PD);
	}
	CHECK(p == memory);
	d.length = 1;
	CHECK_EQ(mr_add(t, &d, &mr), -EINVAL);
	mr_table_free(t);
}

/* A region that no pointer is followed to: its own bytes, and none besides; or all that have an address. */
static void
mr_check__on_demand(void)
{
	struct mr_table *t = mr_table_new(8);
	struct mr d = desc(0x10000, 4096), *mr, *all;
	uint8_t *p = NULL;

	d.access = MEM_LOCAL_WRITE | MEM_REMOTE_WRITE;
	d.outside = MEM_ASK;
	CHECK_EQ(mr_add(t, &d, &mr), 0);
	CHECK_EQ(mr_check(t, mr->key, 7, MEM_REMOTE_WRITE, 0x10000, 4096, &p), MEM_ASK);
	CHECK(p == d.base);
	CHECK_EQ(mr_check(t, mr->key, 7, 0, 0x10fff, 1, &p), MEM_ASK);
	CHECK(p == d.base + 4095);
	CHECK_EQ(mr_check(t, mr->key, 7, 0, 0x10fff, 2, &p), MEM_BAD_RANGE);
	CHECK_EQ(mr_check(t, mr->key, 7, 0, 0xffff, 1, &p), MEM_BAD_RANGE);
	CHECK_EQ(mr_check(t, mr->key, 7, 0, UINT64_MAX, UINT64_MAX, &p), MEM_BAD_RANGE);
	CHECK_EQ(mr_check(t, mr->key, 7, MEM_REMOTE_READ, 0x10000, 1, &p), MEM_BAD_ACCESS);
	CHECK_EQ(mr_check(t, mr->key, 8, 0, 0x10000, 1, &p), MEM_BAD_PD);
	CHECK(p == d.base + 4095);
	d = (struct mr){ .pd = 7, .outside = MEM_ASK };
	CHECK_EQ(mr_add(t, &d, &all), -EINVAL);
	d.length = UINT64_MAX;
	CHECK_EQ(mr_add(t, &d, &all), 0);
	CHECK_EQ(mr_check(t, all->key, 7, 0, 77, UINT32_MAX, &p), MEM_ASK);
	CHECK_EQ((uintptr_t)p, 77);
	CHECK_EQ(mr_check(t, all->key, 7, 0, UINT64_MAX - 1, 1, &p), MEM_ASK);
	CHECK_EQ(mr_check(t, all->key, 7, 0, UINT64_MAX, 1, &p), MEM_BAD_RANGE);
	mr_table_free(t);
}

/* Rights and domain, and no range: for what is asked of all that a key names. */
static void
mr_check_whole__rights_and_domain(void)
{
	struct mr_table *t = mr_table_new(4);
	struct mr d = desc(0x1000, 4096), *mr;

	d.access = MEM_FLUSH_GLOBAL | MEM_REMOTE_READ;
	CHECK_EQ(mr_add(t, &d, &mr), 0);
	CHECK_EQ(mr_check_whole(t, mr->key, 7, MEM_FLUSH_GLOBAL), MEM_OK);
	CHECK_EQ(mr_check_whole(t, mr->key, 7, MEM_FLUSH_GLOBAL | MEM_FLUSH_PERSISTENT), MEM_BAD_ACCESS);
	CHECK_EQ(mr_check_whole(t, mr->key, 8, MEM_FLUSH_GLOBAL), MEM_BAD_PD);
	CHECK_EQ(mr_check_whole(t, mr->key ^ 1, 7, MEM_FLUSH_GLOBAL), MEM_BAD_KEY);
	mr_table_free(t);
}

/* Nothing can be reached by it, but what has no bytes. */
static void
mr_check__region_of_no_bytes(void)
{
	struct mr_table *t = mr_table_new(8);
	struct mr d = desc(0, 0), *mr;
	uint8_t *p;

	d.outside = MEM_BAD_RANGE;
	CHECK_EQ(mr_add(t, &d, &mr), 0);
	CHECK_EQ(mr_check(t, mr->key, 7, 0, 0, 0, &p), MEM_OK);
	CHECK_EQ(mr_check(t, mr->key, 7, 0, 0, 1, &p), MEM_BAD_RANGE);
	CHECK_EQ(mr_check(t, mr->key, 7, 0, 1, 0, &p), MEM_BAD_RANGE);
	mr_table_free(t);
}

static const struct check_case cases[] = {
	CHECK_CASE(mr_check__range_edges),
	CHECK_CASE(mr_check__range_at_the_top_of_the_address_space),
	CHECK_CASE(mr_check__rights_and_domain),
	CHECK_CASE(mr_unpublish__old_keys_stay_dead),
	CHECK_CASE(mr_add__keys_are_distinct_until_full),
	CHECK_CASE(mr_replace__the_old_or_the_new_at_one_place),
	CHECK_CASE(mr_replace__failure_changes_nothing),
	CHECK_CASE(mr_check__region_of_nothing),
	CHECK_CASE(mr_check__on_demand),
	CHECK_CASE(mr_check_whole__rights_and_domain),
	CHECK_CASE(mr_check__region_of_no_bytes),
};

CHECK_MAIN(cases)

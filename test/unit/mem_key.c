/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of lib/mem/key.c: regions and windows share one space of keys, and places rest. */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "mem/key.h"
#include "mem/mr.h"
#include "mem/mw.h"

static uint8_t memory[64];
static uint64_t clock_ms;

static uint64_t
test_ms(void)
{
	return clock_ms;
}

static int
add_region(struct mr_table *t, struct mr **out)
{
	struct mr d = { .pd = 7, .access = MEM_LOCAL_WRITE, .length = sizeof(memory), .base = memory };

	return mr_add(t, &d, out);
}

static void
drop_region(struct mr_table *t, struct mr *mr)
{
	mr_unpublish(t, mr);
	mr_release(t, mr);
}

static int
key_cmp(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* FC43: as many of both as there may be. No key is another's, each finds its own kind; one more is refused,
 * and one less makes room. */
static void
key_take__regions_and_windows_at_once(void)
{
	enum { EACH = 20000 };
	static struct mr *mr[EACH];
	static struct mw *mw[EACH];
	static uint32_t places[2 * EACH];
	struct mr_table *t = mr_table_new(2 * EACH);
	struct mw *in;
	uint8_t *p;

	for (uint32_t i = 0; i < EACH; i++) {
		CHECK_EQ(add_region(t, &mr[i]), 0);
		CHECK_EQ(mw_add(t, 7, MW_TYPE_2, &mw[i]), 0);
		places[2 * i] = mr[i]->key >> 8;
		places[2 * i + 1] = mw[i]->key >> 8;
	}
	CHECK_EQ(add_region(t, &mr[0]), -ENOMEM);
	CHECK_EQ(mw_add(t, 7, MW_TYPE_1, &in), -ENOMEM);
	for (uint32_t i = 0; i < EACH; i++) {
		CHECK(mr_find(t, mr[i]->key) == mr[i]);
		CHECK_EQ(mw_enter(t, NULL, 7, mr[i]->key, 0, 0, 1, &p, &in), MEM_BAD_KEY);
		CHECK(!mr_find(t, mw[i]->key));
		CHECK_EQ(mr_check(t, mw[i]->key, 7, 0, 0, 1, &p), MEM_BAD_KEY);
	}
	qsort(places, 2 * EACH, sizeof(places[0]), key_cmp);
	for (uint32_t i = 1; i < 2 * EACH; i++)
		CHECK(places[i] != places[i - 1]);
	drop_region(t, mr[17]);
	CHECK_EQ(mw_add(t, 7, MW_TYPE_1, &in), 0);
	CHECK_EQ(add_region(t, &mr[17]), -ENOMEM);
	mr_table_free(t);
}

/* A place rests before it is another's (threats.md 3.2 c): with a window at it, whose tag is its consumer's,
 * every key that the region before had could be had again. */
static void
key_take__places_rest(void)
{
	struct mr_table *t = mr_table_new(4);
	struct mr *mr = NULL;
	uint32_t first, seen = 0;

	t->now_ms = test_ms;
	CHECK_EQ(add_region(t, &mr), 0);
	first = mr->key;
	drop_region(t, mr);
	for (uint32_t i = 0; i < 5000; i++) {
		clock_ms += i % 8 == 0;		/* 625 ms in all */
		CHECK_EQ(add_region(t, &mr), 0);
		CHECK(mr->key >> 8 != first >> 8);
		drop_region(t, mr);
	}
	clock_ms += KEY_REST_MS;
	for (uint32_t i = 0; i < 5000; i++) {
		CHECK_EQ(add_region(t, &mr), 0);
		if (mr->key >> 8 == first >> 8) {
			seen++;
			CHECK(mr->key != first);
		}
		drop_region(t, mr);
	}
	CHECK_EQ(seen, 1);	/* the oldest first */
	mr_table_free(t);
}

static uint32_t
leaves(const struct mr_table *t)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < KEY_LEAVES; i++)
		n += t->leaf[i] != NULL;
	return n;
}

/* There is memory for the keys that are out and not for those that were; in between nothing is found. */
static void
key_give__leaves_go(void)
{
	enum { MANY = 2000 };
	static struct mr *mr[MANY];
	struct mr_table *t = mr_table_new(MANY);
	uint32_t key;

	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < MANY; i++)
			CHECK_EQ(add_region(t, &mr[i]), 0);
		CHECK(leaves(t) <= MANY && leaves(t) > MANY / 2);
		for (uint32_t i = 0; i < MANY; i++) {
			key = mr[i]->key;
			mr_unpublish(t, mr[i]);
			CHECK(!mr_find(t, key));
			CHECK(i + 1 == MANY || mr_find(t, mr[i + 1]->key) == mr[i + 1]);
			if (i % 2)		/* some together, some alone */
				mr_release(t, mr[i]);
		}
		CHECK_EQ(leaves(t), 0);
		CHECK(t->going != NULL);
		for (uint32_t i = 0; i < MANY; i += 2)
			mr_release(t, mr[i]);
		CHECK(!t->going);
	}
	mr_table_free(t);
}

/* A window's first key is as hard to guess as a region's. */
static void
mw_add__first_key(void)
{
	struct mr_table *t = mr_table_new(512);
	struct mw *mw = NULL;
	uint32_t tags = 0, last = 0, near = 0;

	for (uint32_t i = 0; i < 512; i++) {
		CHECK_EQ(mw_add(t, 7, MW_TYPE_1, &mw), 0);
		tags |= 1u << (mw->key & 31);
		near += (mw->key >> 8) - (last >> 8) < 256;
		last = mw->key;
	}
	CHECK_EQ(tags, UINT32_MAX);
	CHECK(near < 8);
	mr_table_free(t);
}

static const struct check_case cases[] = {
	CHECK_CASE(key_take__regions_and_windows_at_once),
	CHECK_CASE(key_take__places_rest),
	CHECK_CASE(key_give__leaves_go),
	CHECK_CASE(mw_add__first_key),
};

CHECK_MAIN(cases)

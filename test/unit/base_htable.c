/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/base/htable, and lib/base/bitset as the model that it is compared with. */
#include "base/htable.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bitset.h"
#include "check.h"

static int values[100000];

static void
htable_put__found_until_deleted(void)
{
	struct htable t;

	CHECK_EQ(htable_init(&t, 0), 0);
	CHECK(!htable_get(&t, 0));
	CHECK_EQ(htable_put(&t, 0, &values[0]), 0);
	CHECK_EQ(htable_put(&t, UINT64_MAX, &values[1]), 0);
	CHECK_EQ(htable_put(&t, 0, &values[2]), -EEXIST);
	CHECK(htable_get(&t, 0) == &values[0]);
	CHECK(htable_get(&t, UINT64_MAX) == &values[1]);
	CHECK(htable_del(&t, 0) == &values[0]);
	CHECK(!htable_del(&t, 0));
	CHECK(!htable_get(&t, 0));
	CHECK(htable_get(&t, UINT64_MAX) == &values[1]);
	htable_fini(&t);
}

static void
htable_put__grows(void)
{
	struct htable t;
	size_t n = sizeof(values) / sizeof(values[0]);

	CHECK_EQ(htable_init(&t, 3), 0);
	for (size_t i = 0; i < n; i++)
		CHECK_EQ(htable_put(&t, i << 32, &values[i]), 0);
	CHECK_EQ(t.used, n);
	for (size_t i = 0; i < n; i++)
		CHECK(htable_get(&t, i << 32) == &values[i]);
	htable_fini(&t);
}

static void
htable_init__expected_entries_need_no_growth(void)
{
	struct htable t;
	size_t mask;

	CHECK_EQ(htable_init(&t, 1000), 0);
	mask = t.mask;
	for (uint64_t i = 0; i < 1000; i++)
		CHECK_EQ(htable_put(&t, i, &values[i]), 0);
	CHECK_EQ(t.mask, mask);
	htable_fini(&t);
}

/* Random puts and deletes on few keys: chains form, break and close their holes. */
static void
htable_del__leaves_every_other_key_reachable(void)
{
	enum { KEYS = 200 };
	uint64_t there[BITSET_WORDS(KEYS)] = { 0 };
	struct htable t;

	srand(1);
	CHECK_EQ(htable_init(&t, KEYS), 0);
	for (int i = 0; i < 20000; i++) {
		unsigned int k = (unsigned int)rand() % KEYS;

		if (bitset_test(there, k)) {
			CHECK(htable_del(&t, k) == &values[k]);
			bitset_clear(there, k);
		} else {
			CHECK_EQ(htable_put(&t, k, &values[k]), 0);
			bitset_set(there, k);
		}
		for (unsigned int j = 0; j < KEYS; j++)
			CHECK(htable_get(&t, j) == (bitset_test(there, j) ? &values[j] : NULL));
	}
	CHECK_EQ(t.used, bitset_count(there, KEYS));
	htable_fini(&t);
}

static void
htable_next__gives_each_entry_once(void)
{
	uint64_t seen[BITSET_WORDS(300)] = { 0 }, key;
	struct htable t;
	size_t at = 0;
	int *v;

	CHECK_EQ(htable_init(&t, 0), 0);
	for (uint64_t i = 0; i < 300; i++)
		CHECK_EQ(htable_put(&t, i, &values[i]), 0);
	while ((v = htable_next(&t, &at, &key))) {
		CHECK(v == &values[key] && !bitset_test(seen, key));
		bitset_set(seen, key);
	}
	CHECK_EQ(bitset_count(seen, 300), 300);
	htable_fini(&t);
}

static void
bitset_next__finds_across_words(void)
{
	uint64_t set[BITSET_WORDS(130)] = { 0 };
	size_t n = 0;

	CHECK_EQ(bitset_next(set, 130, 0), 130);
	bitset_set(set, 0);
	bitset_set(set, 63);
	bitset_set(set, 64);
	bitset_set(set, 129);
	CHECK_EQ(bitset_next(set, 130, 0), 0);
	CHECK_EQ(bitset_next(set, 130, 1), 63);
	CHECK_EQ(bitset_next(set, 130, 64), 64);
	CHECK_EQ(bitset_next(set, 130, 65), 129);
	CHECK_EQ(bitset_next(set, 129, 65), 129);	/* not below 129: none */
	CHECK_EQ(bitset_next(set, 130, 130), 130);
	bitset_for_each(bit, set, 130)
		n += bit;
	CHECK_EQ(n, 63 + 64 + 129);
}

static const struct check_case cases[] = {
	CHECK_CASE(htable_put__found_until_deleted),
	CHECK_CASE(htable_put__grows),
	CHECK_CASE(htable_init__expected_entries_need_no_growth),
	CHECK_CASE(htable_del__leaves_every_other_key_reachable),
	CHECK_CASE(htable_next__gives_each_entry_once),
	CHECK_CASE(bitset_next__finds_across_words),
};

CHECK_MAIN(cases)

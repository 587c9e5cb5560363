/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/table.h"

#include "check.h"

static struct table t;
static int objs[3000];

static void
table_add__counts_from_zero(void)
{
	uint32_t handle = 99, gen = 99;

	table_init(&t, 10);
	CHECK_EQ(table_add(&t, &objs[0], &handle, &gen), 0);
	CHECK_EQ(handle, 0);
	CHECK_EQ(gen, 1);
	CHECK_EQ(table_add(&t, &objs[1], &handle, NULL), 0);
	CHECK_EQ(handle, 1);
	CHECK(table_get(&t, 0) == &objs[0]);
	CHECK(table_get(&t, 1) == &objs[1]);
	table_fini(&t);
}

static void
table_get__unknown_handle(void)
{
	uint32_t handle;

	table_init(&t, 10);
	CHECK(table_get(&t, 0) == NULL);
	CHECK(table_get(&t, 5000) == NULL);
	CHECK(table_get(&t, UINT32_MAX) == NULL);
	CHECK_EQ(table_add(&t, &objs[0], &handle, NULL), 0);
	CHECK(table_get(&t, 1) == NULL);
	table_fini(&t);
}

static void
table_del__handle_has_a_new_generation(void)
{
	uint32_t first, second, gen;

	table_init(&t, 10);
	CHECK_EQ(table_add(&t, &objs[0], &first, &gen), 0);
	table_del(&t, first);
	CHECK(table_get(&t, first) == NULL);
	table_del(&t, first);	/* twice is as once */
	CHECK_EQ(table_add(&t, &objs[1], &second, &gen), 0);
	CHECK_EQ(second, first);
	CHECK_EQ(gen, 2);
	CHECK(table_get(&t, second) == &objs[1]);
	CHECK_EQ(t.num, 1);
	table_fini(&t);
}

static void
table_add__full(void)
{
	uint32_t handle;

	table_init(&t, 3);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(table_add(&t, &objs[i], &handle, NULL), 0);
	CHECK_EQ(table_add(&t, &objs[3], &handle, NULL), -12);
	table_del(&t, 1);
	CHECK_EQ(table_add(&t, &objs[3], &handle, NULL), 0);
	CHECK_EQ(handle, 1);
	table_fini(&t);
}

static void
table_add__over_many_pages(void)
{
	uint32_t handle;

	table_init(&t, 3000);
	for (uint32_t i = 0; i < 3000; i++) {
		CHECK_EQ(table_add(&t, &objs[i], &handle, NULL), 0);
		CHECK_EQ(handle, i);
	}
	for (uint32_t i = 0; i < 3000; i++)
		CHECK(table_get(&t, i) == &objs[i]);
	for (uint32_t i = 0; i < 3000; i++)
		table_del(&t, i);
	CHECK_EQ(t.num, 0);
	table_fini(&t);
}

static const struct check_case cases[] = {
	CHECK_CASE(table_add__counts_from_zero),
	CHECK_CASE(table_get__unknown_handle),
	CHECK_CASE(table_del__handle_has_a_new_generation),
	CHECK_CASE(table_add__full),
	CHECK_CASE(table_add__over_many_pages),
};

CHECK_MAIN(cases)

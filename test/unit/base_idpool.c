/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/base/idpool: no number twice at a time, none back before it has rested. */
#include "base/idpool.h"

#include <errno.h>

#include "check.h"

static void
idpool_init__refuses_nonsense(void)
{
	struct idpool p;

	CHECK_EQ(idpool_init(&p, 0, 0, 0, 0), -EINVAL);
	CHECK_EQ(idpool_init(&p, 0, 4, 4, 0), -EINVAL);
	CHECK_EQ(idpool_init(&p, UINT32_MAX, 2, 0, 0), -EINVAL);
}

static void
idpool_get__fresh_first_then_all_out(void)
{
	struct idpool p;
	uint32_t id;

	CHECK_EQ(idpool_init(&p, 100, 5, 0, 0), 0);
	for (uint32_t i = 0; i < 5; i++) {
		CHECK_EQ(idpool_get(&p, 0, &id), 0);
		CHECK_EQ(id, 100 + i);
		CHECK(idpool_is_out(&p, id));
	}
	CHECK_EQ(idpool_get(&p, 0, &id), -ENOSPC);
	CHECK(!idpool_is_out(&p, 99));
	CHECK(!idpool_is_out(&p, 105));
	idpool_fini(&p);
}

static void
idpool_get__a_freed_id_comes_back_last(void)
{
	struct idpool p;
	uint32_t id;

	CHECK_EQ(idpool_init(&p, 0, 8, 0, 0), 0);
	CHECK_EQ(idpool_get(&p, 0, &id), 0);
	CHECK_EQ(idpool_put(&p, 0, id), 0);
	for (uint32_t i = 1; i < 8; i++) {
		CHECK_EQ(idpool_get(&p, 0, &id), 0);
		CHECK_EQ(id, i);
	}
	CHECK_EQ(idpool_get(&p, 0, &id), 0);
	CHECK_EQ(id, 0);
	idpool_fini(&p);
}

static void
idpool_get__freed_ids_come_back_in_order(void)
{
	static const uint32_t order[] = { 2, 0, 3, 1 };
	struct idpool p;
	uint32_t id;

	CHECK_EQ(idpool_init(&p, 0, 4, 0, 0), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(idpool_get(&p, 0, &id), 0);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 4; i++)
			CHECK_EQ(idpool_put(&p, 0, order[i]), 0);
		for (int i = 0; i < 4; i++) {
			CHECK_EQ(idpool_get(&p, 0, &id), 0);
			CHECK_EQ(id, order[i]);
		}
	}
	idpool_fini(&p);
}

static void
idpool_get__rests_a_minimum_count(void)
{
	struct idpool p;
	uint32_t id;

	CHECK_EQ(idpool_init(&p, 0, 4, 2, 0), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(idpool_get(&p, 0, &id), 0);
	CHECK_EQ(idpool_put(&p, 0, 3), 0);
	CHECK_EQ(idpool_get(&p, 0, &id), -ENOSPC);
	CHECK_EQ(idpool_put(&p, 0, 1), 0);
	CHECK_EQ(idpool_get(&p, 0, &id), -ENOSPC);
	CHECK_EQ(idpool_put(&p, 0, 0), 0);
	CHECK_EQ(idpool_get(&p, 0, &id), 0);
	CHECK_EQ(id, 3);
	CHECK_EQ(idpool_get(&p, 0, &id), -ENOSPC);
	idpool_fini(&p);
}

static void
idpool_get__rests_a_minimum_time(void)
{
	struct idpool p;
	uint32_t id;

	CHECK_EQ(idpool_init(&p, 0, 2, 0, 1000), 0);
	CHECK_EQ(idpool_get(&p, 0, &id), 0);
	CHECK_EQ(idpool_get(&p, 0, &id), 0);
	CHECK_EQ(idpool_put(&p, 500, 1), 0);
	CHECK_EQ(idpool_put(&p, 900, 0), 0);
	CHECK_EQ(idpool_get(&p, 1499, &id), -ENOSPC);
	CHECK_EQ(idpool_get(&p, 1500, &id), 0);
	CHECK_EQ(id, 1);
	CHECK_EQ(idpool_get(&p, 1500, &id), -ENOSPC);
	CHECK_EQ(idpool_get(&p, 1900, &id), 0);
	CHECK_EQ(id, 0);
	idpool_fini(&p);
}

static void
idpool_put__refuses_what_is_not_out(void)
{
	struct idpool p;
	uint32_t id;

	CHECK_EQ(idpool_init(&p, 10, 3, 0, 0), 0);
	CHECK_EQ(idpool_put(&p, 0, 10), -EINVAL);
	CHECK_EQ(idpool_get(&p, 0, &id), 0);
	CHECK_EQ(idpool_put(&p, 0, id), 0);
	CHECK_EQ(idpool_put(&p, 0, id), -EINVAL);
	CHECK_EQ(idpool_put(&p, 0, 9), -EINVAL);
	CHECK_EQ(idpool_put(&p, 0, 13), -EINVAL);
	idpool_fini(&p);
}

/* The whole range of QPNs: the ring index must not wrap at 32 bits, nor memory be touched early. */
static void
idpool_get__all_24_bits(void)
{
	uint32_t id, count = (1u << 24) - 2;
	struct idpool p;

	CHECK_EQ(idpool_init(&p, 2, count, 1000, 0), 0);
	for (uint32_t i = 0; i < count; i++)
		CHECK(!idpool_get(&p, i, &id) && id == i + 2);
	for (uint32_t i = 0; i < 1001; i++)
		CHECK_EQ(idpool_put(&p, 0, 0xffffff - i), 0);
	CHECK_EQ(idpool_get(&p, 0, &id), 0);
	CHECK_EQ(id, 0xffffff);
	CHECK_EQ(idpool_get(&p, 0, &id), -ENOSPC);
	idpool_fini(&p);
}

static const struct check_case cases[] = {
	CHECK_CASE(idpool_init__refuses_nonsense),
	CHECK_CASE(idpool_get__fresh_first_then_all_out),
	CHECK_CASE(idpool_get__a_freed_id_comes_back_last),
	CHECK_CASE(idpool_get__freed_ids_come_back_in_order),
	CHECK_CASE(idpool_get__rests_a_minimum_count),
	CHECK_CASE(idpool_get__rests_a_minimum_time),
	CHECK_CASE(idpool_put__refuses_what_is_not_out),
	CHECK_CASE(idpool_get__all_24_bits),
};

CHECK_MAIN(cases)

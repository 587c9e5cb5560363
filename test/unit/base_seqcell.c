/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/base/seqcell: a reader gets whole values only. */
#include "base/seqcell.h"

#include <pthread.h>

#include "check.h"

#define WRITES 200000
#define READERS 2

struct value {
	uint64_t a;
	uint32_t b;
	uint8_t c[9];		/* size no multiple of 8 */
};

static SEQCELL(struct value) cell;
static int stop;

static struct value
make(uint64_t n)
{
	struct value v;

	memset(&v, 0, sizeof(v));
	v.a = n;
	v.b = (uint32_t)n;
	memset(v.c, (int)(n & 0xff), sizeof(v.c));
	return v;
}

static void
seqcell_get__zeroed_cell_is_a_zeroed_value(void)
{
	struct value v, zero = make(0);

	seqcell_get(&cell, &v);
	CHECK_MEM(&v, &zero, sizeof(v));
}

static void
seqcell_get__gives_what_was_set(void)
{
	struct value in = make(0x1122334455667788), out;

	seqcell_set(&cell, &in);
	seqcell_get(&cell, &out);
	CHECK_MEM(&in, &out, sizeof(in));
	in = make(0);
	seqcell_set(&cell, &in);
}

static void *
reader(void *arg)
{
	uint64_t *torn = arg, last = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct value v, want;

		seqcell_get(&cell, &v);
		want = make(v.a);
		if (memcmp(&v, &want, sizeof(v)) || v.a < last)
			(*torn)++;
		last = v.a;
	}
	return NULL;
}

static void
seqcell_get__never_torn_never_backwards(void)
{
	uint64_t torn[READERS] = { 0 };
	pthread_t th[READERS];

	for (int i = 0; i < READERS; i++)
		CHECK_EQ(pthread_create(&th[i], NULL, reader, &torn[i]), 0);
	for (uint64_t n = 1; n <= WRITES; n++) {
		struct value v = make(n);

		seqcell_set(&cell, &v);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < READERS; i++)
		pthread_join(th[i], NULL);
	CHECK_EQ(torn[0] + torn[1], 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(seqcell_get__zeroed_cell_is_a_zeroed_value),
	CHECK_CASE(seqcell_get__gives_what_was_set),
	CHECK_CASE(seqcell_get__never_torn_never_backwards),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/base/seqcell: a reader gets whole values only. */
#include "base/seqcell.h"

#include <pthread.h>

#include "check.h"

#define READS 50000
#define READERS 2

struct value {
	uint64_t a;
	uint32_t b;
	uint8_t c[497];		/* long, so that reads and writes meet */
};

static SEQCELL(struct value) cell;
static int done;

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

/* A size that is no multiple of 8: nothing behind the value is written. */
static void
seqcell_get__odd_size(void)
{
	struct odd {
		uint8_t b[13];
	} in, out[2];
	SEQCELL(struct odd) c = { 0 };

	memset(&in, 0x77, sizeof(in));
	memset(out, 0xee, sizeof(out));
	seqcell_set(&c, &in);
	seqcell_get(&c, &out[0]);
	CHECK_MEM(&out[0], &in, sizeof(in));
	CHECK_EQ(out[1].b[0], 0xee);
}

static void *
reader(void *arg)
{
	uint64_t *torn = arg, last = 0;

	for (int i = 0; i < READS; i++) {
		struct value v, want;

		seqcell_get(&cell, &v);
		want = make(v.a);
		if (memcmp(&v, &want, sizeof(v)) || v.a < last)
			(*torn)++;
		last = v.a;
	}
	__atomic_add_fetch(&done, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void
seqcell_get__never_torn_never_backwards(void)
{
	uint64_t torn[READERS] = { 0 };
	pthread_t th[READERS];

	for (int i = 0; i < READERS; i++)
		CHECK_EQ(pthread_create(&th[i], NULL, reader, &torn[i]), 0);
	for (uint64_t n = 1; __atomic_load_n(&done, __ATOMIC_RELAXED) < READERS; n++) {
		struct value v = make(n);

		seqcell_set(&cell, &v);
	}
	for (int i = 0; i < READERS; i++)
		pthread_join(th[i], NULL);
	CHECK_EQ(torn[0] + torn[1], 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(seqcell_get__zeroed_cell_is_a_zeroed_value),
	CHECK_CASE(seqcell_get__gives_what_was_set),
	CHECK_CASE(seqcell_get__odd_size),
	CHECK_CASE(seqcell_get__never_torn_never_backwards),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/telemetry/trace: the newest records, whole, while the owner writes. */
#include "telemetry/trace.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "check.h"

static void
trace_init__takes_powers_of_two(void)
{
	struct trace t;

	CHECK_EQ(trace_init(&t, 0), -EINVAL);
	CHECK_EQ(trace_init(&t, 12), -EINVAL);
	CHECK_EQ(trace_init(&t, 16), 0);
	trace_fini(&t);
}

static void
trace_read__oldest_first(void)
{
	struct trace_rec out[16];
	struct trace t;

	CHECK_EQ(trace_init(&t, 16), 0);
	CHECK_EQ(trace_read(&t, out, 16), 0);
	trace_add(&t, 1000, TRACE_RX, 0x12, 5, 4);
	trace_add(&t, 2000, TRACE_NAK_TX, 0x13, 0xffffff, 0x60);
	CHECK_EQ(trace_read(&t, out, 16), 2);
	CHECK(out[0].ns == 1000 && out[0].kind == TRACE_RX && out[0].qpn == 0x12);
	CHECK(out[1].ns == 2000 && out[1].kind == TRACE_NAK_TX && out[1].qpn == 0x13);
	CHECK(out[1].psn == 0xffffff && out[1].arg == 0x60);
	CHECK_EQ(trace_read(&t, out, 1), 1);
	CHECK_EQ(out[0].ns, 2000);
	trace_fini(&t);
}

/* The slot that the next record goes to is never shown: its owner may be in the middle of it. */
static void
trace_read__a_full_ring_gives_all_but_one(void)
{
	struct trace_rec out[16];
	struct trace t;

	CHECK_EQ(trace_init(&t, 8), 0);
	for (uint64_t i = 0; i < 100; i++)
		trace_add(&t, i, TRACE_TX, 0, 0, i);
	CHECK_EQ(trace_read(&t, out, 16), 7);
	for (uint64_t i = 0; i < 7; i++)
		CHECK_EQ(out[i].arg, 93 + i);
	trace_fini(&t);
}

static struct trace shared;
static int stop;

static void *
owner(void *arg)
{
	(void)arg;
	for (uint64_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++)
		trace_add(&shared, i, TRACE_RX, (uint32_t)i, (uint32_t)i, ~i);
	return NULL;
}

static void
trace_read__whole_records_while_the_owner_writes(void)
{
	struct trace_rec out[64];
	uint64_t torn = 0, seen = 0;
	pthread_t th;

	CHECK_EQ(trace_init(&shared, 64), 0);
	CHECK_EQ(pthread_create(&th, NULL, owner, NULL), 0);
	for (int i = 0; i < 200000 || (!seen && i < 20000000); i++) {
		uint32_t n = trace_read(&shared, out, 64);

		for (uint32_t j = 0; j < n; j++) {
			torn += out[j].arg != ~out[j].ns || out[j].psn != (uint32_t)out[j].ns;
			torn += j && out[j].ns != out[j - 1].ns + 1;
		}
		seen += n;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(th, NULL);
	trace_fini(&shared);
	CHECK(seen);
	CHECK_EQ(torn, 0);
}

static void
trace_dump__a_line_a_record(void)
{
	char *text = NULL;
	size_t size = 0;
	struct trace t;
	FILE *f = open_memstream(&text, &size);

	CHECK_EQ(trace_init(&t, 4), 0);
	trace_add(&t, 1500000002, TRACE_TIMEOUT, 0xabc, 77, 3);
	CHECK_EQ(trace_dump(&t, f), 0);
	fclose(f);
	CHECK(!strncmp(text, "1.500000002 TIMEOUT ", 20));
	CHECK(strstr(text, "qpn 0x000abc psn       77 retries left 0x3\n"));
	free(text);
	trace_fini(&t);
}

static void
trace_kind_name__no_kind(void)
{
	CHECK(!strcmp(trace_kind_name(TRACE_RX), "RX"));
	CHECK(!trace_kind_name(TRACE_COUNT));
}

static const struct check_case cases[] = {
	CHECK_CASE(trace_init__takes_powers_of_two),
	CHECK_CASE(trace_read__oldest_first),
	CHECK_CASE(trace_read__a_full_ring_gives_all_but_one),
	CHECK_CASE(trace_read__whole_records_while_the_owner_writes),
	CHECK_CASE(trace_dump__a_line_a_record),
	CHECK_CASE(trace_kind_name__no_kind),
};

CHECK_MAIN(cases)

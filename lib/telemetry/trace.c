/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What happened last on a core? Written inline by the core itself (trace.h), read by any thread.
 */
#include "telemetry/trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

int
trace_init(struct trace *t, uint32_t records)
{
	if (!records || (records & (records - 1)))
		return -EINVAL;
	t->written = 0;
	t->mask = records - 1;
	t->ring = calloc(records, sizeof(*t->ring));
	return t->ring ? 0 : -ENOMEM;
}

void
trace_fini(struct trace *t)
{
	free(t->ring);
	t->ring = NULL;
}

static void
copy_slot(struct trace_rec *out, const uint64_t *slot)
{
	uint64_t words[TRACE_WORDS];

	for (unsigned int i = 0; i < TRACE_WORDS; i++)
		words[i] = __atomic_load_n(&slot[i], __ATOMIC_ACQUIRE);
	memcpy(out, words, sizeof(*out));
}

/* The oldest record that no store can be hitting when `written` records are done. */
static uint64_t
oldest_safe(const struct trace *t, uint64_t written)
{
	return written > t->mask ? written - t->mask : 0;
}

uint32_t
trace_read(const struct trace *t, struct trace_rec *out, uint32_t max)
{
	uint64_t end = __atomic_load_n(&t->written, __ATOMIC_ACQUIRE);
	uint64_t first = oldest_safe(t, end), safe, lost;
	uint32_t n;

	if (end - first > max)
		first = end - max;
	n = (uint32_t)(end - first);
	for (uint32_t i = 0; i < n; i++)
		copy_slot(&out[i], t->ring[(first + i) & t->mask]);

	safe = oldest_safe(t, __atomic_load_n(&t->written, __ATOMIC_RELAXED));
	lost = safe > first ? safe - first : 0;
	if (lost >= n)
		return 0;
	memmove(out, out + lost, (n - lost) * sizeof(*out));
	return n - (uint32_t)lost;
}

const char *
trace_kind_name(uint32_t kind)
{
	static const char *const names[TRACE_COUNT] = {
#define TRACE_NAME(name, text) #name,
		TRACE_LIST(TRACE_NAME)
#undef TRACE_NAME
	};

	return kind < TRACE_COUNT ? names[kind] : NULL;
}

static void
print_rec(const struct trace_rec *r, FILE *to)
{
	static const char *const arg_names[TRACE_COUNT] = {
#define TRACE_ARG(name, text) text,
		TRACE_LIST(TRACE_ARG)
#undef TRACE_ARG
	};
	const char *kind = trace_kind_name(r->kind);

	fprintf(to, "%" PRIu64 ".%09" PRIu64 " %-9s qpn 0x%06x psn %8u %s 0x%" PRIx64 "\n",
		r->ns / 1000000000, r->ns % 1000000000, kind ? kind : "?", r->qpn, r->psn,
		kind ? arg_names[r->kind] : "arg", r->arg);
}

int
trace_dump(const struct trace *t, FILE *to)
{
	struct trace_rec *recs = calloc(t->mask + 1, sizeof(*recs));
	uint32_t n;

	if (!recs)
		return -ENOMEM;
	n = trace_read(t, recs, (uint32_t)(t->mask + 1));
	for (uint32_t i = 0; i < n; i++)
		print_rec(&recs[i], to);
	free(recs);
	return ferror(to) ? -EIO : 0;
}

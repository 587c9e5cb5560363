/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: is every byte of this message right, and was nothing beside it touched? */
#include <string.h>

#include "say.h"
#include "verify.h"

struct verify_layout
verify_layout(const struct test *t)
{
	struct verify_layout y = { .slots = (uint32_t)t->depth };

	/* guard, up to 63 bytes of shift, the message, guard */
	y.slot_bytes = 3 * VERIFY_GUARD + ((t->sizes.high + 63) & ~63ull);
	y.area = y.slots * y.slot_bytes;
	return y;
}

uint64_t
verify_source(const struct verify_layout *y, uint32_t i)
{
	return 2 * y->area * i;
}

uint64_t
verify_sink(const struct verify_layout *y, uint32_t i)
{
	return verify_source(y, i) + y->area;
}

uint64_t
verify_stream(const struct worker *w, uint32_t i, bool in)
{
	bool by_client = w->client != in;

	return (by_client ? 0 : 1ull << 32) | i;
}

/* Bytes of the message that differ. */
static uint64_t
wrong_bytes(const struct verify_place *p)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < p->size; i++)
		n += p->slot[p->shift + i] != pattern_byte(p->key, p->at + i);
	return n;
}

static int
report(const struct worker *w, const struct verify_place *p, uint64_t at)
{
	return fail("WRONG BYTE: %s message %llu of %u bytes on QP 0x%06x: byte %llu is 0x%02x and "
		    "must be 0x%02x (byte %llu of packet %llu at path MTU %u); %llu bytes of the message "
		    "are wrong; --seed %llu", test_op(w->test)->name, (unsigned long long)p->message,
		    p->size, p->qpn, (unsigned long long)at, p->slot[p->shift + at],
		    pattern_byte(p->key, p->at + at), (unsigned long long)(at % w->conn.mtu),
		    (unsigned long long)(at / w->conn.mtu), w->conn.mtu,
		    (unsigned long long)wrong_bytes(p), (unsigned long long)w->test->seed);
}

static int
report_canary(const struct worker *w, const struct verify_place *p, uint64_t at)
{
	bool before = at < p->shift;
	uint64_t end = (uint64_t)p->shift + p->size;

	return fail("WRONG BYTE: %s message %llu of %u bytes on QP 0x%06x: byte %llu %s the message was "
		    "overwritten with 0x%02x; --seed %llu", test_op(w->test)->name,
		    (unsigned long long)p->message, p->size, p->qpn,
		    (unsigned long long)(before ? p->shift - at : at - end + 1),
		    before ? "before" : "behind", p->slot[at], (unsigned long long)w->test->seed);
}

int
verify_slot(const struct worker *w, const struct verify_layout *y, const struct verify_place *p)
{
	uint64_t end = (uint64_t)p->shift + p->size, at;

	at = pattern_check(p->slot + p->shift, p->key, p->at, p->size);
	if (at < p->size)
		return report(w, p, at);
	at = canary_check(p->slot, p->shift);
	if (at < p->shift)
		return report_canary(w, p, at);
	at = end + canary_check(p->slot + end, y->slot_bytes - end);
	if (at < y->slot_bytes)
		return report_canary(w, p, at);
	memset(w->conn.buffer + (p->slot - w->conn.buffer) + p->shift, PATTERN_CANARY, p->size);
	return 0;
}

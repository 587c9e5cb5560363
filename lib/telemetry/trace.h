/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flight recorder: a ring of the last records of one core. The owning core writes, a few stores
 * each; anybody may dump at any time, and sees whole records only.
 */
#ifndef TELEMETRY_TRACE_H
#define TELEMETRY_TRACE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* X(name, what arg is) */
#define TRACE_LIST(X) \
	X(RX, "opcode") \
	X(TX, "opcode") \
	X(DROP, "enum drop_reason") \
	X(RETRANS, "opcode") \
	X(ACK_TX, "syndrome") \
	X(ACK_RX, "syndrome") \
	X(NAK_TX, "syndrome") \
	X(NAK_RX, "syndrome") \
	X(DUPLICATE, "opcode") \
	X(TIMEOUT, "retries left") \
	X(RNR_WAIT, "ns") \
	X(CQE, "status") \
	X(QP_STATE, "new state") \
	X(SUBMIT, "WQEs taken") \
	X(SLEEP, "ns") \
	X(WAKE, "why")

enum trace_kind {
#define TRACE_ENUM(name, text) TRACE_##name,
	TRACE_LIST(TRACE_ENUM)
#undef TRACE_ENUM
	TRACE_COUNT
};

struct trace_rec {
	uint64_t ns;
	uint32_t kind;		/* enum trace_kind */
	uint32_t qpn;
	uint32_t psn;
	uint32_t spare;
	uint64_t arg;
};

_Static_assert(sizeof(struct trace_rec) == 32, "two records a cache line");

#define TRACE_WORDS (sizeof(struct trace_rec) / sizeof(uint64_t))

struct trace {
	uint64_t written;	/* records ever; the next goes to written & mask */
	uint64_t mask;
	uint64_t (*ring)[TRACE_WORDS];
};

/* A ring of `records`, a power of two. 0, -EINVAL, -ENOMEM. */
int trace_init(struct trace *t, uint32_t records);
void trace_fini(struct trace *t);

/*
 * Owning core only. Words are stored with release, so that who sees one of them also sees the
 * `written` that says its slot is being overwritten; on x86 that costs nothing.
 */
static inline void
trace_add(struct trace *t, uint64_t ns, enum trace_kind kind, uint32_t qpn, uint32_t psn,
	  uint64_t arg)
{
	struct trace_rec rec = { .ns = ns, .kind = kind, .qpn = qpn, .psn = psn, .arg = arg };
	uint64_t words[TRACE_WORDS], *slot = t->ring[t->written & t->mask];

	memcpy(words, &rec, sizeof(rec));
	for (unsigned int i = 0; i < TRACE_WORDS; i++)
		__atomic_store_n(&slot[i], words[i], __ATOMIC_RELEASE);
	__atomic_store_n(&t->written, t->written + 1, __ATOMIC_RELEASE);
}

/*
 * Any thread. The records still in the ring, oldest first, up to `max` of the newest; those that
 * the owner overwrites meanwhile are left out. Returns how many were stored.
 */
uint32_t trace_read(const struct trace *t, struct trace_rec *out, uint32_t max);

/* Any thread. One line for each record: `seconds kind qpn psn arg`. 0, -ENOMEM, or -EIO. */
int trace_dump(const struct trace *t, FILE *to);

/* "RX", "NAK_TX" …; NULL for a number that is no kind. */
const char *trace_kind_name(uint32_t kind);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a verified stream looks like in memory. Each data QP has `slots` places for messages that
 * leave and as many for messages that arrive; message n uses slot n modulo slots. A sink holds
 * canaries but where a message has just arrived.
 */
#ifndef PLX_PERF_VERIFY_H
#define PLX_PERF_VERIFY_H

#include "pattern.h"
#include "worker.h"

#define VERIFY_GUARD 64u		/* bytes before and behind the place of a message, at least */
#define VERIFY_STATIC UINT64_MAX	/* message number of the bytes that READs fetch */

struct verify_layout {
	uint32_t slots;
	uint64_t slot_bytes;
	uint64_t area;			/* slots * slot_bytes */
};

struct verify_layout verify_layout(const struct test *t);

/* Offsets into the buffer of the source and sink areas of data QP i. */
uint64_t verify_source(const struct verify_layout *y, uint32_t i);
uint64_t verify_sink(const struct verify_layout *y, uint32_t i);

/* The number of the stream that this end sends (or, with `in`, that it receives) on data QP i. */
uint64_t verify_stream(const struct worker *w, uint32_t i, bool in);

/* Where a message must stand, for the check and its report. */
struct verify_place {
	const uint8_t *slot;		/* slot_bytes of them */
	uint32_t shift;			/* from the slot's start to the message */
	uint32_t size;
	uint64_t key, at;		/* pattern and offset of its first byte */
	uint64_t message;
	uint32_t qpn;
};

/*
 * Checks that the slot holds the message and canaries everywhere else, and makes it all canaries
 * again. 0, or -1 after a line that says which byte is wrong.
 */
int verify_slot(const struct worker *w, const struct verify_layout *y, const struct verify_place *p);

#endif

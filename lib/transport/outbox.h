/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where frames to be sent are written: slots lent by the engine (into mbufs) or by a test (arrays).
 * Owning core only.
 */
#ifndef TRANSPORT_OUTBOX_H
#define TRANSPORT_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct out_slot {
	uint8_t *data;		/* room for a frame of the device's MTU */
	uint32_t len;		/* set by who fills it: the whole frame with ICRC */
	bool loop;		/* for one of our own GIDs: goes to the loop port, not to the wire */
};

struct outbox {
	struct out_slot *slot;
	uint32_t cap;		/* slots lent */
	uint32_t used;		/* slots filled, from 0 */
};

/* The next free slot, or NULL when all are filled (try again at the next round). */
static inline struct out_slot *
out_get(struct outbox *ob)
{
	return ob->used < ob->cap ? &ob->slot[ob->used] : NULL;
}

/* The slot that out_get() gave is filled. */
static inline void
out_put(struct outbox *ob, uint32_t len, bool loop)
{
	ob->slot[ob->used].len = len;
	ob->slot[ob->used].loop = loop;
	ob->used++;
}

#endif

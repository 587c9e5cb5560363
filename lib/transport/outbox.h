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

struct qp;

/* Where a frame goes. */
enum out_way {
	OUT_WIRE,
	OUT_SELF,		/* to one of our own GIDs: not to the wire, if there is another way */
	OUT_BOTH,		/* to a group: to the wire, and to those here who are attached to it */
};

struct out_slot {
	uint8_t *data;		/* room for a frame of the device's MTU */
	uint32_t len;		/* set by who fills it: the whole frame with ICRC */
	uint8_t way;		/* enum out_way */
	bool ext;		/* a part of it lies elsewhere: out_ext of the same index */
};

/*
 * The payload of a frame, where the program put it. On the wire it stands behind the first `at` bytes
 * of out_slot.data; what follows there, up to the length without it, is pad and ICRC. The ICRC is
 * computed when the slot is filled: memory that changes before the frame is on the wire, which a
 * program must not do to a WR that is outstanding, makes a frame that the receiver drops.
 *
 * The lender says qp_ext_back(qp, wr) once for each, when nothing will read the memory any more.
 */
struct out_ext {
	const uint8_t *data;
	uint32_t len;
	uint32_t at;
	uint32_t key;		/* of the region */
	uint32_t wr;		/* number of the WQE */
	struct qp *qp;
};

struct outbox {
	struct out_slot *slot;
	uint32_t cap;		/* slots lent */
	uint32_t used;		/* slots filled, from 0 */
	struct out_ext *ext;	/* one a slot; NULL when ext_room is 0 for ever */
	uint32_t ext_room;	/* so many slots may have one now; taken from when one has */
	uint32_t ext_min;	/* bytes of payload from which it pays; UINT32_MAX: never */
};

/* The next free slot, or NULL when all are filled (try again at the next round). */
static inline struct out_slot *
out_get(struct outbox *ob)
{
	return ob->used < ob->cap ? &ob->slot[ob->used] : NULL;
}

/* The slot that out_get() gave is filled. */
static inline void
out_put(struct outbox *ob, uint32_t len, enum out_way way)
{
	ob->slot[ob->used].len = len;
	ob->slot[ob->used].way = (uint8_t)way;
	ob->slot[ob->used].ext = false;
	ob->used++;
}

/* The same, with a part that lies elsewhere; len is of both. */
static inline void
out_put_ext(struct outbox *ob, uint32_t len, const struct out_ext *ext)
{
	ob->ext[ob->used] = *ext;
	out_put(ob, len, OUT_WIRE);
	ob->slot[ob->used - 1].ext = true;
	ob->ext_room--;
}

#endif

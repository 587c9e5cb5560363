/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The port of a side that sends payloads from the program's memory: it puts frames together, and
 * keeps a reference to that memory until it is told to give it back.
 */
#ifndef SIM_GATHER_H
#define SIM_GATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/qp.h"

#define GATHER_REFS 512u
#define GATHER_SLOTS 32u

struct gather_ref {
	struct xport *x;
	uint32_t sum;		/* of the memory when the frame was sent */
	struct out_ext ext;
};

struct gather {
	struct out_ext ext[2][GATHER_SLOTS];	/* of either side's outbox */
	bool keeps;		/* for gather_back(); else nothing is ever out after the sending */
	struct gather_ref ref[GATHER_REFS];	/* the oldest first */
	uint32_t num;
};

/* Before a round: what side `side`'s outbox may do. `min`: its ext_min, or 0 for never. */
void gather_lend(struct gather *g, uint32_t side, struct outbox *ob, uint32_t min);
/* The frame of slot i in one piece: where it lies, or `room` with a copy of it. */
const uint8_t *gather_frame(const struct outbox *ob, uint32_t i, uint8_t *room);
/* It was sent by x. */
void gather_sent(struct gather *g, struct xport *x, uint32_t i);
/* The port reads the memory of ref[index] a last time and gives it back; those behind it move down.
 * False: the memory is not what it was when the frame was sent. */
bool gather_back(struct gather *g, uint32_t index);

#endif

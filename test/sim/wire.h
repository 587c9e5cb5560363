/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wire between two hosts in virtual time: frames in flight, in order of their arrival. What becomes
 * of a frame is drawn by the impair driver's generator from the seed, the direction and the frame's
 * number, so a run can be repeated, and single frames be spared while the others suffer as before.
 */
#ifndef SIM_WIRE_H
#define SIM_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "port/port_driver.h"

#define SIM_FRAME_MAX 4608u

struct sim_wire_conf {
	struct port_impair impair;	/* drop, dup, reorder, corrupt, delay; seed */
	uint64_t forge;		/* chance that a bit of the headers is turned and the ICRC made anew */
	uint32_t delay_ns;	/* one way */
	uint32_t frame_ns;	/* that a frame of any length occupies the wire */
	uint32_t byte_ps;	/* and a byte of it */
	/* Shrinking: only the frames in this list suffer. NULL: all that the generator says. */
	const uint64_t *only;	/* sim_wire_key()s, ascending */
	uint32_t num_only;
};

/* A frame's place in its run. */
static inline uint64_t
sim_wire_key(uint32_t from, uint64_t index)
{
	return (uint64_t)from << 63 | index;
}

struct sim_frame {
	uint64_t at, seq;
	uint32_t from, len;
	bool corrupt, forged;
	struct sim_frame *next;		/* free list */
	uint8_t data[SIM_FRAME_MAX];
};

struct sim_wire {
	struct sim_wire_conf conf;
	uint64_t index[2], free_at[2], seq;
	struct sim_frame **heap, *spare;
	uint32_t flying, cap;
	uint64_t lost, doubled, delayed, corrupted, forged;
	/* what suffered, in the order in which it did */
	uint64_t *suffered;
	uint32_t num_suffered, cap_suffered;
};

/* NULL without memory. */
struct sim_wire *sim_wire_new(const struct sim_wire_conf *conf);
void sim_wire_free(struct sim_wire *w);

void sim_wire_send(struct sim_wire *w, uint64_t now, uint32_t from, const uint8_t *data, uint32_t len);
/* The same, but it is lost; it keeps its number. */
void sim_wire_lose(struct sim_wire *w, uint64_t now, uint32_t from, uint32_t len);

/* The frame that arrives next, or NULL. */
static inline struct sim_frame *
sim_wire_first(const struct sim_wire *w)
{
	return w->flying ? w->heap[0] : NULL;
}

/* Takes it; the caller gives it back with sim_wire_done(). */
struct sim_frame *sim_wire_take(struct sim_wire *w);
void sim_wire_done(struct sim_wire *w, struct sim_frame *f);

/* What happens to a frame of that key, as words: "a>b 17 drop". */
void sim_wire_tell(const struct sim_wire_conf *conf, uint64_t key, char *text, uint32_t size);

#endif

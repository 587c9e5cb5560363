/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What becomes of a frame: a function of the seed and of the frame's number, and of nothing that
 * happened before. So a run can be repeated, and the fate of one frame be changed while the others
 * keep theirs. Pure; any thread.
 */
#ifndef IMPAIR_FATE_H
#define IMPAIR_FATE_H

#include "port/port_driver.h"

struct fate {
	bool drop;		/* then nothing else matters */
	bool dup;		/* a second copy follows at once */
	bool reorder;		/* held until conf->reorder_by later ones have passed */
	bool corrupt;
	bool ecn;
	uint64_t delay_ns;
	uint64_t bit;		/* a number of 64 bits that says which one to corrupt */
};

/* Of the index-th frame, from 0. The kinds are independent of each other, and a kind does not change
 * when the chance of another does. */
struct fate fate_draw(const struct port_impair *conf, uint64_t index);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The state table of section 1.E as the runner knows it; for the lines "table" and "moves". */
#ifndef SCRIPT_TABLE_H
#define SCRIPT_TABLE_H

#include "run.h"

#define TABLE_STATES 7
#define TABLE_BITS 26	/* of the attribute mask, RATE_LIMIT the last */

extern const char *const table_states[TABLE_STATES];

struct table_sets {
	bool valid;
	uint32_t required, optional;	/* masks, without STATE */
};

/* What the transition of a QP of that type (enum ibv_qp_type) takes. */
struct table_sets table_of(struct run *r, uint32_t type, size_t from, size_t to);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core's half of a send queue. The ring is the application's memory: indices and WQEs are read
 * once into copies of the core's own and bounded before they are used.
 */
#ifndef QUEUE_SQ_H
#define QUEUE_SQ_H

#include <stdbool.h>
#include <stdint.h>

#include <pollux/abi/wqe.h>

struct wq_conf {
	struct plx_wq_ctl *ctl;
	uint8_t *slots;
	uint32_t log2_size;
	uint32_t stride;
	uint32_t max_wr;	/* granted; at most 1 << log2_size */
	uint32_t max_sge;
};

struct sq {
	struct wq_conf c;
	uint32_t tail;		/* WQEs known to be published: re-read by sq_refresh() */
};

/* A WQE of the core's own: fixed part, SGEs or inline bytes. */
struct sq_wqe {
	struct plx_sq_wqe w;
	union {
		struct plx_sge sge[PLX_MAX_SGE];
		uint8_t data[PLX_MAX_INLINE];
	};
};

void sq_init(struct sq *sq, const struct wq_conf *conf);

/* Clears the bell, fences, re-reads tail. True when there are WQEs that were not known before.
 * A tail that jumps by more than max_wr past `head` (oldest WQE not completed) is cut to that. */
bool sq_refresh(struct sq *sq, uint32_t head);

/* Copies WQE number `index`. 0, or -EINVAL when it cannot be (num_sge or inline length beyond the
 * slot); then only w.wr_id, w.opcode and w.flags are set. */
int sq_copy(const struct sq *sq, uint32_t index, struct sq_wqe *out);

/* Tells the application's side how far the core is, for information. */
void sq_set_head(struct sq *sq, uint32_t head);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The core's half of a receive queue. WQEs are handed out in posting order. */
#ifndef QUEUE_RQ_H
#define QUEUE_RQ_H

#include "queue/sq.h"

struct rq {
	struct wq_conf c;
	uint32_t tail;		/* published, as last seen */
	uint32_t head;		/* taken */
};

struct rq_wqe {
	uint64_t wr_id;
	uint32_t num_sge;
	struct plx_sge sge[PLX_MAX_SGE];
};

void rq_init(struct rq *rq, const struct wq_conf *conf);

/* Copies WQE number `index` of a receive ring. 1, or -EINVAL when it is malformed (wr_id is set). */
int rq_copy(const struct wq_conf *c, uint32_t index, struct rq_wqe *out);

/* Takes the next WQE. 1 taken, 0 none there, -EINVAL taken but malformed (wr_id is set). */
int rq_take(struct rq *rq, struct rq_wqe *out);

/* Forgets all that is published (QP to RESET). */
void rq_reset(struct rq *rq);

/* QP in ERR: asks for (or gives up) a doorbell with each post, so that it can be flushed. Asking
 * fences and says whether WQEs are there already. */
bool rq_want_bell(struct rq *rq, bool want);

#endif

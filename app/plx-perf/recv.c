/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: how are receives kept posted? Called by the steps of bandwidth and latency tests. */
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "worker.h"

static int
post_batch(struct recv_ring *r)
{
	struct ibv_recv_wr *bad;
	int rc = ibv_post_recv(r->qp, r->chain, &bad);

	return rc ? fail("cannot post receives on QP 0x%06x: %s", r->qp->qp_num, strerror(rc)) : 0;
}

int
recv_ring_open(struct recv_ring *r, struct ibv_qp *qp, uint64_t id, uint32_t depth,
	       struct ibv_sge sge)
{
	r->qp = qp;
	r->sge = sge;
	r->batch = depth / 4 > 32 ? 32 : depth / 4;
	r->chain = calloc(r->batch, sizeof(*r->chain));
	if (!r->chain)
		return fail("out of memory");
	for (uint32_t i = 0; i < r->batch; i++) {
		r->chain[i].wr_id = id;
		r->chain[i].sg_list = &r->sge;
		r->chain[i].num_sge = 1;
		r->chain[i].next = i + 1 < r->batch ? &r->chain[i + 1] : NULL;
	}
	for (uint32_t n = 0; n + r->batch <= depth; n += r->batch) {
		if (post_batch(r))
			return -1;
	}
	return 0;
}

int
recv_ring_used(struct recv_ring *r)
{
	if (++r->missing < r->batch)
		return 0;
	r->missing = 0;
	return post_batch(r);
}

void
recv_ring_close(struct recv_ring *r)
{
	free(r->chain);
	r->chain = NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of a QP that was reset must nobody find in a CQ any more? Its failures: who uses it again would take
 * the flushed WRs of its last life for those of this one, and device drivers take them away too. What
 * succeeded stays until it is polled (E5). Control verbs, on application threads; pollers wait meanwhile.
 */
#include "verbs/verbs_priv.h"

static bool
forgotten(const struct plx_cqe *cqe, const struct plx_qp *qp)
{
	return cqe->status != IBV_WC_SUCCESS && cqe->qp == qp->v.qp.handle && cqe->qp_gen == qp->gen;
}

/* Behind the last CQE that stands there. The core may add more meanwhile, of other QPs. */
static uint32_t
end_of(const struct plx_cq *cq, uint32_t mask)
{
	uint32_t end = cq->head;

	while (end - cq->head <= mask && __atomic_load_n(&cq->ring[end & mask].phase, __ATOMIC_ACQUIRE) ==
	       plx_cqe_phase(end, cq->log2_size))
		end++;
	return end;
}

/* Those that stay move up to the newest, in order, so that the core's places are as they were. */
static void
forget(struct plx_cq *cq, const struct plx_qp *qp)
{
	uint32_t mask = (1u << cq->log2_size) - 1, end = end_of(cq, mask), to = end;

	for (uint32_t from = end; from != cq->head; ) {
		const struct plx_cqe *cqe = &cq->ring[--from & mask];

		if (forgotten(cqe, qp) || --to == from)
			continue;
		cq->ring[to & mask] = *cqe;
		cq->ring[to & mask].phase = plx_cqe_phase(to, cq->log2_size);
	}
	cq->head = to;
	__atomic_store_n(&cq->ctl->head, to, __ATOMIC_RELEASE);
}

void
verbs_cq_forget(struct ibv_cq *ibcq, const struct plx_qp *qp)
{
	struct plx_cq *cq = &verbs_cq_of(ibcq)->pub;

	__plx_lock(&cq->lock);
	forget(cq, qp);
	__plx_unlock(&cq->lock);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The mock's shared receive queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "verbs_mock.h"

int
mock_srq_create(struct ctl_create_srq *m)
{
	for (uint32_t i = 0; i < MOCK_MAX; i++) {
		struct mock_srq *srq = &mock.srq[i];

		if (srq->used)
			continue;
		*srq = (struct mock_srq){ .used = true, .gen = srq->gen + 1 };
		mock_wq_make(&srq->wq, m->max_wr, plx_rq_stride(m->max_sge), &m->wq);
		m->max_wr = 1u << srq->wq.log2_size;
		m->srq = i;
		m->srq_gen = srq->gen;
		srq->req = *m;
		return 0;
	}
	return -ENOMEM;
}

static int
resize_srq(struct mock_srq *srq, struct ctl_modify_srq *m)
{
	struct mock_wq old = srq->wq;
	uint32_t mask = (1u << old.log2_size) - 1;

	if (old.ctl->tail - old.ctl->head > m->max_wr)
		return -EINVAL;
	mock_wq_make(&srq->wq, m->max_wr, old.stride, &m->wq);
	m->max_wr = 1u << srq->wq.log2_size;
	*srq->wq.ctl = *old.ctl;
	for (uint32_t i = old.ctl->head; i != old.ctl->tail; i++)
		memcpy(srq->wq.slots + (size_t)(i & (m->max_wr - 1)) * old.stride,
		       old.slots + (size_t)(i & mask) * old.stride, old.stride);
	free(old.ctl);
	free(old.slots);
	srq->req.max_wr = m->max_wr;
	return 0;
}

int
mock_srq_modify(struct ctl_modify_srq *m)
{
	struct mock_srq *srq = &mock.srq[m->srq];

	if (m->mask & IBV_SRQ_LIMIT)
		srq->limit = m->limit;
	return m->mask & IBV_SRQ_MAX_WR ? resize_srq(srq, m) : 0;
}

int
mock_srq_query(struct ctl_query_srq *m)
{
	const struct mock_srq *srq = &mock.srq[m->srq];

	m->max_wr = srq->req.max_wr;
	m->max_sge = srq->req.max_sge;
	m->limit = srq->limit;
	return 0;
}

int
mock_srq_destroy(uint32_t i)
{
	for (uint32_t q = 0; q < MOCK_MAX; q++) {
		if (mock.qp[q].used && mock.qp[q].req.srq == i + 1)
			return -EBUSY;
	}
	free(mock.srq[i].wq.ctl);
	free(mock.srq[i].wq.slots);
	mock.srq[i].used = false;
	return 0;
}

bool
mock_srq_take(uint32_t i, struct plx_rq_wqe *out)
{
	struct mock_wq *wq = &mock.srq[i].wq;
	uint32_t head = wq->ctl->head;

	if (__atomic_load_n(&wq->ctl->tail, __ATOMIC_ACQUIRE) == head)
		return false;
	*out = *(struct plx_rq_wqe *)(wq->slots +
				      (size_t)(head & ((1u << wq->log2_size) - 1)) * wq->stride);
	__atomic_store_n(&wq->ctl->head, head + 1, __ATOMIC_RELEASE);
	return true;
}

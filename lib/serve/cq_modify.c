/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How does a completion queue become larger or smaller, and how often does it tell? Control threads,
 * under the stack's lock.
 */
#include <errno.h>
#include <sys/mman.h>

#include "serve/object.h"

#define PAGE 4096u

/* The old ring is used by nobody any more. Of the first one its memory goes, but for the page on which
 * the control words are. */
static void
drop_ring(struct cqueue *cq)
{
	if (cq->moved.at)
		rings_free(&cq->moved);
	else if (cq->rings.len > PAGE)
		madvise((char *)cq->rings.at + PAGE, cq->rings.len - PAGE, MADV_DONTNEED);
}

/*
 * First the CQ, then what feeds it: a feed may hold more than its CQ, which then says that it is full;
 * the other way round it would end a CQ that has room. So one that shrinks leaves its feeds as they are.
 */
int
serve_resize_cq(struct client *cl, struct ctl_resize_cq *m)
{
	struct rings ring = { 0 }, spare[ENG_MAX_CORES] = { 0 };
	struct cqueue *cq = cq_get(cl, m->cq);
	int rc;

	if (!cq || m->cqe < 1 || m->cqe > MAX_CQE || m->held > 1)
		return -EINVAL;
	m->log2_size = rings_log2(m->cqe + m->held);
	rc = rings_new(&ring, sizeof(struct plx_cqe) << m->log2_size);
	if (rc == 0)
		rc = home_widen(cq, m->log2_size, spare);
	if (rc == 0)
		rc = eng_cq_move(&cq->e, cq->home, ring.at, m->log2_size, m->cqe);
	if (rc < 0)
		goto free_rings;
	home_widened(cq, m->log2_size, spare);
	drop_ring(cq);
	cq->moved = ring;
	m->ring = rings_seg(ring.at, sizeof(struct plx_cqe) << m->log2_size);
	return 0;
free_rings:
	for (uint32_t i = 0; i < ENG_MAX_CORES; i++)
		rings_free(&spare[i]);
	rings_free(&ring);
	return rc;
}

/*
 * With 0 and 0, or a count of 1, each completion that was asked for makes its event at once. A count
 * without a period would let a program wait for ever for the last few: it has the longest period there is.
 */
int
serve_moderate_cq(struct client *cl, struct ctl_moderate_cq *m)
{
	struct cqueue *cq = cq_get(cl, m->cq);
	uint64_t us = m->period ? m->period : CTL_MODERATE_MAX;

	if (!cq || m->count > CTL_MODERATE_MAX || m->period > CTL_MODERATE_MAX)
		return -EINVAL;
	if (m->count == 1 || (!m->count && !m->period))
		us = 0;
	eng_cq_moderate(&cq->e, cq->home, m->count, us * 1000);
	return 0;
}

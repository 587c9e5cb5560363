/* SPDX-License-Identifier: BSD-3-Clause */
/* The application's side of the rings of a simulated host. See pair.h. */
#include "pair.h"

#include <string.h>

void
pair_qp_post_send(struct pair_qp *q, const struct plx_sq_wqe *w, const void *sge_or_data)
{
	const struct wq_conf *c = &qp_conf(q->qp)->sq;
	uint32_t tail = q->wq_ctl[0]->tail;
	uint8_t *slot = q->wq_slots[0] + (size_t)(tail & ((1u << c->log2_size) - 1)) * c->stride;
	size_t len = w->flags & PLX_WQE_INLINE ? w->length : w->num_sge * sizeof(struct plx_sge);

	memcpy(slot, w, sizeof(*w));
	if (len)
		memcpy(slot + sizeof(*w), sge_or_data, len);
	__atomic_store_n(&q->wq_ctl[0]->tail, tail + 1, __ATOMIC_RELEASE);
	q->side->x.now = q->side->pair->now;
	qp_sq_bell(q->qp, &q->side->x);
}

void
pair_qp_post_recv(struct pair_qp *q, uint64_t wr_id, const struct plx_sge *sge, uint32_t num_sge)
{
	const struct wq_conf *c = &qp_conf(q->qp)->rq;
	uint32_t tail = q->wq_ctl[1]->tail;
	uint8_t *slot = q->wq_slots[1] + (size_t)(tail & ((1u << c->log2_size) - 1)) * c->stride;
	struct plx_rq_wqe w = { .wr_id = wr_id, .num_sge = num_sge };

	memcpy(slot, &w, sizeof(w));
	if (num_sge)
		memcpy(slot + sizeof(w), sge, num_sge * sizeof(*sge));
	__atomic_store_n(&q->wq_ctl[1]->tail, tail + 1, __ATOMIC_RELEASE);
	q->side->x.now = q->side->pair->now;
	if (q->wq_ctl[1]->bell_wanted)
		qp_rq_bell(q->qp, &q->side->x);
}

bool
pair_qp_poll(struct pair_qp *q, uint32_t queue, struct plx_cqe *out)
{
	struct plx_cq_ctl *ctl = q->cq_ctl[queue];
	struct plx_cqe *e = &q->cq_ring[queue][ctl->head & ((1u << q->cq_log2) - 1)];

	if (__atomic_load_n(&e->phase, __ATOMIC_ACQUIRE) != plx_cqe_phase(ctl->head, q->cq_log2))
		return false;
	*out = *e;
	__atomic_store_n(&ctl->head, ctl->head + 1, __ATOMIC_RELEASE);
	return true;
}

void
pair_post_send(struct pair_side *s, const struct plx_sq_wqe *w, const void *sge_or_data)
{
	pair_qp_post_send(s->q, w, sge_or_data);
}

void
pair_post_recv(struct pair_side *s, uint64_t wr_id, const struct plx_sge *sge, uint32_t num_sge)
{
	pair_qp_post_recv(s->q, wr_id, sge, num_sge);
}

bool
pair_poll(struct pair_side *s, uint32_t queue, struct plx_cqe *out)
{
	return pair_qp_poll(s->q, queue, out);
}

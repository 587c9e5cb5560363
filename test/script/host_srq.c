/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues of the host and the application's half of their rings. Called by srq, limit,
 * resize and recv lines.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

/* Among the events of the transport, in the order in which they were raised. */
static void
raised(struct srq *srq, enum srq_event event)
{
	struct host_srq *s = (struct host_srq *)srq;
	struct xport *x = &s->host->x;

	if (x->num_events == QP_EVENTS_MAX) {
		host_broke(s->host, "an event of an SRQ is lost");
		return;
	}
	x->events[x->num_events++] = (struct qp_event){
		.type = event == SRQ_BROKEN ? IBV_EVENT_SRQ_ERR : IBV_EVENT_SRQ_LIMIT_REACHED,
		.cq = (struct cq *)(void *)s,	/* whose it is; only compared */
	};
}

/* `max_wr` slots, and what the smallest ring has beyond them. */
static struct wq_conf
ring(struct plx_wq_ctl *ctl, uint32_t max_wr)
{
	struct wq_conf c = { .ctl = ctl, .stride = plx_rq_stride(PLX_MAX_SGE), .max_sge = PLX_MAX_SGE,
			     .max_wr = max_wr };

	while (1u << c.log2_size < max_wr)
		c.log2_size++;
	c.slots = calloc(1u << c.log2_size, c.stride);
	if (!c.slots)
		abort();
	return c;
}

struct host_srq *
host_srq_add(struct host *h, const char *name, uint32_t max_wr, uint32_t pd)
{
	struct host_srq *s;
	struct wq_conf c;

	if (h->num_srqs == HOST_SRQS)
		return NULL;
	s = aligned_alloc(64, (sizeof(*s) + 63) & ~(size_t)63);
	if (!s)
		abort();
	memset(s, 0, sizeof(*s));
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->host = h;
	c = ring(&s->ctl, max_wr);
	srq_init(&s->srq, &c, pd, raised);
	h->srq[h->num_srqs++] = s;
	return s;
}

struct host_srq *
host_srq_find(struct host *h, const char *name)
{
	for (unsigned int i = 0; i < h->num_srqs; i++)
		if (!strcmp(h->srq[i]->name, name))
			return h->srq[i];
	return NULL;
}

void
host_srq_free(struct host_srq *s)
{
	free(s->srq.c.slots);
	free(s->own_cq.ring);
	free(s);
}

int
host_srq_recv(struct host_srq *s, uint64_t wr_id, uint32_t num_sge, const struct plx_sge *sge)
{
	const struct wq_conf *c = &s->srq.c;
	uint8_t *slot = c->slots + (size_t)(s->tail & ((1u << c->log2_size) - 1)) * c->stride;
	struct plx_rq_wqe wqe = { .wr_id = wr_id, .num_sge = num_sge };

	if (s->tail - s->ctl.head >= c->max_wr)
		return -ENOMEM;
	memcpy(slot, &wqe, sizeof(wqe));
	if (num_sge && num_sge <= PLX_MAX_SGE)
		memcpy(slot + sizeof(wqe), sge, num_sge * sizeof(*sge));
	s->ctl.tail = ++s->tail;
	return 0;
}

int
host_srq_resize(struct host_srq *s, uint32_t max_wr)
{
	uint8_t *old = s->srq.c.slots;
	struct wq_conf c = ring(&s->ctl, max_wr);
	int rc = srq_resize(&s->srq, &c, max_wr, NULL);

	free(rc ? c.slots : old);
	return rc;
}

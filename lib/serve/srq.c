/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues: made, armed, resized, asked, freed. Control threads, under the stack's lock.
 */
#include <errno.h>
#include <stdlib.h>

#include "serve/xrcd.h"

enum srq_no {			/* values of rdma-core's enums */
	SRQT_BASIC = 0,		/* enum ibv_srq_type */
	SRQT_XRC = 1,
	SRQ_MAX_WR = 1 << 0,	/* enum ibv_srq_attr_mask */
	SRQ_LIMIT = 1 << 1,
};

struct squeue *
srq_get(struct client *cl, uint32_t handle)
{
	struct squeue *s = table_get(&cl->stack->srqs, handle);

	return s && s->client == cl ? s : NULL;
}

/* One block: the control words, then the slots; at least `max_wr` of them. What there is room for is
 * granted. 0 or -ENOMEM. */
static int
make_ring(struct rings *r, uint32_t max_wr, uint32_t max_sge, struct wq_conf *conf)
{
	uint32_t log2_size = rings_log2(max_wr), stride = plx_rq_stride(max_sge);
	int rc = rings_new(r, sizeof(struct plx_wq_ctl) + ((size_t)stride << log2_size));

	if (rc < 0)
		return rc;
	*conf = (struct wq_conf){ .ctl = r->at,
		.slots = (uint8_t *)r->at + sizeof(struct plx_wq_ctl), .log2_size = log2_size,
		.stride = stride, .max_wr = 1u << log2_size, .max_sge = max_sge };
	return 0;
}

static struct ctl_wq
ring_of(const struct wq_conf *c)
{
	return (struct ctl_wq){ c->log2_size, c->stride, rings_seg(c->ctl, sizeof(*c->ctl)),
				rings_seg(c->slots, (size_t)c->stride << c->log2_size) };
}

static int
check_create(const struct ctl_create_srq *m)
{
	if (m->type != SRQT_BASIC && m->type != SRQT_XRC)
		return -EOPNOTSUPP;
	if (!m->max_wr || m->max_wr > PLX_MAX_WR || m->max_sge > PLX_MAX_SGE)
		return -EINVAL;
	return 0;
}

static int
furnish(struct squeue *s, struct client *cl, struct ctl_create_srq *m)
{
	struct wq_conf conf;
	int rc = make_ring(&s->rings, m->max_wr, m->max_sge ? m->max_sge : 1, &conf);

	if (rc < 0)
		return rc;
	rc = table_add(&cl->stack->srqs, s, &s->e.handle, &s->e.gen);
	if (rc < 0) {
		rings_free(&s->rings);
		return rc;
	}
	srq_init(&s->e.srq, &conf, s->pd->handle, eng_srq_raise);
	s->e.async_fd = cl->async_fd;
	eng_srq_add(cl->stack->eng, &s->e);
	m->srq = s->e.handle;
	m->srq_gen = s->e.gen;
	m->max_wr = conf.max_wr;
	m->max_sge = conf.max_sge;
	m->wq = ring_of(&conf);
	return 0;
}

int
serve_create_srq(struct client *cl, struct ctl_create_srq *m)
{
	struct pd *pd = pd_get(cl, m->pd);
	struct squeue *s;
	int rc = check_create(m);

	if (rc == 0 && !pd)
		rc = -EINVAL;
	if (rc < 0)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->client = cl;
	s->pd = pd;
	rc = furnish(s, cl, m);
	if (rc < 0) {
		free(s);
		return rc;
	}
	pd->users++;
	list_push(&cl->srqs, &s->node);
	if (m->type == SRQT_XRC)
		rc = xrcd_join(cl, s, m);
	if (rc < 0)
		srq_free(s);
	return rc;
}

/* Whoever takes holds the SRQ's lock, so once it has the new ring nobody reads the old one. A new limit is
 * judged with the new size, and the one that it replaces is nobody's any more. */
static int
resize(struct squeue *s, struct ctl_modify_srq *m)
{
	struct rings rings, *old;
	struct wq_conf conf;
	int rc;

	if (!m->max_wr || m->max_wr > PLX_MAX_WR)
		return -EINVAL;
	rc = make_ring(&rings, m->max_wr, s->e.srq.c.max_sge, &conf);
	if (rc < 0)
		return rc;
	rc = srq_resize(&s->e.srq, &conf, m->max_wr, m->mask & SRQ_LIMIT ? &m->limit : NULL);
	old = rc < 0 ? &rings : &s->rings;
	rings_free(old);
	if (rc < 0)
		return rc;
	s->rings = rings;
	m->max_wr = conf.max_wr;
	m->wq = ring_of(&conf);
	return 0;
}

/* Both at once are one step: nothing changes when one of them is refused. */
int
serve_modify_srq(struct client *cl, struct ctl_modify_srq *m)
{
	struct squeue *s = srq_get(cl, m->srq);

	if (!s || (m->mask & ~(uint32_t)(SRQ_MAX_WR | SRQ_LIMIT)))
		return -EINVAL;
	if (m->mask & SRQ_MAX_WR)
		return resize(s, m);
	return m->mask & SRQ_LIMIT ? srq_arm(&s->e.srq, m->limit) : 0;
}

int
serve_query_srq(struct client *cl, struct ctl_query_srq *m)
{
	struct squeue *s = srq_get(cl, m->srq);

	if (!s)
		return -EINVAL;
	m->max_wr = s->e.srq.c.max_wr;
	m->max_sge = s->e.srq.c.max_sge;
	m->limit = srq_limit(&s->e.srq);
	return 0;
}

void
srq_free(struct squeue *s)
{
	table_del(&s->client->stack->srqs, s->e.handle);
	if (s->open)
		xrcd_leave(s);
	eng_srq_del(&s->e);
	list_del(&s->node);
	s->pd->users--;
	rings_free(&s->rings);
	free(s);
}

int
serve_destroy_srq(struct client *cl, struct ctl_destroy_srq *m)
{
	struct squeue *s = srq_get(cl, m->srq);

	if (!s)
		return -EINVAL;
	if (s->users)
		return -EBUSY;
	srq_free(s);
	return 0;
}

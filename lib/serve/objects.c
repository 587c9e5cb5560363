/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protection domains, completion channels and completion queues: made, used, freed. Control threads,
 * under the stack's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/object.h"

struct pd *
pd_get(struct client *cl, uint32_t handle)
{
	struct pd *pd = table_get(&cl->stack->pds, handle);

	return pd && pd->client == cl ? pd : NULL;
}

int
serve_alloc_pd(struct client *cl, struct ctl_pd *m)
{
	struct pd *pd = calloc(1, sizeof(*pd));

	if (!pd)
		return -ENOMEM;
	if (table_add(&cl->stack->pds, pd, &pd->handle, NULL) < 0) {
		free(pd);
		return -ENOMEM;
	}
	pd->client = cl;
	list_push(&cl->pds, &pd->node);
	m->pd = pd->handle;
	return 0;
}

void
pd_free(struct pd *pd)
{
	table_del(&pd->client->stack->pds, pd->handle);
	list_del(&pd->node);
	free(pd);
}

int
serve_dealloc_pd(struct client *cl, struct ctl_pd *m)
{
	struct pd *pd = pd_get(cl, m->pd);

	if (!pd)
		return -EINVAL;
	if (pd->users)
		return -EBUSY;
	pd_free(pd);
	return 0;
}

static struct channel *
channel_get(struct client *cl, uint32_t handle)
{
	struct channel *ch = table_get(&cl->stack->channels, handle - 1);	/* 0 is none */

	return ch && ch->client == cl ? ch : NULL;
}

int
serve_create_channel(struct client *cl, struct ctl_channel *m)
{
	struct channel *ch = calloc(1, sizeof(*ch));
	int fds[2], rc;

	if (!ch)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0) {
		rc = -errno;
		goto free_channel;
	}
	rc = table_add(&cl->stack->channels, ch, &ch->handle, NULL);
	if (rc < 0)
		goto close_fds;
	ch->client = cl;
	ch->fd = fds[1];
	list_push(&cl->channels, &ch->node);
	m->channel = ch->handle + 1;
	m->fd = fds[0];
	return 0;
close_fds:
	close(fds[0]);
	close(fds[1]);
free_channel:
	free(ch);
	return rc;
}

void
channel_free(struct channel *ch)
{
	table_del(&ch->client->stack->channels, ch->handle);
	list_del(&ch->node);
	close(ch->fd);
	free(ch);
}

int
serve_destroy_channel(struct client *cl, struct ctl_channel *m)
{
	struct channel *ch = channel_get(cl, m->channel);

	if (!ch)
		return -EINVAL;
	if (ch->users)
		return -EBUSY;
	channel_free(ch);
	return 0;
}

struct cqueue *
cq_get(struct client *cl, uint32_t handle)
{
	struct cqueue *cq = table_get(&cl->stack->cqs, handle);

	return cq && cq->client == cl ? cq : NULL;
}

enum { CQ_IGNORE_OVERRUN = 1 << 1 };	/* IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN */

/* Rings and number of a new CQ. */
static int
cq_furnish(struct cqueue *cq, struct client *cl, struct ctl_create_cq *m)
{
	uint32_t log2_size = rings_log2(m->cqe + m->held), handle, gen;
	size_t ring = sizeof(struct plx_cqe) << log2_size;
	struct plx_cqe *slots;
	int rc = rings_new(&cq->rings, sizeof(struct plx_cq_ctl) + ring);

	if (rc < 0)
		return rc;
	rc = table_add(&cl->stack->cqs, cq, &handle, &gen);
	if (rc < 0) {
		rings_free(&cq->rings);
		return rc;
	}
	slots = (void *)((char *)cq->rings.at + sizeof(struct plx_cq_ctl));
	cq_init(&cq->e.cq, cq->rings.at, slots, log2_size, 1u << log2_size);
	cq->e.cq.handle = m->cq = handle;
	cq->e.cq.gen = m->cq_gen = gen;
	cq->e.cq.async_fd = cl->async_fd;
	cq->e.cq.event_fd = -1;
	cq->e.cq.lossy = m->flags & CQ_IGNORE_OVERRUN;
	cq->e.cq.clock = m->stamped ? eng_ticks : NULL;
	m->log2_size = log2_size;
	m->core = cq->home ? core_index(cq->home) : 0;
	m->ctl = rings_seg(cq->rings.at, sizeof(struct plx_cq_ctl));
	m->ring = rings_seg(slots, ring);
	return 0;
}

int
serve_create_cq(struct client *cl, struct ctl_create_cq *m)
{
	struct channel *ch = m->channel ? channel_get(cl, m->channel) : NULL;
	struct cqueue *cq;
	int rc;

	if (m->cqe < 1 || m->cqe > MAX_CQE || (m->channel && !ch) ||
	    m->held > 1 || m->comp_vector >= eng_num_cores(cl->stack->eng))
		return -EINVAL;
	if (m->flags & ~(uint32_t)CQ_IGNORE_OVERRUN)
		return -EOPNOTSUPP;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -ENOMEM;
	cq->vector = m->comp_vector;
	if (cq->vector)
		cq->home = eng_core(cl->stack->eng, cq->vector);
	rc = cq_furnish(cq, cl, m);
	if (rc < 0) {
		free(cq);
		return rc;
	}
	cq->client = cl;
	list_push(&cl->cqs, &cq->node);
	if (ch) {
		cq->channel = ch;
		cq->e.cq.event_fd = ch->fd;
		ch->users++;
	}
	return 0;
}

void
cq_free(struct cqueue *cq)
{
	home_leave(cq);
	table_del(&cq->client->stack->cqs, cq->e.cq.handle);
	list_del(&cq->node);
	if (cq->channel)
		cq->channel->users--;
	rings_free(&cq->moved);
	rings_free(&cq->rings);
	free(cq);
}

int
serve_destroy_cq(struct client *cl, struct ctl_destroy_cq *m)
{
	struct cqueue *cq = cq_get(cl, m->cq);

	if (!cq)
		return -EINVAL;
	if (cq->users)
		return -EBUSY;
	cq_free(cq);
	return 0;
}

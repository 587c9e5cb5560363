/* SPDX-License-Identifier: BSD-3-Clause */
/* Which receives do several QPs share? Shared receive queues; control verbs, on application threads. */
#include <errno.h>

#include "verbs/verbs_priv.h"

/* Under ctx->lock. */
struct verbs_srq *
verbs_srq_find(struct verbs_ctx *ctx, uint32_t handle, uint32_t gen)
{
	struct verbs_srq *srq = handle < ctx->srq_table_size ? ctx->srq_table[handle] : NULL;

	return srq && srq->pub.gen == gen ? srq : NULL;
}

static int
srq_publish(struct verbs_ctx *ctx, struct verbs_srq *srq)
{
	uint32_t handle = srq->pub.srq.handle;

	if (handle >= ctx->srq_table_size)
		return -ENOMEM;
	pthread_mutex_lock(&ctx->lock);
	ctx->srq_table[handle] = srq;
	pthread_mutex_unlock(&ctx->lock);
	return 0;
}

/* The stack may have given the handle to a younger SRQ already. */
static void
srq_unpublish(struct verbs_ctx *ctx, struct verbs_srq *srq)
{
	uint32_t handle = srq->pub.srq.handle;

	pthread_mutex_lock(&ctx->lock);
	if (handle < ctx->srq_table_size && ctx->srq_table[handle] == srq)
		ctx->srq_table[handle] = NULL;
	pthread_mutex_unlock(&ctx->lock);
}

/* The ring that the stack gave; the inline layer relies on it to hold what was granted. 0, or -EIO and
 * nothing has changed. */
static int
ring_map(struct verbs_ctx *ctx, struct plx_wq *wq, const struct ctl_wq *from, uint32_t max_wr,
	 uint32_t max_sge)
{
	struct plx_wq_ctl *ctl = ctx->backend->map(ctx->client.handle, &from->ctl);
	uint8_t *slots = ctx->backend->map(ctx->client.handle, &from->slots);

	if (!ctl || !slots || from->log2_size > 31 || !max_wr || max_wr > 1u << from->log2_size ||
	    from->stride < plx_rq_stride(max_sge))
		return -EIO;
	wq->ctl = ctl;
	wq->slots = slots;
	wq->mask = (1u << from->log2_size) - 1;
	wq->stride = from->stride;
	wq->max_wr = max_wr;
	wq->max_sge = max_sge;
	return 0;
}

static void
srq_fill(struct ibv_srq *s, struct ibv_pd *pd, void *srq_context, const struct ctl_create_srq *msg)
{
	s->context = pd->context;
	s->srq_context = srq_context;
	s->handle = msg->srq;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->cond, NULL);
}

static struct verbs_srq *
srq_new(struct ibv_pd *pd)
{
	bool theirs;
	struct verbs_srq *srq = verbs_pd_new(pd, sizeof(*srq), _Alignof(struct verbs_srq), PLX_RESOURCE_SRQ,
					     &theirs);

	if (!srq)
		return NULL;
	srq->pub.srq.pd = pd;
	srq->theirs = theirs;
	srq->pub.wq.single = verbs_pd_single(pd);
	return srq;
}

static void
srq_memory_free(struct verbs_srq *srq)
{
	verbs_pd_free(srq->pub.srq.pd, srq, PLX_RESOURCE_SRQ, srq->theirs);
}

static void
srq_free(struct verbs_srq *srq)
{
	pthread_cond_destroy(&srq->pub.srq.cond);
	pthread_mutex_destroy(&srq->pub.srq.mutex);
	srq_memory_free(srq);
}

static int
srq_create(struct ibv_pd *pd, void *srq_context, struct ctl_create_srq *msg, struct verbs_srq **out)
{
	struct verbs_ctx *ctx = verbs_ctx_of(pd->context);
	struct verbs_srq *srq = srq_new(pd);
	struct ctl_destroy_srq undo;
	int err;

	if (!srq)
		return -ENOMEM;
	err = verbs_call(pd->context, CTL_CREATE_SRQ, msg);
	if (err) {
		srq_memory_free(srq);
		return err;
	}
	srq_fill(&srq->pub.srq, pd, srq_context, msg);
	srq->pub.gen = msg->srq_gen;
	err = ring_map(ctx, &srq->pub.wq, &msg->wq, msg->max_wr, msg->max_sge);
	if (!err)
		err = srq_publish(ctx, srq);
	if (err) {
		undo = (struct ctl_destroy_srq){ .srq = msg->srq };
		verbs_call(pd->context, CTL_DESTROY_SRQ, &undo);
		srq_free(srq);
		return err;
	}
	*out = srq;
	return 0;
}

static struct ibv_srq *
srq_make(struct ibv_pd *pd, struct ibv_srq_init_attr *init, struct ctl_create_srq *msg)
{
	const struct ctl_query_device *limits = &verbs_ctx_of(pd->context)->limits;
	struct verbs_srq *srq;
	int err = 0;

	msg->pd = pd->handle;
	msg->max_wr = init->attr.max_wr;
	msg->max_sge = init->attr.max_sge;
	if (!msg->max_wr || msg->max_wr > limits->max_srq_wr || msg->max_sge > limits->max_srq_sge)
		err = -EINVAL;
	if (!err)
		err = srq_create(pd, init->srq_context, msg, &srq);
	if (err) {
		errno = -err;
		return NULL;
	}
	init->attr.max_wr = msg->max_wr;
	init->attr.max_sge = msg->max_sge;
	return &srq->pub.srq;
}

struct ibv_srq *
plx_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct ctl_create_srq msg = { .type = IBV_SRQT_BASIC };

	return srq_make(pd, init, &msg);
}

/* Targets of the domain, on any core, fill its CQ: an empty poll must drive them all. */
static struct ibv_srq *
xrc_srq_make(struct ibv_srq_init_attr_ex *init)
{
	struct ctl_create_srq msg = { .type = IBV_SRQT_XRC, .xrcd = verbs_xrcd_of(init->xrcd)->handle,
				      .cq = init->cq->handle };
	struct ibv_srq *ibsrq = srq_make(init->pd, (struct ibv_srq_init_attr *)init, &msg);
	const struct plx_context *ctx = __plx_context_of(init->pd->context);
	uint64_t cores = 0;

	if (!ibsrq)
		return NULL;
	for (uint32_t i = 0; i < ctx->num_cores; i++)
		cores |= ctx->core[i].drive ? 1ull << i : 0;
	__atomic_fetch_or(&verbs_cq_of(init->cq)->pub.cores, cores, __ATOMIC_RELAXED);
	verbs_srq_of(ibsrq)->xrc = true;
	verbs_srq_of(ibsrq)->number = msg.number;
	return ibsrq;
}

/* 0: a basic SRQ, which is the default, and of which domain and CQ do not count; 1: one of XRC; or
 * -errno. */
static int
ex_check(struct ibv_context *context, const struct ibv_srq_init_attr_ex *init)
{
	const uint32_t xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	uint32_t mask = init->comp_mask;
	enum ibv_srq_type type = mask & IBV_SRQ_INIT_ATTR_TYPE ? init->srq_type : IBV_SRQT_BASIC;

	if ((mask & ~(uint32_t)(IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | xrc)) ||
	    (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC))
		return -EOPNOTSUPP;
	if (!(mask & IBV_SRQ_INIT_ATTR_PD) || !init->pd || init->pd->context != context)
		return -EINVAL;
	if (type == IBV_SRQT_BASIC)
		return 0;
	if ((mask & xrc) != xrc || !init->xrcd || init->xrcd->context != context || !init->cq ||
	    init->cq->context != context)
		return -EINVAL;
	return 1;
}

struct ibv_srq *
plx_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init)
{
	int type = ex_check(context, init);

	if (type < 0) {
		errno = -type;
		return NULL;
	}
	if (type)
		return xrc_srq_make(init);
	/* the plain attributes are the beginning of the extended ones */
	return plx_create_srq(init->pd, (struct ibv_srq_init_attr *)init);
}

int
plx_get_srq_num(struct ibv_srq *ibsrq, uint32_t *srq_num)
{
	const struct verbs_srq *srq = verbs_srq_of(ibsrq);

	if (!srq->xrc)
		return EINVAL;
	*srq_num = srq->number;
	return 0;
}

/* Nobody posts while the ring changes: the WRs that wait are moved with their numbers. */
static int
srq_modify(struct verbs_srq *srq, struct ctl_modify_srq *msg)
{
	struct verbs_ctx *ctx = verbs_ctx_of(srq->pub.srq.context);
	struct plx_wq *wq = &srq->pub.wq;
	int err;

	/* in a forked child, too, where nobody may be there to unlock */
	if (!(msg->mask & IBV_SRQ_MAX_WR) || ctx->pub.refuse)
		return verbs_call(srq->pub.srq.context, CTL_MODIFY_SRQ, msg);
	__plx_lock(&wq->lock);
	err = verbs_call(srq->pub.srq.context, CTL_MODIFY_SRQ, msg);
	if (!err)
		err = ring_map(ctx, wq, &msg->wq, msg->max_wr, wq->max_sge);
	__plx_unlock(&wq->lock);
	return err;
}

int
plx_modify_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr, int attr_mask)
{
	struct ctl_modify_srq msg = { .srq = ibsrq->handle, .mask = (uint32_t)attr_mask,
				      .limit = attr->srq_limit, .max_wr = attr->max_wr };

	return -srq_modify(verbs_srq_of(ibsrq), &msg);
}

int
plx_query_srq(struct ibv_srq *ibsrq, struct ibv_srq_attr *attr)
{
	struct ctl_query_srq msg = { .srq = ibsrq->handle };
	int err = verbs_call(ibsrq->context, CTL_QUERY_SRQ, &msg);

	if (err)
		return -err;
	*attr = (struct ibv_srq_attr){ .max_wr = msg.max_wr, .max_sge = msg.max_sge,
				       .srq_limit = msg.limit };
	return 0;
}

/* D-5. The count of what was delivered cannot grow any more. */
static void
srq_wait_acks(struct verbs_srq *srq)
{
	struct ibv_srq *s = &srq->pub.srq;

	pthread_mutex_lock(&s->mutex);
	while ((int32_t)(srq->async_delivered - s->events_completed) > 0)
		pthread_cond_wait(&s->cond, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
}

int
plx_destroy_srq(struct ibv_srq *ibsrq)
{
	struct verbs_ctx *ctx = verbs_ctx_of(ibsrq->context);
	struct verbs_srq *srq = verbs_srq_of(ibsrq);
	struct ctl_destroy_srq msg = { .srq = ibsrq->handle };
	int err = verbs_call(ibsrq->context, CTL_DESTROY_SRQ, &msg);

	if (err)
		return -err;
	srq_unpublish(ctx, srq);
	verbs_evq_purge(&ctx->async);
	srq_wait_acks(srq);
	srq_free(srq);
	return 0;
}

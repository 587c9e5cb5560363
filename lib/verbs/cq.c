/* SPDX-License-Identifier: BSD-3-Clause */
/* Where do completions go? Completion queues; control verbs, on application threads. */
#include <errno.h>

#include "verbs/verbs_priv.h"

/* Under ctx->lock. */
struct verbs_cq *
verbs_cq_find(struct verbs_ctx *ctx, uint32_t handle, uint32_t gen)
{
	struct verbs_cq *cq = handle < ctx->cq_table_size ? ctx->cq_table[handle] : NULL;

	return cq && cq->pub.gen == gen ? cq : NULL;
}

static int
cq_publish(struct verbs_ctx *ctx, struct verbs_cq *cq)
{
	uint32_t handle = cq->pub.v.cq.handle;

	if (handle >= ctx->cq_table_size)
		return -ENOMEM;
	pthread_mutex_lock(&ctx->lock);
	ctx->cq_table[handle] = cq;
	pthread_mutex_unlock(&ctx->lock);
	return 0;
}

/* The stack may have given the handle to a younger CQ already. */
static void
cq_unpublish(struct verbs_ctx *ctx, struct verbs_cq *cq)
{
	uint32_t handle = cq->pub.v.cq.handle;

	pthread_mutex_lock(&ctx->lock);
	if (handle < ctx->cq_table_size && ctx->cq_table[handle] == cq)
		ctx->cq_table[handle] = NULL;
	pthread_mutex_unlock(&ctx->lock);
}

static int
cq_map(struct verbs_ctx *ctx, struct verbs_cq *cq, const struct ctl_create_cq *msg)
{
	struct plx_cq *pub = &cq->pub;

	pub->ctl = ctx->backend->map(ctx->client.handle, &msg->ctl);
	pub->ring = ctx->backend->map(ctx->client.handle, &msg->ring);
	if (!pub->ctl || !pub->ring || msg->log2_size > 31)
		return -ENOMEM;
	pub->cur = pub->ring;
	pub->log2_size = msg->log2_size;
	pub->gen = msg->cq_gen;
	if (msg->core < ctx->pub.num_cores && ctx->pub.core[msg->core].drive)
		pub->cores = 1ull << msg->core;
	return 0;
}

static void
cq_fill(struct ibv_cq *c, struct ibv_context *context, const struct ctl_create_cq *msg)
{
	c->context = context;
	c->handle = msg->cq;
	c->cqe = (int)msg->cqe;
	pthread_mutex_init(&c->mutex, NULL);
	pthread_cond_init(&c->cond, NULL);
}

static struct verbs_cq *
cq_new(struct ibv_pd *parent)
{
	bool theirs;
	struct verbs_cq *cq = verbs_pd_new(parent, sizeof(*cq), _Alignof(struct verbs_cq), PLX_RESOURCE_CQ,
					   &theirs);

	if (!cq)
		return NULL;
	cq->parent = parent;
	cq->theirs = theirs;
	return cq;
}

static void
cq_memory_free(struct verbs_cq *cq)
{
	verbs_pd_free(cq->parent, cq, PLX_RESOURCE_CQ, cq->theirs);
}

static void
cq_free(struct verbs_cq *cq)
{
	pthread_cond_destroy(&cq->pub.v.cq.cond);
	pthread_mutex_destroy(&cq->pub.v.cq.mutex);
	cq_memory_free(cq);
}

static int
cq_create(struct verbs_ctx *ctx, struct ibv_pd *parent, struct ctl_create_cq *msg, struct verbs_cq **out)
{
	struct ibv_context *context = &ctx->pub.vctx.context;
	struct verbs_cq *cq = cq_new(parent);
	struct ctl_destroy_cq undo;
	int err = cq ? verbs_call(context, CTL_CREATE_CQ, msg) : -ENOMEM;

	if (err) {
		if (cq)
			cq_memory_free(cq);
		return err;
	}
	cq_fill(&cq->pub.v.cq, context, msg);
	err = cq_map(ctx, cq, msg);
	if (!err)
		err = cq_publish(ctx, cq);
	if (err) {
		undo = (struct ctl_destroy_cq){ .cq = msg->cq };
		verbs_call(context, CTL_DESTROY_CQ, &undo);
		cq_free(cq);
		return err;
	}
	*out = cq;
	return 0;
}

int
verbs_cq_make(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr, struct ctl_create_cq *msg,
	      struct verbs_cq **out)
{
	struct verbs_ctx *ctx = verbs_ctx_of(context);
	struct ibv_comp_channel *channel = attr->channel;
	int err;

	if (attr->cqe < 1 || attr->cqe > ctx->limits.max_cqe ||
	    attr->comp_vector >= (uint32_t)context->num_comp_vectors ||
	    (channel && channel->context != context))
		return -EINVAL;
	msg->cqe = attr->cqe;
	msg->channel = channel ? ((struct verbs_channel *)channel)->handle : 0;
	msg->comp_vector = attr->comp_vector;
	err = cq_create(ctx, attr->parent_domain, msg, out);
	if (err)
		return err;
	(*out)->pub.v.cq.channel = channel;
	(*out)->pub.v.cq.cq_context = attr->cq_context;
	if (channel)
		__atomic_fetch_add(&channel->refcnt, 1, __ATOMIC_RELAXED);
	return 0;
}

struct ibv_cq *
plx_create_cq(struct ibv_context *context, int cqe, void *cq_context,
	      struct ibv_comp_channel *channel, int comp_vector)
{
	/* what is below 0 is above every limit */
	const struct ibv_cq_init_attr_ex attr = {
		.cqe = (uint32_t)cqe,
		.cq_context = cq_context,
		.channel = channel,
		.comp_vector = (uint32_t)comp_vector,
	};
	struct ctl_create_cq msg = { 0 };
	struct verbs_cq *cq;
	int err = verbs_cq_make(context, &attr, &msg, &cq);

	if (err) {
		errno = -err;
		return NULL;
	}
	return &cq->pub.v.cq;
}

/* Other pollers wait meanwhile. What is not polled stands in the new ring already. */
int
plx_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct verbs_ctx *ctx = verbs_ctx_of(ibcq->context);
	struct plx_cq *cq = &verbs_cq_of(ibcq)->pub;
	struct ctl_resize_cq msg = { .cq = ibcq->handle, .cqe = (uint32_t)cqe,
				     .held = verbs_cq_of(ibcq)->extended };
	int err;

	if (ctx->pub.refuse)	/* first: in a forked child nobody may be there to unlock */
		return ctx->pub.refuse;
	if (cqe < 1 || (uint32_t)cqe > ctx->limits.max_cqe)
		return EINVAL;
	__plx_lock(&cq->lock);
	err = verbs_call(ibcq->context, CTL_RESIZE_CQ, &msg);
	if (!err) {
		cq->ring = ctx->backend->map(ctx->client.handle, &msg.ring);
		cq->cur = cq->ring;
		cq->log2_size = msg.log2_size;
		cq->head = 0;
		ibcq->cqe = cqe;
	}
	__plx_unlock(&cq->lock);
	return -err;
}

int
plx_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct ctl_moderate_cq msg = {
		.cq = cq->handle,
		.count = attr->moderate.cq_count,
		.period = attr->moderate.cq_period,
	};

	if (attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE)
		return EINVAL;
	if (!attr->attr_mask)
		return verbs_ctx_of(cq->context)->pub.refuse;
	return -verbs_call(cq->context, CTL_MODERATE_CQ, &msg);
}

/* D-5. The counts of what was delivered cannot grow any more. */
static void
cq_wait_acks(struct verbs_cq *cq)
{
	struct ibv_cq *c = &cq->pub.v.cq;

	pthread_mutex_lock(&c->mutex);
	while ((int32_t)(cq->comp_delivered - c->comp_events_completed) > 0 ||
	       (int32_t)(cq->async_delivered - c->async_events_completed) > 0)
		pthread_cond_wait(&c->cond, &c->mutex);
	pthread_mutex_unlock(&c->mutex);
}

int
plx_destroy_cq(struct ibv_cq *ibcq)
{
	struct verbs_ctx *ctx = verbs_ctx_of(ibcq->context);
	struct ctl_destroy_cq msg = { .cq = ibcq->handle };
	struct ibv_comp_channel *channel = ibcq->channel;
	struct verbs_cq *cq = verbs_cq_of(ibcq);
	int err = verbs_call(ibcq->context, CTL_DESTROY_CQ, &msg);

	if (err)
		return -err;
	cq_unpublish(ctx, cq);
	if (channel)
		verbs_evq_purge(&((struct verbs_channel *)channel)->events);
	verbs_evq_purge(&ctx->async);
	cq_wait_acks(cq);
	if (channel)
		__atomic_fetch_sub(&channel->refcnt, 1, __ATOMIC_RELEASE);
	cq_free(cq);
	return 0;
}

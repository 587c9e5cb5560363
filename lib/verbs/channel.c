/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How does a program wait for completions? Completion channels and their events; control verbs, on
 * application threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs/verbs_priv.h"

static struct verbs_channel *
channel_of(struct ibv_comp_channel *channel)
{
	return (struct verbs_channel *)channel;
}

/* The record's CQ, if it is still that one; *out is a struct ibv_cq pointer. */
static bool
channel_deliver(struct ibv_context *context, const void *record, void *out)
{
	struct verbs_ctx *ctx = verbs_ctx_of(context);
	struct plx_cq_event e;
	struct verbs_cq *cq;

	memcpy(&e, record, sizeof(e));
	pthread_mutex_lock(&ctx->lock);
	cq = verbs_cq_find(ctx, e.cq, e.cq_gen);
	if (cq && out) {
		cq->comp_delivered++;
		*(struct ibv_cq **)out = &cq->pub.v.cq;
	}
	pthread_mutex_unlock(&ctx->lock);
	return cq != NULL;
}

struct ibv_comp_channel *
plx_create_comp_channel(struct ibv_context *context)
{
	struct verbs_channel *ch = calloc(1, sizeof(*ch));
	struct ctl_channel msg = { .fd = -1 };
	int err = ch ? verbs_call(context, CTL_CREATE_CHANNEL, &msg) : -ENOMEM;

	if (err)
		goto fail;
	err = verbs_evq_init(&ch->events, context, msg.fd, sizeof(struct plx_cq_event),
			     channel_deliver);
	if (err) {
		verbs_call(context, CTL_DESTROY_CHANNEL, &msg);
		close(msg.fd);
		goto fail;
	}
	ch->handle = msg.channel;
	ch->channel.context = context;
	ch->channel.fd = msg.fd;
	return &ch->channel;

fail:
	free(ch);
	errno = -err;
	return NULL;
}

int
plx_destroy_comp_channel(struct ibv_comp_channel *channel)
{
	struct verbs_channel *ch = channel_of(channel);
	struct ctl_channel msg = { .channel = ch->handle };
	int err;

	if (__atomic_load_n(&channel->refcnt, __ATOMIC_ACQUIRE) != 0)
		return EBUSY;
	err = verbs_call(channel->context, CTL_DESTROY_CHANNEL, &msg);
	if (err)
		return -err;
	verbs_evq_fini(&ch->events);
	close(channel->fd);
	free(ch);
	return 0;
}

int
plx_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
	int err = verbs_evq_get(&channel_of(channel)->events, cq);

	if (err) {
		errno = -err;
		return -1;
	}
	*cq_context = (*cq)->cq_context;
	return 0;
}

void
plx_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
	pthread_mutex_lock(&cq->mutex);
	cq->comp_events_completed += nevents;
	pthread_cond_signal(&cq->cond);
	pthread_mutex_unlock(&cq->mutex);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How does an event reach the program? Records come over a socket pair; this file waits for them,
 * drops those of objects that are gone, and gives out asynchronous events. Control verbs, on
 * application threads; readers of one queue may be many.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "verbs/verbs_priv.h"

#define EVQ_RECORD_MAX 64
/* Rounds that a waiting thread drives a core which has no thread of its own before it sleeps: the
 * answer that it waits for is often that near. */
#define EVQ_DRIVE_ROUNDS 64

int
verbs_evq_init(struct verbs_evq *q, struct ibv_context *context, int fd, size_t size,
	       bool (*deliver)(struct ibv_context *context, const void *record, void *out))
{
	if (size > EVQ_RECORD_MAX)
		return -EINVAL;
	*q = (struct verbs_evq){ .fd = fd, .size = size, .context = context, .deliver = deliver };
	return -pthread_mutex_init(&q->lock, NULL);
}

void
verbs_evq_fini(struct verbs_evq *q)
{
	pthread_mutex_destroy(&q->lock);
}

/* A cancelled thread must not take the lock with it: between these two there is no cancellation. */
static void
evq_lock(struct verbs_evq *q, int *cancel)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, cancel);
	pthread_mutex_lock(&q->lock);
}

static void
evq_unlock(struct verbs_evq *q, int cancel)
{
	pthread_mutex_unlock(&q->lock);
	pthread_setcancelstate(cancel, NULL);
}

/* Under the lock. One record without waiting: 0, -EAGAIN, -EIO when the other end is gone. */
static int
evq_read(struct verbs_evq *q, void *record, int flags)
{
	ssize_t n;

	do
		n = recv(q->fd, record, q->size, MSG_DONTWAIT | flags);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EWOULDBLOCK ? -EAGAIN : -errno;
	return (size_t)n == q->size ? 0 : -EIO;
}

/* Under the lock. Takes away records of dead objects up to the first of a living one, so that a
 * readable fd is a promise. */
static void
evq_peel(struct verbs_evq *q)
{
	uint8_t record[EVQ_RECORD_MAX];

	while (q->stale) {
		if (evq_read(q, record, MSG_PEEK)) {
			q->stale = false;
			return;
		}
		if (q->deliver(q->context, record, NULL))
			return;
		evq_read(q, record, 0);
	}
}

void
verbs_evq_purge(struct verbs_evq *q)
{
	int cancel;

	evq_lock(q, &cancel);
	q->stale = true;
	evq_peel(q);
	evq_unlock(q, cancel);
}

/* 0, or -EAGAIN when there is no event of a living object. */
static int
evq_try(struct verbs_evq *q, void *out)
{
	uint8_t record[EVQ_RECORD_MAX];
	int cancel, err;

	evq_lock(q, &cancel);
	do
		err = evq_read(q, record, 0);
	while (!err && !q->deliver(q->context, record, out));
	if (!err)
		evq_peel(q);
	evq_unlock(q, cancel);
	return err;
}

/* Who waits has nothing else to do: it drives the cores that have no thread of their own. */
static void
evq_drive(struct plx_context *ctx)
{
	int cancel;

	/* the stack's locks must not go with a cancelled thread either */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	for (uint32_t i = 0; i < ctx->num_cores; i++) {
		if (ctx->core[i].drive)
			ctx->core[i].drive(ctx->core[i].arg, PLX_DRIVE_POLL);
	}
	pthread_setcancelstate(cancel, NULL);
}

static bool
evq_can_drive(const struct plx_context *ctx)
{
	for (uint32_t i = 0; i < ctx->num_cores; i++) {
		if (ctx->core[i].drive)
			return true;
	}
	return false;
}

/* Nobody of this program drives from now on: the cores' own threads take over at once, not at the end
 * of the sleep that they began while it did. */
static void
evq_hand_over(const struct plx_context *ctx)
{
	for (uint32_t i = 0; i < ctx->num_cores; i++)
		ctx->core[i].wake(ctx->core[i].arg);
}

int
verbs_evq_get(struct verbs_evq *q, void *out)
{
	struct plx_context *ctx = __plx_context_of(q->context);
	struct pollfd wait = { .fd = q->fd, .events = POLLIN };
	bool nonblock = fcntl(q->fd, F_GETFL) & O_NONBLOCK;
	int rounds = evq_can_drive(ctx) && !nonblock ? EVQ_DRIVE_ROUNDS : 0;
	int err;

	for (;;) {
		if (ctx->refuse)
			return -ctx->refuse;
		err = evq_try(q, out);
		if (err != -EAGAIN || nonblock)
			return err;
		if (rounds) {
			rounds--;
			evq_drive(ctx);
			continue;
		}
		evq_hand_over(ctx);
		/* a signal's handler ran: wait on, as read() with SA_RESTART would */
		if (poll(&wait, 1, -1) < 0 && errno != EINTR)
			return -errno;
	}
}

static bool
async_of_cq(struct verbs_ctx *ctx, const struct plx_async_event *e, struct ibv_async_event *out)
{
	struct verbs_cq *cq = verbs_cq_find(ctx, e->handle, e->gen);

	if (cq && out) {
		cq->async_delivered++;
		out->element.cq = &cq->pub.v.cq;
	}
	return cq != NULL;
}

static bool
async_of_qp(struct verbs_ctx *ctx, const struct plx_async_event *e, struct ibv_async_event *out)
{
	struct verbs_qp *qp = verbs_qp_find(ctx, e->handle, e->gen);

	if (qp && out) {
		qp->async_delivered++;
		out->element.qp = &qp->pub.v.qp;
	}
	return qp != NULL;
}

static bool
async_of_srq(struct verbs_ctx *ctx, const struct plx_async_event *e, struct ibv_async_event *out)
{
	struct verbs_srq *srq = verbs_srq_find(ctx, e->handle, e->gen);

	if (srq && out) {
		srq->async_delivered++;
		out->element.srq = &srq->pub.srq;
	}
	return srq != NULL;
}

bool
verbs_async_deliver(struct ibv_context *context, const void *record, void *out)
{
	struct verbs_ctx *ctx = verbs_ctx_of(context);
	struct ibv_async_event *event = out;
	struct plx_async_event e;
	bool alive = true;

	memcpy(&e, record, sizeof(e));
	pthread_mutex_lock(&ctx->lock);
	if (event)
		event->event_type = (enum ibv_event_type)e.type;
	if (e.subject == PLX_EVENT_CQ)
		alive = async_of_cq(ctx, &e, event);
	else if (e.subject == PLX_EVENT_QP)
		alive = async_of_qp(ctx, &e, event);
	else if (e.subject == PLX_EVENT_SRQ)
		alive = async_of_srq(ctx, &e, event);
	else if (event)
		event->element.port_num = (int)e.handle;
	pthread_mutex_unlock(&ctx->lock);
	return alive;
}

int
plx_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	int err = verbs_evq_get(&verbs_ctx_of(context)->async, event);

	if (!err)
		return 0;
	errno = -err;
	return -1;
}

static void
ack(pthread_mutex_t *mutex, pthread_cond_t *cond, uint32_t *completed)
{
	pthread_mutex_lock(mutex);
	(*completed)++;
	pthread_cond_signal(cond);
	pthread_mutex_unlock(mutex);
}

void
plx_ack_async_event(struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		ack(&event->element.cq->mutex, &event->element.cq->cond,
		    &event->element.cq->async_events_completed);
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		ack(&event->element.qp->mutex, &event->element.qp->cond,
		    &event->element.qp->events_completed);
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		ack(&event->element.srq->mutex, &event->element.srq->cond,
		    &event->element.srq->events_completed);
		break;
	default: /* the device's and the port's need no answer */
		break;
	}
}

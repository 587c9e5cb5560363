/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who must be told? Completion events go to the socket of the CQ's channel, those of a feed to the CQ's
 * home core, the others to the client's socket. Called by the loop, with the lock. A socket that is
 * full is tried again in a later round; no event is lost, and an event costs nothing while none is due.
 */
#include "engine/core.h"

#include <errno.h>
#include <sys/socket.h>

#include <pollux/abi/event.h>

enum ev {			/* values of enum ibv_event_type that are handled by number */
	EV_CQ_ERR = 0,
	EV_PORT_ACTIVE = 9,
	EV_PORT_ERR = 10,
	EV_LAST_WQE = 16,
	EV_COUNT = 32,
};

bool
core_tell(int fd, const void *rec, size_t len)
{
	if (fd < 0 || send(fd, rec, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len)
		return true;
	return errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ENOBUFS;
}

static void
cq_failed(struct core *c, struct eng_cq *cq)
{
	if (cq->feed) {
		core_feed_ended(c, cq->feed);
		return;
	}
	if (!cq->error_due)
		list_push(&c->cq_errors, &cq->error_node);
	cq->error_due = true;
	core_cq_ended(c, cq);
}

void
core_qp_raised(struct core *c, struct eng_qp *q, uint32_t type)
{
	list_for_each(n, &q->ears) {
		struct eng_ear *ear = container_of(n, struct eng_ear, node);

		ear->events |= 1u << type;
		if (!list_linked(&ear->event_node))
			list_push(&c->qp_events, &ear->event_node);
	}
}

void
core_take_events(struct core *c)
{
	for (uint32_t i = 0; i < c->x.num_events; i++) {
		const struct qp_event *ev = &c->x.events[i];

		if (ev->qp) {
			if (ev->type != EV_LAST_WQE || !core_feed_last(qp_owner(ev->qp)))
				core_qp_raised(c, qp_owner(ev->qp), ev->type);
		} else if (ev->cq) {
			cq_failed(c, (struct eng_cq *)ev->cq);
		}
	}
	c->x.num_events = 0;
}

static bool
tell_completion(struct core *c, struct cq *cq)
{
	const struct plx_cq_event ev = { .cq = cq->handle, .cq_gen = cq->gen };
	struct eng_feed *feed = ((struct eng_cq *)cq)->feed;

	if (feed) {
		core_feed_news(c, feed);
		return true;
	}
	if (core_holds(c, (struct eng_cq *)cq))
		return true;
	if (!core_tell(cq->event_fd, &ev, sizeof(ev)))
		return false;
	core_told(c, (struct eng_cq *)cq);
	return true;
}

/* One round tries each CQ that owes an event once. */
static unsigned int
completions(struct core *c)
{
	struct list again;
	struct list_node *n;
	unsigned int told = 0;

	list_init(&again);
	while ((n = list_pop(&c->x.cq_events))) {
		struct cq *cq = container_of(n, struct cq, event_node);

		if (tell_completion(c, cq)) {
			cq->event_due = false;
			told++;
		} else {
			list_push(&again, n);
		}
	}
	while ((n = list_pop(&again)))
		list_push(&c->x.cq_events, n);
	return told;
}

static unsigned int
cq_errors(struct core *c)
{
	struct list_node *n = list_first(&c->cq_errors);
	struct eng_cq *cq;
	struct plx_async_event ev = { .type = EV_CQ_ERR, .subject = PLX_EVENT_CQ };

	if (!n)
		return 0;
	cq = container_of(n, struct eng_cq, error_node);
	ev.handle = cq->cq.handle;
	ev.gen = cq->cq.gen;
	if (!core_tell(cq->cq.async_fd, &ev, sizeof(ev)))
		return 0;
	list_del(n);
	cq->error_due = false;
	return 1;
}

/* All that one client is to hear of one QP. False: the socket is full. */
static bool
tell_qp(struct eng_ear *ear)
{
	while (ear->events) {
		uint32_t type = (uint32_t)__builtin_ctz(ear->events);
		const struct plx_async_event ev = { .type = type, .subject = PLX_EVENT_QP,
						    .handle = ear->handle, .gen = ear->gen };

		if (!core_tell(ear->client->async_fd, &ev, sizeof(ev)))
			return false;
		ear->events &= ear->events - 1;
	}
	return true;
}

static unsigned int
qp_events(struct core *c)
{
	struct list_node *n = list_pop(&c->qp_events);

	if (!n)
		return 0;
	if (tell_qp(container_of(n, struct eng_ear, event_node)))
		return 1;
	list_push(&c->qp_events, n);	/* others may have another socket */
	return 0;
}

void
core_port_event(struct core *c, bool up)
{
	list_for_each(n, &c->clients)
		container_of(n, struct core_client, node)->port_event = up ? EV_PORT_ACTIVE : EV_PORT_ERR;
	c->port_due = true;
}

/* Of each client the last state only: one that reads late is told what is true. */
static unsigned int
port_events(struct core *c)
{
	unsigned int told = 0;

	c->port_due = false;
	list_for_each(n, &c->clients) {
		struct core_client *client = container_of(n, struct core_client, node);
		const struct plx_async_event ev = { .type = client->port_event,
						    .subject = PLX_EVENT_PORT, .handle = 1 };

		if (!ev.type)
			continue;
		if (core_tell(client->async_fd, &ev, sizeof(ev))) {
			client->port_event = 0;
			told++;
		} else {
			c->port_due = true;
		}
	}
	return told;
}

unsigned int
core_notify(struct core *c)
{
	unsigned int n = 0;

	if (__builtin_expect(c->x.num_events != 0, 0))
		core_take_events(c);
	if (!list_empty(&c->x.cq_events))
		n += completions(c);
	if (__builtin_expect(c->port_due, 0))
		n += port_events(c);
	n += cq_errors(c);
	n += qp_events(c);
	if (__builtin_expect(!list_empty(&c->srq_events), 0))
		n += core_srq_events(c);
	return n;
}

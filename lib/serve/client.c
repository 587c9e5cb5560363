/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who asks? A client is one context: its doorbell ring, the socket of its events, its objects.
 * Control threads, under the stack's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/object.h"

static struct qp *
qp_of_handle(void *arg, uint32_t handle)
{
	struct client *cl = arg;
	struct qpair *q = table_get(&cl->stack->qps, handle);

	return q && q->client == cl ? q->e.qp : NULL;
}

static int
join(struct core *c, void *arg)
{
	core_client_add(c, arg);
	return 0;
}

static int
leave(struct core *c, void *arg)
{
	core_client_del(c, arg);
	return 0;
}

static void
furnish(struct client *cl, struct stack *s)
{
	cl->stack = s;
	list_init(&cl->pds);
	list_init(&cl->regions);
	list_init(&cl->channels);
	list_init(&cl->cqs);
	list_init(&cl->qps);
	cl->on_core.ring = cl->bell.at;
	cl->on_core.qp_of = qp_of_handle;
	cl->on_core.arg = cl;
	cl->on_core.async_fd = cl->async_fd;
}

int
client_open(struct stack *s, struct client **out, int *app_async_fd)
{
	struct client *cl = calloc(1, sizeof(*cl));
	int fds[2], rc;

	if (!cl)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0) {
		rc = -errno;
		goto free_client;
	}
	cl->async_fd = fds[1];
	rc = rings_new(&cl->bell, sizeof(struct plx_bell_ring));
	if (rc < 0)
		goto close_fds;
	furnish(cl, s);
	eng_call(eng_core(s->eng, 0), join, &cl->on_core);
	list_push(&s->clients, &cl->node);
	*app_async_fd = fds[0];
	*out = cl;
	return 0;
close_fds:
	close(fds[0]);
	close(fds[1]);
free_client:
	free(cl);
	return rc;
}

void
client_close(struct client *cl)
{
	client_reclaim(cl);
	eng_call(eng_core(cl->stack->eng, 0), leave, &cl->on_core);
	list_del(&cl->node);
	rings_free(&cl->bell);
	close(cl->async_fd);
	free(cl);
}

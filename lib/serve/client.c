/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who asks? A client is one context: its doorbell rings, one for each core, the socket of its events,
 * its objects. Control threads, under the stack's lock.
 */
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "serve/object.h"

/* On a core, for what a client wrote: its own QPs of that core only, when they have joined it. */
static struct qp *
qp_of_handle(void *arg, uint32_t handle)
{
	const struct seat *seat = arg;
	struct qpair *q = table_get(&seat->client->stack->qps, handle);

	if (!q || q->client != seat->client || q->core != seat->core || !q->e.core)
		return NULL;
	return q->e.qp;
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
leave_cores(struct client *cl)
{
	for (uint32_t i = 0; i < eng_num_cores(cl->stack->eng); i++) {
		struct seat *seat = &cl->seat[i];

		if (!seat->bell.at)
			continue;
		eng_call(seat->core, leave, &seat->on);
		rings_free(&seat->bell);
	}
	free(cl->seat);
}

/* 0 or -ENOMEM, and then it is on none. */
static int
join_cores(struct client *cl)
{
	uint32_t n = eng_num_cores(cl->stack->eng);

	cl->seat = calloc(n, sizeof(*cl->seat));
	for (uint32_t i = 0; cl->seat && i < n; i++) {
		struct seat *seat = &cl->seat[i];

		if (rings_new(&seat->bell, sizeof(struct plx_bell_ring)) < 0) {
			leave_cores(cl);
			return -ENOMEM;
		}
		seat->client = cl;
		seat->core = eng_core(cl->stack->eng, i);
		seat->on.ring = seat->bell.at;
		seat->on.qp_of = qp_of_handle;
		seat->on.arg = seat;
		seat->on.async_fd = cl->async_fd;
		eng_call(seat->core, join, &seat->on);
	}
	return cl->seat ? 0 : -ENOMEM;
}

static void
furnish(struct client *cl, struct stack *s)
{
	cl->stack = s;
	list_init(&cl->pds);
	list_init(&cl->ahs);
	list_init(&cl->regions);
	list_init(&cl->windows);
	list_init(&cl->dms);
	list_init(&cl->channels);
	list_init(&cl->cqs);
	list_init(&cl->srqs);
	list_init(&cl->qps);
	list_init(&cl->xrcds);
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
	furnish(cl, s);
	rc = join_cores(cl);
	if (rc < 0)
		goto close_fds;
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

bool
client_may_control(const struct client *cl)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	(void)cl;	/* it is this process, and its thread asks */
	return syscall(SYS_capget, &head, data) == 0 && (data[0].effective & 1u << CAP_NET_RAW);
}

void
client_close(struct client *cl)
{
	client_reclaim(cl);
	leave_cores(cl);
	list_del(&cl->node);
	close(cl->async_fd);
	free(cl);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stack as programs in its own process see it: the table that libpollux calls through. Any
 * thread; every call takes the stack's lock.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "serve/object.h"
#include "serve/stack.h"

/* The stack, locked; NULL when there is none, or in a forked child. */
static struct stack *
enter(void)
{
	struct stack *s = stack_running();

	if (!s || s->forked)
		return NULL;
	pthread_mutex_lock(&s->lock);
	return s;
}

static void
leave(struct stack *s)
{
	pthread_mutex_unlock(&s->lock);
}

static int
local_devices(struct ctl_device *out, int max)
{
	struct stack *s = stack_running();

	if (!s)
		return -ENODEV;
	if (max < 1)
		return 0;
	serve_describe(s, out);
	return 1;
}

static void
local_drive(void *arg, enum ctl_drive how)
{
	if (how == CTL_DRIVE_POLL)
		core_drive_poll(arg);
	else if (how == CTL_DRIVE_POST || !core_post_waits(arg))
		core_drive_post(arg);
}

static void
local_wake(void *arg)
{
	core_wake(arg);
}

static void
fill_client(struct stack *s, struct client *cl, int async_fd, struct ctl_client *out)
{
	memset(out, 0, sizeof(*out));
	out->handle = cl;
	out->async_fd = async_fd;
	out->num_cores = eng_num_cores(s->eng);
	for (uint32_t i = 0; i < out->num_cores; i++)
		out->core[i] = (struct ctl_core){
			.bell = cl->seat[i].bell.at,
			.drive_arg = cl->seat[i].core,
			.drive = eng_inline(s->eng) ? local_drive : NULL,
			.wake = local_wake,
		};
}

static int
local_open(int index, uint32_t abi_version, struct ctl_client *out)
{
	struct client *cl;
	struct stack *s;
	int async_fd, rc;

	if (abi_version != CTL_ABI_VERSION) {
		log_line(PLX_LOG_ERR, "the program was built for version %u of the inline layer and this "
			 "stack has version %u: rebuild the program", abi_version, CTL_ABI_VERSION);
		return -EPROTO;
	}
	if (index != 0)
		return -ENODEV;
	s = enter();
	if (!s)
		return -EIO;
	rc = client_open(s, &cl, &async_fd);
	if (rc == 0)
		fill_client(s, cl, async_fd, out);
	leave(s);
	return rc;
}

static void
local_close(struct ctl_client *client)
{
	struct stack *s;
	int before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	s = enter();
	if (s) {
		client_close(client->handle);
		leave(s);
	}
	pthread_setcancelstate(before, NULL);
	close(client->async_fd);
	client->handle = NULL;
	client->async_fd = -1;
}

/* CTL_ALLOC_PD goes to serve_alloc_pd() and so on: the list with the functions' names. */
#define CALLS(X) \
	X(QUERY_DEVICE, query_device) \
	X(QUERY_PORT, query_port) \
	X(QUERY_GID, query_gid) \
	X(ALLOC_PD, alloc_pd) \
	X(DEALLOC_PD, dealloc_pd) \
	X(CREATE_AH, create_ah) \
	X(DESTROY_AH, destroy_ah) \
	X(REG_MR, reg_mr) \
	X(REREG_MR, rereg_mr) \
	X(ADVISE_MR, advise_mr) \
	X(DEREG_MR, dereg_mr) \
	X(ALLOC_MW, alloc_mw) \
	X(DEALLOC_MW, dealloc_mw) \
	X(ALLOC_DM, alloc_dm) \
	X(FREE_DM, free_dm) \
	X(OPEN_XRCD, open_xrcd) \
	X(CLOSE_XRCD, close_xrcd) \
	X(CREATE_CHANNEL, create_channel) \
	X(DESTROY_CHANNEL, destroy_channel) \
	X(CREATE_CQ, create_cq) \
	X(RESIZE_CQ, resize_cq) \
	X(MODERATE_CQ, moderate_cq) \
	X(DESTROY_CQ, destroy_cq) \
	X(CREATE_QP, create_qp) \
	X(OPEN_QP, open_qp) \
	X(MODIFY_QP, modify_qp) \
	X(QUERY_QP, query_qp) \
	X(EXPLAIN_QP, explain_qp) \
	X(DESTROY_QP, destroy_qp) \
	X(ATTACH_MCAST, attach_mcast) \
	X(DETACH_MCAST, detach_mcast) \
	X(CREATE_SRQ, create_srq) \
	X(MODIFY_SRQ, modify_srq) \
	X(QUERY_SRQ, query_srq) \
	X(DESTROY_SRQ, destroy_srq)

static int
dispatch(struct client *cl, enum ctl_msg_type type, void *msg)
{
	switch (type) {
#define CALL(name, fn) \
	case CTL_##name: \
		return serve_##fn(cl, msg);
	CALLS(CALL)
#undef CALL
	case CTL_MSG_COUNT:
		break;
	}
	return -EOPNOTSUPP;
}

/*
 * As a kernel does, a call that sets a path waits for the neighbour: else the first packets, and
 * with a short timeout all retries, are spent while two programs that start together still find one
 * another. Not for ever: the QP is in its new state, or the address handle is made; RC tells of a peer that
 * is not there by RETRY_EXC, and UD of none. Without the lock, but while it looks.
 */
#define NEIGH_WAIT_STEPS 8000u
#define NEIGH_WAIT_STEP_NS 200000	/* 1.6 s and more in all: two ARP requests */

static bool
path_waits(struct client *cl, enum ctl_msg_type type, const void *msg)
{
	if (type == CTL_MODIFY_QP)
		return serve_path_waits(cl, msg);
	return type == CTL_CREATE_AH && serve_ah_waits(cl, msg);
}

static void
await_neighbour(void *handle, enum ctl_msg_type type, const void *msg)
{
	const struct timespec step = { .tv_nsec = NEIGH_WAIT_STEP_NS };

	for (unsigned int i = 0; i < NEIGH_WAIT_STEPS; i++) {
		struct stack *s = enter();
		bool waits;

		if (!s)
			return;
		waits = path_waits(handle, type, msg);
		if (waits && eng_inline(s->eng))
			core_drive_poll(eng_port_core(s->eng));
		leave(s);
		if (!waits)
			return;
		nanosleep(&step, NULL);
	}
}

/* No thread is cancelled with the stack's lock, or a message to a core, in its hands. */
static int
local_call(void *handle, enum ctl_msg_type type, void *msg)
{
	struct stack *s;
	int before, rc = -EIO;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	s = enter();
	if (s) {
		rc = dispatch(handle, type, msg);
		leave(s);
	}
	if (rc == 0)
		await_neighbour(handle, type, msg);
	pthread_setcancelstate(before, NULL);
	return rc;
}

static void *
local_map(void *handle, const struct ctl_seg *seg)
{
	(void)handle;
	return seg->seg == 0 ? (void *)(uintptr_t)seg->offset : NULL;
}

const struct ctl_backend serve_local = {
	.abi_version = CTL_ABI_VERSION,
	.devices = local_devices,
	.open = local_open,
	.close = local_close,
	.call = local_call,
	.map = local_map,
};

__attribute__((visibility("default"))) int
__plx_stack_start_env(char *why, size_t why_len)
{
	struct setting_text text;

	setting_from_env(&text);
	return stack_start(&text, false, 0, why, why_len);
}

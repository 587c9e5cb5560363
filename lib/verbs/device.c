/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which devices are there, and what is a context on one? Control verbs, on application threads.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs_priv.h"

#define MAX_DEVICES 16

/* Devices outlive every list and context: there are few, and programs keep pointers to them. */
static struct {
	pthread_mutex_t lock;
	struct verbs_device *at[MAX_DEVICES];
} devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

static struct verbs_device *
device_of(struct ibv_device *device)
{
	return (struct verbs_device *)device;
}

static void
device_fill(struct verbs_device *dev, int index, const struct ctl_device *from)
{
	struct ibv_device *d = &dev->dev;

	d->node_type = IBV_NODE_CA;
	d->transport_type = IBV_TRANSPORT_IB;
	snprintf(d->name, sizeof(d->name), "%.*s", (int)sizeof(from->name) - 1, from->name);
	snprintf(d->dev_name, sizeof(d->dev_name), "%s", d->name);
	snprintf(d->dev_path, sizeof(d->dev_path), "/sys/class/infiniband_verbs/%s", d->name);
	snprintf(d->ibdev_path, sizeof(d->ibdev_path), "/sys/class/infiniband/%s", d->name);
	dev->index = index;
	dev->guid = from->guid;
}

/* The device at `index`, made at first sight. NULL without memory. */
static struct ibv_device *
device_known(int index, const struct ctl_device *from)
{
	struct verbs_device *dev;

	pthread_mutex_lock(&devices.lock);
	dev = devices.at[index];
	if (!dev)
		dev = devices.at[index] = calloc(1, sizeof(*dev));
	if (dev)
		device_fill(dev, index, from);
	pthread_mutex_unlock(&devices.lock);
	return dev ? &dev->dev : NULL;
}

static int
device_list(struct ibv_device ***out)
{
	struct ctl_device found[MAX_DEVICES];
	const struct ctl_backend *backend;
	struct ibv_device **list;
	int n, err = verbs_stack_get(&backend);

	if (err)
		return err;
	n = backend->devices(found, MAX_DEVICES);
	if (n < 0)
		return n;
	if (n > MAX_DEVICES)
		n = MAX_DEVICES;
	list = calloc((size_t)n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (int i = 0; i < n; i++) {
		list[i] = device_known(i, &found[i]);
		if (!list[i]) {
			free(list);
			return -ENOMEM;
		}
	}
	*out = list;
	return n;
}

struct ibv_device **
plx_get_device_list(int *num_devices)
{
	struct ibv_device **list = NULL;
	int n = device_list(&list);

	if (num_devices)
		*num_devices = n < 0 ? 0 : n;
	if (n < 0)
		errno = -n;
	return list;
}

void
plx_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *
plx_get_device_name(struct ibv_device *device)
{
	return device->name;
}

int
plx_get_device_index(struct ibv_device *device)
{
	return device_of(device)->index;
}

__be64
plx_get_device_guid(struct ibv_device *device)
{
	return device_of(device)->guid;
}

/* What the inline layer needs of each core. */
static int
ctx_cores(struct verbs_ctx *ctx)
{
	uint32_t n = ctx->client.num_cores;

	ctx->pub.core = calloc(n ? n : 1, sizeof(*ctx->pub.core));
	if (!ctx->pub.core)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		const struct ctl_core *from = &ctx->client.core[i];

		ctx->pub.core[i] = (struct plx_core_end){
			.bell = from->bell,
			.arg = from->drive_arg,
			.drive = from->drive,
			.wake = from->wake,
		};
	}
	ctx->pub.num_cores = n;
	return 0;
}

static int
ctx_tables(struct verbs_ctx *ctx)
{
	ctx->pub.qp_table_size = ctx->limits.max_qp > 65536 ? ctx->limits.max_qp : 65536;
	ctx->cq_table_size = ctx->limits.max_cq > 65536 ? ctx->limits.max_cq : 65536;
	ctx->srq_table_size = ctx->limits.max_srq > 65536 ? ctx->limits.max_srq : 65536;
	ctx->pub.qp_table = calloc(ctx->pub.qp_table_size, sizeof(ctx->pub.qp_table[0]));
	ctx->cq_table = calloc(ctx->cq_table_size, sizeof(ctx->cq_table[0]));
	ctx->srq_table = calloc(ctx->srq_table_size, sizeof(ctx->srq_table[0]));
	return ctx->pub.qp_table && ctx->cq_table && ctx->srq_table ? 0 : -ENOMEM;
}

static void
ctx_free(struct verbs_ctx *ctx)
{
	if (ctx->async.context)
		verbs_evq_fini(&ctx->async);
	pthread_mutex_destroy(&ctx->lock);
	pthread_mutex_destroy(&ctx->pub.vctx.context.mutex);
	free(ctx->srq_table);
	free(ctx->cq_table);
	free(ctx->pub.qp_table);
	free(ctx->pub.core);
	free(ctx);
}

static struct verbs_ctx *
ctx_new(struct ibv_device *device, const struct ctl_backend *backend)
{
	struct verbs_ctx *ctx = calloc(1, sizeof(*ctx));
	struct ibv_context *c;

	if (!ctx)
		return NULL;
	ctx->backend = backend;
	ctx->client.async_fd = -1;
	pthread_mutex_init(&ctx->lock, NULL);
	c = &ctx->pub.vctx.context;
	pthread_mutex_init(&c->mutex, NULL);
	c->device = device;
	c->abi_compat = __VERBS_ABI_IS_EXTENDED;
	ctx->pub.vctx.sz = sizeof(ctx->pub.vctx);
	verbs_ops_fill(&ctx->pub.vctx);
	return ctx;
}

/* The client is open: asks the device for its limits and makes what hangs on them. */
static int
ctx_furnish(struct verbs_ctx *ctx)
{
	struct ibv_context *c = &ctx->pub.vctx.context;
	int err = ctx_cores(ctx);

	if (!err)
		err = verbs_call(c, CTL_QUERY_DEVICE, &ctx->limits);
	if (!err)
		err = ctx_tables(ctx);
	if (!err)
		err = verbs_evq_init(&ctx->async, c, ctx->client.async_fd,
				     sizeof(struct plx_async_event), verbs_async_deliver);
	if (err)
		return err;
	c->async_fd = ctx->client.async_fd;
	/* nothing can be sent to it; programs that share a device duplicate it before they are told
	 * EOPNOTSUPP by the import */
	c->cmd_fd = c->async_fd;
	c->num_comp_vectors = (int)ctx->limits.num_comp_vectors;
	return 0;
}

static int
ctx_open(struct ibv_device *device, unsigned int abi_version, struct verbs_ctx **out)
{
	const struct ctl_backend *backend;
	struct verbs_ctx *ctx;
	int err = verbs_stack_get(&backend);

	if (err)
		return err;
	ctx = ctx_new(device, backend);
	if (!ctx)
		return -ENOMEM;
	err = verbs_stack_join(ctx);
	if (err)
		goto free_ctx;
	err = backend->open(device_of(device)->index, abi_version, &ctx->client);
	if (err)
		goto leave;
	err = ctx_furnish(ctx);
	if (err)
		goto close_client;
	*out = ctx;
	return 0;

close_client:
	backend->close(&ctx->client);
leave:
	verbs_stack_leave(ctx);
free_ctx:
	ctx_free(ctx);
	return err;
}

struct ibv_context *
__plx_open_device(struct ibv_device *device, unsigned int abi_version)
{
	struct verbs_ctx *ctx;
	int err;

	if (abi_version != PLX_ABI_VERSION) {
		fprintf(stderr, "pollux: this program was built for version %u of Pollux's inline layer "
			"and the library has version %u: rebuild the program\n", abi_version,
			PLX_ABI_VERSION);
		err = -EPROTO;
	} else {
		err = ctx_open(device, abi_version, &ctx);
	}
	if (err) {
		errno = -err;
		return NULL;
	}
	return &ctx->pub.vctx.context;
}

int
plx_close_device(struct ibv_context *context)
{
	struct verbs_ctx *ctx = verbs_ctx_of(context);

	if (ctx->pub.refuse)
		return ctx->pub.refuse;
	verbs_stack_leave(ctx);
	ctx->backend->close(&ctx->client);
	ctx_free(ctx);
	return 0;
}

int
plx_fork_init(void)
{
	return 0;
}

enum ibv_fork_status
plx_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}

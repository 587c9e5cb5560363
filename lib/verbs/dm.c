/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What memory has the device to give? Taken, copied to and from, registered, given back: control verbs, on
 * application threads; the copies on any, without a call.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs_priv.h"

#define DM_ACCESS \
	((unsigned int)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
			IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED) | \
	 (unsigned int)IBV_ACCESS_OPTIONAL_RANGE)
#define DM_WORD 4u

/* Words alone: programs that keep to it run on hardware too. In a forked child only what is its own is there.
 * 0, EINVAL, EFAULT, EIO. */
static int
check_copy(const struct verbs_dm *dm, uint64_t offset, size_t length)
{
	if (!dm->own && verbs_ctx_of(dm->dm.context)->pub.refuse)
		return verbs_ctx_of(dm->dm.context)->pub.refuse;
	if (offset % DM_WORD || length % DM_WORD)
		return EINVAL;
	return length > dm->length || offset > dm->length - length ? EFAULT : 0;
}

static int
copy_to(struct ibv_dm *dm, uint64_t offset, const void *host, size_t length)
{
	int err = check_copy(verbs_dm_of(dm), offset, length);

	if (!err && length)
		memcpy(verbs_dm_of(dm)->at + offset, host, length);
	return err;
}

static int
copy_from(void *host, struct ibv_dm *dm, uint64_t offset, size_t length)
{
	int err = check_copy(verbs_dm_of(dm), offset, length);

	if (!err && length)
		memcpy(host, verbs_dm_of(dm)->at + offset, length);
	return err;
}

/* A forked child cannot reach the stack, but can have memory to copy to and from, which is all that it could
 * do there: programs divide device memory between children. */
static int
alloc_own(struct verbs_dm *dm, uint64_t max, const struct ibv_alloc_dm_attr *attr)
{
	const size_t page = 1u << CTL_DM_MAX_ALIGN;

	if (!attr->length || attr->log_align_req > CTL_DM_MAX_ALIGN)
		return -EINVAL;
	if (attr->length > max)
		return -ENOMEM;
	dm->at = aligned_alloc(page, (attr->length + page - 1) & ~(page - 1));
	if (!dm->at)
		return -ENOMEM;
	memset(dm->at, 0, attr->length);
	dm->own = true;
	return 0;
}

static int
alloc_shared(struct verbs_dm *dm, struct verbs_ctx *ctx, struct ctl_alloc_dm *msg)
{
	int err = verbs_call(&ctx->pub.vctx.context, CTL_ALLOC_DM, msg);

	if (!err)
		dm->at = ctx->backend->map(ctx->client.handle, &msg->mem);
	return err;
}

static int
alloc(struct verbs_dm *dm, struct ibv_context *context, const struct ibv_alloc_dm_attr *attr)
{
	struct verbs_ctx *ctx = verbs_ctx_of(context);
	struct ctl_alloc_dm msg = { .length = attr->length, .log2_align = attr->log_align_req };
	int err = -EINVAL;

	if (!attr->comp_mask)
		err = ctx->pub.refuse ? alloc_own(dm, ctx->limits.max_dm_size, attr) :
					alloc_shared(dm, ctx, &msg);
	if (err)
		return err;
	dm->dm = (struct ibv_dm){
		.context = context,
		.memcpy_to_dm = copy_to,
		.memcpy_from_dm = copy_from,
		.comp_mask = IBV_DM_MASK_HANDLE,
		.handle = msg.dm,
	};
	dm->length = attr->length;
	return 0;
}

struct ibv_dm *
plx_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct verbs_dm *dm = calloc(1, sizeof(*dm));
	int err = dm ? alloc(dm, context, attr) : -ENOMEM;

	if (err) {
		free(dm);
		errno = -err;
		return NULL;
	}
	return &dm->dm;
}

int
plx_free_dm(struct ibv_dm *dm)
{
	struct verbs_dm *vdm = verbs_dm_of(dm);
	struct ctl_free_dm msg = { .dm = dm->handle };
	int err = vdm->own ? 0 : verbs_call(dm->context, CTL_FREE_DM, &msg);

	if (err)
		return -err;
	if (vdm->own)
		free(vdm->at);
	free(vdm);
	return 0;
}

int
plx_memcpy_to_dm(struct ibv_dm *dm, uint64_t dm_offset, const void *host_addr, size_t length)
{
	return copy_to(dm, dm_offset, host_addr, length);
}

int
plx_memcpy_from_dm(void *host_addr, struct ibv_dm *dm, uint64_t dm_offset, size_t length)
{
	return copy_from(host_addr, dm, dm_offset, length);
}

struct ibv_mr *
plx_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset, size_t length, unsigned int access)
{
	struct ctl_reg_mr msg = {
		.pd = pd->handle,
		.access = access,
		.addr = dm_offset,
		.length = length,
		.kind = CTL_DEVICE,
		.dm = dm->handle,
	};

	if ((access & ~DM_ACCESS) || dm->context != pd->context) {
		errno = EINVAL;
		return NULL;
	}
	return verbs_mr_register(pd, &msg, NULL, length);
}

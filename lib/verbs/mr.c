/* SPDX-License-Identifier: BSD-3-Clause */
/* Which memory may be reached, and how? Memory regions; control verbs, on application threads. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/verbs_priv.h"

#define ACCESS_REMOTE_CHANGE ((unsigned int)(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC))
#define ACCESS_KNOWN \
	((unsigned int)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND | \
			IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB) | \
	 ACCESS_REMOTE_CHANGE | (unsigned int)PLX_ACCESS_FLUSH_GLOBAL | \
	 (unsigned int)IBV_ACCESS_OPTIONAL_RANGE)

/* Is every page of the range mapped? The kernel walks the mappings, not the pages: an asynchronous
 * msync does nothing else. */
static int
range_mapped(uint64_t addr, uint64_t length)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = addr & ~(page - 1);
	uint64_t end = (addr + length + page - 1) & ~(page - 1);

	return msync((void *)(uintptr_t)first, end - first, MS_ASYNC) ? -EFAULT : 0;
}

/* FG2, and a region is never empty. */
int
verbs_mr_check(uint64_t addr, uint64_t length, unsigned int access)
{
	if (access & ~ACCESS_KNOWN)
		return -EINVAL;
	if ((access & ACCESS_REMOTE_CHANGE) && !(access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (length == 0 || addr + length < addr)
		return -EINVAL;
	return range_mapped(addr, length);
}

struct ibv_mr *
verbs_mr_register(struct ibv_pd *pd, struct ctl_reg_mr *msg, void *addr, size_t length)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int err;

	msg->access &= ~(uint32_t)IBV_ACCESS_OPTIONAL_RANGE;	/* nothing to do for them here */
	err = mr ? verbs_call(pd->context, CTL_REG_MR, msg) : -ENOMEM;
	if (err) {
		free(mr);
		errno = -err;
		return NULL;
	}
	mr->mr = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
		.handle = msg->mr,
		.lkey = msg->lkey,
		.rkey = msg->rkey,
	};
	mr->access = msg->access;
	mr->fd = -1;
	verbs_pd_hold(pd);
	return &mr->mr;
}

/* NULL and SIZE_MAX with ON_DEMAND: all that the program has mapped when it is used, by its addresses. */
static struct ibv_mr *
reg_implicit(struct ibv_pd *pd, unsigned int access, uint64_t iova)
{
	struct ctl_reg_mr msg = { .pd = pd->handle, .access = access, .kind = CTL_IMPLICIT };

	if (!iova)
		return verbs_mr_register(pd, &msg, NULL, SIZE_MAX);
	errno = EINVAL;
	return NULL;
}

struct ibv_mr *
plx_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	struct ctl_reg_mr msg = {
		.pd = pd->handle,
		.access = access,
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
		.kind = CTL_MEMORY,
	};
	int err;

	if (!addr && length == SIZE_MAX && (access & IBV_ACCESS_ON_DEMAND))
		return reg_implicit(pd, access, msg.iova);
	err = verbs_mr_check(msg.addr, msg.length, access);
	/* the last byte must have a name too */
	if (!err && msg.iova + (length - 1) < msg.iova)
		err = -EINVAL;
	if (err) {
		errno = -err;
		return NULL;
	}
	return verbs_mr_register(pd, &msg, addr, length);
}

struct ibv_mr *
plx_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	return plx_reg_mr_iova2(pd, addr, length, iova, (unsigned int)access);
}

struct ibv_mr *
plx_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return plx_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

/* Of no memory: only its lkey is of use, since no peer has a right to it. */
struct ibv_mr *
plx_alloc_null_mr(struct ibv_pd *pd)
{
	struct ctl_reg_mr msg = { .pd = pd->handle, .kind = CTL_NULL };

	return verbs_mr_register(pd, &msg, NULL, SIZE_MAX);
}

int
plx_dereg_mr(struct ibv_mr *mr)
{
	struct ctl_dereg_mr msg = { .mr = mr->handle };
	struct verbs_mr *vmr = verbs_mr_of(mr);
	int err = verbs_call(mr->context, CTL_DEREG_MR, &msg);

	if (err)
		return -err;
	verbs_pd_let_go(mr->pd);
	verbs_dmabuf_unmap(vmr);
	free(vmr);
	return 0;
}

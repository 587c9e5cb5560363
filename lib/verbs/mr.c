/* SPDX-License-Identifier: BSD-3-Clause */
/* Which memory may be reached, and how? Memory regions; control verbs, on application threads. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/verbs_priv.h"

#define ACCESS_REMOTE_CHANGE ((unsigned int)(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC))
/* what the stack checks; the other known bits change nothing here */
#define ACCESS_STACK ((unsigned int)IBV_ACCESS_LOCAL_WRITE | ACCESS_REMOTE_CHANGE | \
		      (unsigned int)(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED) | \
		      (unsigned int)PLX_ACCESS_FLUSH_GLOBAL)
#define ACCESS_ABSENT ((unsigned int)IBV_ACCESS_ON_DEMAND)
#define ACCESS_KNOWN (ACCESS_STACK | ACCESS_ABSENT | (unsigned int)IBV_ACCESS_HUGETLB | \
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
static int
reg_check(uint64_t addr, uint64_t length, unsigned int access)
{
	if (access & ~ACCESS_KNOWN)
		return -EINVAL;
	if (access & ACCESS_ABSENT)
		return -EOPNOTSUPP;
	if ((access & ACCESS_REMOTE_CHANGE) && !(access & IBV_ACCESS_LOCAL_WRITE))
		return -EINVAL;
	if (length == 0 || addr + length < addr)
		return -EINVAL;
	return range_mapped(addr, length);
}

static int
reg(struct verbs_mr *mr, struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
    unsigned int access)
{
	struct ctl_reg_mr msg = {
		.pd = pd->handle,
		.access = access & ACCESS_STACK,
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = access & IBV_ACCESS_ZERO_BASED ? 0 : iova,
	};
	int err = reg_check(msg.addr, msg.length, access);

	/* the last byte must have a name too */
	if (!err && msg.iova + (length - 1) < msg.iova)
		err = -EINVAL;
	if (!err)
		err = verbs_call(pd->context, CTL_REG_MR, &msg);
	if (err)
		return err;
	mr->mr = (struct ibv_mr){
		.context = pd->context,
		.pd = pd,
		.addr = addr,
		.length = length,
		.handle = msg.mr,
		.lkey = msg.lkey,
		.rkey = msg.rkey,
	};
	verbs_pd_hold(pd);
	return 0;
}

struct ibv_mr *
plx_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	struct verbs_mr *mr = calloc(1, sizeof(*mr));
	int err = mr ? reg(mr, pd, addr, length, iova, access) : -ENOMEM;

	if (err) {
		free(mr);
		errno = -err;
		return NULL;
	}
	return &mr->mr;
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

int
plx_dereg_mr(struct ibv_mr *mr)
{
	struct ctl_dereg_mr msg = { .mr = mr->handle };
	int err = verbs_call(mr->context, CTL_DEREG_MR, &msg);

	if (err)
		return -err;
	verbs_pd_let_go(mr->pd);
	free(mr);
	return 0;
}

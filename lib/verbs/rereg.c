/* SPDX-License-Identifier: BSD-3-Clause */
/* How is a memory region changed? A control verb, on application threads. */
#include <errno.h>

#include "verbs/verbs_priv.h"

static int
check(const struct ibv_mr *mr, int flags, const struct ibv_pd *pd, const void *addr, int access)
{
	if (!flags || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED))
		return -EINVAL;
	if (access && !(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return -EINVAL;
	if ((flags & IBV_REREG_MR_CHANGE_PD) && (!pd || pd->context != mr->context))
		return -EINVAL;
	return (flags & IBV_REREG_MR_CHANGE_TRANSLATION) && !addr ? -EINVAL : 0;
}

/* What its access is from now on. How its bytes are named changes with their place alone. */
static unsigned int
access_after(struct ibv_mr *mr, int flags, int access)
{
	unsigned int before = verbs_mr_of(mr)->access, zero_based = IBV_ACCESS_ZERO_BASED;

	if (!(flags & IBV_REREG_MR_CHANGE_ACCESS))
		return before;
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		return (unsigned int)access;
	return ((unsigned int)access & ~zero_based) | (before & zero_based);
}

static int
rereg(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	unsigned int after = access_after(mr, flags, access);
	struct ctl_rereg_mr msg = {
		.mr = mr->handle,
		.flags = (uint32_t)flags,
		.pd = flags & IBV_REREG_MR_CHANGE_PD ? pd->handle : 0,
		.access = after,
		.addr = (uintptr_t)addr,
		.length = length,
		.iova = after & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr,
	};
	int err = 0;

	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION)
		err = verbs_mr_check(msg.addr, length, after);
	msg.access &= ~(uint32_t)IBV_ACCESS_OPTIONAL_RANGE;
	if (!err)
		err = verbs_call(mr->context, CTL_REREG_MR, &msg);
	if (err)
		return err;
	verbs_mr_of(mr)->access = after;
	mr->lkey = msg.lkey;
	mr->rkey = msg.rkey;
	return 0;
}

int
plx_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	int err = check(mr, flags, pd, addr, access);

	if (!err)
		err = rereg(mr, flags, pd, addr, length, access);
	if (err) {
		errno = -err;
		/* whatever failed, the old one is as it was; but in a child none is (F23) */
		return err == -EIO ? IBV_REREG_MR_ERR_CMD : IBV_REREG_MR_ERR_INPUT;
	}
	if (flags & IBV_REREG_MR_CHANGE_PD) {
		verbs_pd_hold(pd);
		verbs_pd_let_go(mr->pd);
		mr->pd = pd;
	}
	if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
		mr->addr = addr;
		mr->length = length;
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which pages of on-demand regions will be used soon? Asked of the kernel here, in the program, whose pages
 * they are. A control verb, on application threads.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/verbs_priv.h"

/* Is it the kernel that does not know the advice (before 5.14)? A page of our own must be good enough. */
static bool
unknown(int advice)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), here = (uintptr_t)&page & ~(page - 1);

	return madvise((void *)here, page, advice) && errno == EINVAL;
}

/* Where the pages are that must be there and may be touched; none for what is not to fault. */
static int
populate(uint64_t at, uint64_t length, enum ibv_advise_mr_advice advice)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), from = at & ~(page - 1);
	size_t len = (size_t)(at + length - from);
	bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	int how = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ, rc;

	if (!length || advice == IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return 0;
	rc = madvise((void *)(uintptr_t)from, len, how);
	if (rc && errno == EINVAL)	/* also: they may not be touched so */
		rc = unknown(how) ? madvise((void *)(uintptr_t)from, len, MADV_WILLNEED) : -1;
	if (!rc)
		return 0;
	return errno == ENOMEM || errno == EFAULT || errno == EINVAL ? -EFAULT : -errno;
}

static int
advise(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, const struct ibv_sge *sge)
{
	struct ctl_advise_mr msg = {
		.pd = pd->handle,
		.lkey = sge->lkey,
		.addr = sge->addr,
		.length = sge->length,
		.write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
	};
	int err = verbs_call(pd->context, CTL_ADVISE_MR, &msg);

	return err ? err : populate(msg.at, msg.length, advice);
}

/* With IBV_ADVISE_MR_FLAG_FLUSH or without: it is done when this returns. */
int
plx_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sg_list,
	      uint32_t num_sge)
{
	if (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH)
		return EINVAL;
	if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT)
		return EOPNOTSUPP;
	if (!num_sge || !sg_list)
		return EINVAL;
	for (uint32_t i = 0; i < num_sge; i++) {
		int err = advise(pd, advice, &sg_list[i]);

		if (err)
			return -err;
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where is the memory of a device that has none of its own? In pages of the stack's that programs reach by
 * their keys and by copies, in hugepages from 2 MiB on where some are free; as much in all as the
 * configuration says. Control threads, under the stack's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "serve/object.h"

#define PAGE UINT64_C(4096)
#define HUGE (UINT64_C(2) << 20)
_Static_assert(PAGE >> CTL_DM_MAX_ALIGN == 1, "a page has every alignment that may be asked for");

static void *
map(size_t len, int flags)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Zeros, and not carried over a fork: a child would have a copy. 0 or -ENOMEM. */
static int
back(struct dmem *dm)
{
	dm->mapped = (dm->length + HUGE - 1) & ~(HUGE - 1);
	dm->at = dm->length >= HUGE ? map(dm->mapped, MAP_HUGETLB) : NULL;
	if (!dm->at) {
		dm->mapped = (dm->length + PAGE - 1) & ~(PAGE - 1);
		dm->at = map(dm->mapped, 0);
		if (!dm->at)
			return -ENOMEM;
		madvise(dm->at, dm->mapped, MADV_HUGEPAGE);	/* or not */
	}
	madvise(dm->at, dm->mapped, MADV_DONTFORK);
	return 0;
}

struct dmem *
dm_get(struct client *cl, uint32_t handle)
{
	struct dmem *dm = table_get(&cl->stack->dms, handle);

	return dm && dm->client == cl ? dm : NULL;
}

int
serve_alloc_dm(struct client *cl, struct ctl_alloc_dm *m)
{
	struct stack *s = cl->stack;
	struct dmem *dm;

	if (!m->length || m->log2_align > CTL_DM_MAX_ALIGN)
		return -EINVAL;
	if (m->length > s->conf.dm_size - s->dm_used)
		return -ENOMEM;
	dm = calloc(1, sizeof(*dm));
	if (!dm)
		return -ENOMEM;
	dm->length = m->length;
	if (back(dm) < 0)
		goto free_dm;
	if (table_add(&s->dms, dm, &dm->handle, NULL) < 0)
		goto unmap;
	dm->client = cl;
	s->dm_used += dm->length;
	list_push(&cl->dms, &dm->node);
	m->dm = dm->handle;
	m->mem = rings_seg(dm->at, dm->length);
	return 0;
unmap:
	munmap(dm->at, dm->mapped);
free_dm:
	free(dm);
	return -ENOMEM;
}

void
dm_free(struct dmem *dm)
{
	struct stack *s = dm->client->stack;

	table_del(&s->dms, dm->handle);
	list_del(&dm->node);
	s->dm_used -= dm->length;
	munmap(dm->at, dm->mapped);
	free(dm);
}

int
serve_free_dm(struct client *cl, struct ctl_free_dm *m)
{
	struct dmem *dm = dm_get(cl, m->dm);

	if (!dm)
		return -EINVAL;
	if (dm->users)
		return -EBUSY;
	dm_free(dm);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which memory may be touched by whom? Regions of the process that the stack lives in are used where
 * they lie. Control threads, under the stack's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/log.h"
#include "serve/object.h"

#define PAGE UINT64_C(4096)

enum access_flag {		/* the other values of enum ibv_access_flags */
	ACCESS_ON_DEMAND = 1 << 6,
	ACCESS_HUGETLB = 1 << 7,
};
#define ACCESS_OPTIONAL 0x3ff00000u	/* a device may ignore these */
#define ACCESS_RIGHTS \
	(MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC | MEM_FLUSH_GLOBAL | \
	 MEM_MW_BIND | MEM_ZERO_BASED)
#define ACCESS_ABSENT ACCESS_ON_DEMAND
#define ACCESS_KNOWN (ACCESS_RIGHTS | ACCESS_ABSENT | ACCESS_HUGETLB | ACCESS_OPTIONAL)

/* FG2: who lets a peer write must be able to write itself. */
static int
check_access(uint32_t access)
{
	if (access & ~ACCESS_KNOWN)
		return -EINVAL;
	if (access & ACCESS_ABSENT)
		return -EOPNOTSUPP;
	if ((access & (MEM_REMOTE_WRITE | MEM_REMOTE_ATOMIC)) && !(access & MEM_LOCAL_WRITE))
		return -EINVAL;
	return 0;
}

/* The page at `addr` can be read, or written: 0, else a positive errno. */
static int
touch(uint64_t addr, bool write)
{
	int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	return madvise((void *)(uintptr_t)(addr & ~(PAGE - 1)), PAGE, advice) ? errno : 0;
}

static bool
page_usable(uint64_t addr, bool write)
{
	int err = touch(addr, write);

	/* a kernel that cannot say (before 5.14) gives EINVAL for our own stack too */
	return !err || (err == EINVAL && touch((uintptr_t)&err, true) == EINVAL);
}

/*
 * Every page is mapped, and the first and the last can be used as asked. That costs no look at the
 * pages in between: msync(MS_ASYNC) walks the mappings alone. A program that registers what it may
 * not touch in the middle, or unmaps it later, faults as if it had touched it itself.
 */
static int
check_range(uint64_t addr, uint64_t length, bool write)
{
	uint64_t from = addr & ~(PAGE - 1), last = addr + length - 1;

	if (msync((void *)(uintptr_t)from, last - from + 1, MS_ASYNC) < 0 && errno == ENOMEM)
		return -EFAULT;
	if (!page_usable(addr, write) || !page_usable(last, write))
		return -EFAULT;
	return 0;
}

static int
check_reg(const struct ctl_reg_mr *m)
{
	int rc = check_access(m->access);

	if (rc < 0)
		return rc;
	if (!m->length || m->addr + m->length < m->addr || m->iova + m->length - 1 < m->iova)
		return -EINVAL;
	return check_range(m->addr, m->length, m->access & MEM_LOCAL_WRITE);
}

int
serve_reg_mr(struct client *cl, struct ctl_reg_mr *m)
{
	struct stack *s = cl->stack;
	struct pd *pd = pd_get(cl, m->pd);
	struct region *r;
	struct mr desc = {
		.pd = m->pd,
		.access = m->access & ACCESS_RIGHTS,
		.iova = m->iova,
		.length = m->length,
		.base = (uint8_t *)(uintptr_t)m->addr,
	};
	int rc = pd ? check_reg(m) : -EINVAL;

	if (rc < 0)
		return rc;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	rc = table_add(&s->regions, r, &r->handle, NULL);
	if (rc < 0)
		goto free_region;
	rc = mr_add(s->mrs, &desc, &r->mr);
	if (rc < 0)
		goto del_handle;
	r->client = cl;
	r->pd = pd;
	pd->users++;
	list_push(&cl->regions, &r->node);
	m->mr = r->handle;
	m->lkey = m->rkey = r->mr->key;
	return 0;
del_handle:
	table_del(&s->regions, r->handle);
free_region:
	free(r);
	return rc;
}

void
memory_is_back(struct stack *s, int frames)
{
	if (frames)
		log_once(&s->said_memory, PLX_LOG_ERR, "port %s has not given back %d frames for a second: "
			 "it may still read memory that the program thinks is its own (POLLUX_ZERO_COPY=0 "
			 "copies instead)", eng_port(s->eng)->name, frames);
}

/* Unpublished, then every core passes a quiet point: nobody can touch it any more, but the port, which
 * is waited for. */
void
region_free(struct region *r)
{
	struct stack *s = r->client->stack;

	mr_unpublish(s->mrs, r->mr);
	eng_quiet(s->eng);
	memory_is_back(s, eng_wait_region(s->eng, r->mr->key));
	mr_release(s->mrs, r->mr);
	table_del(&s->regions, r->handle);
	list_del(&r->node);
	r->pd->users--;
	free(r);
}

int
serve_dereg_mr(struct client *cl, struct ctl_dereg_mr *m)
{
	struct region *r = table_get(&cl->stack->regions, m->mr);

	if (!r || r->client != cl)
		return -EINVAL;
	if (mr_close(r->mr) < 0)
		return -EBUSY;	/* F22 */
	region_free(r);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which memory may be touched by whom? Regions of the process that the stack lives in are used where
 * they lie. Control threads, under the stack's lock.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "mem/guarded.h"
#include "serve/memory.h"
#include "serve/pages.h"

#define ACCESS_PLAIN (ACCESS_RIGHTS | ACCESS_OPTIONAL)

/* By kind: what its access may be. */
static const uint32_t access_known[] = {
	[CTL_MEMORY] = ACCESS_PLAIN | ACCESS_ON_DEMAND | ACCESS_HUGETLB,
	[CTL_MAPPED] = ACCESS_PLAIN,
	[CTL_DEVICE] = ACCESS_PLAIN,
	[CTL_NULL] = 0,
	[CTL_IMPLICIT] = ACCESS_PLAIN | ACCESS_ON_DEMAND,
};
#define KINDS (sizeof(access_known) / sizeof(access_known[0]))

/*
 * FG2: who lets a peer write must be able to write itself. A region of all memory is the program's own: no
 * peer is let at that. On demand means that pages may go: what uses them must be able to fail, and a sandbox
 * may have taken that from us.
 */
int
memory_check_access(enum ctl_region kind, uint32_t access)
{
	if (kind >= KINDS || (access & ~access_known[kind]))
		return -EINVAL;
	if ((access & (MEM_REMOTE_WRITE | MEM_REMOTE_ATOMIC)) && !(access & MEM_LOCAL_WRITE))
		return -EINVAL;
	if (kind == CTL_DEVICE && !(access & MEM_ZERO_BASED))
		return -EINVAL;
	if (kind == CTL_IMPLICIT && !(access & ACCESS_ON_DEMAND))
		return -EINVAL;
	if (kind == CTL_IMPLICIT && (access & ACCESS_RIGHTS & ~(uint32_t)MEM_LOCAL_WRITE))
		return -EOPNOTSUPP;
	return (access & ACCESS_ON_DEMAND) && !mem_guarded_works() ? -EOPNOTSUPP : 0;
}

int
memory_check(enum ctl_region kind, const struct mr *mr)
{
	uint64_t addr = (uintptr_t)mr->base;

	if (kind == CTL_NULL || kind == CTL_IMPLICIT)	/* all of nothing, or of everything */
		return mr->iova || addr ? -EINVAL : 0;
	if (kind == CTL_DEVICE)		/* place() has looked; it may be of no bytes */
		return 0;
	if (!mr->length || addr + mr->length < addr || mr->iova + mr->length - 1 < mr->iova)
		return -EINVAL;
	return kind == CTL_MEMORY ? pages_check(addr, mr->length, mr->access & MEM_LOCAL_WRITE) : 0;
}

enum mem_result
memory_outside(enum ctl_region kind, uint32_t access)
{
	return kind == CTL_NULL ? MEM_NOWHERE : access & ACCESS_ON_DEMAND ? MEM_ASK : MEM_BAD_RANGE;
}

/* Of a region without a range: not of the message's making. 0, or -EINVAL. */
static int
whole_range(const struct ctl_reg_mr *m, struct mr *desc)
{
	if (m->kind != CTL_NULL && m->kind != CTL_IMPLICIT)
		return 0;
	desc->length = m->kind == CTL_IMPLICIT ? UINT64_MAX : 0;
	return m->length ? -EINVAL : 0;
}

/* 0, -EINVAL. In device memory the address is an offset. */
static int
place(struct client *cl, const struct ctl_reg_mr *m, struct mr *desc, struct dmem **out)
{
	struct dmem *dm;

	if (m->kind != CTL_DEVICE)
		return 0;
	dm = dm_get(cl, m->dm);
	if (!dm || m->iova || m->length > dm->length || m->addr > dm->length - m->length)
		return -EINVAL;
	desc->base = dm->at + m->addr;
	*out = dm;
	return 0;
}

static int
describe(struct client *cl, const struct ctl_reg_mr *m, struct mr *desc, struct dmem **dm)
{
	int rc = memory_check_access((enum ctl_region)m->kind, m->access);

	*desc = (struct mr){
		.pd = m->pd,
		.access = m->access & ACCESS_RIGHTS,
		.iova = m->iova,
		.length = m->length,
		.base = (uint8_t *)(uintptr_t)m->addr,
		.outside = memory_outside((enum ctl_region)m->kind, m->access),
	};
	if (m->kind == CTL_NULL)	/* a receive may name it: what comes is forgotten */
		desc->access = MEM_LOCAL_WRITE;
	if (rc == 0)
		rc = whole_range(m, desc);
	if (rc == 0)
		rc = place(cl, m, desc, dm);
	return rc ? rc : memory_check((enum ctl_region)m->kind, desc);
}

/* Known by its handle and by its key. 0 or -ENOMEM. */
static int
publish(struct stack *s, struct region *r, struct mr *desc)
{
	int rc = table_add(&s->regions, r, &r->handle, NULL);

	if (rc < 0)
		return rc;
	desc->owner = r;
	rc = mr_add(s->mrs, desc, &r->mr);
	if (rc < 0)
		table_del(&s->regions, r->handle);
	return rc;
}

int
serve_reg_mr(struct client *cl, struct ctl_reg_mr *m)
{
	struct pd *pd = pd_get(cl, m->pd);
	struct dmem *dm = NULL;
	struct region *r;
	struct mr desc;
	int rc = pd ? describe(cl, m, &desc, &dm) : -EINVAL;

	if (rc < 0)
		return rc;
	r = calloc(1, sizeof(*r));
	if (!r)
		return -ENOMEM;
	rc = publish(cl->stack, r, &desc);
	if (rc < 0) {
		free(r);
		return rc;
	}
	r->client = cl;
	r->pd = pd;
	r->kind = (enum ctl_region)m->kind;
	r->access = m->access;
	r->dm = dm;
	pd->users++;
	if (dm)
		dm->users++;
	list_push(&cl->regions, &r->node);
	m->mr = r->handle;
	m->lkey = m->rkey = r->mr->key;
	return 0;
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
	if (r->dm)
		r->dm->users--;
	free(r);
}

struct region *
region_get(struct client *cl, uint32_t handle)
{
	struct region *r = table_get(&cl->stack->regions, handle);

	return r && r->client == cl ? r : NULL;
}

int
serve_dereg_mr(struct client *cl, struct ctl_dereg_mr *m)
{
	struct region *r = region_get(cl, m->mr);

	if (!r)
		return -EINVAL;
	if (mr_close(r->mr) < 0)
		return -EBUSY;	/* F22 */
	region_free(r);
	return 0;
}

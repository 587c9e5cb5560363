/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How does a region become another one while peers use it? A region as it shall be is made beside it and
 * takes its place by one store: whatever looks the key up finds the one or the other, whole. The old one goes
 * when every core has passed a quiet point. Control threads, under the stack's lock.
 */
#include <errno.h>

#include "serve/memory.h"

enum rereg_flag {		/* enum ibv_rereg_mr_flags */
	REREG_TRANSLATION = 1 << 0,
	REREG_PD = 1 << 1,
	REREG_ACCESS = 1 << 2,
};
#define REREG_ALL (REREG_TRANSLATION | REREG_PD | REREG_ACCESS)

/* Another place is for the program's memory alone: device memory and mappings are what they are. */
static int
check_flags(const struct region *r, uint32_t flags)
{
	if (!flags || (flags & ~(uint32_t)REREG_ALL) || r->kind == CTL_NULL)
		return -EINVAL;
	return (flags & REREG_TRANSLATION) && r->kind != CTL_MEMORY ? -EINVAL : 0;
}

/* What it shall be. 0, -EINVAL, -EOPNOTSUPP, -EFAULT. */
static int
describe(const struct region *r, const struct ctl_rereg_mr *m, uint32_t pd, uint32_t access, struct mr *desc)
{
	int rc = memory_check_access(r->kind, access);

	*desc = *r->mr;
	desc->pd = pd;
	desc->access = access & ACCESS_RIGHTS;
	desc->outside = memory_outside(r->kind, access);
	if (m->flags & REREG_TRANSLATION) {
		desc->base = (uint8_t *)(uintptr_t)m->addr;
		desc->length = m->length;
		desc->iova = m->iova;
	}
	if (rc == 0 && (m->flags & (REREG_TRANSLATION | REREG_ACCESS)))
		rc = memory_check(r->kind, desc);
	return rc;
}

/*
 * With another place it has another key: who has the old one, and an address of the old place, must not reach
 * the new (C13). Else the keys stay, and a peer that has them need not be told.
 */
static int
replace(struct region *r, const struct mr *desc, bool moves)
{
	struct stack *s = r->client->stack;
	struct mr *old = r->mr;
	int rc = mr_replace(s->mrs, old, desc, moves, &r->mr);

	if (rc < 0)
		return rc;
	eng_quiet(s->eng);
	if (moves)
		memory_is_back(s, eng_wait_region(s->eng, old->key));
	mr_discard(old);
	return 0;
}

int
serve_rereg_mr(struct client *cl, struct ctl_rereg_mr *m)
{
	struct region *r = region_get(cl, m->mr);
	struct pd *pd = r && (m->flags & REREG_PD) ? pd_get(cl, m->pd) : r ? r->pd : NULL;
	uint32_t access = r && !(m->flags & REREG_ACCESS) ? r->access : m->access;
	struct mr desc;
	int rc = pd ? check_flags(r, m->flags) : -EINVAL;

	if (rc == 0)
		rc = describe(r, m, pd->handle, access, &desc);
	if (rc == 0)
		rc = replace(r, &desc, m->flags & REREG_TRANSLATION);
	if (rc < 0)
		return rc;
	r->pd->users--;
	pd->users++;
	r->pd = pd;
	r->access = access;
	m->lkey = m->rkey = r->mr->key;
	return 0;
}

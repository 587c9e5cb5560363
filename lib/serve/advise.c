/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which of the program's pages does it want to have at hand? The program's library touches them: here is only
 * said whether it may, and where they are. Control threads, under the stack's lock.
 */
#include <errno.h>

#include "mem/mw.h"
#include "serve/memory.h"

static int
judge(struct client *cl, const struct ctl_advise_mr *m, const struct mr *mr)
{
	const struct region *r = mr ? mr->owner : NULL;

	if (!r)
		return mw_named(cl->stack->mrs, m->lkey) ? -EINVAL : -ENOENT;
	if (r->client != cl || mr->pd != m->pd)
		return -EPERM;
	if (!(r->access & ACCESS_ON_DEMAND))
		return -EINVAL;
	return m->write && !(mr->access & MEM_LOCAL_WRITE) ? -EPERM : 0;
}

int
serve_advise_mr(struct client *cl, struct ctl_advise_mr *m)
{
	const struct mr *mr = mr_find(cl->stack->mrs, m->lkey);
	int rc = pd_get(cl, m->pd) ? judge(cl, m, mr) : -EINVAL;
	enum mem_result res;
	uint8_t *at;

	if (rc < 0)
		return rc;
	res = mr_check(cl->stack->mrs, m->lkey, m->pd, 0, m->addr, m->length, &at);
	if (res != MEM_OK && res != MEM_ASK)
		return -EFAULT;
	m->at = (uintptr_t)at;
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What belongs together, whose memory does it lie in, and do its threads need locks? Protection domains,
 * parent domains, which are a protection domain and more, and thread domains; control verbs, on
 * application threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs_priv.h"

struct ibv_pd *
plx_alloc_pd(struct ibv_context *context)
{
	struct verbs_pd *pd = calloc(1, sizeof(*pd));
	struct ctl_pd msg = { 0 };
	int err = pd ? verbs_call(context, CTL_ALLOC_PD, &msg) : -ENOMEM;

	if (err) {
		free(pd);
		errno = -err;
		return NULL;
	}
	pd->pd.context = context;
	pd->pd.handle = msg.pd;
	return &pd->pd;
}

void
verbs_pd_hold(struct ibv_pd *pd)
{
	__atomic_fetch_add(&verbs_pd_of(pd)->users, 1, __ATOMIC_RELAXED);
}

void
verbs_pd_let_go(struct ibv_pd *pd)
{
	__atomic_fetch_sub(&verbs_pd_of(pd)->users, 1, __ATOMIC_RELEASE);
}

/* The stack knows nothing of it. */
static void
parent_free(struct verbs_pd *parent)
{
	verbs_pd_let_go(parent->base);
	if (parent->td)
		__atomic_fetch_sub(&parent->td->users, 1, __ATOMIC_RELEASE);
	free(parent);
}

int
plx_dealloc_pd(struct ibv_pd *ibpd)
{
	struct verbs_pd *pd = verbs_pd_of(ibpd);
	struct ctl_pd msg = { .pd = ibpd->handle };
	int err = verbs_ctx_of(ibpd->context)->pub.refuse;

	if (err)
		return err;
	if (__atomic_load_n(&pd->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	if (pd->base) {
		parent_free(pd);
		return 0;
	}
	err = verbs_call(ibpd->context, CTL_DEALLOC_PD, &msg);
	if (!err)
		free(pd);
	return -err;
}

struct ibv_td *
plx_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr)
{
	int err = verbs_ctx_of(context)->pub.refuse;
	struct verbs_td *td = NULL;

	if (!err && attr->comp_mask)
		err = EINVAL;
	if (!err) {
		td = calloc(1, sizeof(*td));
		err = td ? 0 : ENOMEM;
	}
	if (err) {
		errno = err;
		return NULL;
	}
	td->td.context = context;
	return &td->td;
}

int
plx_dealloc_td(struct ibv_td *ibtd)
{
	struct verbs_td *td = (struct verbs_td *)ibtd;
	int err = verbs_ctx_of(ibtd->context)->pub.refuse;

	if (err)
		return err;
	if (__atomic_load_n(&td->users, __ATOMIC_ACQUIRE))
		return EBUSY;
	free(td);
	return 0;
}

#define ALLOCATORS ((uint32_t)IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS)
#define PD_CONTEXT ((uint32_t)IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)

static int
parent_check(struct ibv_context *context, const struct ibv_parent_domain_init_attr *attr)
{
	if (verbs_ctx_of(context)->pub.refuse)
		return verbs_ctx_of(context)->pub.refuse;
	if (!attr->pd || attr->pd->context != context || (attr->td && attr->td->context != context))
		return EINVAL;
	if (attr->comp_mask & ~(ALLOCATORS | PD_CONTEXT))
		return EINVAL;
	return (attr->comp_mask & ALLOCATORS) && (!attr->alloc || !attr->free) ? EINVAL : 0;
}

static void
parent_fill(struct verbs_pd *parent, const struct ibv_parent_domain_init_attr *attr)
{
	parent->pd.context = attr->pd->context;
	parent->pd.handle = attr->pd->handle;
	parent->base = attr->pd;
	verbs_pd_hold(attr->pd);
	parent->td = (struct verbs_td *)attr->td;
	if (parent->td)
		__atomic_fetch_add(&parent->td->users, 1, __ATOMIC_RELAXED);
	if (attr->comp_mask & ALLOCATORS) {
		parent->alloc = attr->alloc;
		parent->free = attr->free;
	}
	if (attr->comp_mask & PD_CONTEXT)
		parent->pd_context = attr->pd_context;
}

struct ibv_pd *
plx_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr)
{
	int err = parent_check(context, attr);
	struct verbs_pd *parent = NULL;

	if (!err) {
		parent = calloc(1, sizeof(*parent));
		err = parent ? 0 : ENOMEM;
	}
	if (err) {
		errno = err;
		return NULL;
	}
	parent_fill(parent, attr);
	return &parent->pd;
}

bool
verbs_pd_single(struct ibv_pd *pd)
{
	return pd && verbs_pd_of(pd)->td;
}

/* The program's allocator, which may leave it to us: then it is not `theirs`. */
static void *
alloc_theirs(struct verbs_pd *pd, size_t size, size_t alignment, enum plx_resource type, bool *theirs)
{
	void *p = pd->alloc(&pd->pd, pd->pd_context, size, alignment, type);

	*theirs = p != IBV_ALLOCATOR_USE_DEFAULT;
	if (!*theirs)
		return aligned_alloc(alignment, size);
	if ((uintptr_t)p % alignment) {
		pd->free(&pd->pd, pd->pd_context, p, type);
		return NULL;
	}
	return p;
}

void *
verbs_pd_new(struct ibv_pd *pd, size_t size, size_t alignment, enum plx_resource type, bool *theirs)
{
	void *p;

	*theirs = false;
	if (pd && verbs_pd_of(pd)->alloc)
		p = alloc_theirs(verbs_pd_of(pd), size, alignment, type, theirs);
	else
		p = aligned_alloc(alignment, size);
	if (!p)
		return NULL;
	memset(p, 0, size);
	if (pd)
		verbs_pd_hold(pd);
	return p;
}

void
verbs_pd_free(struct ibv_pd *pd, void *object, enum plx_resource type, bool theirs)
{
	if (theirs)
		verbs_pd_of(pd)->free(pd, verbs_pd_of(pd)->pd_context, object, type);
	else
		free(object);
	if (pd)
		verbs_pd_let_go(pd);
}

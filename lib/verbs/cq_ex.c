/* SPDX-License-Identifier: BSD-3-Clause */
/* What is an extended completion queue? Control verbs, on application threads. */
#include <errno.h>

#include "verbs/verbs_priv.h"

#define MASK ((uint32_t)(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD))
#define STAMPS (IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
#define FLAGS ((uint32_t)(IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN))

/* 0 or -errno; flags and parent domain are what comp_mask lets count. */
static int
attr_check(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t granted = IBV_WC_STANDARD_FLAGS |
				 (verbs_ctx_of(context)->limits.hca_core_clock ? STAMPS : 0);

	if (attr->comp_mask & ~MASK || attr->flags & ~FLAGS || attr->wc_flags & ~granted)
		return -EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD))
		return 0;
	if (!attr->parent_domain || attr->parent_domain->context != context ||
	    !verbs_pd_of(attr->parent_domain)->base)
		return -EINVAL;
	return 0;
}

static int
make(struct ibv_context *context, struct ibv_cq_init_attr_ex attr, struct verbs_cq **out)
{
	struct ctl_create_cq msg = { .held = 1, .stamped = attr.wc_flags & STAMPS ? 1 : 0 };
	int err;

	if (!(attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS))
		attr.flags = 0;
	if (!(attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD))
		attr.parent_domain = NULL;
	msg.flags = attr.flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	err = attr_check(context, &attr);
	if (!err)
		err = verbs_cq_make(context, &attr, &msg, out);
	if (err)
		return err;
	(*out)->extended = true;
	(*out)->pub.single = (attr.flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) ||
			     verbs_pd_single(attr.parent_domain);
	verbs_cq_ops_fill(&(*out)->pub.v.ex);
	return 0;
}

struct ibv_cq_ex *
plx_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *attr)
{
	struct verbs_cq *cq;
	int err = make(context, *attr, &cq);

	if (err) {
		errno = -err;
		return NULL;
	}
	return &cq->pub.v.ex;
}

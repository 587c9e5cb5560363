/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * By which connection do a peer's requests for our shared queues come in? XRC targets; control verbs, on
 * application threads. What a context holds is one handle of several, perhaps: it has no queues.
 */
#include <errno.h>

#include "verbs/verbs_priv.h"

struct target {
	void *qp_context;
	uint32_t handle, gen, qp_num;
};

/* Gives the handle back when it cannot be. */
static int
target_new(struct ibv_context *context, const struct target *t, struct ibv_qp **out)
{
	const struct ibv_qp_init_attr init = { .qp_context = t->qp_context, .qp_type = IBV_QPT_XRC_RECV };
	struct ctl_destroy_qp undo = { .qp = t->handle };
	struct verbs_qp *qp = verbs_qp_new(NULL);
	int err = -ENOMEM;

	if (qp) {
		verbs_qp_fill(qp, context, &init);
		qp->pub.v.qp.handle = t->handle;
		qp->pub.v.qp.qp_num = t->qp_num;
		qp->pub.gen = t->gen;
		err = verbs_qp_publish(verbs_ctx_of(context), qp);
	}
	if (!err) {
		*out = &qp->pub.v.qp;
		return 0;
	}
	if (qp)
		verbs_qp_free(qp);
	verbs_call(context, CTL_DESTROY_QP, &undo);
	return err;
}

struct ibv_qp *
verbs_target_create(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
	struct ctl_create_qp msg = { .type = IBV_QPT_XRC_RECV, .xrcd = verbs_xrcd_of(init->xrcd)->handle };
	struct ibv_qp *qp = NULL;
	int err = verbs_call(context, CTL_CREATE_QP, &msg);

	if (!err)
		err = target_new(context, &(struct target){ init->qp_context, msg.qp, msg.qp_gen,
							    msg.qp_num }, &qp);
	if (err)
		errno = -err;
	else
		init->cap = (struct ibv_qp_cap){ 0 };
	return qp;
}

#define OPEN_ATTR ((uint32_t)(IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE))

static int
open_check(struct ibv_context *context, const struct ibv_qp_open_attr *attr)
{
	if (attr->comp_mask & ~(OPEN_ATTR | IBV_QP_OPEN_ATTR_CONTEXT))
		return -EOPNOTSUPP;
	if ((attr->comp_mask & OPEN_ATTR) != OPEN_ATTR || attr->qp_type != IBV_QPT_XRC_RECV ||
	    !attr->xrcd || attr->xrcd->context != context)
		return -EINVAL;
	return 0;
}

struct ibv_qp *
plx_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
	struct ctl_open_qp msg = { .qp_num = attr->qp_num };
	void *qp_context = attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT ? attr->qp_context : NULL;
	struct ibv_qp *qp = NULL;
	int err = open_check(context, attr);

	if (!err) {
		msg.xrcd = verbs_xrcd_of(attr->xrcd)->handle;
		err = verbs_call(context, CTL_OPEN_QP, &msg);
	}
	if (!err)
		err = target_new(context, &(struct target){ qp_context, msg.qp, msg.qp_gen, attr->qp_num },
				 &qp);
	if (err)
		errno = -err;
	return qp;
}

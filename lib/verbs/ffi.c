/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inline data path once more, as exported functions: for bindings, and for programs that were
 * compiled against rdma-core's header and call through a context's operations. On any thread.
 */
#define PLX_INLINE	/* plx_post_send() and its like are defined here for the linker */
#include <errno.h>

#include "verbs/verbs_priv.h"

static int
no_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	(void)qp;
	(void)mw;
	(void)bind;
	return EOPNOTSUPP;
}

static int
no_dealloc_mw(struct ibv_mw *mw)
{
	(void)mw;
	return EOPNOTSUPP;
}

/*
 * rdma-core's inline functions take a NULL in verbs_context, and alloc_mw NULL, for EOPNOTSUPP; the
 * others they call unseen.
 */
void
verbs_ops_fill(struct verbs_context *vctx)
{
	struct ibv_context_ops *ops = &vctx->context.ops;

	ops->post_send = plx_post_send;
	ops->post_recv = plx_post_recv;
	ops->poll_cq = plx_poll_cq;
	ops->req_notify_cq = plx_req_notify_cq;
	ops->post_srq_recv = plx_post_srq_recv;
	ops->bind_mw = no_bind_mw;
	ops->dealloc_mw = no_dealloc_mw;
	vctx->query_port = verbs_query_port;
	vctx->query_device_ex = verbs_query_device_ex;
	vctx->create_qp_ex = plx_create_qp_ex;
	vctx->modify_cq = plx_modify_cq;
	vctx->create_srq_ex = plx_create_srq_ex;
	vctx->get_srq_num = plx_get_srq_num;
	vctx->open_qp = plx_open_qp;
	vctx->open_xrcd = plx_open_xrcd;
	vctx->close_xrcd = plx_close_xrcd;
	vctx->alloc_td = plx_alloc_td;
	vctx->dealloc_td = plx_dealloc_td;
	vctx->alloc_parent_domain = plx_alloc_parent_domain;
}

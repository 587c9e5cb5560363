/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inline data path once more, as exported functions: for bindings, and for programs that were
 * compiled against rdma-core's header and call through a context's operations. On any thread.
 */
#define PLX_INLINE	/* plx_post_send() and its like are defined here for the linker */
#include <errno.h>

#include "verbs/verbs_priv.h"

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
	ops->alloc_mw = plx_alloc_mw;
	ops->bind_mw = plx_bind_mw;
	ops->dealloc_mw = plx_dealloc_mw;
	vctx->advise_mr = plx_advise_mr;
	vctx->alloc_null_mr = plx_alloc_null_mr;
	vctx->alloc_dm = plx_alloc_dm;
	vctx->free_dm = plx_free_dm;
	vctx->reg_dm_mr = plx_reg_dm_mr;
	vctx->query_port = verbs_query_port;
	vctx->query_device_ex = verbs_query_device_ex;
	vctx->create_qp_ex = plx_create_qp_ex;
	vctx->create_cq_ex = plx_create_cq_ex;
	vctx->modify_cq = plx_modify_cq;
	vctx->query_rt_values = plx_query_rt_values_ex;
	vctx->create_srq_ex = plx_create_srq_ex;
	vctx->get_srq_num = plx_get_srq_num;
	vctx->open_qp = plx_open_qp;
	vctx->open_xrcd = plx_open_xrcd;
	vctx->close_xrcd = plx_close_xrcd;
	vctx->alloc_td = plx_alloc_td;
	vctx->dealloc_td = plx_dealloc_td;
	vctx->alloc_parent_domain = plx_alloc_parent_domain;
}

/* What no QP has is refused by plx_wr_complete(). */
static void
no_send_tso(struct ibv_qp_ex *ex, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	(void)hdr;
	(void)hdr_sz;
	(void)mss;
	__plx_wr_fail(__plx_qp_of(&ex->qp_base), EOPNOTSUPP);
}

/* One table for all types: each function knows what its QP has. */
void
verbs_wr_fill(struct ibv_qp_ex *ex)
{
	ex->wr_start = plx_wr_start;
	ex->wr_complete = plx_wr_complete;
	ex->wr_abort = plx_wr_abort;
	ex->wr_send = plx_wr_send;
	ex->wr_send_imm = plx_wr_send_imm;
	ex->wr_send_inv = plx_wr_send_inv;
	ex->wr_rdma_write = plx_wr_rdma_write;
	ex->wr_rdma_write_imm = plx_wr_rdma_write_imm;
	ex->wr_rdma_read = plx_wr_rdma_read;
	ex->wr_atomic_cmp_swp = plx_wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = plx_wr_atomic_fetch_add;
	ex->wr_local_inv = plx_wr_local_inv;
	ex->wr_bind_mw = plx_wr_bind_mw;
	ex->wr_atomic_write = plx_wr_atomic_write;
	ex->wr_set_sge = plx_wr_set_sge;
	ex->wr_set_sge_list = plx_wr_set_sge_list;
	ex->wr_set_inline_data = plx_wr_set_inline_data;
	ex->wr_set_inline_data_list = plx_wr_set_inline_data_list;
	ex->wr_set_ud_addr = plx_wr_set_ud_addr;
	ex->wr_set_xrc_srqn = plx_wr_set_xrc_srqn;
	ex->wr_send_tso = no_send_tso;
	__plx_qp_of(&ex->qp_base)->v.later.wr_flush = plx_wr_flush;
}

void
verbs_cq_ops_fill(struct ibv_cq_ex *cq)
{
	cq->start_poll = plx_start_poll;
	cq->next_poll = plx_next_poll;
	cq->end_poll = plx_end_poll;
	cq->read_opcode = plx_wc_read_opcode;
	cq->read_vendor_err = plx_wc_read_vendor_err;
	cq->read_byte_len = plx_wc_read_byte_len;
	cq->read_imm_data = plx_wc_read_imm_data;	/* of an invalidated rkey, too */
	cq->read_qp_num = plx_wc_read_qp_num;
	cq->read_src_qp = plx_wc_read_src_qp;
	cq->read_wc_flags = plx_wc_read_wc_flags;
	cq->read_slid = plx_wc_read_slid;
	cq->read_sl = plx_wc_read_sl;
	cq->read_dlid_path_bits = plx_wc_read_dlid_path_bits;
	cq->read_completion_ts = plx_wc_read_completion_ts;
	cq->read_completion_wallclock_ns = plx_wc_read_completion_wallclock_ns;
	cq->read_cvlan = plx_wc_read_cvlan;
	cq->read_flow_tag = plx_wc_read_flow_tag;
	cq->read_tm_info = plx_wc_read_tm_info;
}

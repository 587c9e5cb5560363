/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does rdma-core's ABI call the objects of a context? Adapters, on application threads.
 */
#include "adapt.h"

ADAPT(struct ibv_pd *, ibv_alloc_pd(struct ibv_context *ctx), plx_alloc_pd(ctx))
ADAPT(int, ibv_dealloc_pd(struct ibv_pd *pd), plx_dealloc_pd(pd))
ADAPT(struct ibv_pd *, ibv_import_pd(struct ibv_context *ctx, uint32_t handle),
      plx_import_pd(ctx, handle))
ADAPT_VOID(ibv_unimport_pd(struct ibv_pd *pd), plx_unimport_pd(pd))

ADAPT(struct ibv_mr *, ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access),
      plx_reg_mr(pd, addr, length, access))
ADAPT(struct ibv_mr *, ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				       int access),
      plx_reg_mr_iova(pd, addr, length, iova, access))
ADAPT(struct ibv_mr *, ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
					unsigned int access),
      plx_reg_mr_iova2(pd, addr, length, iova, access))
ADAPT(struct ibv_mr *, ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
					 uint64_t iova, int fd, int access),
      plx_reg_dmabuf_mr(pd, offset, length, iova, fd, access))
ADAPT(int, ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
			int access),
      plx_rereg_mr(mr, flags, pd, addr, length, access))
ADAPT(int, ibv_dereg_mr(struct ibv_mr *mr), plx_dereg_mr(mr))
ADAPT(struct ibv_mr *, ibv_import_mr(struct ibv_pd *pd, uint32_t handle),
      plx_import_mr(pd, handle))
ADAPT_VOID(ibv_unimport_mr(struct ibv_mr *mr), plx_unimport_mr(mr))
ADAPT(struct ibv_dm *, ibv_import_dm(struct ibv_context *ctx, uint32_t handle),
      plx_import_dm(ctx, handle))
ADAPT_VOID(ibv_unimport_dm(struct ibv_dm *dm), plx_unimport_dm(dm))

ADAPT(struct ibv_comp_channel *, ibv_create_comp_channel(struct ibv_context *ctx),
      plx_create_comp_channel(ctx))
ADAPT(int, ibv_destroy_comp_channel(struct ibv_comp_channel *ch), plx_destroy_comp_channel(ch))
ADAPT(struct ibv_cq *, ibv_create_cq(struct ibv_context *ctx, int cqe, void *cq_context,
				     struct ibv_comp_channel *ch, int comp_vector),
      plx_create_cq(ctx, cqe, cq_context, ch, comp_vector))
ADAPT(int, ibv_resize_cq(struct ibv_cq *cq, int cqe), plx_resize_cq(cq, cqe))
ADAPT(int, ibv_destroy_cq(struct ibv_cq *cq), plx_destroy_cq(cq))
ADAPT(int, ibv_get_cq_event(struct ibv_comp_channel *ch, struct ibv_cq **cq, void **cq_context),
      plx_get_cq_event(ch, cq, cq_context))
ADAPT_VOID(ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n), plx_ack_cq_events(cq, n))

ADAPT(struct ibv_srq *, ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init),
      plx_create_srq(pd, init))
ADAPT(int, ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask),
      plx_modify_srq(srq, attr, mask))
ADAPT(int, ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr),
      plx_query_srq(srq, attr))
ADAPT(int, ibv_destroy_srq(struct ibv_srq *srq), plx_destroy_srq(srq))

ADAPT(struct ibv_qp *, ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init),
      plx_create_qp(pd, init))
ADAPT(int, ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask),
      plx_modify_qp(qp, attr, mask))
ADAPT(int, ibv_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask,
			struct ibv_qp_init_attr *init),
      plx_query_qp(qp, attr, mask, init))
ADAPT(int, ibv_destroy_qp(struct ibv_qp *qp), plx_destroy_qp(qp))
ADAPT(struct ibv_qp_ex *, ibv_qp_to_qp_ex(struct ibv_qp *qp), plx_qp_to_qp_ex(qp))
ADAPT(int, ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags),
      plx_query_qp_data_in_order(qp, op, flags))
ADAPT(int, ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece), plx_set_ece(qp, ece))
ADAPT(int, ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece), plx_query_ece(qp, ece))

ADAPT(struct ibv_ah *, ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr),
      plx_create_ah(pd, attr))
ADAPT(int, ibv_init_ah_from_wc(struct ibv_context *ctx, uint8_t port, struct ibv_wc *wc,
			       struct ibv_grh *grh, struct ibv_ah_attr *attr),
      plx_init_ah_from_wc(ctx, port, wc, grh, attr))
ADAPT(struct ibv_ah *, ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc,
					     struct ibv_grh *grh, uint8_t port),
      plx_create_ah_from_wc(pd, wc, grh, port))
ADAPT(int, ibv_destroy_ah(struct ibv_ah *ah), plx_destroy_ah(ah))
ADAPT(int, ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid),
      plx_attach_mcast(qp, gid, lid))
ADAPT(int, ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid),
      plx_detach_mcast(qp, gid, lid))

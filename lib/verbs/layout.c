/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do the numbers and layouts that we share with a stack agree with rdma-core's? Nothing runs here: a
 * build answers.
 */
#include <stddef.h>

#include "verbs/verbs_priv.h"

#define SAME(a, b) _Static_assert((a) == (b), #a " is " #b)

SAME(PLX_ABI_VERSION, CTL_ABI_VERSION);
SAME(PLX_DRIVE_POST, (int)CTL_DRIVE_POST);
SAME(PLX_DRIVE_POLL, (int)CTL_DRIVE_POLL);
SAME(PLX_DRIVE_MORE, (int)CTL_DRIVE_MORE);
_Static_assert(CTL_MAX_CORES <= 64, "plx_cq.cores has a bit for each");

/* a verbs structure comes first: the pointers are the same */
SAME(offsetof(struct plx_qp, v), 0);
SAME(offsetof(struct plx_cq, v), 0);
SAME(offsetof(struct plx_srq, srq), 0);
SAME(offsetof(struct verbs_srq, pub), 0);
SAME(offsetof(struct verbs_qp, pub), 0);
SAME(offsetof(struct verbs_cq, pub), 0);
SAME(offsetof(struct verbs_ctx, pub), 0);
SAME(offsetof(struct verbs_pd, pd), 0);
SAME(offsetof(struct verbs_mr, mr), 0);
SAME(offsetof(struct verbs_dm, dm), 0);
SAME(offsetof(struct verbs_channel, channel), 0);
SAME(offsetof(struct verbs_device, dev), 0);
/* the word behind an ibv_device is looked at by others */
SAME(offsetof(struct verbs_device, provider_ops), sizeof(struct ibv_device));

SAME(sizeof(struct plx_sge), sizeof(struct ibv_sge));
SAME(offsetof(struct plx_sge, length), offsetof(struct ibv_sge, length));
SAME(offsetof(struct plx_sge, lkey), offsetof(struct ibv_sge, lkey));

SAME(PLX_WQE_FENCE, (int)IBV_SEND_FENCE);
SAME(PLX_WQE_SIGNALED, (int)IBV_SEND_SIGNALED);
SAME(PLX_WQE_SOLICITED, (int)IBV_SEND_SOLICITED);
SAME(PLX_WQE_INLINE, (int)IBV_SEND_INLINE);

/* D-8: what a CQE carries in 8 bits */
SAME(IBV_WC_SUCCESS, 0);
SAME(IBV_WC_LOC_LEN_ERR, 1);
SAME(IBV_WC_LOC_QP_OP_ERR, 2);
SAME(IBV_WC_LOC_EEC_OP_ERR, 3);
SAME(IBV_WC_LOC_PROT_ERR, 4);
SAME(IBV_WC_WR_FLUSH_ERR, 5);
SAME(IBV_WC_MW_BIND_ERR, 6);
SAME(IBV_WC_BAD_RESP_ERR, 7);
SAME(IBV_WC_LOC_ACCESS_ERR, 8);
SAME(IBV_WC_REM_INV_REQ_ERR, 9);
SAME(IBV_WC_REM_ACCESS_ERR, 10);
SAME(IBV_WC_REM_OP_ERR, 11);
SAME(IBV_WC_RETRY_EXC_ERR, 12);
SAME(IBV_WC_RNR_RETRY_EXC_ERR, 13);
SAME(IBV_WC_FATAL_ERR, 19);
SAME(IBV_WC_GENERAL_ERR, 21);
SAME(IBV_WC_TM_RNDV_INCOMPLETE, 23);
SAME(IBV_WC_SEND, 0);
SAME(IBV_WC_RDMA_WRITE, 1);
SAME(IBV_WC_RDMA_READ, 2);
SAME(IBV_WC_COMP_SWAP, 3);
SAME(IBV_WC_FETCH_ADD, 4);
SAME(IBV_WC_RECV, 128);
SAME(IBV_WC_RECV_RDMA_WITH_IMM, 129);

/* D-9 */
SAME(IBV_EVENT_CQ_ERR, 0);
SAME(IBV_EVENT_QP_FATAL, 1);
SAME(IBV_EVENT_QP_REQ_ERR, 2);
SAME(IBV_EVENT_QP_ACCESS_ERR, 3);
SAME(IBV_EVENT_COMM_EST, 4);
SAME(IBV_EVENT_SQ_DRAINED, 5);
SAME(IBV_EVENT_DEVICE_FATAL, 8);
SAME(IBV_EVENT_PORT_ACTIVE, 9);
SAME(IBV_EVENT_PORT_ERR, 10);
SAME(IBV_EVENT_SRQ_LIMIT_REACHED, 15);
SAME(IBV_EVENT_QP_LAST_WQE_REACHED, 16);
SAME(IBV_EVENT_GID_CHANGE, 18);
SAME(IBV_EVENT_WQ_FATAL, 19);

/* what a control message carries of the verbs (statements E1..E8) */
SAME(IBV_QPS_RESET, 0);
SAME(IBV_QPS_INIT, 1);
SAME(IBV_QPS_RTR, 2);
SAME(IBV_QPS_RTS, 3);
SAME(IBV_QPS_SQD, 4);
SAME(IBV_QPS_SQE, 5);
SAME(IBV_QPS_ERR, 6);
SAME(IBV_QPT_RC, 2);
SAME(IBV_QPT_UC, 3);
SAME(IBV_QPT_UD, 4);
SAME(IBV_QP_STATE, 1 << 0);
SAME(IBV_QP_ACCESS_FLAGS, 1 << 3);
SAME(IBV_QP_AV, 1 << 7);
SAME(IBV_QP_TIMEOUT, 1 << 9);
SAME(IBV_QP_MAX_QP_RD_ATOMIC, 1 << 13);
SAME(IBV_QP_MAX_DEST_RD_ATOMIC, 1 << 17);
SAME(IBV_QP_DEST_QPN, 1 << 20);
SAME(IBV_ACCESS_LOCAL_WRITE, 1 << 0);
SAME(IBV_ACCESS_REMOTE_WRITE, 1 << 1);
SAME(IBV_ACCESS_REMOTE_READ, 1 << 2);
SAME(IBV_ACCESS_REMOTE_ATOMIC, 1 << 3);
SAME(IBV_ACCESS_MW_BIND, 1 << 4);
SAME(IBV_ACCESS_ZERO_BASED, 1 << 5);
SAME(IBV_ACCESS_ON_DEMAND, 1 << 6);
SAME(IBV_ACCESS_HUGETLB, 1 << 7);
SAME(IBV_ACCESS_OPTIONAL_RANGE, 0x3ff00000);
SAME(IBV_REREG_MR_CHANGE_TRANSLATION, 1 << 0);
SAME(IBV_REREG_MR_CHANGE_PD, 1 << 1);
SAME(IBV_REREG_MR_CHANGE_ACCESS, 1 << 2);
SAME(IBV_ODP_SUPPORT, 1 << 0);
SAME(IBV_ODP_SUPPORT_IMPLICIT, 1 << 1);
SAME(IBV_ODP_SUPPORT_SEND, 1 << 0);
SAME(IBV_ODP_SUPPORT_RECV, 1 << 1);
SAME(IBV_ODP_SUPPORT_WRITE, 1 << 2);
SAME(IBV_ODP_SUPPORT_READ, 1 << 3);
SAME(IBV_ODP_SUPPORT_ATOMIC, 1 << 4);
SAME(IBV_ODP_SUPPORT_SRQ_RECV, 1 << 5);
SAME(IBV_WR_RDMA_WRITE, 0);
SAME(IBV_WR_RDMA_WRITE_WITH_IMM, 1);
SAME(IBV_WR_SEND, 2);
SAME(IBV_WR_SEND_WITH_IMM, 3);
SAME(IBV_WR_RDMA_READ, 4);
SAME(IBV_WR_ATOMIC_CMP_AND_SWP, 5);
SAME(IBV_WR_ATOMIC_FETCH_AND_ADD, 6);
SAME(IBV_WR_ATOMIC_WRITE, 15);
SAME(IBV_WC_ATOMIC_WRITE, 9);
SAME(IBV_SRQT_BASIC, 0);
SAME(IBV_SRQ_MAX_WR, 1 << 0);
SAME(IBV_SRQ_LIMIT, 1 << 1);
SAME(IBV_EVENT_SRQ_ERR, 14);
SAME(IBV_EVENT_QP_LAST_WQE_REACHED, 16);

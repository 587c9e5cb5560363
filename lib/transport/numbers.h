/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs' numbers that transport speaks: states, attribute bits, statuses, opcodes, events. This
 * room includes no header of rdma-core; the unit tests hold each value against it (D-8, D-9).
 */
#ifndef TRANSPORT_NUMBERS_H
#define TRANSPORT_NUMBERS_H

enum qp_state_no {		/* enum ibv_qp_state */
	QPS_RESET,
	QPS_INIT,
	QPS_RTR,
	QPS_RTS,
	QPS_SQD,
	QPS_SQE,
	QPS_ERR,
	QPS_COUNT,
};

enum qp_type_no {		/* enum ibv_qp_type; 1 is the GSI QP, which only the stack has */
	QPT_GSI = 1,
	QPT_RC = 2,
	QPT_UC = 3,
	QPT_UD = 4,
	QPT_RAW = 8,
	QPT_XRC_INI = 9,
	QPT_XRC_TGT = 10,
	QPT_COUNT,
};

enum qp_mask {			/* enum ibv_qp_attr_mask */
	QPM_STATE = 1 << 0,
	QPM_CUR_STATE = 1 << 1,
	QPM_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	QPM_ACCESS_FLAGS = 1 << 3,
	QPM_PKEY_INDEX = 1 << 4,
	QPM_PORT = 1 << 5,
	QPM_QKEY = 1 << 6,
	QPM_AV = 1 << 7,
	QPM_PATH_MTU = 1 << 8,
	QPM_TIMEOUT = 1 << 9,
	QPM_RETRY_CNT = 1 << 10,
	QPM_RNR_RETRY = 1 << 11,
	QPM_RQ_PSN = 1 << 12,
	QPM_MAX_QP_RD_ATOMIC = 1 << 13,
	QPM_ALT_PATH = 1 << 14,
	QPM_MIN_RNR_TIMER = 1 << 15,
	QPM_SQ_PSN = 1 << 16,
	QPM_MAX_DEST_RD_ATOMIC = 1 << 17,
	QPM_PATH_MIG_STATE = 1 << 18,
	QPM_CAP = 1 << 19,
	QPM_DEST_QPN = 1 << 20,
};

enum wr_opcode {		/* enum ibv_wr_opcode */
	WR_RDMA_WRITE = 0,
	WR_RDMA_WRITE_IMM = 1,
	WR_SEND = 2,
	WR_SEND_IMM = 3,
	WR_RDMA_READ = 4,
	WR_CMP_SWAP = 5,
	WR_FETCH_ADD = 6,
	WR_LOCAL_INV = 7,
	WR_BIND_MW = 8,
	WR_SEND_INV = 9,
	WR_FLUSH = 14,
	WR_ATOMIC_WRITE = 15,
	WR_OPCODES,		/* the rest is not in this version */
};

enum wc_opcode {		/* enum ibv_wc_opcode */
	WC_SEND = 0,
	WC_RDMA_WRITE = 1,
	WC_RDMA_READ = 2,
	WC_CMP_SWAP = 3,
	WC_FETCH_ADD = 4,
	WC_BIND_MW = 5,
	WC_LOCAL_INV = 6,
	WC_FLUSH = 8,
	WC_ATOMIC_WRITE = 9,
	WC_RECV = 128,
	WC_RECV_RDMA_WITH_IMM = 129,
};

#define WC_GRH 1		/* enum ibv_wc_flags */
#define WC_WITH_IMM 2
#define WC_WITH_INV 8

enum wc_status {		/* enum ibv_wc_status */
	WC_SUCCESS = 0,
	WC_LOC_LEN_ERR = 1,
	WC_LOC_QP_OP_ERR = 2,
	WC_LOC_PROT_ERR = 4,
	WC_WR_FLUSH_ERR = 5,
	WC_MW_BIND_ERR = 6,
	WC_BAD_RESP_ERR = 7,
	WC_LOC_ACCESS_ERR = 8,
	WC_REM_INV_REQ_ERR = 9,
	WC_REM_ACCESS_ERR = 10,
	WC_REM_OP_ERR = 11,
	WC_RETRY_EXC_ERR = 12,
	WC_RNR_RETRY_EXC_ERR = 13,
};

enum qp_event_no {		/* enum ibv_event_type */
	EV_CQ_ERR = 0,
	EV_QP_FATAL = 1,
	EV_QP_REQ_ERR = 2,
	EV_QP_ACCESS_ERR = 3,
	EV_COMM_EST = 4,
	EV_SQ_DRAINED = 5,
	EV_SRQ_ERR = 14,
	EV_SRQ_LIMIT_REACHED = 15,
	EV_QP_LAST_WQE_REACHED = 16,
	EV_NONE = 255,
};

#define QKEY_CONTROLLED 0x80000000u	/* F2 */
#define PATH_MIGRATED 0		/* enum ibv_mig_state */
#define MAX_MSG_SZ (1u << 31)	/* C18, B30 */
#define PKEY_DEFAULT 0xffffu	/* the table's only entry (A16) */

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Work queue elements as they stand in the rings. A slot is `stride` bytes (a multiple of 64 for a
 * send queue, of 16 for a receive queue): the fixed part, then the SGEs or the inline bytes.
 * Written by the application, copied out by the core before anything in it is believed.
 */
#ifndef POLLUX_ABI_WQE_H
#define POLLUX_ABI_WQE_H

#include <pollux/abi/ring.h>

#define PLX_MAX_SGE 32u
#define PLX_MAX_INLINE 512u
#define PLX_MAX_WR 16384u

struct plx_sge {		/* the layout of struct ibv_sge */
	uint64_t addr;
	uint32_t length;
	uint32_t lkey;
};
PLX_ABI_ASSERT(sizeof(struct plx_sge) == 16, "as ibv_sge");

enum plx_wqe_flags {		/* the values of enum ibv_send_flags */
	PLX_WQE_FENCE = 1 << 0,
	PLX_WQE_SIGNALED = 1 << 1,
	PLX_WQE_SOLICITED = 1 << 2,
	PLX_WQE_INLINE = 1 << 3,
};

struct plx_sq_wqe {
	uint64_t wr_id;
	uint8_t opcode;		/* value of enum ibv_wr_opcode */
	uint8_t flags;		/* enum plx_wqe_flags; SIGNALED is set for sq_sig_all too */
	uint16_t num_sge;	/* 0 with PLX_WQE_INLINE */
	uint32_t length;	/* bytes in all: of the SGEs, or of the inline data */
	uint32_t imm;		/* immediate in network order, or the R_Key to invalidate in host order */
	uint32_t rkey;
	uint64_t remote_addr;
	union {
		struct {
			uint64_t compare_add;
			uint64_t swap;
		} atomic;
		struct {
			uint32_t ah;	/* AH handle */
			uint32_t qpn;
			uint32_t qkey;
			uint32_t ah_gen;	/* its generation */
		} ud;
		struct {	/* of a window; `rkey` is its key from now on, whose upper 24 bits name it */
			uint64_t length;	/* bytes from remote_addr on; 0: type 1 is bound to nothing */
			uint32_t lkey;		/* of the region */
			uint32_t access;	/* enum ibv_access_flags */
		} bind;
		struct {
			uint32_t type;	/* enum plx_flush_type */
			uint32_t level;	/* enum plx_flush_level */
		} flush;	/* of a FLUSH, whose `length` is the range's; no SGEs */
	};
	uint32_t xrc_srqn;	/* XRC: number of the peer's SRQ, for every opcode */
	uint32_t reserved0;
	uint64_t reserved;
	/* then: struct plx_sge[num_sge], or `length` inline bytes */
};
PLX_ABI_ASSERT(sizeof(struct plx_sq_wqe) == 64, "one line");

/*
 * FLUSH, which rdma-core names only in versions after 44: the values that it has there.
 */
enum plx_flush_no {
	PLX_WR_FLUSH = 14,			/* enum ibv_wr_opcode */
	PLX_WC_FLUSH = 8,			/* enum ibv_wc_opcode */
	PLX_QP_EX_WITH_FLUSH = 1 << 11,		/* enum ibv_qp_create_send_ops_flags */
	PLX_ACCESS_FLUSH_GLOBAL = 1 << 8,	/* enum ibv_access_flags, of a region and of a QP */
	PLX_ACCESS_FLUSH_PERSISTENT = 1 << 9,	/* of a QP alone: there is no such region */
};

/* What it asks for: enum ibv_placement_type. */
enum plx_flush_type {
	PLX_FLUSH_GLOBAL = 1 << 0,	/* visible to everybody */
	PLX_FLUSH_PERSISTENT = 1 << 1,	/* and there after a loss of power: no memory here can */
};

/* Of what: enum ibv_selectivity_level. */
enum plx_flush_level {
	PLX_FLUSH_RANGE = 0,		/* what was written into the range */
	PLX_FLUSH_MR = 1,		/* into anything of the region */
};

struct plx_rq_wqe {
	uint64_t wr_id;
	uint32_t num_sge;
	uint32_t pad;
	/* then: struct plx_sge[num_sge] */
};
PLX_ABI_ASSERT(sizeof(struct plx_rq_wqe) == 16, "one SGE wide");

/* Bytes of a send slot that holds `max_sge` SGEs or `max_inline` bytes, whichever is more. */
static inline uint32_t
plx_sq_stride(uint32_t max_sge, uint32_t max_inline)
{
	uint32_t sge = max_sge * (uint32_t)sizeof(struct plx_sge);
	uint32_t body = sge > max_inline ? sge : max_inline;

	return ((uint32_t)sizeof(struct plx_sq_wqe) + body + 63u) & ~63u;
}

static inline uint32_t
plx_rq_stride(uint32_t max_sge)
{
	return (uint32_t)(sizeof(struct plx_rq_wqe) + max_sge * sizeof(struct plx_sge));
}

#endif

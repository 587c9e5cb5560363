/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion queue elements as they stand in the ring. The producer is the CQ's home core alone; it
 * fills a slot and then stores `phase` with release. With free-running counter n and a ring of
 * 2^k slots, the slot n & (2^k - 1) holds the n-th CQE when its phase equals plx_cqe_phase(n, k).
 * A ring starts zeroed: phase 0 is never valid on the first lap.
 */
#ifndef POLLUX_ABI_CQE_H
#define POLLUX_ABI_CQE_H

#include <pollux/abi/ring.h>

enum plx_cqe_queue {
	PLX_CQE_SQ = 0,
	PLX_CQE_RQ = 1,
};

struct plx_cqe {
	uint64_t wr_id;
	uint32_t byte_len;
	uint32_t imm;		/* immediate in network order, or the invalidated R_Key */
	uint32_t qp_num;
	uint32_t src_qp;
	uint32_t vendor_err;
	uint8_t status;		/* value of enum ibv_wc_status */
	uint8_t opcode;		/* value of enum ibv_wc_opcode */
	uint8_t wc_flags;	/* value of enum ibv_wc_flags */
	uint8_t queue;		/* enum plx_cqe_queue */
	uint32_t qp;		/* QP handle */
	uint32_t qp_gen;	/* its generation: a CQE of a destroyed QP must not touch its successor */
	uint32_t wq_head;	/* the queue's slots are free up to this counter once this is polled */
	uint32_t pad;
	uint64_t timestamp;	/* ticks of the time stamp counter; of a CQ that was made to have them */
	uint32_t solicited;	/* 1: a receive with the SE bit, or an error: wakes PLX_CQ_ARM_SOLICITED */
	uint32_t phase;
};
PLX_ABI_ASSERT(sizeof(struct plx_cqe) == 64, "one line");
PLX_ABI_ASSERT(__builtin_offsetof(struct plx_cqe, timestamp) == 48, "no hole but `pad`");

static inline uint32_t
plx_cqe_phase(uint32_t n, uint32_t log2_size)
{
	return ((n >> log2_size) & 1u) ^ 1u;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* A QP with the work request builder on the mock, and each operation by number. */
#ifndef UNIT_VERBS_BUILT_H
#define UNIT_VERBS_BUILT_H

#include "check.h"
#include "verbs_world.h"

static char buf[4096];

/* A QP with the builder beside the world's own, in RTS. */
struct built {
	struct world w;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;
	struct ibv_ah *ah;
};

#define OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_LOCAL (IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW)
#define OPS_UC (OPS_UD | OPS_LOCAL | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
#define OPS_RC (OPS_UC | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
		IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV)

static inline uint64_t
ops_of(enum ibv_qp_type type)
{
	return type == IBV_QPT_UD ? OPS_UD : type == IBV_QPT_UC ? OPS_UC : OPS_RC;
}

static inline struct ibv_qp *
make(struct world *w, enum ibv_qp_type type, uint64_t ops, int sig_all)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = w->cq, .recv_cq = w->cq, .qp_type = type, .sq_sig_all = sig_all, .pd = w->pd,
		.cap = { 8, 8, 2, 2, 64 }, .send_ops_flags = ops,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};

	errno = 0;
	return ibv_create_qp_ex(w->ctx, &init);
}

static inline void
to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = { .qp_state = state, .max_rd_atomic = 4 };

	CHECK_EQ(ibv_modify_qp(qp, &a, IBV_QP_STATE | (state == IBV_QPS_RTS ? IBV_QP_MAX_QP_RD_ATOMIC : 0)),
		 0);
}

static inline void
built_open_ops(struct built *b, enum ibv_qp_type type, uint64_t ops)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };

	memset(b, 0, sizeof(*b));
	world_open(&b->w, (struct world_conf){ .can_drive = true });
	b->qp = make(&b->w, type, ops, 0);
	b->ah = ibv_create_ah(b->w.pd, &attr);
	CHECK(b->qp && b->ah);
	b->ex = ibv_qp_to_qp_ex(b->qp);
	CHECK(b->ex && (void *)b->ex == b->qp);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		to_state(b->qp, (enum ibv_qp_state)state);
}

static inline void
built_open(struct built *b, enum ibv_qp_type type)
{
	built_open_ops(b, type, ops_of(type));
}

static inline void
built_close(struct built *b)
{
	CHECK_EQ(ibv_destroy_ah(b->ah), 0);
	CHECK_EQ(ibv_destroy_qp(b->qp), 0);
	world_close(&b->w);
}

static inline uint32_t
tail_of(struct built *b)
{
	return mock.qp[b->qp->handle].sq.ctl->tail;
}

static inline const struct plx_sq_wqe *
wqe_at(struct built *b, uint32_t i)
{
	return mock_sq_wqe(b->qp->handle, i);
}

/* Each operation by number: inline, or as an unmodified program calls it. */
enum op {
	OP_SEND, OP_SEND_IMM, OP_SEND_INV, OP_WRITE, OP_WRITE_IMM, OP_READ, OP_CMP_SWP, OP_FETCH_ADD,
	OP_LOCAL_INV, OP_COUNT
};

static const enum ibv_wr_opcode opcode_of[OP_COUNT] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_SEND_WITH_INV, IBV_WR_RDMA_WRITE,
	IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
	IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_LOCAL_INV,
};

static const uint64_t bit_of[OP_COUNT] = {
	IBV_QP_EX_WITH_SEND, IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_INV,
	IBV_QP_EX_WITH_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_READ,
	IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_LOCAL_INV,
};

#define IMM htobe32(0x11223344)
#define KEY 0x55667788u
#define RKEY 0x99u
#define REMOTE 0x1122334455667788ull

static inline void
call_inline(struct ibv_qp_ex *ex, enum op op)
{
	switch (op) {
	case OP_SEND: ibv_wr_send(ex); break;
	case OP_SEND_IMM: ibv_wr_send_imm(ex, IMM); break;
	case OP_SEND_INV: ibv_wr_send_inv(ex, KEY); break;
	case OP_WRITE: ibv_wr_rdma_write(ex, RKEY, REMOTE); break;
	case OP_WRITE_IMM: ibv_wr_rdma_write_imm(ex, RKEY, REMOTE, IMM); break;
	case OP_READ: ibv_wr_rdma_read(ex, RKEY, REMOTE); break;
	case OP_CMP_SWP: ibv_wr_atomic_cmp_swp(ex, RKEY, REMOTE, 5, 6); break;
	case OP_FETCH_ADD: ibv_wr_atomic_fetch_add(ex, RKEY, REMOTE, 5); break;
	case OP_LOCAL_INV: ibv_wr_local_inv(ex, KEY); break;
	case OP_COUNT: break;
	}
}

static inline void
call_table(struct ibv_qp_ex *ex, enum op op)
{
	switch (op) {
	case OP_SEND: ex->wr_send(ex); break;
	case OP_SEND_IMM: ex->wr_send_imm(ex, IMM); break;
	case OP_SEND_INV: ex->wr_send_inv(ex, KEY); break;
	case OP_WRITE: ex->wr_rdma_write(ex, RKEY, REMOTE); break;
	case OP_WRITE_IMM: ex->wr_rdma_write_imm(ex, RKEY, REMOTE, IMM); break;
	case OP_READ: ex->wr_rdma_read(ex, RKEY, REMOTE); break;
	case OP_CMP_SWP: ex->wr_atomic_cmp_swp(ex, RKEY, REMOTE, 5, 6); break;
	case OP_FETCH_ADD: ex->wr_atomic_fetch_add(ex, RKEY, REMOTE, 5); break;
	case OP_LOCAL_INV: ex->wr_local_inv(ex, KEY); break;
	case OP_COUNT: break;
	}
}

/* Where it goes, and 30 bytes of data, of an operation that has either. */
static inline void
furnish(struct built *b, enum op op)
{
	if (op == OP_LOCAL_INV)
		return;
	ibv_wr_set_sge(b->ex, 0x33, (uintptr_t)buf, 30);
	if (b->qp->qp_type == IBV_QPT_UD)
		ibv_wr_set_ud_addr(b->ex, b->ah, 0x123456, 0x11111111);
	if (b->qp->qp_type == IBV_QPT_XRC_SEND)
		ibv_wr_set_xrc_srqn(b->ex, 0x777);
}

static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND };
#define NUM_TYPES (sizeof(types) / sizeof(types[0]))

static inline void
write_one(struct built *b, uint64_t wr_id)
{
	b->ex->wr_id = wr_id;
	ibv_wr_rdma_write(b->ex, RKEY, REMOTE);
	ibv_wr_set_sge(b->ex, 0x33, (uintptr_t)buf, 30);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of the post verbs: what may be posted on QPs of other types than RC. */
#include "check.h"
#include "verbs_world.h"

/* F8, and bits that no type has */
static void
post_send__opcodes_of_uc(void)
{
	const uint32_t yes = 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM |
			     1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM | 1u << IBV_WR_LOCAL_INV;
	struct ibv_send_wr wr, *bad;
	struct world w;

	world_open(&w, (struct world_conf){ .type = IBV_QPT_UC });
	for (unsigned int op = 0; op < 256; op++) {
		bool ok = op < 32 && (yes >> op & 1);

		bad = NULL;
		wr = (struct ibv_send_wr){ .wr_id = op, .opcode = (enum ibv_wr_opcode)op };
		CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), ok ? 0 : EINVAL);
		CHECK((bad == &wr) == !ok);
	}
	world_close(&w);
}

/* FC59, B30: 2^31 bytes are a message, one more is none, and no sum becomes small again in 32 bits. */
static void
post_send__length_limit_is_two_gib(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	struct ibv_sge sges[2] = { { .length = 1u << 31 }, { .length = 1 } };
	struct ibv_send_wr wr = { .sg_list = sges, .opcode = IBV_WR_SEND }, *bad = NULL;
	struct world w;

	for (unsigned int i = 0; i < 2; i++) {
		world_open(&w, (struct world_conf){ .type = types[i] });
		wr.num_sge = 1;
		CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
		CHECK_EQ(mock_sq_wqe(w.qp->handle, 0)->length, 1u << 31);
		wr.num_sge = 2;
		CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), EINVAL);
		CHECK(bad == &wr);
		sges[1].length = 1u << 31;
		CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), EINVAL);
		sges[1].length = 1;
		world_close(&w);
	}
}

/* One word, from SGEs or inline, where there is a requester for it. */
static void
post_send__atomic_write(void)
{
	static const enum ibv_qp_type others[] = { IBV_QPT_UC, IBV_QPT_UD };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .max_rd_atomic = 0 };
	uint64_t word = 0x0102030405060708;
	struct ibv_sge sges[2] = { { (uintptr_t)&word, 3, 1 }, { (uintptr_t)&word + 3, 5, 1 } };
	struct ibv_send_wr wr = { .sg_list = sges, .num_sge = 2, .opcode = IBV_WR_ATOMIC_WRITE }, *bad;
	const struct plx_sq_wqe *q;
	struct world w;

	wr.wr.rdma.remote_addr = 0x1008;
	wr.wr.rdma.rkey = 7;
	world_open(&w, (struct world_conf){ .inline_data = 64 });
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	q = mock_sq_wqe(w.qp->handle, 0);
	CHECK(q->opcode == IBV_WR_ATOMIC_WRITE && q->num_sge == 2 && q->length == 8);
	CHECK(q->remote_addr == 0x1008 && q->rkey == 7);
	wr.send_flags = IBV_SEND_INLINE;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	q = mock_sq_wqe(w.qp->handle, 1);
	CHECK(q->num_sge == 0 && q->length == 8 && !memcmp(q + 1, &word, 8));
	for (sges[0].length = 0; sges[0].length < 12; sges[0].length++) {
		for (wr.send_flags = 0; wr.send_flags <= IBV_SEND_INLINE; wr.send_flags += IBV_SEND_INLINE)
			CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), sges[0].length == 3 ? 0 : EINVAL);
	}
	sges[0].length = 3;
	CHECK_EQ(ibv_modify_qp(w.qp, &attr, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC), 0);
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), EINVAL);
	world_close(&w);
	for (unsigned int i = 0; i < 2; i++) {
		world_open(&w, (struct world_conf){ .type = others[i] });
		CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), EINVAL);
		world_close(&w);
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(post_send__opcodes_of_uc),
	CHECK_CASE(post_send__length_limit_is_two_gib),
	CHECK_CASE(post_send__atomic_write),
};

CHECK_MAIN(cases)

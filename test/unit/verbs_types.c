/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of the post verbs: what may be posted on QPs of other types than RC. */
#include "check.h"
#include "verbs_world.h"

/* F8, and bits that no type has */
static void
post_send__opcodes_of_uc(void)
{
	const uint32_t yes = 1u << IBV_WR_RDMA_WRITE | 1u << IBV_WR_RDMA_WRITE_WITH_IMM |
			     1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM;
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

static const struct check_case cases[] = {
	CHECK_CASE(post_send__opcodes_of_uc),
	CHECK_CASE(post_send__length_limit_is_two_gib),
};

CHECK_MAIN(cases)

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

static const struct check_case cases[] = {
	CHECK_CASE(post_send__opcodes_of_uc),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May a QP be its own peer (FG8)? Then what its requester sends comes back to its responder, and the answers
 * to its requester: each half keeps its own numbers.
 */
#include "serve_verbs.h"

#define TURNS 100u

/* Both of these have completed with success: each wr_id is a bit. */
static bool
both(uint64_t sent, uint64_t received)
{
	uint64_t seen = 0;
	struct ibv_wc wc = { 0 };

	while (seen != (sent | received)) {
		if (!poll_one(v.cq, &wc) || wc.status)
			return false;
		seen |= wc.wr_id;
	}
	return true;
}

static void
self__send_write_read(void)
{
	uint8_t *local, *remote, *in;
	struct ibv_qp *qp;

	open_verbs("inline", 16, 8);
	local = v.buf;
	remote = v.buf + BUF_LEN / 2;
	in = v.buf + BUF_LEN / 4;
	qp = new_qp(v.cq, 8, 1);
	MUST(qp && to_init(qp) == 0 && to_rtr(qp, qp->qp_num) == 0 && to_rts(qp) == 0);
	for (uint32_t i = 1; i <= TURNS; i++) {
		memset(local, (int)i, 8);
		CHECK_EQ(post_recv(qp, 2), 0);
		CHECK_EQ(post(qp, IBV_WR_SEND, 1, 0), 0);
		CHECK(both(1, 2));
		CHECK_MEM(in, local, 8);
		CHECK_EQ(post(qp, IBV_WR_RDMA_WRITE, 1, 0), 0);
		CHECK(both(1, 0));
		CHECK_MEM(remote, local, 8);
		remote[7] = 0xee;
		CHECK_EQ(post(qp, IBV_WR_RDMA_READ, 1, 0), 0);
		CHECK(both(1, 0));
		CHECK_EQ(local[7], 0xee);
		CHECK_EQ(local[6], (uint8_t)i);
	}
	CHECK_EQ(state_of(qp), IBV_QPS_RTS);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(close_verbs(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(self__send_write_read),
};
CHECK_MAIN(cases)

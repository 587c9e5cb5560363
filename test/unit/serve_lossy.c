/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole stack over a bad wire (FC30): however much is lost, what was posted ends, each once and in order,
 * and calls are answered meanwhile. The program drives the core itself, so a livelock would hang it here.
 */
#include "serve_verbs.h"

#define NUM 300u
#define AHEAD 8u

/* A pair whose ACK timeout is 1 ms. */
static void
connect_hasty(struct ibv_qp *a, struct ibv_qp *b)
{
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS, .timeout = 8, .retry_cnt = 7, .rnr_retry = 7,
				   .max_rd_atomic = 4 };

	MUST(a && b && to_init(a) == 0 && to_init(b) == 0);
	MUST(to_rtr(a, b->qp_num) == 0 && to_rtr(b, a->qp_num) == 0 && to_rts(b) == 0);
	MUST(ibv_modify_qp(a, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void
loss(const char *impair)
{
	struct ibv_wc wc = { 0 };
	uint64_t posted = 0, done = 0;
	struct ibv_qp *a, *b;
	bool ended = false;

	open_verbs_on("inline", impair, 256, 16);
	a = new_qp(v.cq, 16, 0);
	b = new_qp(v.cq, 16, 0);
	connect_hasty(a, b);
	while (done < NUM) {
		for (; posted < NUM && posted - done < AHEAD; posted++)
			CHECK_EQ(post_write(a, posted), 0);
		CHECK(poll_one(v.cq, &wc));
		CHECK_EQ(wc.wr_id, done++);
		/* retries may be used up; then all the rest is flushed */
		CHECK(wc.status == (ended ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS) ||
		      (!ended && wc.status == IBV_WC_RETRY_EXC_ERR));
		ended = wc.status != IBV_WC_SUCCESS;
		CHECK_EQ(state_of(b), IBV_QPS_RTS);
		CHECK(state_of(a) == IBV_QPS_ERR || !ended);
	}
	CHECK_EQ(ibv_destroy_qp(a), 0);
	CHECK_EQ(ibv_destroy_qp(b), 0);
	CHECK_EQ(close_verbs(), 0);
}

static void
lossy__a_tenth_of_a_percent(void)
{
	loss("drop=0.001,seed=1");
}

static void
lossy__one_in_a_hundred(void)
{
	loss("drop=0.01,seed=2");
}

static void
lossy__one_in_five(void)
{
	loss("drop=0.2,seed=3");
}

static void
lossy__everything(void)
{
	loss("drop=1,seed=4");
}

static const struct check_case cases[] = {
	CHECK_CASE(lossy__a_tenth_of_a_percent),
	CHECK_CASE(lossy__one_in_a_hundred),
	CHECK_CASE(lossy__one_in_five),
	CHECK_CASE(lossy__everything),
};
CHECK_MAIN(cases)

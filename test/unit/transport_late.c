/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of lib/transport: ACKs that wait for a later round, and what does not wait. */
#include "check.h"
#include "sim/pair.h"
#include "transport/numbers.h"

#define MS 1000000ull
#define LEN 64u
#define REMOTE (1u << 20)

static struct pair *pair;
static struct pair_side *a, *b;

/* Side b holds its ACKs. */
static void
begin(const struct pair_conf *conf)
{
	pair = pair_new(conf);
	a = &pair->side[0];
	b = &pair->side[1];
	b->x.hold_acks = true;
}

static void
post(struct pair_side *s, uint8_t opcode, uint64_t wr_id)
{
	struct pair_side *peer = &pair->side[!s->index];
	struct plx_sge sge = pair_sge(s, 0, LEN);
	struct plx_sq_wqe w = {
		.wr_id = wr_id, .opcode = opcode, .flags = PLX_WQE_SIGNALED, .num_sge = 1,
		.rkey = peer->mr->key, .remote_addr = (uintptr_t)peer->mem + REMOTE,
	};

	pair_post_send(s, &w, &sge);
}

static void
run(void)
{
	pair_run(pair, pair->now + MS / 2);
}

static uint64_t
count(const struct pair_side *s, enum cnt which)
{
	return cnt_read(&s->cnt.cnt[which]);
}

static void
hold_acks__one_for_all_that_came(void)
{
	struct plx_cqe e;

	begin(&(struct pair_conf){ .retry_cnt = 7 });
	for (uint64_t i = 0; i < 5; i++)
		post(a, WR_RDMA_WRITE, i);
	run();
	CHECK_EQ(count(b, CNT_RX_REQUESTS), 5);
	CHECK_EQ(count(b, CNT_TX_ACKS), 0);
	CHECK(!pair_poll(a, 0, &e));
	CHECK(!list_empty(&b->x.late));
	xport_release_acks(&b->x);
	CHECK(list_empty(&b->x.late));
	run();
	CHECK_EQ(count(b, CNT_TX_ACKS), 1);
	for (uint64_t i = 0; i < 5; i++)
		CHECK(pair_poll(a, 0, &e) && e.wr_id == i && e.status == WC_SUCCESS);
	pair_free(pair);
}

/* The answer of a program does not overtake the ACK: the peer may need the place in its send queue. */
static void
hold_acks__goes_before_an_answer(void)
{
	uint64_t until = 0;
	struct plx_cqe e;

	begin(&(struct pair_conf){ .retry_cnt = 7 });
	post(a, WR_RDMA_WRITE, 1);
	run();
	CHECK(!list_empty(&b->x.late));
	post(b, WR_RDMA_WRITE, 2);
	while (!count(a, CNT_RX_REQUESTS) && until < pair->now + MS) {
		until = until < pair->now ? pair->now : until + 100;
		pair_run(pair, until);
	}
	CHECK_EQ(count(b, CNT_TX_ACKS), 1);
	CHECK_EQ(count(a, CNT_RX_ACKS), 1);
	run();
	CHECK(pair_poll(a, 0, &e) && e.wr_id == 1);
	CHECK(pair_poll(b, 0, &e) && e.wr_id == 2);
	CHECK(list_empty(&b->x.late));
	pair_free(pair);
}

/* A QP that always has more to send does not stand among those that wait: nobody would release it. */
static void
hold_acks__beside_a_stream(void)
{
	struct plx_sge sge;
	struct plx_cqe e;
	uint64_t until = 0;
	uint32_t streamed = 0;

	begin(&(struct pair_conf){ .retry_cnt = 7 });
	sge = pair_sge(b, 0, 1 << 16);
	for (uint64_t i = 0; i < 32; i++) {
		struct plx_sq_wqe w = {
			.wr_id = i, .opcode = WR_RDMA_WRITE, .flags = PLX_WQE_SIGNALED, .num_sge = 1,
			.rkey = a->mr->key, .remote_addr = (uintptr_t)a->mem + REMOTE,
		};

		pair_post_send(b, &w, &sge);
	}
	post(a, WR_RDMA_WRITE, 77);
	while (streamed < 32 && !pair_poll(a, 0, &e)) {
		until = until < pair->now ? pair->now + 1000 : until + 1000;
		pair_run(pair, until);
		while (pair_poll(b, 0, &e))
			streamed++;
	}
	CHECK(streamed < 32);
	CHECK_EQ(e.status, WC_SUCCESS);
	pair_free(pair);
}

/* The answer of a READ is not put off, and what stands before it is acknowledged first (C24). */
static void
hold_acks__not_before_an_answer(void)
{
	struct plx_cqe e;

	begin(&(struct pair_conf){ .retry_cnt = 7 });
	post(a, WR_RDMA_WRITE, 1);
	run();
	post(a, WR_RDMA_READ, 2);
	run();
	CHECK(pair_poll(a, 0, &e) && e.wr_id == 1);
	CHECK(pair_poll(a, 0, &e) && e.wr_id == 2);
	CHECK_EQ(count(b, CNT_TX_ACKS), 1);
	CHECK(list_empty(&b->x.late));
	pair_free(pair);
}

static void
hold_acks__a_nak_does_not_wait(void)
{
	struct plx_cqe e;

	begin(&(struct pair_conf){ .retry_cnt = 7 });
	post(a, WR_RDMA_WRITE, 1);
	run();
	post(a, WR_SEND, 2);		/* nobody posted a receive; rnr_retry is 0 */
	run();
	CHECK_EQ(count(b, CNT_TX_NAK_RNR), 1);
	CHECK(pair_poll(a, 0, &e) && e.wr_id == 1 && e.status == WC_SUCCESS);
	CHECK(pair_poll(a, 0, &e) && e.wr_id == 2 && e.status == WC_RNR_RETRY_EXC_ERR);
	pair_free(pair);
}

/* Longer than the peer's patience: it repeats, and gets its ACK. */
static void
hold_acks__past_a_timeout(void)
{
	struct plx_cqe e;

	begin(&(struct pair_conf){ .retry_cnt = 7, .timeout = 8 });
	post(a, WR_RDMA_WRITE, 1);
	pair_run(pair, pair->now + 3 * MS);
	CHECK(count(b, CNT_RX_DUPLICATES) >= 1);
	CHECK_EQ(count(b, CNT_TX_ACKS), 0);
	xport_release_acks(&b->x);
	run();
	CHECK_EQ(count(b, CNT_TX_ACKS), 1);
	CHECK(pair_poll(a, 0, &e) && e.wr_id == 1 && e.status == WC_SUCCESS);
	pair_free(pair);
}

static void
hold_acks__qp_in_error_and_gone(void)
{
	const struct qp_attr attr = { .state = QPS_ERR };

	begin(&(struct pair_conf){ .retry_cnt = 7 });
	post(a, WR_RDMA_WRITE, 1);
	run();
	CHECK_EQ(qp_modify(b->q[0].qp, &b->x, QPM_STATE, &attr), 0);
	xport_release_acks(&b->x);
	run();
	CHECK_EQ(count(b, CNT_TX_ACKS), 0);
	pair_free(pair);

	begin(&(struct pair_conf){ .retry_cnt = 7 });
	post(a, WR_RDMA_WRITE, 1);
	run();
	CHECK(!list_empty(&b->x.late));
	pair_free(pair);	/* qp_fini() takes it out of the list; the sanitizer looks */
}

static const struct check_case cases[] = {
	CHECK_CASE(hold_acks__one_for_all_that_came),
	CHECK_CASE(hold_acks__goes_before_an_answer),
	CHECK_CASE(hold_acks__beside_a_stream),
	CHECK_CASE(hold_acks__not_before_an_answer),
	CHECK_CASE(hold_acks__a_nak_does_not_wait),
	CHECK_CASE(hold_acks__past_a_timeout),
	CHECK_CASE(hold_acks__qp_in_error_and_gone),
};

CHECK_MAIN(cases)

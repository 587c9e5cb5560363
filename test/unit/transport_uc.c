/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of lib/transport with unreliable connections: a port that keeps payloads in the program's
 * memory, SQD in the middle of a message, and a wire that loses, doubles, reorders and damages.
 */
#include <stdlib.h>

#include "check.h"
#include "sim/pair.h"
#include "transport/numbers.h"

#define SECOND UINT64_C(1000000000)
#define MTU 1024u
#define REMOTE (1u << 20)

static struct pair *
new_pair(struct pair_conf c)
{
	c.type = QPT_UC;
	c.psn[0] = 0xfffffe;
	c.psn[1] = 5;
	return pair_new(&c);
}

static struct pair *
keeping(void)
{
	struct pair *p = new_pair((struct pair_conf){ .ext_min = 512 });

	p->gather.keeps = true;
	return p;
}

static void
post(struct pair *p, uint64_t wr_id, uint32_t len, uint32_t key)
{
	struct plx_sge sge = pair_sge(&p->side[0], (uint32_t)wr_id * 8192, len);
	struct plx_sq_wqe w = {
		.wr_id = wr_id, .opcode = WR_RDMA_WRITE, .flags = PLX_WQE_SIGNALED, .num_sge = 1,
		.rkey = p->side[1].mr->key,
		.remote_addr = (uintptr_t)p->side[1].mem + REMOTE + wr_id * 8192,
	};

	sge.lkey = key;
	memset(p->side[0].mem + wr_id * 8192, (int)wr_id + 1, len);
	pair_post_send(&p->side[0], &w, &sge);
}

static void
write_(struct pair *p, uint64_t wr_id, uint32_t len)
{
	post(p, wr_id, len, p->side[0].mr->key);
}

static bool
completes(struct pair *p, uint64_t wr_id, uint32_t status)
{
	struct plx_cqe e;

	return pair_poll(&p->side[0], 0, &e) && e.wr_id == wr_id && e.status == status;
}

static bool
none_completes(struct pair *p)
{
	struct plx_cqe e;

	return !pair_poll(&p->side[0], 0, &e);
}

static int
modify(struct pair *p, uint32_t mask, uint32_t state)
{
	struct qp_attr a = { .state = state, .en_sqd_async_notify = true };

	return qp_modify(p->side[0].q[0].qp, &p->side[0].x, mask, &a);
}

/* All packets are sent, but the port still reads the program's memory: not done. */
static void
uc_external__done_when_the_memory_is_back(void)
{
	struct pair *p = keeping();

	write_(p, 0, 2 * MTU);
	write_(p, 1, 8);
	write_(p, 2, MTU);
	pair_run(p, p->now + SECOND);
	CHECK_EQ(p->gather.num, 3);
	CHECK(memcmp(p->side[0].mem, p->side[1].mem + REMOTE, 2 * MTU) == 0);
	CHECK(none_completes(p));
	CHECK(qp_ext_wanted(p->side[0].q[0].qp, 0));	/* a frame that waits for its port must go */
	CHECK(gather_back(&p->gather, 2));
	CHECK(gather_back(&p->gather, 0));
	CHECK(none_completes(p));
	CHECK(gather_back(&p->gather, 0));
	for (uint64_t i = 0; i < 3; i++)
		CHECK(completes(p, i, WC_SUCCESS));
	CHECK(!qp_ext_wanted(p->side[0].q[0].qp, 0));
	CHECK_EQ(p->side[0].x.held, 0);
	pair_free(p);
}

/* SQE and out of it again while a frame is out: each send ends as it would have without. */
static void
uc_external__sqe_with_a_frame_out(void)
{
	struct pair *p = keeping();

	write_(p, 0, MTU);
	post(p, 1, MTU, p->side[0].mr->key ^ 0x5500);
	write_(p, 2, MTU);
	pair_run(p, p->now + SECOND);
	CHECK_EQ(qp_state(p->side[0].q[0].qp), QPS_SQE);
	CHECK(none_completes(p));
	CHECK_EQ((uint64_t)modify(p, QPM_STATE, QPS_RTS), 0);
	write_(p, 3, 16);
	post(p, 4, 8, 0xdead);
	pair_run(p, p->now + SECOND);
	CHECK_EQ(qp_state(p->side[0].q[0].qp), QPS_SQE);
	CHECK(none_completes(p));
	CHECK_EQ(p->gather.num, 1);
	CHECK(gather_back(&p->gather, 0));
	CHECK(completes(p, 0, WC_SUCCESS));
	CHECK(completes(p, 1, WC_LOC_PROT_ERR));
	CHECK(completes(p, 2, WC_WR_FLUSH_ERR));
	CHECK(completes(p, 3, WC_SUCCESS));
	CHECK(completes(p, 4, WC_LOC_PROT_ERR));
	CHECK(none_completes(p));
	pair_free(p);
}

/* RESET and ERR while a frame is out. */
static void
uc_external__end_with_a_frame_out(void)
{
	struct pair *p = keeping();

	write_(p, 0, MTU);
	pair_run(p, p->now + SECOND);
	CHECK_EQ((uint64_t)modify(p, QPM_STATE, QPS_ERR), 0);
	write_(p, 1, MTU);
	CHECK(none_completes(p));
	CHECK(gather_back(&p->gather, 0));
	CHECK(completes(p, 0, WC_SUCCESS));
	CHECK(completes(p, 1, WC_WR_FLUSH_ERR));
	pair_free(p);
	p = keeping();
	write_(p, 0, MTU);
	pair_run(p, p->now + SECOND);
	CHECK_EQ((uint64_t)modify(p, QPM_STATE, QPS_RESET), 0);
	CHECK_EQ(p->side[0].x.held, 0);
	CHECK(none_completes(p));
	pair_free(p);
}

/* One packet, as a scheduler with a small quantum lets it. */
static void
one_packet(struct pair *p)
{
	struct outbox *ob = p->side[0].x.out;
	struct list_node *n = list_pop(&p->side[0].x.run);

	ob->used = 0;
	ob->ext_room = 0;
	if (qp_run(qp_of_run(n), &p->side[0].x, 1))
		list_push(&p->side[0].x.run, n);
	CHECK_EQ(ob->used, 1);
}

/* E6: the message that was begun is sent to its end, the next one waits for RTS. */
static void
uc_sqd__in_the_middle_of_a_message(void)
{
	struct pair *p = new_pair((struct pair_conf){ .mtu = 0 });
	struct qp_attr now;

	write_(p, 0, 3 * MTU);
	write_(p, 1, MTU);
	one_packet(p);
	CHECK_EQ((uint64_t)modify(p, QPM_STATE | QPM_EN_SQD_ASYNC_NOTIFY, QPS_SQD), 0);
	qp_query(p->side[0].q[0].qp, &now);
	CHECK(now.sq_draining);
	CHECK_EQ(p->side[0].x.num_events, 0);
	pair_run(p, p->now + SECOND);
	CHECK_EQ(p->frames, 2);
	CHECK(completes(p, 0, WC_SUCCESS));
	CHECK(none_completes(p));
	CHECK_EQ(p->side[0].x.num_events, 1);
	CHECK_EQ(p->side[0].x.events[0].type, EV_SQ_DRAINED);
	qp_query(p->side[0].q[0].qp, &now);
	CHECK(!now.sq_draining);
	CHECK_EQ((uint64_t)modify(p, QPM_STATE, QPS_RTS), 0);
	pair_run(p, p->now + SECOND);
	CHECK(completes(p, 1, WC_SUCCESS));
	pair_free(p);
}

/* A message of this number over the bad wire. */
static uint32_t
length_of(uint32_t i)
{
	static const uint32_t edges[] = { 0, 1, MTU - 1, MTU, MTU + 1, 2 * MTU, 5000, 8192 };

	return i % 3 ? edges[i % 8] : i * 2654435761u % 8193;
}

static uint8_t
byte_of(uint32_t i, uint32_t at)
{
	return (uint8_t)((i * 131 + at * 7 + (at >> 10) * 3) ^ i >> 3);
}

static void
send_number(struct pair *p, uint32_t i)
{
	struct plx_sge sge = pair_sge(&p->side[0], i % 64 * 8192, length_of(i));
	struct plx_sq_wqe w = { .wr_id = i, .opcode = WR_SEND_IMM, .flags = PLX_WQE_SIGNALED, .num_sge = 1,
				.imm = i };

	for (uint32_t at = 0; at < sge.length; at++)
		p->side[0].mem[i % 64 * 8192 + at] = byte_of(i, at);
	pair_post_send(&p->side[0], &w, &sge);
}

static void
post_recv(struct pair *p, uint64_t slot)
{
	struct plx_sge sge = pair_sge(&p->side[1], (uint32_t)slot * 8192, 8192);

	pair_post_recv(&p->side[1], slot, &sge, 1);
}

/* Whole, as it was sent, or not at all. *came: how many of them there were. */
static void
receive(struct pair *p, uint32_t *came)
{
	struct plx_cqe e;

	for (; pair_poll(&p->side[1], 1, &e); ++*came) {
		uint32_t at = 0;

		CHECK_EQ(e.status, WC_SUCCESS);
		CHECK_EQ(e.byte_len, length_of(e.imm));
		while (at < e.byte_len && p->side[1].mem[e.wr_id * 8192 + at] == byte_of(e.imm, at))
			at++;
		CHECK_EQ(at, e.byte_len);
		post_recv(p, e.wr_id);
	}
}

static void
run_wire(struct pair_conf c, uint32_t messages, uint32_t *came)
{
	struct pair *p = new_pair(c);

	*came = 0;
	for (uint32_t i = 0; i < 60; i++)
		post_recv(p, i);
	for (uint32_t i = 0; i < messages; i++) {
		send_number(p, i);
		if (i % 7)
			continue;
		pair_run(p, p->now + SECOND);
		receive(p, came);
		for (uint32_t k = i < 6 ? 0 : i - 6; k <= i; k++)
			CHECK(completes(p, k, WC_SUCCESS));
	}
	pair_run(p, p->now + SECOND);
	receive(p, came);
	CHECK(pair_red_zones_ok(p));
	CHECK_EQ(qp_state(p->side[0].q[0].qp), QPS_RTS);
	CHECK_EQ(qp_state(p->side[1].q[0].qp), QPS_RTS);
	pair_free(p);
}

static void
uc_wire__good_brings_all(void)
{
	uint32_t came;

	run_wire((struct pair_conf){ .seed = 1 }, 701, &came);
	CHECK_EQ(came, 701);
	run_wire((struct pair_conf){ .seed = 1, .ip6 = true, .ext_min = 512 }, 701, &came);
	CHECK_EQ(came, 701);
}

/* Loss, damage and frames that come late: some messages are lost, none is wrong, every send completes. */
static void
uc_wire__bad_brings_whole_messages(void)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct pair_conf c = { .seed = seed, .loss = seed % 4 * 20000, .reorder = 10000,
				       .corrupt = 10000, .mtu = 1 + seed % 5 };
		uint32_t came;

		run_wire(c, 351, &came);
		CHECK(came > 10 && came < 351);
	}
}

/* Doubled packets: a message of one packet may come twice, nothing else changes. */
static void
uc_wire__doubled(void)
{
	uint32_t came;

	for (uint64_t seed = 1; seed <= 10; seed++) {
		run_wire((struct pair_conf){ .seed = seed, .dup = 50000, .loss = 10000 }, 351, &came);
		CHECK(came > 10);
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(uc_external__done_when_the_memory_is_back),
	CHECK_CASE(uc_external__sqe_with_a_frame_out),
	CHECK_CASE(uc_external__end_with_a_frame_out),
	CHECK_CASE(uc_sqd__in_the_middle_of_a_message),
	CHECK_CASE(uc_wire__good_brings_all),
	CHECK_CASE(uc_wire__bad_brings_whole_messages),
	CHECK_CASE(uc_wire__doubled),
};

CHECK_MAIN(cases)

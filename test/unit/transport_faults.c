/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of lib/transport's ends: faults on both sides, the flush, a dead peer, no path, a queue
 * that is rewritten under the core, a CQ without room, drained and reset queue pairs.
 */
#include <stdlib.h>

#include "check.h"
#include "sim/pair.h"
#include "transport/numbers.h"
#include "transport/status.h"

#define MS 1000000ull
#define SECOND (1000 * MS)
#define REMOTE (1u << 20)

static struct plx_sq_wqe
wr_of(struct pair *p, uint8_t opcode, uint64_t wr_id)
{
	return (struct plx_sq_wqe){
		.wr_id = wr_id, .opcode = opcode, .flags = PLX_WQE_SIGNALED, .num_sge = 1,
		.rkey = p->side[1].mr->key, .remote_addr = (uintptr_t)p->side[1].mem + REMOTE,
	};
}

static bool
cqe_is(struct pair_side *s, uint32_t queue, uint64_t wr_id, uint8_t status)
{
	struct plx_cqe e;

	if (!pair_poll(s, queue, &e)) {
		printf("no CQE for %lu\n", (unsigned long)wr_id);
		return false;
	}
	if (e.wr_id == wr_id && e.status == status && (!status == !e.vendor_err))
		return true;
	printf("CQE of %lu status %u vendor_err %x, not %lu status %u\n", (unsigned long)e.wr_id,
	       e.status, e.vendor_err, (unsigned long)wr_id, status);
	return false;
}

static bool
no_cqe(struct pair_side *s, uint32_t queue)
{
	struct plx_cqe e;

	return !pair_poll(s, queue, &e);
}

/* FC35: one good, five with a wrong key, five after the error. */
static void
faults__bad_key_then_more(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 0xfffffe, 2 }, .retry_cnt = 7 });
	struct pair_side *a = &p->side[0];
	struct plx_sge sge = pair_sge(a, 0, 100);
	struct plx_sq_wqe w = wr_of(p, WR_RDMA_WRITE, 1);

	pair_post_send(a, &w, &sge);
	w.rkey ^= 0x100;
	for (uint64_t i = 2; i <= 6; i++) {
		w.wr_id = i;
		w.flags = i & 1 ? PLX_WQE_SIGNALED : 0;
		pair_post_send(a, &w, &sge);
	}
	pair_run(p, p->now + SECOND);
	CHECK_EQ(qp_state(a->q->qp), QPS_ERR);
	CHECK_EQ(qp_state(p->side[1].q->qp), QPS_ERR);
	for (uint64_t i = 7; i <= 11; i++) {
		w.wr_id = i;
		pair_post_send(a, &w, &sge);
	}
	CHECK(cqe_is(a, 0, 1, WC_SUCCESS));
	CHECK(cqe_is(a, 0, 2, WC_REM_ACCESS_ERR));
	for (uint64_t i = 3; i <= 11; i++)
		CHECK(cqe_is(a, 0, i, WC_WR_FLUSH_ERR));
	CHECK(no_cqe(a, 0));
	CHECK_EQ(p->side[1].x.num_events, 1);
	CHECK_EQ(p->side[1].x.events[0].type, EV_QP_ACCESS_ERR);
	CHECK_EQ(p->side[1].mem[REMOTE + 100], 0);
	pair_free(p);
}

/* FC40 in one packet and in several: nothing beyond the buffer. */
static void
faults__send_longer_than_receive(void)
{
	for (uint32_t len = 100; len <= 3000; len += 2900) {
		struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .retry_cnt = 7 });
		struct pair_side *a = &p->side[0], *b = &p->side[1];
		struct plx_sge recv[2] = { pair_sge(b, 0, 60), pair_sge(b, 500, len - 60) };
		struct plx_sge sge = pair_sge(a, 0, len), longer = pair_sge(a, 0, len + 1);
		struct plx_sq_wqe w = wr_of(p, WR_SEND, 1);

		memset(a->mem, 0x33, len + 1);
		pair_post_recv(b, 10, recv, 2);
		pair_post_recv(b, 11, recv, 2);
		pair_post_recv(b, 12, recv, 2);
		pair_post_send(a, &w, &sge);
		w.wr_id = 2;
		pair_post_send(a, &w, &longer);
		pair_run(p, p->now + SECOND);
		CHECK(cqe_is(a, 0, 1, WC_SUCCESS));
		CHECK(cqe_is(a, 0, 2, WC_REM_INV_REQ_ERR));
		CHECK(cqe_is(b, 1, 10, WC_SUCCESS));
		CHECK(cqe_is(b, 1, 11, WC_LOC_LEN_ERR));
		CHECK(cqe_is(b, 1, 12, WC_WR_FLUSH_ERR));
		CHECK_EQ(b->mem[60], 0);
		CHECK_EQ(b->mem[500 + len - 60], 0);
		CHECK_EQ(b->mem[499], 0);
		pair_free(p);
	}
}

/* FC36: ten and ten outstanding, then a marker in each queue after ERR. */
static void
faults__flush_and_marker(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .retry_cnt = 7 });
	struct pair_side *a = &p->side[0];
	struct plx_sge sge = pair_sge(a, 0, 100);
	struct plx_sq_wqe w = wr_of(p, WR_SEND, 0);
	struct qp_attr attr = { .state = QPS_ERR };

	for (uint64_t i = 0; i < 10; i++) {
		w.wr_id = i;
		w.flags = i & 1 ? 0 : PLX_WQE_SIGNALED;
		pair_post_send(a, &w, &sge);
		pair_post_recv(a, 100 + i, &sge, 1);
	}
	CHECK_EQ(qp_modify(a->q->qp, &a->x, QPM_STATE, &attr), 0);
	w.wr_id = 10;
	pair_post_send(a, &w, &sge);
	pair_post_recv(a, 110, &sge, 1);
	for (uint64_t i = 0; i <= 10; i++) {
		CHECK(cqe_is(a, 0, i, WC_WR_FLUSH_ERR));
		CHECK(cqe_is(a, 1, 100 + i, WC_WR_FLUSH_ERR));
	}
	CHECK(no_cqe(a, 0));
	CHECK(no_cqe(a, 1));
	pair_run(p, p->now + SECOND);
	CHECK_EQ(p->frames, 0);
	pair_free(p);
}

static bool
lose_all(struct pair *p, uint32_t from, const struct wire_pkt *pkt)
{
	(void)p;
	(void)from;
	(void)pkt;
	return false;
}

/* FC26, and the same without a neighbour (FC16). */
static void
faults__dead_peer_and_dead_neighbour(void)
{
	for (uint32_t path = 0; path < 2; path++) {
		for (uint8_t cnt = 0; cnt < 8; cnt++) {
			struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .timeout = 14,
								       .retry_cnt = cnt });
			struct pair_side *a = &p->side[0];
			struct plx_sge sge = pair_sge(a, 0, 100);
			struct plx_sq_wqe w = wr_of(p, WR_RDMA_WRITE, 5);
			uint64_t t = UINT64_C(4096) << 14, start = p->now;

			p->filter = lose_all;
			if (path) {
				a->q->path.ready = false;
				qp_path_set(a->q->qp, &a->x, &a->q->path);
			}
			w.flags = 0;
			pair_post_send(a, &w, &sge);
			pair_run(p, start + (cnt + 1u) * t - 1);
			CHECK(no_cqe(a, 0));
			pair_run(p, start + 4 * (cnt + 1u) * t);
			CHECK(cqe_is(a, 0, 5, WC_RETRY_EXC_ERR));
			CHECK_EQ(p->frames, path ? 0 : cnt + 1u);
			CHECK_EQ(qp_state(a->q->qp), QPS_ERR);
			pair_free(p);
		}
	}
}

static void
faults__path_comes_later(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .retry_cnt = 1 });
	struct pair_side *a = &p->side[0];
	struct plx_sge sge = pair_sge(a, 0, 100);
	struct plx_sq_wqe w = wr_of(p, WR_RDMA_WRITE, 5);

	a->q->path.ready = false;
	qp_path_set(a->q->qp, &a->x, &a->q->path);
	pair_post_send(a, &w, &sge);
	pair_run(p, p->now + MS);
	CHECK_EQ(p->frames, 0);
	a->q->path.ready = true;
	qp_path_set(a->q->qp, &a->x, &a->q->path);
	CHECK(!list_empty(&a->x.run));
	pair_run(p, p->now + SECOND);
	CHECK(cqe_is(a, 0, 5, WC_SUCCESS));
	pair_free(p);
}

/* The WQE is rewritten between its packets: it hurts its own QP and nothing else (FC65). */
static uint32_t rewrite_length;

static bool
rewrite(struct pair *p, uint32_t from, const struct wire_pkt *pkt)
{
	struct plx_sq_wqe *w = (struct plx_sq_wqe *)(void *)p->side[0].q->wq_slots[0];
	struct plx_sge *sge = (struct plx_sge *)(w + 1);

	if (from || wire_opcode_op(pkt->opcode) != WIRE_WRITE_FIRST)
		return true;
	sge->length = rewrite_length;
	return false;		/* lost: it must be sent again, from the ring */
}

static void
faults__wqe_rewritten_in_flight(void)
{
	static const uint32_t lengths[] = { 0, 1, 4999, 5001, UINT32_MAX };

	for (uint32_t i = 0; i < 5; i++) {
		struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .retry_cnt = 7 });
		struct pair_side *a = &p->side[0];
		struct plx_sge sge = pair_sge(a, 0, 5000);
		struct plx_sq_wqe w = wr_of(p, WR_RDMA_WRITE, 5), second = wr_of(p, WR_RDMA_WRITE, 6);
		struct plx_cqe e;

		rewrite_length = lengths[i];
		p->filter = rewrite;
		pair_post_send(a, &w, &sge);
		pair_post_send(a, &second, &sge);
		pair_run(p, p->now + SECOND);
		CHECK(pair_poll(a, 0, &e));
		CHECK_EQ(e.wr_id, 5);
		CHECK(e.status == WC_LOC_QP_OP_ERR || e.status == WC_LOC_LEN_ERR ||
		      e.status == WC_LOC_PROT_ERR);
		CHECK(cqe_is(a, 0, 6, WC_WR_FLUSH_ERR));
		CHECK(pair_red_zones_ok(p));
		pair_free(p);
	}
}

/* Local faults wait for what was posted before them (D-1). */
static void
faults__local_fault_keeps_order(void)
{
	static const struct { uint8_t opcode, flags, status; uint32_t len, lkey_xor, nsge; } bad[] = {
		{ WR_SEND, 0, WC_LOC_PROT_ERR, 10, 0x100, 1 },
		{ WR_RDMA_READ, 0, WC_LOC_PROT_ERR, 10, 0x100, 1 },
		{ WR_FETCH_ADD, 0, WC_LOC_LEN_ERR, 7, 0, 1 },
		{ WR_CMP_SWAP, 0, WC_LOC_LEN_ERR, 9, 0, 1 },
		{ WR_FETCH_ADD, PLX_WQE_INLINE, WC_LOC_QP_OP_ERR, 8, 0, 0 },
		{ 7, 0, WC_LOC_QP_OP_ERR, 10, 0, 1 },
		{ 255, 0, WC_LOC_QP_OP_ERR, 10, 0, 1 },
		{ WR_RDMA_WRITE, 0, WC_LOC_QP_OP_ERR, 10, 0, 5 },
		{ WR_RDMA_WRITE, PLX_WQE_INLINE, WC_LOC_QP_OP_ERR, 129, 0, 0 },
	};

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .retry_cnt = 7 });
		struct pair_side *a = &p->side[0];
		struct plx_sge sge[5] = { pair_sge(a, 0, 4000) };
		struct plx_sq_wqe w = wr_of(p, WR_RDMA_READ, 1);
		uint8_t data[192] = { 0 };

		pair_post_send(a, &w, sge);
		w = wr_of(p, bad[i].opcode, 2);
		w.flags = bad[i].flags;
		w.num_sge = (uint16_t)bad[i].nsge;
		w.length = bad[i].len;
		sge[0].length = bad[i].len;
		sge[0].lkey ^= bad[i].lkey_xor;
		pair_post_send(a, &w, bad[i].flags & PLX_WQE_INLINE ? (void *)data : (void *)sge);
		w = wr_of(p, WR_SEND, 3);
		pair_post_send(a, &w, sge);
		CHECK(no_cqe(a, 0));
		pair_run(p, p->now + SECOND);
		CHECK(cqe_is(a, 0, 1, WC_SUCCESS));
		CHECK(cqe_is(a, 0, 2, bad[i].status));
		CHECK(cqe_is(a, 0, 3, WC_WR_FLUSH_ERR));
		pair_free(p);
	}
}

/* D-6, FC53: the CQ's error once, each of its QPs ended once, nothing overwritten. */
static void
faults__cq_overflow(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .retry_cnt = 7, .cq_size = 4 });
	struct pair_side *a = &p->side[0];
	struct plx_sge sge = pair_sge(a, 0, 10);
	uint32_t cq_errs = 0, fatals = 0;

	for (uint64_t i = 0; i < 6; i++) {
		struct plx_sq_wqe w = wr_of(p, WR_RDMA_WRITE, i);

		pair_post_send(a, &w, &sge);
	}
	pair_run(p, p->now + SECOND);
	for (uint32_t i = 0; i < a->x.num_events; i++) {
		cq_errs += a->x.events[i].type == EV_CQ_ERR && a->x.events[i].cq == &a->q->cq[0];
		fatals += a->x.events[i].type == EV_QP_FATAL && a->x.events[i].qp == a->q->qp;
	}
	CHECK_EQ(cq_errs, 1);
	CHECK_EQ(fatals, 1);
	CHECK_EQ(qp_state(a->q->qp), QPS_ERR);
	for (uint64_t i = 0; i < 4; i++)
		CHECK(cqe_is(a, 0, i, WC_SUCCESS));
	CHECK(no_cqe(a, 0));
	pair_free(p);
}

static void
faults__sqd_drains(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .retry_cnt = 7,
						       .max_inflight = 8 });
	struct pair_side *a = &p->side[0];
	struct plx_sge sge = pair_sge(a, 0, 20000);
	struct qp_attr attr = { .state = QPS_SQD, .en_sqd_async_notify = true };

	for (uint64_t i = 0; i < 3; i++) {
		struct plx_sq_wqe w = wr_of(p, WR_RDMA_WRITE, i);

		pair_post_send(a, &w, &sge);
	}
	pair_run(p, p->now + 500);	/* the first is on its way */
	CHECK_EQ(qp_modify(a->q->qp, &a->x, QPM_STATE | QPM_EN_SQD_ASYNC_NOTIFY, &attr), 0);
	CHECK_EQ(a->x.num_events, 0);
	pair_run(p, p->now + SECOND);
	CHECK(cqe_is(a, 0, 0, WC_SUCCESS));
	CHECK(no_cqe(a, 0));
	CHECK_EQ(a->x.num_events, 1);
	CHECK_EQ(a->x.events[0].type, EV_SQ_DRAINED);
	attr.state = QPS_RTS;
	CHECK_EQ(qp_modify(a->q->qp, &a->x, QPM_STATE, &attr), 0);
	pair_run(p, p->now + SECOND);
	CHECK(cqe_is(a, 0, 1, WC_SUCCESS));
	CHECK(cqe_is(a, 0, 2, WC_SUCCESS));
	CHECK_EQ(a->x.num_events, 1);
	pair_free(p);
}

static void
faults__reset_forgets(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .retry_cnt = 7 });
	struct pair_side *a = &p->side[0];
	struct plx_sge sge = pair_sge(a, 0, 20000);
	struct plx_sq_wqe w = wr_of(p, WR_RDMA_WRITE, 1);
	struct qp_attr attr = { .state = QPS_RESET };

	pair_post_send(a, &w, &sge);
	pair_post_recv(a, 2, &sge, 1);
	pair_run(p, p->now + 500);
	CHECK_EQ(qp_modify(a->q->qp, &a->x, QPM_STATE, &attr), 0);
	pair_run(p, p->now + SECOND);
	CHECK(no_cqe(a, 0));
	CHECK(no_cqe(a, 1));
	CHECK_EQ(qp_wake_at(a->q->qp), QP_NEVER);
	CHECK_EQ(a->q->wq_ctl[0]->head, 1);
	CHECK_EQ(a->q->wq_ctl[1]->head, 1);
	pair_free(p);
}

/* A region that goes away in the middle of a message (C13) and of a READ's answer. */
static struct mr *going;

static bool
deregister_at_middle(struct pair *p, uint32_t from, const struct wire_pkt *pkt)
{
	enum wire_op op = wire_opcode_op(pkt->opcode);

	if (going && (op == WIRE_WRITE_LAST || (op == WIRE_READ_RESP_FIRST && from))) {
		mr_unpublish(p->side[1].mrs, going);
		mr_release(p->side[1].mrs, going);
		going = NULL;
	}
	return true;
}

static void
faults__deregistered_meanwhile(void)
{
	static const uint8_t opcodes[] = { WR_RDMA_WRITE, WR_RDMA_READ };

	for (uint32_t i = 0; i < 2; i++) {
		struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .retry_cnt = 7 });
		struct pair_side *a = &p->side[0];
		struct mr d = *p->side[1].mr;
		/* more than one turn of the responder, so that the answer is cut */
		struct plx_sge sge = pair_sge(a, 0, 40000);
		struct plx_sq_wqe w = wr_of(p, opcodes[i], 1);

		mr_add(p->side[1].mrs, &d, &going);
		w.rkey = going->key;
		p->filter = deregister_at_middle;
		pair_post_send(a, &w, &sge);
		pair_run(p, p->now + SECOND);
		CHECK(going == NULL);
		CHECK(cqe_is(a, 0, 1, WC_REM_ACCESS_ERR));
		CHECK_EQ(qp_state(p->side[1].q->qp), QPS_ERR);
		pair_free(p);
	}
}

/* Long messages at small and large MTU over a bad wire: READs in pieces, windows that close. */
static void
faults__long_messages_over_a_bad_wire(void)
{
	static const uint8_t opcodes[] = { WR_SEND, WR_RDMA_WRITE, WR_RDMA_READ };
	uint32_t len = (1u << 20) - 1;
	uint64_t lost = 0;

	for (uint32_t i = 0; i < 3 * 2 * 4; i++) {
		struct pair *p = pair_new(&(struct pair_conf){
			.psn = { 0xfff000, 0xfff800 }, .mtu = i & 1 ? 5 : 1, .retry_cnt = 7, .rnr_retry = 7,
			.timeout = 6, .seed = i, .loss = 5000, .dup = 2000, .reorder = 2000,
			.max_inflight = i / 6 == 3 ? 16 : 0 });
		struct pair_side *a = &p->side[0], *b = &p->side[1];
		uint8_t opcode = opcodes[i % 3];
		struct plx_sge sge = pair_sge(a, 0, len), recv = pair_sge(b, REMOTE, len);
		struct plx_sq_wqe w = wr_of(p, opcode, 1);
		uint32_t *from = (uint32_t *)(void *)(opcode == WR_RDMA_READ ? b->mem + REMOTE : a->mem);

		for (uint32_t k = 0; k < (len + 3) / 4; k++)
			from[k] = k * 2654435761u;
		a->mem[opcode == WR_RDMA_READ ? 0 : len] = 0;
		pair_post_recv(b, 9, &recv, 1);
		pair_post_send(a, &w, &sge);
		pair_run(p, p->now + 1000 * SECOND);
		CHECK(cqe_is(a, 0, 1, WC_SUCCESS));
		CHECK_MEM(a->mem, b->mem + REMOTE, len);
		lost += p->wire->lost;
		pair_free(p);
	}
	CHECK(lost > 100);
}

/* A turn of qp_run() is bounded, however long the READ that is to be answered. */
static void
faults__read_answers_in_quanta(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .retry_cnt = 7, .mtu = 1,
						       .max_inflight = 4096 });
	struct pair_side *a = &p->side[0], *b = &p->side[1];
	struct plx_sge sge = pair_sge(a, 0, 100000);
	struct plx_sq_wqe w = wr_of(p, WR_RDMA_READ, 1);

	pair_post_send(a, &w, &sge);
	while (list_empty(&b->x.run)) {
		struct list_node *n;

		while ((n = list_pop(&a->x.run))) {
			struct wire_pkt pkt;
			struct qp *qp;

			a->x.out->used = 0;
			qp_run(qp_of_run(n), &a->x, 4096);
			CHECK_EQ(a->x.out->used, 1);
			CHECK_EQ(wire_parse(a->x.out->slot[0].data, a->x.out->slot[0].len, &pkt), DROP_NONE);
			CHECK_EQ(demux_rx(b->demux, &pkt, &qp), DROP_NONE);
			qp_rx(qp, &b->x, &pkt);
		}
	}
	list_pop(&b->x.run);
	b->x.out->used = 0;
	CHECK(qp_run(b->q->qp, &b->x, 1));
	CHECK_EQ(b->x.out->used, 1);
	b->x.out->used = 0;
	CHECK(qp_run(b->q->qp, &b->x, 2000));
	CHECK(b->x.out->used >= 6 && b->x.out->used <= 7);
	pair_free(p);
}

static const struct check_case cases[] = {
	CHECK_CASE(faults__bad_key_then_more),
	CHECK_CASE(faults__send_longer_than_receive),
	CHECK_CASE(faults__flush_and_marker),
	CHECK_CASE(faults__dead_peer_and_dead_neighbour),
	CHECK_CASE(faults__path_comes_later),
	CHECK_CASE(faults__wqe_rewritten_in_flight),
	CHECK_CASE(faults__local_fault_keeps_order),
	CHECK_CASE(faults__cq_overflow),
	CHECK_CASE(faults__sqd_drains),
	CHECK_CASE(faults__reset_forgets),
	CHECK_CASE(faults__deregistered_meanwhile),
	CHECK_CASE(faults__long_messages_over_a_bad_wire),
	CHECK_CASE(faults__read_answers_in_quanta),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: which work requests and receives does a bandwidth test need? They are made before the
 * traffic; the steps in bw.c only set flags and post.
 */
#include <stdlib.h>

#include "bw.h"
#include "say.h"

#define ALIGN(x) (((x) + 63) & ~(uint64_t)63)

/* Bytes of a QP's slot: its messages leave from the first half and arrive in the second. */
static uint64_t
slot_bytes(const struct test *t)
{
	return ALIGN(t->sizes.high ? t->sizes.high : 1);
}

void
bw_need(const struct test *t, struct conn_need *need)
{
	need->qps = (uint32_t)t->qps;
	need->send_wr = (uint32_t)t->depth;
	need->recv_wr = recv_depth(t);
	need->sges = 1;
	need->inline_max = (uint32_t)t->inline_max;
	need->buffer = 2 * slot_bytes(t) * t->qps;
}

static void
make_wrs(struct worker *w, struct bw_qp *q, uint32_t i)
{
	const struct op *op = test_op(w->test);
	uint64_t slot = slot_bytes(w->test), source = 2 * slot * i, sink = source + slot;
	uint64_t remote = w->conn.peer.addr + (op->props & OP_FETCHES ? source : sink);

	q->sge.addr = (uintptr_t)w->conn.buffer + (op->props & OP_FETCHES ? sink : source);
	q->sge.lkey = w->conn.mr->lkey;
	for (uint64_t k = 0; k < w->test->post_list; k++) {
		struct ibv_send_wr *wr = &q->wr[k];

		wr->next = k + 1 < w->test->post_list ? wr + 1 : NULL;
		wr->opcode = (enum ibv_wr_opcode)op->verb;
		wr->sg_list = &q->sge;
		wr->num_sge = 1;
		wr->imm_data = i;
		if (op->props & OP_ATOMIC) {
			wr->wr.atomic.remote_addr = remote;
			wr->wr.atomic.rkey = (uint32_t)w->conn.peer.rkey;
			wr->wr.atomic.compare_add = 1;
		} else {
			wr->wr.rdma.remote_addr = remote;
			wr->wr.rdma.rkey = (uint32_t)w->conn.peer.rkey;
		}
	}
}

int
bw_open(struct worker *w)
{
	const struct test *t = w->test;
	uint64_t slot = slot_bytes(t);
	struct bw *b = calloc(1, sizeof(*b));

	w->state = b;
	if (b)
		b->q = calloc(t->qps, sizeof(*b->q));
	if (!b || !b->q)
		return fail("out of memory");
	for (uint32_t i = 0; i < t->qps; i++) {
		struct bw_qp *q = &b->q[i];
		struct ibv_sge sink = {
			.addr = (uintptr_t)w->conn.buffer + 2 * slot * i + slot,
			.length = (uint32_t)slot,
			.lkey = w->conn.mr->lkey,
		};

		q->qp = w->conn.qp[i].qp;
		q->wr = calloc(t->post_list, sizeof(*q->wr));
		if (!q->wr)
			return fail("out of memory");
		make_wrs(w, q, i);
		if (test_op(t)->props & OP_TAKES_RECV &&
		    recv_ring_open(&q->recv, q->qp, i, recv_depth(t), sink))
			return -1;
	}
	return 0;
}

int
bw_start(struct worker *w)
{
	struct bw *b = w->state;

	b->limit = w->test->iters ? w->test->iters : UINT64_MAX;
	b->posted = 0;
	b->begun = b->stopping = false;
	for (uint64_t i = 0; i < w->test->qps; i++) {
		struct bw_qp *q = &b->q[i];

		q->posted = q->retired = 0;
		q->unsignalled = q->signalled = 0;
		q->sge.length = (uint32_t)w->size;
	}
	return 0;
}

void
bw_close(struct worker *w)
{
	struct bw *b = w->state;

	for (uint64_t i = 0; b->q && i < w->test->qps; i++) {
		recv_ring_close(&b->q[i].recv);
		free(b->q[i].wr);
	}
	free(b->q);
	free(b);
	w->state = NULL;
}

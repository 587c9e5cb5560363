/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: what does a verified stream post? Called by the steps in verify.c. */
#include "verify_flow.h"

#include <arpa/inet.h>
#include <string.h>

#include "say.h"

#define SGES_MAX 32u

struct plan
flow_plan(const struct worker *w, uint64_t stream, uint64_t n)
{
	const struct sizes *s = &w->test->sizes;

	return plan_message(w->test->seed, stream, n, s->random ? s->low : w->size,
			    s->random ? s->high : w->size);
}

uint64_t
flow_read_at(const struct verify *v, const struct plan *p)
{
	return p->random % (v->y.area - p->size + 1);
}

/* Describes `len` bytes at `at` in as many pieces as the test has SGEs; returns how many. */
static int
describe(const struct worker *w, uint8_t *at, uint32_t len, uint64_t random, struct ibv_sge *sge)
{
	uint32_t piece[SGES_MAX], n = (uint32_t)w->test->sges;

	plan_split(random, len, n, piece);
	for (uint32_t k = 0; k < n; at += piece[k++])
		sge[k] = (struct ibv_sge){ (uintptr_t)at, piece[k], w->conn.mr->lkey };
	return (int)n;
}

static int
post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, const char *what)
{
	struct ibv_send_wr *bad;
	int rc = ibv_post_send(qp, wr, &bad);

	return rc ? fail("cannot post a %s on QP 0x%06x: %s", what, qp->qp_num, strerror(rc)) : 0;
}

int
flow_send(struct worker *w, struct verify *v, uint32_t i)
{
	struct verify_qp *q = &v->q[i];
	uint64_t n = q->next, slot = n % v->y.slots * v->y.slot_bytes + VERIFY_GUARD;
	uint64_t stream = verify_stream(w, i, false);
	struct plan p = flow_plan(w, stream, n);
	uint64_t source = verify_source(&v->y, i) + slot + p.source_shift;
	uint64_t sink = verify_sink(&v->y, i) + slot + p.sink_shift, remote = sink;
	struct ibv_sge sge[SGES_MAX];
	struct ibv_send_wr wr = { .wr_id = (uint64_t)p.size << 32 | i, .sg_list = sge }, tell = wr;

	if (v->fetches) {
		remote = verify_source(&v->y, i) + flow_read_at(v, &p);
		source = sink;
	} else {
		pattern_fill(w->conn.buffer + source, pattern_key(w->test->seed, stream, n), 0, p.size);
		wr.send_flags = p.size <= w->test->inline_max ? IBV_SEND_INLINE : 0;
	}
	wr.num_sge = describe(w, w->conn.buffer + source, p.size, p.random, sge);
	wr.opcode = (enum ibv_wr_opcode)test_op(w->test)->verb;
	wr.imm_data = htonl((uint32_t)n);
	wr.wr.rdma.remote_addr = w->conn.peer.addr + remote;
	wr.wr.rdma.rkey = (uint32_t)w->conn.peer.rkey;
	if (w->test->op == OP_WRITE) {
		tell.num_sge = 0;
		tell.opcode = IBV_WR_SEND_WITH_IMM;
		tell.imm_data = wr.imm_data;
		tell.send_flags = IBV_SEND_SIGNALED;
		wr.next = &tell;
	} else {
		wr.send_flags |= IBV_SEND_SIGNALED;
	}
	q->next++;
	q->round_messages++;
	q->round_bytes += p.size;
	return post_send(q->qp, &wr, test_op(w->test)->name);
}

int
flow_post_receive(struct worker *w, struct verify *v, uint32_t i, uint64_t n)
{
	struct ibv_sge sge[SGES_MAX];
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = sge }, *bad;
	int rc;

	if (w->test->op == OP_SEND || w->test->op == OP_SEND_IMM) {
		struct plan p = flow_plan(w, verify_stream(w, i, true), n);
		uint8_t *at = w->conn.buffer + verify_sink(&v->y, i) +
			n % v->y.slots * v->y.slot_bytes + VERIFY_GUARD + p.sink_shift;

		/* room for the largest: what a short message leaves must stay canaries */
		wr.num_sge = describe(w, at, (uint32_t)w->test->sizes.high, ~p.random, sge);
	}
	rc = ibv_post_recv(v->q[i].qp, &wr, &bad);
	return rc ? fail("cannot post a receive on QP 0x%06x: %s", v->q[i].qp->qp_num, strerror(rc)) : 0;
}

int
flow_post_credit(struct verify *v, uint32_t i)
{
	uint32_t n = v->q[i].credits_due > 0xffff ? 0xffff : v->q[i].credits_due;
	struct ibv_send_wr wr = {
		.wr_id = VERIFY_CREDIT_ID,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED,
		.imm_data = htonl(i << 16 | n),
	};

	v->q[i].credits_due -= n;
	v->credits_out++;
	return post_send(v->credit_qp, &wr, "credit");
}

int
flow_post_credit_receive(struct verify *v)
{
	struct ibv_recv_wr wr = { .wr_id = VERIFY_CREDIT_ID }, *bad;
	int rc = ibv_post_recv(v->credit_qp, &wr, &bad);

	return rc ? fail("cannot post a receive on QP 0x%06x: %s", v->credit_qp->qp_num, strerror(rc)) : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: does every byte arrive, where it belongs and nowhere else? Sizes, alignments and bytes of
 * message n are a function of the seed, so both ends know them. A receiver checks a message, turns
 * its place into canaries again and returns a credit; a sender has at most `slots` messages out
 * that are not both completed and credited. A WRITE is followed by an empty SEND with immediate,
 * which says that it is there. A READ is checked by the reader, against bytes that do not change.
 *
 * Credits go over a QP of their own (the last one): the immediate holds the data QP and how many.
 * Steps run on the only thread.
 */
#include "verify.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "verify_flow.h"

#define POLL_BATCH 16
#define EMPTY_MESSAGES 10000u		/* of a size of 0, which never fills a volume */

static void
verify_need(const struct test *t, struct conn_need *need)
{
	struct verify_layout y = verify_layout(t);

	need->qps = (uint32_t)t->qps + 1;
	need->send_wr = 2 * y.slots > VERIFY_CREDITS ? 2 * y.slots : VERIFY_CREDITS;
	need->recv_wr = y.slots > 2 * VERIFY_CREDITS ? y.slots : 2 * VERIFY_CREDITS;
	need->sges = (uint32_t)t->sges;
	need->inline_max = (uint32_t)t->inline_max;
	need->buffer = 2 * y.area * t->qps;
}

static int
verify_open(struct worker *w)
{
	struct verify *v = calloc(1, sizeof(*v));
	uint32_t n = (uint32_t)w->test->qps;

	w->state = v;
	if (v)
		v->q = calloc(n, sizeof(*v->q));
	if (!v || !v->q)
		return fail("out of memory");
	v->y = verify_layout(w->test);
	v->fetches = test_op(w->test)->props & OP_FETCHES;
	v->credit_qp = w->conn.qp[n].qp;
	for (uint32_t i = 0; i < n; i++) {
		v->q[i].qp = w->conn.qp[i].qp;
		memset(w->conn.buffer + verify_sink(&v->y, i), PATTERN_CANARY, v->y.area);
		if (v->fetches)
			pattern_fill(w->conn.buffer + verify_source(&v->y, i),
				     pattern_key(w->test->seed, verify_stream(w, i, false), VERIFY_STATIC),
				     0, v->y.area);
		for (uint32_t s = 0; s < v->y.slots && !v->fetches; s++) {
			if (flow_post_receive(w, v, i, s))
				return -1;
		}
	}
	for (uint32_t i = 0; i < 2 * VERIFY_CREDITS; i++) {
		if (flow_post_credit_receive(v))
			return -1;
	}
	return 0;
}

static int
verify_start(struct worker *w)
{
	struct verify *v = w->state;

	v->begin_ns = 0;
	for (uint64_t i = 0; i < w->test->qps; i++)
		v->q[i].round_messages = v->q[i].round_bytes = 0;
	return 0;
}

/* Whether data QP q has sent its share of this round. */
static bool
has_all(const struct worker *w, const struct verify_qp *q)
{
	uint64_t share = (w->test->bytes + w->test->qps - 1) / w->test->qps;

	if (w->stop || !worker_sends(w))
		return true;
	if (w->test->iters && q->round_messages >= w->test->iters)
		return true;
	return q->round_bytes >= share || (!w->size && q->round_messages >= EMPTY_MESSAGES);
}

static int
check_message(struct worker *w, struct verify *v, uint32_t i, uint64_t n, bool fetched)
{
	struct verify_qp *q = &v->q[i];
	uint64_t stream = verify_stream(w, i, !fetched);
	struct plan p = flow_plan(w, stream, n);
	struct verify_place place = {
		.slot = w->conn.buffer + verify_sink(&v->y, i) + n % v->y.slots * v->y.slot_bytes,
		.shift = VERIFY_GUARD + p.sink_shift,
		.size = p.size,
		.message = n,
		.qpn = q->qp->qp_num,
	};

	if (fetched) {
		place.key = pattern_key(w->test->seed, verify_stream(w, i, true), VERIFY_STATIC);
		place.at = flow_read_at(v, &p);
	} else {
		place.key = pattern_key(w->test->seed, stream, n);
	}
	w->mine.checked += p.size;
	return verify_slot(w, &v->y, &place);
}

static int
send_completed(struct worker *w, struct verify *v, const struct ibv_wc *wc)
{
	struct verify_qp *q;
	uint32_t i = (uint32_t)wc->wr_id;

	if (wc->status != IBV_WC_SUCCESS)
		return conn_explain(&w->conn, wc, test_op(w->test)->name, w->link.peer);
	if (i == VERIFY_CREDIT_ID) {
		v->credits_out--;
		return 0;
	}
	q = &v->q[i];
	if (v->fetches && check_message(w, v, i, q->completed, true))
		return -1;
	q->completed++;
	w->mine.messages++;
	w->mine.bytes += wc->wr_id >> 32;
	w->mine.ns = now_ns() - v->begin_ns;
	return 0;
}

static int
credit_came(struct worker *w, struct verify *v, const struct ibv_wc *wc)
{
	uint32_t imm = ntohl(wc->imm_data), i = imm >> 16, n = imm & 0xffff;

	if (wc->opcode != IBV_WC_RECV || !(wc->wc_flags & IBV_WC_WITH_IMM) || wc->byte_len)
		return fail("a credit came as opcode %d, flags 0x%x, %u bytes; it was an empty SEND with "
			    "immediate", wc->opcode, wc->wc_flags, wc->byte_len);
	if (i >= w->test->qps || v->q[i].credited + n > v->q[i].next)
		return fail("a credit came with immediate 0x%08x, which nobody sent", imm);
	v->q[i].credited += n;
	return flow_post_credit_receive(v);
}

/* What the completion of a receive must say about message n. 0, or -1 after a line. */
static int
check_completion(const struct worker *w, const struct ibv_wc *wc, uint64_t n, uint32_t size)
{
	const struct op *op = test_op(w->test);
	bool imm = w->test->op != OP_SEND;
	enum ibv_wc_opcode opcode = w->test->op == OP_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV;
	uint32_t bytes = w->test->op == OP_WRITE ? 0 : size;

	if (wc->opcode != opcode || !!(wc->wc_flags & IBV_WC_WITH_IMM) != imm)
		return fail("WRONG COMPLETION: %s message %llu came as opcode %d, flags 0x%x", op->name,
			    (unsigned long long)n, wc->opcode, wc->wc_flags);
	if (wc->byte_len != bytes)
		return fail("WRONG COMPLETION: %s message %llu came with %u bytes, not %u", op->name,
			    (unsigned long long)n, wc->byte_len, bytes);
	if (imm && ntohl(wc->imm_data) != (uint32_t)n)
		return fail("WRONG COMPLETION: %s message %llu came with immediate 0x%08x, not 0x%08x",
			    op->name, (unsigned long long)n, ntohl(wc->imm_data), (uint32_t)n);
	return 0;
}

static int
receive_completed(struct worker *w, struct verify *v, const struct ibv_wc *wc)
{
	uint32_t i = (uint32_t)wc->wr_id;
	struct verify_qp *q;
	uint64_t n;

	if (wc->status != IBV_WC_SUCCESS)
		return conn_explain(&w->conn, wc, "a receive", w->link.peer);
	if (i == VERIFY_CREDIT_ID)
		return credit_came(w, v, wc);
	q = &v->q[i];
	n = q->arrived;
	if (check_completion(w, wc, n, flow_plan(w, verify_stream(w, i, true), n).size) ||
	    check_message(w, v, i, n, false))
		return -1;
	q->arrived++;
	w->mine.received++;
	q->credits_due++;
	return flow_post_receive(w, v, i, n + v->y.slots);
}

static int
poll_both(struct worker *w, struct verify *v)
{
	struct ibv_wc wc[POLL_BATCH];
	int n = ibv_poll_cq(w->conn.send_cq, POLL_BATCH, wc), all = n;

	for (int k = 0; k < n; k++) {
		if (send_completed(w, v, &wc[k]))
			return -1;
	}
	n = n < 0 ? n : ibv_poll_cq(w->conn.recv_cq, POLL_BATCH, wc);
	for (int k = 0; k < n; k++) {
		if (receive_completed(w, v, &wc[k]))
			return -1;
	}
	return n < 0 ? fail("cannot poll a CQ") : all + n;
}

static int
verify_step(struct worker *w)
{
	struct verify *v = w->state;
	int progress = poll_both(w, v);

	if (progress < 0)
		return -1;
	if (!v->begin_ns)
		v->begin_ns = now_ns();
	for (uint32_t i = 0; i < w->test->qps; i++) {
		struct verify_qp *q = &v->q[i];
		uint64_t back = v->fetches || q->completed < q->credited ? q->completed : q->credited;

		if (q->credits_due && v->credits_out < VERIFY_CREDITS && flow_post_credit(v, i))
			return -1;
		if (q->next - back >= v->y.slots || has_all(w, q))
			continue;
		if (flow_send(w, v, i))
			return -1;
		progress++;
	}
	return progress > 0;
}

static bool
verify_sent(const struct worker *w)
{
	const struct verify *v = w->state;

	for (uint64_t i = 0; i < w->test->qps; i++) {
		const struct verify_qp *q = &v->q[i];

		if (!has_all(w, q) || q->completed != q->next ||
		    (!v->fetches && q->credited != q->next))
			return false;
	}
	return true;
}

static int
verify_received(const struct worker *w, uint64_t announced)
{
	const struct verify *v = w->state;

	return v->fetches || (w->mine.received >= announced && !v->credits_out);
}

static bool
verify_waits(const struct worker *w)
{
	const struct verify *v = w->state;

	for (uint64_t i = 0; i < w->test->qps; i++) {
		if (v->q[i].completed != v->q[i].next)
			return true;
	}
	return v->credits_out;
}

static void
verify_close(struct worker *w)
{
	struct verify *v = w->state;

	free(v->q);
	free(v);
	w->state = NULL;
}

const struct activity activity_verify = {
	verify_need, verify_open, verify_start, verify_step, verify_sent, verify_received, verify_waits,
	verify_close,
};

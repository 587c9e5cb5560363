/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: how many messages and bytes a second? Keeps `depth` messages in flight on each QP; the
 * other end posts receives again, or only polls. Steps run on the only thread.
 *
 * The wr_id of a signalled WR says how many WRs its completion retires (low half) and on which QP
 * (high half).
 */
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "worker.h"

#define POLL_BATCH 32
#define ALIGN(x) (((x) + 63) & ~(uint64_t)63)

struct bw_qp {
	struct ibv_qp *qp;
	uint64_t posted, retired;
	uint32_t unsignalled;		/* WRs since the last signalled one */
	uint32_t signalled;		/* signalled WRs in flight */
	struct ibv_send_wr *wr;		/* post_list of them */
	struct ibv_sge sge;
	struct recv_ring recv;
};

struct bw {
	struct bw_qp *q;
	uint64_t limit;			/* messages on each QP */
	uint64_t posted;		/* on all */
	bool begun, stopping;
	uint64_t begin_ns, end_ns;	/* end: when no more is posted; UINT64_MAX without a limit */
	uint64_t window_ns, window_messages;
};

/* Bytes of a QP's slot: its messages leave from the first half and arrive in the second. */
static uint64_t
slot_bytes(const struct test *t)
{
	return ALIGN(t->sizes.high ? t->sizes.high : 1);
}

static void
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

static int
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

static int
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

/* WRs to post now on a QP: a whole list, the rest, or the last one that closes the test. */
static uint64_t
how_many(const struct worker *w, const struct bw *b, const struct bw_qp *q)
{
	uint64_t room = w->test->depth - (q->posted - q->retired), want = w->test->post_list;

	if (b->stopping)
		want = q->unsignalled ? 1 : 0;
	else if (want > b->limit - q->posted)
		want = b->limit - q->posted;
	if (room >= want)
		return want;
	/* a short list is only worth it when nothing else would ever make room */
	return q->signalled ? 0 : room;
}

static int
post(struct worker *w, struct bw *b, struct bw_qp *q, uint32_t i, uint64_t n)
{
	unsigned int inl = w->size <= w->test->inline_max &&
		!(test_op(w->test)->props & OP_FETCHES) ? IBV_SEND_INLINE : 0;
	struct ibv_send_wr *last = &q->wr[n - 1], *next = last->next, *bad;
	bool closing = b->stopping || q->posted + n == b->limit;
	int rc;

	for (uint64_t k = 0; k < n; k++) {
		struct ibv_send_wr *wr = &q->wr[k];

		wr->send_flags = inl;
		if (++q->unsignalled < w->test->cq_mod && !(closing && wr == last))
			continue;
		wr->send_flags |= IBV_SEND_SIGNALED;
		wr->wr_id = (uint64_t)i << 32 | q->unsignalled;
		q->unsignalled = 0;
		q->signalled++;
	}
	q->posted += n;
	b->posted += n;
	last->next = NULL;
	rc = ibv_post_send(q->qp, q->wr, &bad);
	last->next = next;
	return rc ? fail("cannot post a %s on QP 0x%06x: %s", test_op(w->test)->name, q->qp->qp_num,
			 strerror(rc)) : 0;
}

static int
fill(struct worker *w, struct bw *b, uint32_t i)
{
	uint64_t n;

	while ((n = how_many(w, b, &b->q[i]))) {
		if (post(w, b, &b->q[i], i, n))
			return -1;
	}
	return 0;
}

static int
fill_all(struct worker *w, struct bw *b)
{
	for (uint32_t i = 0; i < w->test->qps; i++) {
		if (fill(w, b, i))
			return -1;
	}
	return 0;
}

static void
count(struct worker *w, struct bw *b, uint64_t retired)
{
	uint64_t now = now_ns();

	w->mine.messages += retired;
	w->mine.bytes += retired * w->size;
	w->mine.ns = now - b->begin_ns;
	b->window_messages += retired;
	if (now - b->window_ns < WINDOW_NS)
		return;
	windows_add(w->windows, (double)b->window_messages * 1e9 / (double)(now - b->window_ns));
	b->window_ns = now;
	b->window_messages = 0;
}

static int
begin(struct worker *w, struct bw *b)
{
	b->begun = true;
	b->begin_ns = b->window_ns = now_ns();
	b->window_messages = 0;
	b->end_ns = w->test->duration_ms ? b->begin_ns + w->test->duration_ms * 1000000u : UINT64_MAX;
	return fill_all(w, b);
}

static int
step_send(struct worker *w, struct bw *b)
{
	struct ibv_wc wc[POLL_BATCH];
	uint64_t retired = 0;
	int n;

	if (!b->begun && begin(w, b))
		return -1;
	n = ibv_poll_cq(w->conn.send_cq, POLL_BATCH, wc);
	for (int k = 0; k < n; k++) {
		uint32_t i = (uint32_t)(wc[k].wr_id >> 32);

		if (wc[k].status != IBV_WC_SUCCESS)
			return conn_explain(&w->conn, &wc[k], test_op(w->test)->name, w->link.peer);
		b->q[i].retired += (uint32_t)wc[k].wr_id;
		b->q[i].signalled--;
		retired += (uint32_t)wc[k].wr_id;
		if (fill(w, b, i))
			return -1;
	}
	if (n <= 0)
		return n < 0 ? fail("cannot poll a CQ") : 0;
	count(w, b, retired);
	return 1;
}

/* No further messages, but one signalled for those whose completion nobody asked for. */
static int
check_end(struct worker *w, struct bw *b)
{
	if (b->stopping || (!w->stop && b->begin_ns + w->mine.ns < b->end_ns))
		return 0;
	b->stopping = true;
	return w->link.closed ? 0 : fill_all(w, b);
}

static int
step_receive(struct worker *w, struct bw *b)
{
	struct ibv_wc wc[POLL_BATCH];
	int n = ibv_poll_cq(w->conn.recv_cq, POLL_BATCH, wc);

	if (n < 0)
		return fail("cannot poll a CQ");
	for (int k = 0; k < n; k++) {
		if (wc[k].status != IBV_WC_SUCCESS)
			return conn_explain(&w->conn, &wc[k], "a receive", w->link.peer);
		if (recv_ring_used(&b->q[wc[k].wr_id].recv))
			return -1;
	}
	w->mine.received += (uint64_t)n;
	return n > 0;
}

static int
bw_step(struct worker *w)
{
	struct bw *b = w->state;
	int rc = 0, got = 0;

	if (worker_sends(w)) {
		rc = step_send(w, b);
		if (rc < 0 || check_end(w, b))
			return -1;
	}
	if (!w->client || w->test->bidirectional)
		got = step_receive(w, b);
	return got < 0 ? -1 : rc | got;
}

static bool
bw_sent(const struct worker *w)
{
	const struct bw *b = w->state;

	if (!worker_sends(w))
		return true;
	return b->begun && w->mine.messages == b->posted &&
		(b->stopping || b->posted == b->limit * w->test->qps);
}

static int
bw_received(const struct worker *w, uint64_t announced)
{
	return !(test_op(w->test)->props & OP_TAKES_RECV) || w->mine.received >= announced;
}

static bool
bw_waits(const struct worker *w)
{
	const struct bw *b = w->state;

	for (uint64_t i = 0; i < w->test->qps; i++) {
		if (b->q[i].signalled)
			return true;
	}
	return false;
}

static void
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

const struct activity activity_bw = {
	bw_need, bw_open, bw_start, bw_step, bw_sent, bw_received, bw_waits, bw_close,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: how many messages and bytes a second? Keeps `depth` messages in flight on each QP; the
 * other end posts receives again, or only polls. Steps run on the only thread.
 *
 * The wr_id of a signalled WR says how many WRs its completion retires (low half) and on which QP
 * (high half).
 */
#include "bw.h"

#include <string.h>

#include "say.h"

#define POLL_BATCH 32

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

const struct activity activity_bw = {
	bw_need, bw_open, bw_start, bw_step, bw_sent, bw_received, bw_waits, bw_close,
};

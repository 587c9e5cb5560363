/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: does every atomic happen once, in order, and return the value before it? Each QP has a
 * word of its own at the target: FETCH_ADD counts it up by one; CMP_SWAP does the same, and every
 * fourth one compares with a value that is not there and must change nothing. The target checks at
 * the end that each word holds what was announced in all. Steps run on the only thread.
 */
#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "say.h"
#include "worker.h"

#define POLL_BATCH 16
#define WORD_STRIDE 64u			/* each word alone in its line, canaries around it */

struct atomic_qp {
	struct ibv_qp *qp;
	uint64_t posted, completed;	/* in this round */
	uint64_t value;			/* of the word once all posted ones are done */
	uint64_t checked;		/* of the word once all completed ones are done */
};

struct verify_atomic {
	struct atomic_qp *q;
	uint32_t slots;			/* results in flight on a QP */
	uint64_t begin_ns;
};

/* Whether number n compares with the wrong value. */
static bool
misses(const struct worker *w, uint64_t n)
{
	return w->test->op == OP_CMP_SWAP && n % 4 == 3;
}

static uint64_t
target_offset(uint32_t i)
{
	return (uint64_t)i * WORD_STRIDE;
}

static uint64_t
result_offset(const struct worker *w, const struct verify_atomic *v, uint32_t i, uint64_t n)
{
	return (w->test->qps + (uint64_t)i * v->slots + n % v->slots) * WORD_STRIDE;
}

static void
atomic_need(const struct test *t, struct conn_need *need)
{
	need->qps = (uint32_t)t->qps;
	need->send_wr = (uint32_t)t->depth;
	need->recv_wr = 1;
	need->sges = 1;
	need->buffer = t->qps * (1 + t->depth) * WORD_STRIDE;
}

static int
atomic_open(struct worker *w)
{
	struct verify_atomic *v = calloc(1, sizeof(*v));

	w->state = v;
	if (v)
		v->q = calloc(w->test->qps, sizeof(*v->q));
	if (!v || !v->q)
		return fail("out of memory");
	v->slots = (uint32_t)w->test->depth;
	memset(w->conn.buffer, PATTERN_CANARY, w->conn.length);
	for (uint32_t i = 0; i < w->test->qps; i++) {
		v->q[i].qp = w->conn.qp[i].qp;
		memset(w->conn.buffer + target_offset(i), 0, 8);
	}
	return 0;
}

static int
atomic_start(struct worker *w)
{
	struct verify_atomic *v = w->state;

	v->begin_ns = 0;
	for (uint64_t i = 0; i < w->test->qps; i++)
		v->q[i].posted = v->q[i].completed = 0;
	return 0;
}

static int
post(struct worker *w, struct verify_atomic *v, uint32_t i)
{
	struct atomic_qp *q = &v->q[i];
	struct ibv_sge sge = {
		(uintptr_t)w->conn.buffer + result_offset(w, v, i, q->posted), 8, w->conn.mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = i,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = (enum ibv_wr_opcode)test_op(w->test)->verb,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	bool miss = misses(w, q->posted);
	int rc;

	wr.wr.atomic.remote_addr = w->conn.peer.addr + target_offset(i);
	wr.wr.atomic.rkey = (uint32_t)w->conn.peer.rkey;
	wr.wr.atomic.compare_add = w->test->op == OP_FETCH_ADD ? 1 : miss ? q->value + 7 : q->value;
	wr.wr.atomic.swap = q->value + 1;
	q->value += !miss;
	q->posted++;
	rc = ibv_post_send(q->qp, &wr, &bad);
	return rc ? fail("cannot post a %s on QP 0x%06x: %s", test_op(w->test)->name, q->qp->qp_num,
			 strerror(rc)) : 0;
}

static int
completed(struct worker *w, struct verify_atomic *v, uint32_t i)
{
	struct atomic_qp *q = &v->q[i];
	uint64_t got;

	memcpy(&got, w->conn.buffer + result_offset(w, v, i, q->completed), 8);
	if (got != q->checked)
		return fail("WRONG VALUE: %s %llu on QP 0x%06x returned 0x%llx, not 0x%llx",
			    test_op(w->test)->name, (unsigned long long)q->completed, q->qp->qp_num,
			    (unsigned long long)got, (unsigned long long)q->checked);
	q->checked += !misses(w, q->completed);
	q->completed++;
	w->mine.messages++;
	w->mine.bytes += 8;
	w->mine.checked += 8;
	w->mine.ns = now_ns() - v->begin_ns;
	return 0;
}

static int
atomic_step(struct worker *w)
{
	struct verify_atomic *v = w->state;
	struct ibv_wc wc[POLL_BATCH];
	int n = ibv_poll_cq(worker_sends(w) ? w->conn.send_cq : w->conn.recv_cq, POLL_BATCH, wc);
	int progress = n > 0;

	if (n < 0)
		return fail("cannot poll a CQ");
	if (!v->begin_ns)
		v->begin_ns = now_ns();
	for (int k = 0; k < n; k++) {
		if (wc[k].status != IBV_WC_SUCCESS)
			return conn_explain(&w->conn, &wc[k], test_op(w->test)->name, w->link.peer);
		if (completed(w, v, (uint32_t)wc[k].wr_id))
			return -1;
	}
	for (uint32_t i = 0; i < w->test->qps && worker_sends(w) && !w->stop; i++) {
		struct atomic_qp *q = &v->q[i];

		if (q->posted - q->completed >= v->slots || q->posted >= w->test->iters)
			continue;
		if (post(w, v, i))
			return -1;
		progress = 1;
	}
	return progress;
}

static bool
atomic_sent(const struct worker *w)
{
	const struct verify_atomic *v = w->state;

	for (uint64_t i = 0; i < w->test->qps && worker_sends(w); i++) {
		if (v->q[i].posted != v->q[i].completed || (!w->stop && v->q[i].posted < w->test->iters))
			return false;
	}
	return true;
}

/*
 * At the target, when the other end has all its completions: the words are final, and hold in all
 * what was announced.
 */
static int
atomic_received(const struct worker *w, uint64_t announced)
{
	uint64_t sum = 0, want = announced, word;

	if (w->stop || w->peer_stops)
		return 1;
	for (uint32_t i = 0; i < w->test->qps; i++) {
		const uint8_t *at = w->conn.buffer + target_offset(i);

		memcpy(&word, at, 8);
		sum += word;
		if (canary_check(at + 8, WORD_STRIDE - 8) != WORD_STRIDE - 8)
			return fail("WRONG BYTE: something was written behind the word of QP 0x%06x",
				    w->conn.qp[i].qp->qp_num);
	}
	if (w->test->op == OP_CMP_SWAP)
		want -= announced / w->test->qps / 4 * w->test->qps;
	if (sum == want)
		return 1;
	return fail("WRONG VALUE: the words at the target hold %llu in all, not %llu, after %llu %s",
		    (unsigned long long)sum, (unsigned long long)want, (unsigned long long)announced,
		    test_op(w->test)->name);
}

static bool
atomic_waits(const struct worker *w)
{
	const struct verify_atomic *v = w->state;

	for (uint64_t i = 0; i < w->test->qps; i++) {
		if (v->q[i].posted != v->q[i].completed)
			return true;
	}
	return false;
}

static void
atomic_close(struct worker *w)
{
	struct verify_atomic *v = w->state;

	free(v->q);
	free(v);
	w->state = NULL;
}

const struct activity activity_verify_atomic = {
	atomic_need, atomic_open, atomic_start, atomic_step, atomic_sent, atomic_received, atomic_waits,
	atomic_close,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: how long does a message take? SEND and WRITE go to and fro between the two ends and half
 * of the round trip is reported; READ and atomics are a round trip by themselves. One QP, one
 * message at a time; steps run on the only thread.
 */
#include <stdlib.h>
#include <string.h>

#include "say.h"
#include "worker.h"

#define ALIGN(x) (((x) + 63) & ~(uint64_t)63)
#define PING_ID 1

struct lat {
	struct ibv_qp *qp;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	struct recv_ring recv;
	uint8_t *source, *sink;
	uint32_t unsignalled;		/* WRs since the last signalled one */
	uint64_t in_flight;		/* WRs posted and not retired */
	uint32_t signalled;		/* signalled ones of them */
	bool by_memory;			/* WRITE: the last byte says that it is here */
	bool fetches;
	uint8_t mark;			/* last byte of the next message to come */
	bool begun, waiting, over;
	uint64_t sent_ns, begin_ns, end_ns;
	struct sampler sampler;
};

static uint64_t
half_bytes(const struct test *t)
{
	return ALIGN(t->sizes.high ? t->sizes.high : 1);
}

static void
lat_need(const struct test *t, struct conn_need *need)
{
	need->qps = 1;
	need->send_wr = (uint32_t)t->depth;
	need->recv_wr = recv_depth(t);
	need->sges = 1;
	need->inline_max = (uint32_t)t->inline_max;
	need->buffer = 2 * half_bytes(t);
}

static void
make_wr(struct worker *w, struct lat *l)
{
	const struct op *op = test_op(w->test);
	uint64_t half = half_bytes(w->test), remote = w->conn.peer.addr;

	l->wr.opcode = (enum ibv_wr_opcode)op->verb;
	l->wr.sg_list = &l->sge;
	l->wr.num_sge = 1;
	l->wr.wr_id = PING_ID;
	if (!l->fetches)
		remote += half;
	if (op->props & OP_ATOMIC) {
		l->wr.wr.atomic.remote_addr = remote;
		l->wr.wr.atomic.rkey = (uint32_t)w->conn.peer.rkey;
		l->wr.wr.atomic.compare_add = 1;
	} else {
		l->wr.wr.rdma.remote_addr = remote;
		l->wr.wr.rdma.rkey = (uint32_t)w->conn.peer.rkey;
	}
	l->sge.addr = (uintptr_t)(l->fetches ? l->sink : l->source);
	l->sge.lkey = w->conn.mr->lkey;
}

static int
lat_open(struct worker *w)
{
	const struct op *op = test_op(w->test);
	struct lat *l = calloc(1, sizeof(*l));
	struct ibv_sge sink;

	w->state = l;
	if (!l)
		return fail("out of memory");
	l->qp = w->conn.qp[0].qp;
	l->source = w->conn.buffer;
	l->sink = w->conn.buffer + half_bytes(w->test);
	l->fetches = op->props & OP_FETCHES;
	l->by_memory = w->test->op == OP_WRITE;
	make_wr(w, l);
	sink = (struct ibv_sge){ (uintptr_t)l->sink, (uint32_t)half_bytes(w->test),
				 w->conn.mr->lkey };
	if (!(op->props & OP_TAKES_RECV))
		return 0;
	return recv_ring_open(&l->recv, l->qp, 0, recv_depth(w->test), sink);
}

static int
lat_start(struct worker *w)
{
	struct lat *l = w->state;

	l->sge.length = (uint32_t)w->size;
	l->wr.send_flags = w->size <= w->test->inline_max && !l->fetches ? IBV_SEND_INLINE : 0;
	l->begun = l->waiting = l->over = false;
	l->mark = 1;
	if (l->by_memory)
		memset(l->sink, 0, half_bytes(w->test));
	return 0;
}

static int
post(struct worker *w, struct lat *l)
{
	struct ibv_send_wr *bad;
	int rc;

	if (l->by_memory)
		l->source[w->size - 1] = l->mark;
	l->wr.send_flags &= (unsigned int)~IBV_SEND_SIGNALED;
	if (++l->unsignalled >= w->test->cq_mod) {
		l->wr.send_flags |= IBV_SEND_SIGNALED;
		l->unsignalled = 0;
		l->signalled++;
	}
	l->in_flight++;
	rc = ibv_post_send(l->qp, &l->wr, &bad);
	return rc ? fail("cannot post a %s on QP 0x%06x: %s", test_op(w->test)->name, l->qp->qp_num,
			 strerror(rc)) : 0;
}

/* Takes completions of sends, if there are any. 1 when one came, 0, or -1. */
static int
reap(struct worker *w, struct lat *l)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(w->conn.send_cq, 1, &wc);

	if (n > 0) {
		if (wc.status != IBV_WC_SUCCESS)
			return conn_explain(&w->conn, &wc, test_op(w->test)->name, w->link.peer);
		l->signalled--;
		l->in_flight -= w->test->cq_mod;
	}
	return n < 0 ? fail("cannot poll a CQ") : n;
}

/* After a message with a completion of its own: makes room for the next sends. */
static int
reap_all(struct worker *w, struct lat *l)
{
	int n = l->signalled ? reap(w, l) : 0;

	while (n >= 0 && l->in_flight + w->test->cq_mod > w->test->depth && l->signalled)
		n = reap(w, l);
	return n < 0 ? -1 : 0;
}

static int
arrived_by_memory(struct worker *w, struct lat *l)
{
	const volatile uint8_t *last = l->sink + w->size - 1;

	/* memory alone is polled once the message before is acknowledged, as ib_write_lat does */
	if (w->test->poll == POLL_MEMORY && l->signalled)
		return reap(w, l) < 0 ? -1 : 0;
	if (*last != l->mark)
		return w->test->poll == POLL_CQ && reap(w, l) < 0 ? -1 : 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	w->mine.received++;
	return 1;
}

static int
arrived_by_receive(struct worker *w, struct lat *l)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(w->conn.recv_cq, 1, &wc);

	if (n <= 0) {
		/* an error shows at the send queue when the peer is gone */
		if (!n && l->signalled)
			n = reap(w, l);
		return n < 0 ? -1 : 0;
	}
	if (wc.status != IBV_WC_SUCCESS)
		return conn_explain(&w->conn, &wc, "a receive", w->link.peer);
	w->mine.received++;
	return recv_ring_used(&l->recv) ? -1 : 1;
}

static int
arrived(struct worker *w, struct lat *l)
{
	if (l->fetches)
		return reap(w, l);
	return l->by_memory ? arrived_by_memory(w, l) : arrived_by_receive(w, l);
}

static void
sample(struct worker *w, struct lat *l, uint64_t now)
{
	sampler_add(&l->sampler, w->latency, w->windows, now - l->sent_ns, now);
	w->mine.messages++;
	w->mine.bytes += w->size;
	w->mine.ns = now - l->begin_ns;
	l->over = now >= l->end_ns || (w->test->iters && w->mine.messages >= w->test->iters);
}

static int
ping(struct worker *w, struct lat *l)
{
	if (!l->begun) {
		l->begun = true;
		l->begin_ns = now_ns();
		sampler_begin(&l->sampler, l->begin_ns);
		l->end_ns = w->test->duration_ms ?
			l->begin_ns + w->test->duration_ms * 1000000u : UINT64_MAX;
	}
	l->waiting = true;
	l->sent_ns = now_ns();
	return post(w, l) ? -1 : 1;
}

static int
step_client(struct worker *w, struct lat *l)
{
	int rc;

	if (l->over || (w->stop && !l->waiting)) {
		/* what is still in flight: the last send's own completion */
		l->over = true;
		return l->signalled ? reap(w, l) : 0;
	}
	if (!l->waiting)
		return ping(w, l);
	rc = arrived(w, l);
	if (rc <= 0)
		return rc;
	sample(w, l, now_ns());
	l->waiting = false;
	l->mark++;
	return !l->fetches && reap_all(w, l) ? -1 : 1;
}

static int
step_server(struct worker *w, struct lat *l)
{
	int rc;

	if (l->fetches) {
		struct ibv_wc wc;

		/* nothing comes, but polling drives the stack */
		return ibv_poll_cq(w->conn.recv_cq, 1, &wc) < 0 ? fail("cannot poll a CQ") : 0;
	}
	rc = arrived(w, l);
	if (rc <= 0)
		return rc;
	if (post(w, l))
		return -1;
	l->mark++;
	return reap_all(w, l) ? -1 : 1;
}

static int
lat_step(struct worker *w)
{
	return w->client ? step_client(w, w->state) : step_server(w, w->state);
}

static bool
lat_sent(const struct worker *w)
{
	const struct lat *l = w->state;

	return !w->client || (l->over && !l->signalled);
}

static int
lat_received(const struct worker *w, uint64_t announced)
{
	const struct lat *l = w->state;

	/* the answers to the client's messages complete too before this end says goodbye */
	return w->client || l->fetches || (w->mine.received >= announced && !l->signalled);
}

static bool
lat_waits(const struct worker *w)
{
	const struct lat *l = w->state;

	return l->signalled != 0;
}

static void
lat_close(struct worker *w)
{
	struct lat *l = w->state;

	recv_ring_close(&l->recv);
	free(l);
	w->state = NULL;
}

const struct activity activity_lat = {
	lat_need, lat_open, lat_start, lat_step, lat_sent, lat_received, lat_waits, lat_close,
};

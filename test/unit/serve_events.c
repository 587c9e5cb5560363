/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of a whole stack: who gets which asynchronous event (D-6, D-9, 1.G), that destruction waits for
 * what is not acknowledged (D-5), and that an error completion says what it must (D-3).
 */
#include "serve_verbs.h"

#define EVENT_MS 10000

static bool
expect(enum ibv_event_type type, const struct ibv_qp *qp)
{
	struct ibv_async_event e;

	if (!next_event(&e, EVENT_MS))
		return false;
	ibv_ack_async_event(&e);
	return e.event_type == type && (type == IBV_EVENT_CQ_ERR || e.element.qp == qp);
}

static bool
flushed(struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_wc wc;

	return poll_one(v.cq, &wc) && wc.status == IBV_WC_WR_FLUSH_ERR && wc.wr_id == wr_id &&
	       wc.qp_num == qp->qp_num && wc.vendor_err;
}

/* D-3, 1.G: a key that is none. The requester has its completion, the responder its event. */
static void
async__access_error(void)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
	struct ibv_wc wc;

	open_verbs("inline", 64, 16);
	sge = (struct ibv_sge){ (uintptr_t)v.buf, 8, v.mr->lkey };
	wr = (struct ibv_send_wr){ .wr_id = 77, .sg_list = &sge, .num_sge = 1,
				   .opcode = IBV_WR_RDMA_WRITE };	/* not signalled */
	wr.wr.rdma.remote_addr = (uintptr_t)v.buf;
	wr.wr.rdma.rkey = v.mr->rkey ^ 0xff;
	CHECK_EQ(ibv_post_send(v.a, &wr, &bad), 0);
	CHECK(poll_one(v.cq, &wc));
	CHECK_EQ(wc.status, IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(wc.wr_id, 77);
	CHECK_EQ(wc.qp_num, v.a->qp_num);
	CHECK(wc.vendor_err);
	CHECK(expect(IBV_EVENT_QP_ACCESS_ERR, v.b));
	CHECK_EQ(state_of(v.a), IBV_QPS_ERR);
	CHECK_EQ(state_of(v.b), IBV_QPS_ERR);
	CHECK_EQ(post_write(v.a, 78), 0);
	CHECK(flushed(v.a, 78));
	CHECK_EQ(close_verbs(), 0);
}

/* 1.G: what the QP does not allow, with no receive in use. */
static void
async__request_error(void)
{
	struct ibv_qp_attr attr = { .qp_access_flags = IBV_ACCESS_LOCAL_WRITE };
	struct ibv_wc wc;

	open_verbs("inline", 64, 16);
	CHECK_EQ(ibv_modify_qp(v.b, &attr, IBV_QP_ACCESS_FLAGS), 0);
	CHECK_EQ(post_write(v.a, 5), 0);
	CHECK(poll_one(v.cq, &wc));
	CHECK_EQ(wc.status, IBV_WC_REM_INV_REQ_ERR);
	CHECK(expect(IBV_EVENT_QP_REQ_ERR, v.b));
	CHECK_EQ(close_verbs(), 0);
}

/* C30: the first packet finds a QP that is still in RTR. */
static void
async__communication_established(void)
{
	struct ibv_qp *a, *b;
	struct ibv_wc wc;

	open_verbs("inline", 64, 16);
	a = new_qp(v.cq, 16, 0);
	b = new_qp(v.cq, 16, 0);
	CHECK(a && b && to_init(a) == 0 && to_init(b) == 0);
	CHECK_EQ(to_rtr(a, b->qp_num), 0);
	CHECK_EQ(to_rtr(b, a->qp_num), 0);
	CHECK_EQ(to_rts(a), 0);
	CHECK_EQ(post_write(a, 1), 0);
	CHECK(poll_one(v.cq, &wc));
	CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	CHECK(expect(IBV_EVENT_COMM_EST, b));
	CHECK_EQ(ibv_destroy_qp(a), 0);
	CHECK_EQ(ibv_destroy_qp(b), 0);
	CHECK_EQ(close_verbs(), 0);
}

/* D-6, FC53: told once, the QPs end, what was there stays; and all of it can be destroyed. */
static void
overflow(const char *cores)
{
	struct ibv_async_event e;
	uint32_t cq = 0, fatal = 0;
	struct ibv_wc wc;

	open_verbs(cores, 4, 32);
	for (uint64_t i = 0; i < 20; i++)
		CHECK_EQ(post_write(v.a, i), 0);
	for (int i = 0; i < 3; i++) {
		CHECK(next_event(&e, EVENT_MS));
		cq += e.event_type == IBV_EVENT_CQ_ERR && e.element.cq == v.cq;
		fatal += e.event_type == IBV_EVENT_QP_FATAL;
		ibv_ack_async_event(&e);
	}
	CHECK_EQ(cq, 1);
	CHECK_EQ(fatal, 2);
	CHECK(!next_event(&e, 20));
	CHECK_EQ(state_of(v.a), IBV_QPS_ERR);
	CHECK_EQ(state_of(v.b), IBV_QPS_ERR);
	for (uint64_t i = 0; i < 4; i++) {
		CHECK_EQ(ibv_poll_cq(v.cq, 1, &wc), 1);
		CHECK_EQ(wc.wr_id, i);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
	}
	CHECK_EQ(ibv_poll_cq(v.cq, 1, &wc), 0);
	CHECK_EQ(close_verbs(), 0);
}

static void
async__cq_overflow_inline(void)
{
	overflow("inline");
}

static void
async__cq_overflow_of_two_cores(void)
{
	overflow("0,1");
}

static uint32_t acked;		/* 1: the last event is about to be acknowledged */

static void *
ack_async(void *arg)
{
	usleep(20000);
	__atomic_store_n(&acked, 1, __ATOMIC_SEQ_CST);
	ibv_ack_async_event(arg);
	return NULL;
}

/* D-5: of a QP and of a CQ, acknowledged by another thread. */
static void
destroy__waits_for_async_acks(void)
{
	struct ibv_async_event e[3];
	pthread_t t;

	open_verbs("inline", 4, 32);
	for (uint64_t i = 0; i < 20; i++)
		CHECK_EQ(post_write(v.a, i), 0);
	for (int i = 0; i < 3; i++)
		CHECK(next_event(&e[i], EVENT_MS));
	for (int i = 0; i < 3; i++) {	/* the QPs first */
		if (e[i].event_type != IBV_EVENT_QP_FATAL)
			continue;
		__atomic_store_n(&acked, 0, __ATOMIC_SEQ_CST);
		pthread_create(&t, NULL, ack_async, &e[i]);
		CHECK_EQ(ibv_destroy_qp(e[i].element.qp), 0);
		CHECK_EQ(__atomic_load_n(&acked, __ATOMIC_SEQ_CST), 1);
		pthread_join(t, NULL);
	}
	for (int i = 0; i < 3; i++) {
		if (e[i].event_type != IBV_EVENT_CQ_ERR)
			continue;
		__atomic_store_n(&acked, 0, __ATOMIC_SEQ_CST);
		pthread_create(&t, NULL, ack_async, &e[i]);
		CHECK_EQ(ibv_destroy_cq(v.cq), 0);
		CHECK_EQ(__atomic_load_n(&acked, __ATOMIC_SEQ_CST), 1);
		pthread_join(t, NULL);
	}
	v.a = v.b = NULL;
	v.cq = NULL;
	CHECK_EQ(close_verbs(), 0);
}

static bool
event_of(struct ibv_cq *want)
{
	struct ibv_cq *cq;
	void *ctx;

	return ibv_get_cq_event(v.ch, &cq, &ctx) == 0 && cq == want;
}

static void *
ack_rest(void *arg)
{
	usleep(20000);
	__atomic_store_n(&acked, 1, __ATOMIC_SEQ_CST);
	ibv_ack_cq_events(arg, 2);
	return NULL;
}

/* D-5, FC55: two CQs on one channel have counts of their own; three events, acknowledged one and two. */
static void
destroy_cq__counts_its_own_events(void)
{
	struct ibv_cq *other;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	pthread_t t;

	open_verbs("inline", 64, 16);
	other = ibv_create_cq(v.ctx, 16, NULL, v.ch, 0);
	qp = new_qp(other, 4, 0);
	CHECK(other && qp && to_init(qp) == 0);
	CHECK_EQ(ibv_req_notify_cq(other, 0), 0);
	CHECK_EQ(post_recv(qp, 1), 0);
	CHECK_EQ(to_err(qp), 0);
	CHECK(event_of(other));
	ibv_ack_cq_events(other, 1);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(ibv_req_notify_cq(v.cq, 0), 0);
		CHECK_EQ(post_write(v.a, 1), 0);
		CHECK(poll_one(v.cq, &wc));
		CHECK(event_of(v.cq));
	}
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_destroy_cq(other), 0);	/* at once: the events of the other are not its own */
	ibv_ack_cq_events(v.cq, 1);
	CHECK_EQ(ibv_destroy_qp(v.a), 0);
	CHECK_EQ(ibv_destroy_qp(v.b), 0);
	__atomic_store_n(&acked, 0, __ATOMIC_SEQ_CST);
	pthread_create(&t, NULL, ack_rest, v.cq);
	CHECK_EQ(ibv_destroy_cq(v.cq), 0);
	CHECK_EQ(__atomic_load_n(&acked, __ATOMIC_SEQ_CST), 1);
	pthread_join(t, NULL);
	v.a = v.b = NULL;
	v.cq = NULL;
	CHECK_EQ(close_verbs(), 0);
}

/* Both fds: nothing there is EAGAIN on one that does not block. */
static void
get_event__nonblocking(void)
{
	struct ibv_async_event e;
	struct ibv_cq *cq;
	void *ctx;

	open_verbs("inline", 64, 16);
	fcntl(v.ch->fd, F_SETFL, fcntl(v.ch->fd, F_GETFL) | O_NONBLOCK);
	fcntl(v.ctx->async_fd, F_SETFL, fcntl(v.ctx->async_fd, F_GETFL) | O_NONBLOCK);
	errno = 0;
	CHECK_EQ(ibv_get_cq_event(v.ch, &cq, &ctx), -1);
	CHECK_EQ(errno, EAGAIN);
	errno = 0;
	CHECK_EQ(ibv_get_async_event(v.ctx, &e), -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK_EQ(close_verbs(), 0);
}

/* D-1, D-2: in ERR all that was posted comes back once, each queue in order, and so does what is posted
 * then, signalled or not. */
static void
flush__all_in_order(void)
{
	uint64_t sent = 0, received = 100;
	struct ibv_qp *qp;
	struct ibv_wc wc;

	open_verbs("inline", 64, 16);
	qp = new_qp(v.cq, 16, 0);
	CHECK(qp && to_init(qp) == 0);
	for (uint64_t i = 100; i < 110; i++)
		CHECK_EQ(post_recv(qp, i), 0);
	CHECK_EQ(to_err(qp), 0);
	for (uint64_t i = 0; i < 10; i++)
		CHECK_EQ(post(qp, IBV_WR_SEND, i, i & 1 ? IBV_SEND_SIGNALED : 0), 0);
	CHECK_EQ(post_recv(qp, 110), 0);
	while (sent < 10 || received < 111) {
		CHECK(poll_one(v.cq, &wc));
		CHECK_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		CHECK_EQ(wc.qp_num, qp->qp_num);
		if (wc.wr_id < 100)
			CHECK_EQ(wc.wr_id, sent++);
		else
			CHECK_EQ(wc.wr_id, received++);
	}
	CHECK_EQ(ibv_poll_cq(v.cq, 1, &wc), 0);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(close_verbs(), 0);
}

/* FC60, FC51: with sq_sig_all each one, without it none but those that ask; slots come back by them. */
static void
signalling__all_or_those_that_ask(void)
{
	struct ibv_qp *a, *b;
	struct ibv_wc wc;

	open_verbs("inline", 64, 16);
	a = new_qp(v.cq, 16, 1);
	b = new_qp(v.cq, 16, 1);
	connect_pair(a, b);
	for (uint64_t i = 0; i < 50; i++) {
		CHECK_EQ(post(a, IBV_WR_RDMA_WRITE, i, 0), 0);
		CHECK(poll_one(v.cq, &wc));
		CHECK_EQ(wc.wr_id, i);
	}
	for (uint64_t turn = 0; turn < 100; turn++) {
		for (uint64_t i = 0; i < 15; i++)
			CHECK_EQ(post(v.a, IBV_WR_RDMA_WRITE, i, 0), 0);
		CHECK_EQ(post_write(v.a, 1000 + turn), 0);
		CHECK(poll_one(v.cq, &wc));
		CHECK_EQ(wc.wr_id, 1000 + turn);
	}
	CHECK_EQ(ibv_destroy_qp(a), 0);
	CHECK_EQ(ibv_destroy_qp(b), 0);
	CHECK_EQ(close_verbs(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(async__access_error),
	CHECK_CASE(async__request_error),
	CHECK_CASE(async__communication_established),
	CHECK_CASE(async__cq_overflow_inline),
	CHECK_CASE(async__cq_overflow_of_two_cores),
	CHECK_CASE(destroy__waits_for_async_acks),
	CHECK_CASE(destroy_cq__counts_its_own_events),
	CHECK_CASE(get_event__nonblocking),
	CHECK_CASE(flush__all_in_order),
	CHECK_CASE(signalling__all_or_those_that_ask),
};
CHECK_MAIN(cases)

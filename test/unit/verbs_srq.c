/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues as the application holds them: lib/verbs/srq.c and plx_post_srq_recv(). */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "check.h"
#include "verbs_world.h"

static struct ibv_srq *
new_srq(struct world *w, uint32_t max_wr, uint32_t max_sge)
{
	struct ibv_srq_init_attr init = { .srq_context = w, .attr = { max_wr, max_sge, 0 } };
	struct ibv_srq *srq = ibv_create_srq(w->pd, &init);

	if (srq && (init.attr.max_wr < max_wr || init.attr.max_sge < max_sge))
		abort();
	return srq;
}

/* One WR of that many SGEs. */
static int
post(struct ibv_srq *srq, uint64_t wr_id, int num_sge)
{
	struct ibv_sge sge[4] = { { wr_id, 1, 2 }, { wr_id, 3, 4 }, { wr_id, 5, 6 }, { wr_id, 7, 8 } };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = num_sge }, *bad = NULL;
	int err = ibv_post_srq_recv(srq, &wr, &bad);

	return err && bad != &wr ? -1 : err;
}

static uint64_t
taken(struct ibv_srq *srq)
{
	struct plx_rq_wqe w;

	return mock_srq_take(srq->handle, &w) ? w.wr_id : UINT64_MAX;
}

static void
create_srq__limits_and_attributes(void)
{
	struct ibv_srq_init_attr init = { 0 };
	struct ibv_srq_init_attr_ex ex = { .attr = { 10, 2, 0 } };
	struct ibv_srq_attr attr;
	struct ibv_srq *srq;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	init.attr = (struct ibv_srq_attr){ 0, 1, 0 };
	CHECK(!ibv_create_srq(w.pd, &init) && errno == EINVAL);
	init.attr = (struct ibv_srq_attr){ PLX_MAX_WR + 1, 1, 0 };
	CHECK(!ibv_create_srq(w.pd, &init) && errno == EINVAL);
	init.attr = (struct ibv_srq_attr){ 1, PLX_MAX_SGE + 1, 0 };
	CHECK(!ibv_create_srq(w.pd, &init) && errno == EINVAL);
	srq = new_srq(&w, 10, 2);
	CHECK(srq && srq->srq_context == &w && srq->pd == w.pd && srq->context == w.ctx);
	CHECK_EQ(ibv_query_srq(srq, &attr), 0);
	CHECK_EQ(attr.max_wr, 16);
	CHECK_EQ(attr.max_sge, 2);
	CHECK_EQ(attr.srq_limit, 0);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	CHECK(!ibv_create_srq_ex(w.ctx, &ex) && errno == EINVAL);
	ex.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE;
	ex.pd = w.pd;
	ex.srq_type = IBV_SRQT_TM;
	CHECK(!ibv_create_srq_ex(w.ctx, &ex) && errno == EOPNOTSUPP);
	ex.srq_type = IBV_SRQT_BASIC;
	srq = ibv_create_srq_ex(w.ctx, &ex);
	CHECK(srq && ex.attr.max_wr == 16);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	mock.fail_type = CTL_CREATE_SRQ;
	mock.fail_err = -ENOMEM;
	CHECK(!new_srq(&w, 1, 1) && errno == ENOMEM);
	world_close(&w);
}

/* a slot is free when its WQE is taken, not when a completion is polled */
static void
post_srq_recv__full_and_free_again(void)
{
	struct ibv_srq *srq;
	uint64_t n = 0, out = 0;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	srq = new_srq(&w, 8, 2);
	CHECK(srq);
	CHECK_EQ(post(srq, 0, 3), EINVAL);
	CHECK_EQ(post(srq, 0, -1), EINVAL);
	for (int round = 0; round < 10; round++) {
		for (; n - out < 8; n++)
			CHECK_EQ(post(srq, n, (int)(n % 3)), 0);
		CHECK_EQ(post(srq, n, 1), ENOMEM);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(taken(srq), out++);
	}
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	world_close(&w);
}

static void
post_srq_recv__a_chain_up_to_the_bad_one(void)
{
	struct ibv_recv_wr wr[3] = { { .wr_id = 1, .next = &wr[1] }, { .wr_id = 2, .next = &wr[2] },
				     { .wr_id = 3, .num_sge = 5 } }, *bad = NULL;
	struct ibv_srq *srq;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	srq = new_srq(&w, 8, 4);
	CHECK(srq);
	CHECK_EQ(w.ctx->ops.post_srq_recv(srq, wr, &bad), EINVAL);
	CHECK(bad == &wr[2]);
	CHECK_EQ(taken(srq), 1);
	CHECK_EQ(taken(srq), 2);
	CHECK_EQ(taken(srq), UINT64_MAX);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	world_close(&w);
}

/* FC63: what the QP asks of its own receive queue is not looked at, and it has none */
static void
create_qp__with_srq(void)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { 1, 1u << 31, 1, 1u << 31, 0 } };
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad = NULL;
	struct ibv_qp_init_attr said;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct ibv_qp *qp;
	struct ibv_wc wc;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	init.send_cq = init.recv_cq = w.cq;
	CHECK(!ibv_create_qp(w.pd, &init) && errno == EINVAL);
	init.srq = new_srq(&w, 8, 1);
	CHECK(init.srq);
	qp = ibv_create_qp(w.pd, &init);
	CHECK(qp && qp->srq == init.srq);
	CHECK_EQ(mock.qp[qp->handle].req.srq, init.srq->handle + 1);
	CHECK_EQ(init.cap.max_recv_wr, 0);
	CHECK_EQ(init.cap.max_recv_sge, 0);
	CHECK_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &said), 0);
	CHECK(said.srq == init.srq);
	attr.qp_state = IBV_QPS_INIT;
	CHECK_EQ(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	CHECK_EQ(ibv_post_recv(qp, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	CHECK_EQ(ibv_destroy_srq(init.srq), EBUSY);
	/* a completion retires nothing of the QP, nor of the SRQ */
	CHECK_EQ(post(init.srq, 7, 1), 0);
	mock_complete(w.cq->handle, qp->handle, PLX_CQE_RQ, 7, 0);
	CHECK_EQ(ibv_poll_cq(w.cq, 1, &wc), 1);
	CHECK_EQ(wc.qp_num, qp->qp_num);
	CHECK_EQ(__plx_qp_of(qp)->rq.head, 0);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	CHECK_EQ(ibv_destroy_srq(init.srq), 0);
	world_close(&w);
}

static void
modify_srq__limit_and_size(void)
{
	struct ibv_srq_attr attr = { .max_wr = 40, .srq_limit = 5 };
	struct ibv_srq *srq;
	uint64_t n, out = 0;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	srq = new_srq(&w, 8, 4);
	CHECK(srq);
	CHECK_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	CHECK_EQ(ibv_query_srq(srq, &attr), 0);
	CHECK_EQ(attr.srq_limit, 5);
	CHECK_EQ(attr.max_wr, 8);
	for (n = 0; n < 8; n++)
		CHECK_EQ(post(srq, n, 4), 0);
	CHECK_EQ(taken(srq), out++);
	CHECK_EQ(post(srq, n++, 4), 0);
	attr.max_wr = 7;
	CHECK_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), EINVAL);
	CHECK_EQ(post(srq, n, 4), ENOMEM);
	attr.max_wr = 40;
	CHECK_EQ(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
	while (n - out < 64)
		CHECK_EQ(post(srq, n++, 4), 0);
	CHECK_EQ(post(srq, n, 4), ENOMEM);
	while (out < n)
		CHECK_EQ(taken(srq), out++);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	world_close(&w);
}

static void *
ack_later(void *arg)
{
	usleep(20000);
	ibv_ack_async_event(arg);
	return NULL;
}

/* FC55: two events come out, one is acknowledged: the destruction waits for the other */
static void
destroy_srq__waits_for_acks(void)
{
	struct ibv_async_event ev, other;
	struct ibv_srq *srq;
	pthread_t thread;
	uint32_t before;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	srq = new_srq(&w, 8, 1);
	CHECK(srq);
	mock_async(IBV_EVENT_SRQ_LIMIT_REACHED, PLX_EVENT_SRQ, srq->handle, mock.srq[srq->handle].gen);
	mock_async(IBV_EVENT_SRQ_ERR, PLX_EVENT_SRQ, srq->handle, mock.srq[srq->handle].gen);
	mock_async(IBV_EVENT_SRQ_LIMIT_REACHED, PLX_EVENT_SRQ, srq->handle, mock.srq[srq->handle].gen);
	CHECK_EQ(ibv_get_async_event(w.ctx, &ev), 0);
	CHECK(ev.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && ev.element.srq == srq);
	CHECK_EQ(ibv_get_async_event(w.ctx, &other), 0);
	CHECK(other.event_type == IBV_EVENT_SRQ_ERR && other.element.srq == srq);
	ibv_ack_async_event(&ev);
	before = srq->events_completed;
	CHECK_EQ(before, 1);
	pthread_create(&thread, NULL, ack_later, &other);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	pthread_join(thread, NULL);
	/* the third, which nobody took, is gone with it */
	fcntl(w.ctx->async_fd, F_SETFL, O_NONBLOCK);
	CHECK(ibv_get_async_event(w.ctx, &ev) == -1 && errno == EAGAIN);
	world_close(&w);
}

#define POSTERS 3
#define EACH 20000u
static uint32_t seen[POSTERS * EACH];

struct poster {
	struct ibv_srq *srq;
	uint32_t from;
};

static void *		/* arg; NULL: a refusal */
poster(void *arg)
{
	const struct poster *p = arg;

	for (uint32_t i = 0; i < EACH; ) {
		int err = post(p->srq, p->from + i, 1);

		if (err == ENOMEM)
			sched_yield();
		else if (err)
			return NULL;
		else
			i++;
	}
	return arg;
}

static void
post_srq_recv__many_threads(void)
{
	struct poster p[POSTERS];
	pthread_t t[POSTERS];
	struct ibv_srq *srq;
	uint32_t n = 0;
	void *said;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	srq = new_srq(&w, 64, 1);
	CHECK(srq);
	memset(seen, 0, sizeof(seen));
	for (uint32_t i = 0; i < POSTERS; i++) {
		p[i] = (struct poster){ srq, i * EACH };
		pthread_create(&t[i], NULL, poster, &p[i]);
	}
	while (n < POSTERS * EACH) {
		uint64_t id = taken(srq);

		if (id == UINT64_MAX) {
			sched_yield();
			continue;
		}
		CHECK(id < POSTERS * EACH);
		CHECK_EQ(seen[id]++, 0);
		n++;
	}
	for (uint32_t i = 0; i < POSTERS; i++) {
		pthread_join(t[i], &said);
		CHECK(said == &p[i]);
	}
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	world_close(&w);
}

static const struct check_case cases[] = {
	CHECK_CASE(create_srq__limits_and_attributes),
	CHECK_CASE(post_srq_recv__full_and_free_again),
	CHECK_CASE(post_srq_recv__a_chain_up_to_the_bad_one),
	CHECK_CASE(create_qp__with_srq),
	CHECK_CASE(modify_srq__limit_and_size),
	CHECK_CASE(destroy_srq__waits_for_acks),
	CHECK_CASE(post_srq_recv__many_threads),
};

CHECK_MAIN(cases)

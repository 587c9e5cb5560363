/* SPDX-License-Identifier: BSD-3-Clause */
/* Events and who waits for them: lib/verbs channel, event, and the destruction of their subjects. */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "verbs_world.h"

static void
cq_event__arrives_and_polls(void)
{
	struct pollfd p;
	struct ibv_cq *cq;
	void *cq_context;
	struct world w;

	world_open(&w, (struct world_conf){ .with_channel = true });
	p = (struct pollfd){ .fd = w.channel->fd, .events = POLLIN };
	fcntl(w.channel->fd, F_SETFL, O_NONBLOCK);
	CHECK_EQ(ibv_get_cq_event(w.channel, &cq, &cq_context), -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK_EQ(mock_fire(w.cq->handle), PLX_CQ_ARM_NONE);
	CHECK_EQ(ibv_req_notify_cq(w.cq, 0), 0);
	CHECK_EQ(mock_fire(w.cq->handle), PLX_CQ_ARM_ANY);
	CHECK_EQ(poll(&p, 1, 0), 1);
	CHECK_EQ(ibv_get_cq_event(w.channel, &cq, &cq_context), 0);
	CHECK(cq == w.cq);
	CHECK(cq_context == &w);
	CHECK_EQ(poll(&p, 1, 0), 0);
	ibv_ack_cq_events(cq, 1);
	world_close(&w);
}

static void
on_alarm(int sig)
{
	(void)sig;
}

static void *
fire_later(void *arg)
{
	struct world *w = arg;

	usleep(60000);
	mock_fire(w->cq->handle);
	return NULL;
}

static void
cq_event__wait_outlives_a_signal(void)
{
	struct sigaction sa = { .sa_handler = on_alarm };
	struct ibv_cq *cq = NULL;
	void *cq_context;
	pthread_t thread;
	sigset_t block;
	struct world w;

	world_open(&w, (struct world_conf){ .with_channel = true, .can_drive = true });
	sigaction(SIGALRM, &sa, NULL);
	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	ibv_req_notify_cq(w.cq, 0);
	pthread_sigmask(SIG_BLOCK, &block, NULL);
	pthread_create(&thread, NULL, fire_later, &w);
	pthread_sigmask(SIG_UNBLOCK, &block, NULL);
	ualarm(20000, 0);
	CHECK_EQ(ibv_get_cq_event(w.channel, &cq, &cq_context), 0);
	CHECK(cq == w.cq);
	CHECK(mock.drives[CTL_DRIVE_POLL] > 0);
	pthread_join(thread, NULL);
	ibv_ack_cq_events(cq, 1);
	world_close(&w);
}

static void *
ack_later(void *arg)
{
	struct world *w = arg;

	usleep(50000);
	ibv_ack_cq_events(w->cq, 1);
	return NULL;
}

/* D-5, FC55: three events, two acknowledged: the destruction waits for the third */
static void
destroy_cq__waits_for_acks(void)
{
	struct timespec t0, t1;
	struct ibv_cq *cq;
	void *cq_context;
	pthread_t thread;
	struct world w;

	world_open(&w, (struct world_conf){ .with_channel = true });
	for (int i = 0; i < 3; i++) {
		ibv_req_notify_cq(w.cq, 0);
		mock_fire(w.cq->handle);
		CHECK_EQ(ibv_get_cq_event(w.channel, &cq, &cq_context), 0);
	}
	ibv_ack_cq_events(w.cq, 2);
	CHECK_EQ(ibv_destroy_qp(w.qp), 0);
	clock_gettime(CLOCK_MONOTONIC, &t0);
	pthread_create(&thread, NULL, ack_later, &w);
	CHECK_EQ(ibv_destroy_cq(w.cq), 0);
	clock_gettime(CLOCK_MONOTONIC, &t1);
	CHECK((t1.tv_sec - t0.tv_sec) * 1000 + (t1.tv_nsec - t0.tv_nsec) / 1000000 >= 45);
	pthread_join(thread, NULL);
	CHECK_EQ(ibv_destroy_comp_channel(w.channel), 0);
	ibv_dealloc_pd(w.pd);
	ibv_close_device(w.ctx);
	mock_stop();
}

/* an event of a CQ that is gone neither comes out nor keeps the fd readable */
static void
destroy_cq__takes_its_events_along(void)
{
	struct ibv_cq *other, *cq;
	struct pollfd p;
	void *cq_context;
	struct world w;

	world_open(&w, (struct world_conf){ .with_channel = true });
	p = (struct pollfd){ .fd = w.channel->fd, .events = POLLIN };
	fcntl(w.channel->fd, F_SETFL, O_NONBLOCK);
	other = ibv_create_cq(w.ctx, 1, NULL, w.channel, 0);
	ibv_req_notify_cq(other, 0);
	mock_fire(other->handle);
	CHECK_EQ(ibv_destroy_cq(other), 0);
	CHECK_EQ(poll(&p, 1, 0), 0);

	/* behind one of a living CQ */
	other = ibv_create_cq(w.ctx, 1, NULL, w.channel, 0);
	ibv_req_notify_cq(w.cq, 0);
	mock_fire(w.cq->handle);
	ibv_req_notify_cq(other, 0);
	mock_fire(other->handle);
	CHECK_EQ(ibv_destroy_cq(other), 0);
	CHECK_EQ(poll(&p, 1, 0), 1);
	CHECK_EQ(ibv_get_cq_event(w.channel, &cq, &cq_context), 0);
	CHECK(cq == w.cq);
	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK_EQ(ibv_get_cq_event(w.channel, &cq, &cq_context), -1);
	ibv_ack_cq_events(w.cq, 1);
	world_close(&w);
}

static void
async_event__subjects(void)
{
	struct ibv_async_event e;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	fcntl(w.ctx->async_fd, F_SETFL, O_NONBLOCK);
	mock_async(IBV_EVENT_QP_FATAL, PLX_EVENT_QP, w.qp->handle, mock.qp[w.qp->handle].gen + 1);
	mock_async(IBV_EVENT_COMM_EST, PLX_EVENT_QP, w.qp->handle, mock.qp[w.qp->handle].gen);
	mock_async(IBV_EVENT_CQ_ERR, PLX_EVENT_CQ, w.cq->handle, mock.cq[w.cq->handle].gen);
	mock_async(IBV_EVENT_PORT_ERR, PLX_EVENT_PORT, 1, 0);
	/* the first is of another generation */
	CHECK_EQ(ibv_get_async_event(w.ctx, &e), 0);
	CHECK_EQ(e.event_type, IBV_EVENT_COMM_EST);
	CHECK(e.element.qp == w.qp);
	ibv_ack_async_event(&e);
	CHECK_EQ(w.qp->events_completed, 1);
	CHECK_EQ(ibv_get_async_event(w.ctx, &e), 0);
	CHECK(e.element.cq == w.cq);
	ibv_ack_async_event(&e);
	CHECK_EQ(w.cq->async_events_completed, 1);
	CHECK_EQ(ibv_get_async_event(w.ctx, &e), 0);
	CHECK_EQ(e.element.port_num, 1);
	ibv_ack_async_event(&e);
	CHECK_EQ(ibv_get_async_event(w.ctx, &e), -1);
	CHECK_EQ(errno, EAGAIN);
	world_close(&w);
}

static const struct check_case cases[] = {
	CHECK_CASE(cq_event__arrives_and_polls),
	CHECK_CASE(cq_event__wait_outlives_a_signal),
	CHECK_CASE(destroy_cq__waits_for_acks),
	CHECK_CASE(destroy_cq__takes_its_events_along),
	CHECK_CASE(async_event__subjects),
};
CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many threads on one QP and one CQ (FC58), with a core of its own thread beside them: meant for
 * TSan, and for the counts: each WR completes once.
 */
#include <pthread.h>
#include <sched.h>

#include "check.h"
#include "verbs_world.h"

#define POSTERS 4
#define POLLERS 3
#define PER_POSTER 4000u
#define TOTAL (POSTERS * PER_POSTER)

static struct world world;
static uint8_t seen[TOTAL];
static uint32_t polled;
static int stop;

/* Takes doorbells, reads the WQEs behind them and completes each. */
static void *
core_thread(void *arg)
{
	uint32_t done = 0, tail, handle;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		uint32_t entry = mock_take_bell();
		struct mock_qp *qp;

		if (!entry) {
			sched_yield();
			continue;
		}
		handle = plx_bell_handle(entry);
		qp = &mock.qp[handle];
		tail = __atomic_load_n(&qp->sq.ctl->tail, __ATOMIC_ACQUIRE);
		for (; done != tail; done++)
			mock_complete(0, handle, PLX_CQE_SQ, mock_sq_wqe(handle, done)->wr_id, done + 1);
	}
	return NULL;
}

static void *
poster_thread(void *arg)
{
	uint64_t base = (uintptr_t)arg * PER_POSTER;

	for (uint32_t i = 0; i < PER_POSTER; i++) {
		struct ibv_send_wr wr = { .wr_id = base + i, .opcode = IBV_WR_SEND,
					  .send_flags = IBV_SEND_SIGNALED }, *bad;

		while (ibv_post_send(world.qp, &wr, &bad) == ENOMEM)
			sched_yield();
	}
	return NULL;
}

static void *
poller_thread(void *arg)
{
	struct ibv_wc wc[8];

	(void)arg;
	while (__atomic_load_n(&polled, __ATOMIC_RELAXED) < TOTAL) {
		int n = ibv_poll_cq(world.cq, 8, wc);

		for (int i = 0; i < n; i++)
			__atomic_fetch_add(&seen[wc[i].wr_id], 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&polled, (uint32_t)n, __ATOMIC_RELAXED);
		if (!n)
			sched_yield();
	}
	return NULL;
}

static void
threads__each_wr_completes_once(void)
{
	pthread_t core, poster[POSTERS], poller[POLLERS];

	/* the CQ holds what the queue holds: it cannot overflow */
	world_open(&world, (struct world_conf){ .send_wr = 32, .cqe = 64 });
	pthread_create(&core, NULL, core_thread, NULL);
	for (uintptr_t i = 0; i < POLLERS; i++)
		pthread_create(&poller[i], NULL, poller_thread, NULL);
	for (uintptr_t i = 0; i < POSTERS; i++)
		pthread_create(&poster[i], NULL, poster_thread, (void *)i);
	for (int i = 0; i < POSTERS; i++)
		pthread_join(poster[i], NULL);
	for (int i = 0; i < POLLERS; i++)
		pthread_join(poller[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	pthread_join(core, NULL);
	CHECK_EQ(polled, TOTAL);
	for (uint32_t i = 0; i < TOTAL; i++)
		CHECK_EQ(seen[i], 1);
	world_close(&world);
}

static int other_stop;

static void *
maker_thread(void *arg)
{
	struct world_conf c = { 0 };

	(void)arg;
	while (!__atomic_load_n(&other_stop, __ATOMIC_RELAXED)) {
		struct ibv_qp *qp = world_qp(&world, &c);

		if (!qp || ibv_destroy_qp(qp))
			abort();
	}
	return NULL;
}

/* QPs come and go on a CQ that is polled: the poller must never hold a QP that is freed. Completions
 * name handles that are being made and destroyed. */
static void
threads__destroy_beside_a_poller(void)
{
	pthread_t maker;
	struct ibv_wc wc = { 0 };

	world_open(&world, (struct world_conf){ 0 });
	pthread_create(&maker, NULL, maker_thread, NULL);
	for (uint32_t i = 0; i < 20000; i++) {
		struct plx_cqe cqe = { .qp = 1, .qp_gen = i, .wq_head = 0 };

		mock_push(world.cq->handle, &cqe);
		if (ibv_poll_cq(world.cq, 1, &wc) != 1)
			abort();
	}
	__atomic_store_n(&other_stop, 1, __ATOMIC_RELAXED);
	pthread_join(maker, NULL);
	world_close(&world);
}

static const struct check_case cases[] = {
	CHECK_CASE(threads__each_wr_completes_once),
	CHECK_CASE(threads__destroy_beside_a_poller),
};
CHECK_MAIN(cases)

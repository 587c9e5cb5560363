/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the verbs promise to programs of many threads, on a whole stack (FC58): several post to one QP and
 * several poll one CQ while others make and destroy objects and acknowledge events. Meant for TSan, and for
 * the counts: each work request completes once.
 */
#include "serve_verbs.h"

#define POSTERS 3u
#define POLLERS 2u
#define EACH 1500u
#define TOTAL (POSTERS * EACH)

static uint8_t seen[TOTAL];
static uint32_t polled, events, bad;
static uint64_t give_up_at;		/* ms */

static bool
going_on(void)
{
	return __atomic_load_n(&polled, __ATOMIC_RELAXED) < TOTAL && now_ms() < give_up_at;
}

static void
wrong(void)
{
	__atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
}

static void *
poster(void *arg)
{
	uint64_t first = (uintptr_t)arg * EACH;

	for (uint64_t i = 0; i < EACH; i++) {
		int rc;

		while ((rc = post_write(v.a, first + i)) == ENOMEM && going_on())
			sched_yield();
		if (rc)
			wrong();
	}
	return NULL;
}

static void *
poller(void *arg)
{
	struct ibv_wc wc[8];

	(void)arg;
	while (going_on()) {
		int n = ibv_poll_cq(v.cq, 8, wc);

		for (int i = 0; i < n; i++) {
			if (wc[i].status || wc[i].wr_id >= TOTAL)
				wrong();
			else
				__atomic_fetch_add(&seen[wc[i].wr_id], 1, __ATOMIC_RELAXED);
		}
		__atomic_fetch_add(&polled, (uint32_t)n, __ATOMIC_RELAXED);
		if (!n)
			sched_yield();
	}
	return NULL;
}

/* Arms, and takes what comes. */
static void *
waiter(void *arg)
{
	struct ibv_cq *cq;
	void *ctx;

	(void)arg;
	while (going_on()) {
		if (ibv_req_notify_cq(v.cq, 0))
			wrong();
		if (!readable(v.ch->fd, 20))
			continue;
		if (ibv_get_cq_event(v.ch, &cq, &ctx) || cq != v.cq)
			wrong();
		else
			ibv_ack_cq_events(cq, 1);
		__atomic_fetch_add(&events, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* One of each, of its own or on what the others use. */
static bool
make_and_destroy(bool on_shared_cq)
{
	struct ibv_pd *pd = ibv_alloc_pd(v.ctx);
	struct ibv_mr *mr = pd ? ibv_reg_mr(pd, v.buf, 4096, ALL_ACCESS) : NULL;
	struct ibv_cq *cq = ibv_create_cq(v.ctx, 8, NULL, NULL, 0);
	struct ibv_qp *qp = cq ? new_qp(on_shared_cq ? v.cq : cq, 4, 0) : NULL;
	bool good = mr && qp && to_init(qp) == 0 && to_rtr(qp, 77) == 0;

	good = good && ibv_resize_cq(cq, 16) == 0;
	good = good && ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0;
	return good && ibv_dereg_mr(mr) == 0 && ibv_dealloc_pd(pd) == 0;
}

static void *
maker(void *arg)
{
	bool shared = false;

	(void)arg;
	while (going_on()) {
		if (!make_and_destroy(shared))
			wrong();
		shared = !shared;
	}
	return NULL;
}

static void
threads(const char *cores)
{
	pthread_t t[POSTERS + POLLERS + 3];
	uint32_t n = 0;

	open_verbs(cores, 64, 64);
	memset(seen, 0, sizeof(seen));
	polled = events = bad = 0;
	give_up_at = now_ms() + 60000;
	for (uint32_t i = 0; i < POLLERS; i++)
		pthread_create(&t[n++], NULL, poller, NULL);
	pthread_create(&t[n++], NULL, waiter, NULL);
	for (uint32_t i = 0; i < 2; i++)
		pthread_create(&t[n++], NULL, maker, NULL);
	for (uintptr_t i = 0; i < POSTERS; i++)
		pthread_create(&t[n++], NULL, poster, (void *)i);
	while (n)
		pthread_join(t[--n], NULL);
	CHECK_EQ(bad, 0);
	CHECK_EQ(polled, TOTAL);
	for (uint32_t i = 0; i < TOTAL; i++)
		CHECK_EQ(seen[i], 1);
	CHECK_EQ(close_verbs(), 0);
}

static void
threads__each_once_inline(void)
{
	threads("inline");
}

static void
threads__each_once_on_two_cores(void)
{
	threads("0,1");
}

static const struct check_case cases[] = {
	CHECK_CASE(threads__each_once_inline),
	CHECK_CASE(threads__each_once_on_two_cores),
};
CHECK_MAIN(cases)

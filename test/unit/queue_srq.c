/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of lib/queue/srq.c: order, limit, resize, lies in the ring, several takers at once. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "check.h"
#include "queue/srq.h"

#define MAX_SGE 3u
#define STRIDE 64u

static struct srq srq;
static unsigned int raised[2];

static void
raise_event(struct srq *s, enum srq_event event)
{
	CHECK(s == &srq);
	__atomic_fetch_add(&raised[event], 1, __ATOMIC_RELAXED);
}

static struct wq_conf
ring(uint32_t log2_size)
{
	return (struct wq_conf){ .ctl = calloc(1, sizeof(struct plx_wq_ctl)),
				 .slots = calloc(1u << log2_size, STRIDE), .log2_size = log2_size,
				 .stride = STRIDE, .max_wr = 1u << log2_size, .max_sge = MAX_SGE };
}

static void
ring_free(const struct wq_conf *c)
{
	free(c->ctl);
	free(c->slots);
}

static void
begin(uint32_t log2_size)
{
	struct wq_conf c = ring(log2_size);

	srq_init(&srq, &c, 7, raise_event);
	raised[SRQ_LIMIT_REACHED] = raised[SRQ_BROKEN] = 0;
}

static void
end(void)
{
	ring_free(&srq.c);
}

/* As plx_post_srq_recv() does. False: full. */
static bool
post(uint64_t wr_id)
{
	struct plx_wq_ctl *ctl = srq.c.ctl;
	uint32_t tail = ctl->tail;
	struct plx_rq_wqe *wqe = (void *)(srq.c.slots + (tail & ((1u << srq.c.log2_size) - 1)) * STRIDE);
	struct plx_sge *sge = (void *)(wqe + 1);

	if (tail - __atomic_load_n(&ctl->head, __ATOMIC_ACQUIRE) >= srq.c.max_wr)
		return false;
	*wqe = (struct plx_rq_wqe){ .wr_id = wr_id, .num_sge = 1 };
	*sge = (struct plx_sge){ wr_id * 3, (uint32_t)wr_id * 5, (uint32_t)wr_id * 7 };
	__atomic_store_n(&ctl->tail, tail + 1, __ATOMIC_RELEASE);
	return true;
}

static void
take(uint64_t wr_id)
{
	struct rq_wqe w;

	CHECK_EQ(srq_take(&srq, &w), 1);
	CHECK_EQ(w.wr_id, wr_id);
	CHECK_EQ(w.num_sge, 1);
	CHECK_EQ(w.sge[0].addr, wr_id * 3);
	CHECK_EQ(w.sge[0].length, (uint32_t)wr_id * 5);
	CHECK_EQ(w.sge[0].lkey, (uint32_t)wr_id * 7);
}

static void
take_none(void)
{
	struct rq_wqe w;

	CHECK_EQ(srq_take(&srq, &w), 0);
}

/* F11; a slot is free as soon as its WQE is taken */
static void
srq_take__in_order_round_the_ring(void)
{
	uint64_t posted = 0, taken = 0;

	begin(3);
	take_none();
	for (int round = 0; round < 20; round++) {
		while (post(posted))
			posted++;
		CHECK_EQ(posted - taken, 8);
		for (int i = 0; i < 5; i++)
			take(taken++);
		CHECK_EQ(srq.c.ctl->head, taken);
	}
	while (taken != posted)
		take(taken++);
	take_none();
	end();
}

static void
srq_take__counters_wrap(void)
{
	begin(2);
	srq.head = srq.tail = srq.c.ctl->head = srq.c.ctl->tail = UINT32_MAX - 1;
	for (uint64_t i = 0; i < 4; i++)
		CHECK(post(i));
	CHECK(!post(4));
	for (uint64_t i = 0; i < 4; i++)
		take(i);
	CHECK_EQ(srq.head, 2);
	take_none();
	end();
}

/* FC65 */
static void
srq_take__bounds(void)
{
	static const uint32_t bad[] = { MAX_SGE + 1, PLX_MAX_SGE, PLX_MAX_SGE + 1, UINT32_MAX };
	struct rq_wqe w;

	begin(3);
	for (uint32_t i = 0; i < 4; i++) {
		CHECK(post(i));
		((struct plx_rq_wqe *)(void *)(srq.c.slots + i * STRIDE))->num_sge = bad[i];
		CHECK_EQ(srq_take(&srq, &w), -EINVAL);
		CHECK_EQ(w.wr_id, i);
		CHECK_EQ(w.num_sge, 0);
	}
	CHECK(post(4));
	take(4);
	CHECK_EQ(raised[SRQ_BROKEN], 0);
	end();
}

static void
srq_take__a_tail_that_lies(void)
{
	static const uint32_t lies[] = { 9, 100, UINT32_MAX, 0x80000000u };

	for (uint32_t i = 0; i < 4; i++) {
		begin(3);
		srq.c.ctl->tail = lies[i];
		take_none();
		CHECK_EQ(raised[SRQ_BROKEN], 1);
		srq.c.ctl->tail = 1;
		take_none();
		CHECK_EQ(raised[SRQ_BROKEN], 1);
		end();
	}
	/* backwards, behind what is taken */
	begin(3);
	CHECK(post(1));
	take(1);
	srq.c.ctl->tail = 0;
	take_none();
	CHECK_EQ(raised[SRQ_BROKEN], 1);
	end();
}

/* F12, FC63 */
static void
srq_arm__one_event_below_the_limit(void)
{
	begin(4);
	for (uint64_t i = 0; i < 10; i++)
		CHECK(post(i));
	CHECK_EQ(srq_arm(&srq, 8), 0);
	CHECK_EQ(srq_limit(&srq), 8);
	take(0);
	take(1);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 0);
	take(2);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 1);
	CHECK_EQ(srq_limit(&srq), 0);
	take(3);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 1);
	/* what was posted since the last look counts */
	CHECK_EQ(srq_arm(&srq, 6), 0);
	CHECK(post(10));
	take(4);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 1);
	take(5);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 2);
	CHECK_EQ(srq_arm(&srq, 3), 0);
	CHECK_EQ(srq_arm(&srq, 0), 0);
	for (uint64_t i = 6; i < 11; i++)
		take(i);
	take_none();
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 2);
	end();
}

static void
srq_arm__below_it_already(void)
{
	begin(4);
	CHECK_EQ(srq_arm(&srq, 1), 0);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 1);
	CHECK_EQ(srq_limit(&srq), 0);
	for (uint64_t i = 0; i < 4; i++)
		CHECK(post(i));
	CHECK_EQ(srq_arm(&srq, 4), 0);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 1);
	CHECK_EQ(srq_arm(&srq, 5), 0);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 2);
	CHECK_EQ(srq_arm(&srq, 17), -EINVAL);
	CHECK_EQ(srq_arm(&srq, 16), 0);
	end();
}

/* FC63: what waits keeps its order, and its room is never less than what was asked */
static void
srq_resize__up_and_down(void)
{
	struct wq_conf to, old;
	uint64_t posted = 0, taken = 0;

	begin(3);
	for (uint32_t log2 = 2; log2 < 7; log2++) {
		while (posted - taken < 3)
			CHECK(post(posted++));
		take(taken++);
		CHECK(post(posted++));
		to = ring(log2);
		old = srq.c;
		CHECK_EQ(srq_resize(&srq, &to, to.max_wr, NULL), 0);
		ring_free(&old);
		while (post(posted))
			posted++;
		CHECK_EQ(posted - taken, 1u << log2);
		while (posted - taken > 2)
			take(taken++);
	}
	end();
}

static void
srq_resize__refusals(void)
{
	struct wq_conf to = ring(2), old;

	begin(3);
	old = srq.c;
	for (uint64_t i = 0; i < 4; i++)
		CHECK(post(i));
	CHECK_EQ(srq_resize(&srq, &to, 3, NULL), -EINVAL);
	CHECK_EQ(srq.c.log2_size, 3);
	CHECK(post(4));
	CHECK_EQ(srq_resize(&srq, &to, 4, NULL), -EINVAL);
	take(0);
	take(1);
	CHECK_EQ(srq_arm(&srq, 3), 0);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 0);
	take(2);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 1);
	CHECK_EQ(srq_arm(&srq, 2), 0);
	CHECK_EQ(srq_resize(&srq, &to, 2, NULL), 0);
	take(3);
	take(4);
	take_none();
	end();
	ring_free(&old);
}

/* The limit that comes with a new size replaces the one that is armed, whatever that was. */
static void
srq_resize__with_a_limit(void)
{
	struct wq_conf to = ring(2), old;
	uint32_t limit = 5;

	begin(3);
	old = srq.c;
	for (uint64_t i = 0; i < 8; i++)
		CHECK(post(i));
	CHECK_EQ(srq_arm(&srq, 4), 0);
	for (uint64_t i = 0; i < 4; i++)
		take(i);
	CHECK_EQ(srq_resize(&srq, &to, 4, &limit), -EINVAL);
	CHECK_EQ(srq_resize(&srq, &to, 3, NULL), -EINVAL);
	CHECK_EQ(srq_limit(&srq), 4);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 0);
	limit = 2;
	CHECK_EQ(srq_resize(&srq, &to, 4, &limit), 0);
	CHECK_EQ(srq_limit(&srq), 2);
	take(4);
	take(5);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 0);
	take(6);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 1);
	ring_free(&old);
	old = srq.c;
	to = ring(3);
	CHECK_EQ(srq_arm(&srq, 1), 0);
	limit = 8;	/* not so many wait: at once */
	CHECK_EQ(srq_resize(&srq, &to, 8, &limit), 0);
	CHECK_EQ(srq_limit(&srq), 0);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], 2);
	take(7);
	take_none();
	end();
	ring_free(&old);
}

#define TAKERS 2
#define EACH 30000u
static uint32_t seen[TAKERS * EACH];

/* As a core does; each taker's numbers must rise, for the queue is FIFO. */
static void *		/* itself; NULL: not what was posted */
taker(void *arg)
{
	uint64_t last = 0;
	uint32_t n = 0;

	while (n < EACH) {
		struct rq_wqe w;

		if (srq_take(&srq, &w) != 1) {
			sched_yield();
			continue;
		}
		if (w.num_sge != 1 || w.sge[0].addr != w.wr_id * 3 || w.wr_id <= last)
			return NULL;
		last = w.wr_id;
		__atomic_fetch_add(&seen[w.wr_id - 1], 1, __ATOMIC_RELAXED);
		n++;
	}
	return arg;
}

static bool
move_to(uint32_t log2_size)
{
	struct wq_conf to = ring(log2_size), old = srq.c;
	int rc = srq_resize(&srq, &to, to.max_wr, NULL);

	ring_free(rc ? &to : &old);
	return rc == 0;
}

/* Two cores take, one thread posts, arms and resizes: each WQE once, each limit once. */
static void
srq_take__several_cores(void)
{
	pthread_t t[TAKERS];
	unsigned int armed = 0;

	begin(6);
	memset(seen, 0, sizeof(seen));
	for (int i = 0; i < TAKERS; i++)
		pthread_create(&t[i], NULL, taker, &seen[i]);
	for (uint64_t id = 1; id <= TAKERS * EACH; ) {
		if (!post(id)) {
			sched_yield();
			continue;
		}
		if (id % 1000 == 0 && !srq_limit(&srq)) {
			CHECK_EQ(srq_arm(&srq, 16), 0);
			armed++;
		}
		if (id % 5000 == 0)
			move_to(id % 10000 ? 7 : 5);
		id++;
	}
	for (int i = 0; i < TAKERS; i++) {
		void *said;

		pthread_join(t[i], &said);
		CHECK(said == &seen[i]);
	}
	for (uint32_t i = 0; i < TAKERS * EACH; i++)
		CHECK_EQ(seen[i], 1);
	CHECK_EQ(srq_limit(&srq), 0);
	CHECK_EQ(raised[SRQ_LIMIT_REACHED], armed);
	CHECK_EQ(raised[SRQ_BROKEN], 0);
	end();
}

static const struct check_case cases[] = {
	CHECK_CASE(srq_take__in_order_round_the_ring),
	CHECK_CASE(srq_take__counters_wrap),
	CHECK_CASE(srq_take__bounds),
	CHECK_CASE(srq_take__a_tail_that_lies),
	CHECK_CASE(srq_arm__one_event_below_the_limit),
	CHECK_CASE(srq_arm__below_it_already),
	CHECK_CASE(srq_resize__up_and_down),
	CHECK_CASE(srq_resize__refusals),
	CHECK_CASE(srq_resize__with_a_limit),
	CHECK_CASE(srq_take__several_cores),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of lib/queue/sq.c and rq.c: order, the end of the ring, and lies in the shared words. */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "queue/rq.h"
#include "queue/sq.h"

#define LOG2 3u
#define SLOTS (1u << LOG2)
#define MAX_WR 6u
#define MAX_SGE 4u
#define STRIDE 192u

static _Alignas(64) struct plx_wq_ctl ctl;
static _Alignas(64) uint8_t slots[SLOTS * STRIDE];

static struct wq_conf
conf(void)
{
	memset(&ctl, 0, sizeof(ctl));
	memset(slots, 0, sizeof(slots));
	return (struct wq_conf){ .ctl = &ctl, .slots = slots, .log2_size = LOG2, .stride = STRIDE,
				 .max_wr = MAX_WR, .max_sge = MAX_SGE };
}

static struct plx_sq_wqe *
sq_slot(uint32_t n)
{
	return (struct plx_sq_wqe *)(void *)(slots + (n & (SLOTS - 1)) * STRIDE);
}

static struct plx_rq_wqe *
rq_slot(uint32_t n)
{
	return (struct plx_rq_wqe *)(void *)(slots + (n & (SLOTS - 1)) * STRIDE);
}

static void
sq_refresh__clears_bell_and_sees_tail(void)
{
	struct wq_conf c = conf();
	struct sq sq;

	sq_init(&sq, &c);
	CHECK(!sq_refresh(&sq, 0));
	ctl.tail = 3;
	ctl.bell = 1;
	CHECK(sq_refresh(&sq, 0));
	CHECK_EQ(ctl.bell, 0);
	CHECK_EQ(sq.tail, 3);
	CHECK(!sq_refresh(&sq, 0));
	CHECK(!sq_refresh(&sq, 3));
}

static void
sq_refresh__wild_tails_are_cut(void)
{
	static const uint32_t wild[] = { 7, 100, UINT32_MAX, 0x80000000u };
	struct wq_conf c = conf();
	struct sq sq;

	for (uint32_t i = 0; i < 4; i++) {
		sq_init(&sq, &c);
		ctl.tail = wild[i];
		CHECK(sq_refresh(&sq, 0));
		CHECK_EQ(sq.tail, MAX_WR);
	}
	/* backwards: what was known stays known */
	sq_init(&sq, &c);
	ctl.tail = 5;
	CHECK(sq_refresh(&sq, 0));
	ctl.tail = 2;
	CHECK(!sq_refresh(&sq, 0));
	CHECK_EQ(sq.tail, 5);
}

static void
sq_refresh__counters_wrap(void)
{
	struct wq_conf c = conf();
	struct sq sq;

	sq_init(&sq, &c);
	sq.tail = UINT32_MAX - 1;
	ctl.tail = 3;
	CHECK(sq_refresh(&sq, UINT32_MAX - 1));
	CHECK_EQ(sq.tail, 3);
}

static void
sq_copy__bounds(void)
{
	struct wq_conf c = conf();
	static struct sq_wqe out;
	struct sq sq;

	sq_init(&sq, &c);
	*sq_slot(9) = (struct plx_sq_wqe){ .wr_id = 77, .opcode = 2, .num_sge = MAX_SGE };
	for (uint32_t i = 0; i < MAX_SGE; i++)
		((struct plx_sge *)(sq_slot(9) + 1))[i] = (struct plx_sge){ i, i + 1, i + 2 };
	CHECK_EQ(sq_copy(&sq, 9, &out), 0);
	CHECK_EQ(out.w.wr_id, 77);
	CHECK_EQ(out.sge[3].lkey, 5);
	sq_slot(9)->num_sge = MAX_SGE + 1;
	CHECK_EQ(sq_copy(&sq, 9, &out), -EINVAL);
	CHECK_EQ(out.w.wr_id, 77);
	sq_slot(9)->num_sge = UINT16_MAX;
	CHECK_EQ(sq_copy(&sq, 9, &out), -EINVAL);
	sq_slot(9)->flags = PLX_WQE_INLINE;
	sq_slot(9)->length = STRIDE - 64;
	memset(sq_slot(9) + 1, 0xab, STRIDE - 64);
	CHECK_EQ(sq_copy(&sq, 9, &out), 0);
	CHECK_EQ(out.data[STRIDE - 65], 0xab);
	CHECK_EQ(out.w.num_sge, 0);
	sq_slot(9)->length = STRIDE - 63;
	CHECK_EQ(sq_copy(&sq, 9, &out), -EINVAL);
	sq_slot(9)->length = UINT32_MAX;
	CHECK_EQ(sq_copy(&sq, 9, &out), -EINVAL);
}

static void
rq_take__order_and_end(void)
{
	struct wq_conf c = conf();
	static struct rq_wqe out;
	struct rq rq;

	rq_init(&rq, &c);
	CHECK_EQ(rq_take(&rq, &out), 0);
	for (uint32_t n = 0; n < 40; n++) {
		*rq_slot(n) = (struct plx_rq_wqe){ .wr_id = n, .num_sge = 1 };
		__atomic_store_n(&ctl.tail, n + 1, __ATOMIC_RELEASE);
		CHECK_EQ(rq_take(&rq, &out), 1);
		CHECK_EQ(out.wr_id, n);
		CHECK_EQ(ctl.head, n + 1);
		CHECK_EQ(rq_take(&rq, &out), 0);
	}
}

static void
rq_take__lies(void)
{
	struct wq_conf c = conf();
	static struct rq_wqe out;
	struct rq rq;
	uint32_t n = 0;

	rq_init(&rq, &c);
	rq_slot(0)->num_sge = MAX_SGE + 1;
	rq_slot(0)->wr_id = 5;
	rq_slot(1)->num_sge = UINT32_MAX;
	ctl.tail = 0x90000000u;
	CHECK_EQ(rq_take(&rq, &out), 0);
	ctl.tail = MAX_WR + 1;
	CHECK_EQ(rq_take(&rq, &out), 0);
	ctl.tail = MAX_WR;
	CHECK_EQ(rq_take(&rq, &out), -EINVAL);
	CHECK_EQ(out.wr_id, 5);
	CHECK_EQ(rq_take(&rq, &out), -EINVAL);
	ctl.tail = 1;
	while (rq_take(&rq, &out))
		n++;
	CHECK_EQ(n, MAX_WR - 2);
}

static void
rq_take__no_queue(void)
{
	struct wq_conf c = { 0 };
	static struct rq_wqe out;
	struct rq rq;

	rq_init(&rq, &c);
	CHECK_EQ(rq_take(&rq, &out), 0);
	CHECK(!rq_want_bell(&rq, true));
	rq_reset(&rq);
}

static void
rq_want_bell__asks_and_gives_up(void)
{
	struct wq_conf c = conf();
	static struct rq_wqe out;
	struct rq rq;

	rq_init(&rq, &c);
	ctl.bell = 1;
	CHECK(!rq_want_bell(&rq, true));
	CHECK_EQ(ctl.bell_wanted, 1);
	CHECK_EQ(ctl.bell, 0);
	ctl.tail = 2;
	CHECK(rq_want_bell(&rq, true));
	rq_reset(&rq);
	CHECK_EQ(rq_take(&rq, &out), 0);
	CHECK(!rq_want_bell(&rq, false));
	CHECK_EQ(ctl.bell_wanted, 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(sq_refresh__clears_bell_and_sees_tail),
	CHECK_CASE(sq_refresh__wild_tails_are_cut),
	CHECK_CASE(sq_refresh__counters_wrap),
	CHECK_CASE(sq_copy__bounds),
	CHECK_CASE(rq_take__order_and_end),
	CHECK_CASE(rq_take__lies),
	CHECK_CASE(rq_take__no_queue),
	CHECK_CASE(rq_want_bell__asks_and_gives_up),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of lib/queue/cq.c: phases over laps, the arm handshake, overflow, a lying head. */
#include <errno.h>

#include "check.h"
#include "queue/cq.h"

#define LOG2 2u
#define SIZE (1u << LOG2)

static _Alignas(64) struct plx_cq_ctl ctl;
static _Alignas(64) struct plx_cqe ring[SIZE];
static struct cq cq;

static void
set_up(uint32_t limit)
{
	memset(&ctl, 0, sizeof(ctl));
	memset(ring, 0, sizeof(ring));
	cq_init(&cq, &ctl, ring, LOG2, limit);
}

static enum cq_push
push(uint64_t wr_id, uint32_t solicited)
{
	/* a phase in the argument must not matter */
	struct plx_cqe e = { .wr_id = wr_id, .solicited = solicited, .phase = 1 };

	return cq_push(&cq, &e);
}

/* As the application polls: false when there is none. */
static bool
poll_one(uint64_t *wr_id)
{
	struct plx_cqe *e = &ring[ctl.head & (SIZE - 1)];

	if (e->phase != plx_cqe_phase(ctl.head, LOG2))
		return false;
	*wr_id = e->wr_id;
	ctl.head++;
	return true;
}

static void
cq_push__phase_over_laps(void)
{
	uint64_t id;

	for (uint32_t fill = 1; fill <= SIZE; fill++) {
		set_up(SIZE);
		for (uint64_t n = 0; n < 50; n += fill) {
			CHECK(!poll_one(&id));
			for (uint32_t i = 0; i < fill; i++)
				CHECK_EQ(push(n + i, 0), CQ_PUSHED);
			for (uint32_t i = 0; i < fill; i++) {
				CHECK(poll_one(&id));
				CHECK_EQ(id, n + i);
			}
		}
	}
}

static void
cq_push__overflow_once_and_for_ever(void)
{
	uint64_t id;

	set_up(3);
	for (uint32_t i = 0; i < 3; i++)
		CHECK_EQ(push(i, 0), CQ_PUSHED);
	CHECK_EQ(push(3, 0), CQ_OVERFLOW_FIRST);
	CHECK_EQ(ctl.overflow, 1);
	CHECK_EQ(push(4, 0), CQ_OVERFLOW);
	for (uint32_t i = 0; i < 3; i++) {
		CHECK(poll_one(&id));
		CHECK_EQ(id, i);
	}
	CHECK(!poll_one(&id));
	CHECK_EQ(push(5, 0), CQ_OVERFLOW);
	CHECK(!poll_one(&id));
}

static void
cq_push__arm_is_one_shot(void)
{
	set_up(SIZE);
	ctl.arm = PLX_CQ_ARM_ANY;
	CHECK_EQ(push(1, 0), CQ_PUSHED_EVENT);
	CHECK_EQ(ctl.arm, PLX_CQ_ARM_NONE);
	CHECK_EQ(push(2, 0), CQ_PUSHED);
}

static void
cq_push__arm_solicited(void)
{
	set_up(SIZE);
	ctl.arm = PLX_CQ_ARM_SOLICITED;
	CHECK_EQ(push(1, 0), CQ_PUSHED);
	CHECK_EQ(ctl.arm, PLX_CQ_ARM_SOLICITED);
	CHECK_EQ(push(2, 1), CQ_PUSHED_EVENT);
	CHECK_EQ(push(3, 1), CQ_PUSHED);
}

static void
cq_push__wild_head_overwrites_nothing(void)
{
	set_up(SIZE);
	for (uint32_t i = 0; i < SIZE; i++)
		CHECK_EQ(push(i, 0), CQ_PUSHED);
	ctl.head = 1000;
	CHECK_EQ(push(99, 0), CQ_OVERFLOW_FIRST);
	for (uint32_t i = 0; i < SIZE; i++)
		CHECK_EQ(ring[i].wr_id, i);
	set_up(SIZE);
	for (uint32_t i = 0; i < SIZE; i++)
		CHECK_EQ(push(i, 0), CQ_PUSHED);
	ctl.head = UINT32_MAX;
	CHECK_EQ(push(99, 0), CQ_OVERFLOW_FIRST);
}

/* D-7: over every fill, head and pair of sizes: what was there comes in order, then what comes later. */
static void
move_one(uint32_t before, uint32_t fill, uint32_t log2)
{
	static _Alignas(64) struct plx_cqe to[4 * SIZE];
	uint32_t size = 1u << log2, n = 0;

	set_up(SIZE);
	for (uint32_t i = 0; i < before; i++) {
		CHECK_EQ(push(i, 0), CQ_PUSHED);
		ctl.head++;
	}
	for (uint32_t i = 0; i < fill; i++)
		CHECK_EQ(push(100 + i, 0), CQ_PUSHED);
	memset(to, 0, sizeof(to));
	if (fill > size) {
		CHECK(cq_move(&cq, to, log2, size) == -EINVAL);
		CHECK(cq.ring == ring && ctl.head == before);
		return;
	}
	CHECK_EQ(cq_move(&cq, to, log2, size), 0);
	CHECK_EQ(ctl.head, 0);
	for (uint32_t i = fill; i < size; i++)
		CHECK_EQ(push(100 + i, 0), CQ_PUSHED);
	CHECK_EQ(push(0, 0), CQ_OVERFLOW_FIRST);
	for (; n < size && to[n].phase == plx_cqe_phase(n, log2); n++)
		CHECK_EQ(to[n].wr_id, 100 + n);
	CHECK_EQ(n, size);
}

static void
cq_move__keeps_what_is_not_polled(void)
{
	for (uint32_t before = 0; before < 3 * SIZE && !check_failed; before++)
		for (uint32_t fill = 0; fill <= SIZE; fill++)
			for (uint32_t log2 = 0; log2 <= LOG2 + 2; log2++)
				move_one(before, fill, log2);
}

/* Of two rings of one size, one that is full for what was asked is refused. */
static void
cq_move__as_asked_not_as_rounded(void)
{
	static _Alignas(64) struct plx_cqe to[SIZE];

	set_up(SIZE);
	for (uint32_t i = 0; i < SIZE; i++)
		CHECK_EQ(push(i, 0), CQ_PUSHED);
	CHECK(cq_move(&cq, to, LOG2, SIZE - 1) == -EINVAL);
	CHECK_EQ(cq_move(&cq, to, LOG2, SIZE), 0);
}

/* An empty slot of the new ring must not look full, whatever the counters were. */
static void
cq_move__empty_stays_empty(void)
{
	static _Alignas(64) struct plx_cqe to[SIZE];
	uint64_t id;

	for (uint32_t before = 0; before < 4 * SIZE; before++) {
		set_up(SIZE);
		for (uint32_t i = 0; i < before; i++) {
			CHECK_EQ(push(i, 0), CQ_PUSHED);
			ctl.head++;
		}
		memset(to, 0, sizeof(to));
		CHECK_EQ(cq_move(&cq, to, LOG2, 1), 0);
		memcpy(ring, to, sizeof(to));
		CHECK(!poll_one(&id));
	}
}

/* What finds no room is lost; what is there stays, and there is room again once it is polled. */
static void
cq_push__lossy(void)
{
	uint64_t id;

	set_up(SIZE);
	cq.lossy = true;
	for (uint64_t n = 0; n < SIZE; n++)
		CHECK_EQ(push(n, 0), CQ_PUSHED);
	CHECK_EQ(push(100, 0), CQ_LOST);
	CHECK_EQ(push(101, 1), CQ_LOST);
	CHECK_EQ(ctl.overflow, 0);
	CHECK(poll_one(&id));
	CHECK_EQ(id, 0);
	CHECK_EQ(push(102, 0), CQ_PUSHED);
	for (uint64_t n = 1; n < SIZE; n++) {
		CHECK(poll_one(&id));
		CHECK_EQ(id, n);
	}
	CHECK(poll_one(&id));
	CHECK_EQ(id, 102);
	CHECK(!poll_one(&id));
}

static const struct check_case cases[] = {
	CHECK_CASE(cq_move__keeps_what_is_not_polled),
	CHECK_CASE(cq_move__as_asked_not_as_rounded),
	CHECK_CASE(cq_move__empty_stays_empty),
	CHECK_CASE(cq_push__phase_over_laps),
	CHECK_CASE(cq_push__overflow_once_and_for_ever),
	CHECK_CASE(cq_push__arm_is_one_shot),
	CHECK_CASE(cq_push__arm_solicited),
	CHECK_CASE(cq_push__wild_head_overwrites_nothing),
	CHECK_CASE(cq_push__lossy),
};

CHECK_MAIN(cases)

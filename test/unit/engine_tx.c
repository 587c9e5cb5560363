/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames to a port that is full, has no link, or holds them back; and frames to ourselves. */
#include "engine_fixture.h"

static bool fake_up;
static uint16_t fake_takes;

static uint16_t
fake_rx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	(void)p, (void)queue, (void)bufs, (void)n;
	return 0;
}

static uint16_t
fake_tx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	uint16_t take = n < fake_takes ? n : fake_takes;

	(void)p, (void)queue;
	rte_pktmbuf_free_bulk(bufs, take);
	return take;
}

static bool
fake_link(struct port *p)
{
	(void)p;
	return fake_up;
}

static const struct port_driver fake = {
	.name = "fake", .rx = fake_rx, .tx = fake_tx, .link_up = fake_link,
};

static void
fill_outbox(uint32_t n)
{
	while (n-- && out_get(&core->out))
		out_put(&core->out, 60, false);
}

/* With the lock held throughout: a port that takes what the test says. */
static void
hold_with_fake(const struct port_driver **real)
{
	while (!core_try(core, false))
		;
	core_round(core, CORE_ROUND_WHOLE);
	*real = core->port->drv;
	core->port->drv = &fake;
}

static void
release(const struct port_driver *real)
{
	core->port->drv = real;
	core_leave(core);
}

static void
core_tx__full_port_keeps_frames_and_slots_shrink(void)
{
	const struct port_driver *real;

	CHECK_EQ(start_alone(), 0);
	hold_with_fake(&real);
	CHECK_EQ(core->out.cap, CORE_OUT);
	fake_up = true;
	fake_takes = 10;
	fill_outbox(CORE_OUT);
	core_tx(core);
	CHECK_EQ(core->num_txq, CORE_OUT - 10);
	fake_takes = 0;
	for (int i = 0; i < 4; i++) {
		fill_outbox(CORE_OUT);
		core_tx(core);
	}
	CHECK_EQ(core->out.cap, 0);
	CHECK_EQ(core->num_txq, CORE_TXQ - CORE_NET_TX);
	fake_takes = UINT16_MAX;
	core_tx(core);
	CHECK_EQ(core->num_txq, 0);
	CHECK_EQ(core->out.cap, CORE_OUT);
	release(real);
	stop();
}

static uint64_t fake_due_ns;

static uint64_t
fake_due(struct port *p)
{
	(void)p;
	return fake_due_ns;
}

/* A port that holds frames back wakes a core that no frame would wake. */
static void
core_wake_at__asks_the_port(void)
{
	struct port_driver holds = fake;
	const struct port_driver *real;
	uint64_t without;

	CHECK_EQ(start_alone(), 0);
	hold_with_fake(&real);
	without = core_wake_at(core);
	holds.due = fake_due;
	core->port->drv = &holds;
	fake_due_ns = UINT64_MAX;
	CHECK_EQ(core_wake_at(core), without);
	fake_due_ns = 7;
	CHECK_EQ(core_wake_at(core), core->x.now + 7);
	release(real);
	stop();
}

/* Frames to an own address go through a port that brings them back, and past any other. */
static void
core_tx__to_ourselves(void)
{
	const struct port_driver *real;

	CHECK_EQ(start_alone(), 0);
	hold_with_fake(&real);
	fake_up = true;
	fake_takes = 0;
	CHECK(out_get(&core->out));
	out_put(&core->out, 60, true);
	core_tx(core);
	CHECK_EQ(core->num_txq, 1);
	core->port->loops = false;
	CHECK(out_get(&core->out));
	out_put(&core->out, 60, true);
	core_tx(core);
	CHECK_EQ(core->num_txq, 1);
	CHECK_EQ(core->loop_tail - core->loop_head, 1);
	CHECK_EQ(cnt_read(&core->cnt.cnt[CNT_SELF_FRAMES]), 1);
	release(real);
	stop();
}

static void
core_tx__no_link_loses_frames(void)
{
	const struct port_driver *real;

	CHECK_EQ(start_alone(), 0);
	hold_with_fake(&real);
	fake_up = false;
	fake_takes = 0;
	fill_outbox(20);
	core_tx(core);
	CHECK_EQ(core->num_txq, 0);
	CHECK_EQ(core->out.cap, CORE_OUT);
	release(real);
	stop();
}

static void
core_net_send__bounded_while_the_port_is_full(void)
{
	const struct port_driver *real;
	uint8_t frame[60] = { 0 };

	CHECK_EQ(start_alone(), 0);
	hold_with_fake(&real);
	fake_up = true;
	fake_takes = 0;
	for (int i = 0; i < 1000; i++)
		core_net_send(core, frame, sizeof(frame));
	fill_outbox(CORE_OUT);
	core_tx(core);
	CHECK(core->num_txq <= CORE_TXQ);
	core_net_send(core, frame, core->port->max_frame + 1);
	fake_takes = UINT16_MAX;
	core_tx(core);
	CHECK_EQ(core->num_txq, 0);
	release(real);
	stop();
}

static void
core_tx__frames_for_ourselves_come_back(void)
{
	CHECK_EQ(start_alone(), 0);
	eng->top->loops = false;	/* as every other port */
	while (!core_try(core, false))
		;
	core_round(core, CORE_ROUND_WHOLE);
	memset(out_get(&core->out)->data, 0, 60);
	out_put(&core->out, 60, true);
	CHECK(core_tx(core) > 0);
	CHECK_EQ(core->loop_tail - core->loop_head, 1);
	core_rx(core);
	CHECK_EQ(core->loop_tail - core->loop_head, 0);
	CHECK_EQ(cnt_read(&core->cnt.cnt[CNT_SELF_FRAMES]), 1);
	core_leave(core);
	stop();
}

static const struct check_case cases[] = {
	CHECK_CASE(core_tx__full_port_keeps_frames_and_slots_shrink),
	CHECK_CASE(core_wake_at__asks_the_port),
	CHECK_CASE(core_tx__to_ourselves),
	CHECK_CASE(core_tx__no_link_loses_frames),
	CHECK_CASE(core_net_send__bounded_while_the_port_is_full),
	CHECK_CASE(core_tx__frames_for_ourselves_come_back),
};

CHECK_MAIN(cases)

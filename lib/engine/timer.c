/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When must a QP or lib/net be called again? Called by the loop and after each thing that is done to
 * a QP, with the lock.
 *
 * A timer that was put off (an ACK that makes progress, a hundred thousand times a second) stays
 * where it is: it fires too early, finds that out and is armed again.
 */
#include "engine/core.h"

static void
arm(struct core *c, struct eng_qp *q, uint64_t at)
{
	q->timer_at = at;
	twheel_arm(&c->wheel, &q->timer, at);
}

void
core_touch(struct core *c, struct eng_qp *q)
{
	uint64_t at = qp_wake_at(q->qp);

	if (at < q->timer_at)
		arm(c, q, at);
	if (__builtin_expect(c->x.num_events != 0, 0))
		core_take_events(c);
}

static void
fired(void *arg, struct twheel_node *n)
{
	struct eng_qp *q = container_of(n, struct eng_qp, timer);
	struct core *c = arg;

	q->timer_at = QP_NEVER;
	if (qp_wake_at(q->qp) <= c->x.now)
		qp_timer(q->qp, &c->x);
	core_touch(c, q);
}

void
core_net_touch(struct core *c)
{
	c->net_at = net_wake_at(c->net);
}

unsigned int
core_timers(struct core *c)
{
	unsigned int n = twheel_advance(&c->wheel, c->x.now, fired, c);

	if (__builtin_expect(c->x.now >= c->net_at, 0)) {
		net_timer(c->net, c->x.now);
		core_net_touch(c);
		n++;
	}
	if (__builtin_expect(c->x.now >= c->held_at, 0)) {
		core_held_timer(c);
		n++;
	}
	return n;
}

/* What the port keeps for later: impairment holds frames, a recording is written now and then. */
static uint64_t
port_due_at(const struct core *c)
{
	uint64_t due = UINT64_MAX;

	if (c->serves_port && c->port->drv->due)
		due = c->port->drv->due(c->port);
	return due == UINT64_MAX ? due : c->x.now + due;
}

uint64_t
core_wake_at(const struct core *c)
{
	uint64_t at = twheel_next(&c->wheel), port = port_due_at(c);

	if (c->net_at < at)
		at = c->net_at;
	if (c->held_at < at)
		at = c->held_at;
	if (__builtin_expect(c->x.held != 0, 0))	/* the port is asked again */
		at = RTE_MIN(at, c->x.now + GATHER_LOOK_NS);
	return port < at ? port : at;
}

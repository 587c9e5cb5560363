/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which QP sends next, and how much? Deficit round robin over the QPs that want to: each turn gives a
 * QP a quantum of bytes; what it sends beyond (it sends whole frames) is taken off its next turn.
 * Called by the loop, with the lock.
 */
#include "engine/core.h"

#define IDLE_TURNS 64u	/* QPs that wanted to send and did not, one after the other */

static int64_t
bytes_from(const struct outbox *out, uint32_t from)
{
	int64_t bytes = 0;

	for (uint32_t i = from; i < out->used; i++)
		bytes += out->slot[i].len;
	return bytes;
}

static void
turn(struct core *c, struct list_node *node)
{
	struct qp *qp = qp_of_run(node);
	struct eng_qp *q = qp_owner(qp);
	uint32_t used = c->out.used;
	bool more;

	q->deficit += CORE_QUANTUM;	/* it owes less than one frame, so this is above 0 */
	more = qp_run(qp, &c->x, (uint32_t)q->deficit);
	q->deficit -= bytes_from(&c->out, used);
	if (!more || q->deficit > 0)
		q->deficit = 0;		/* what is not used in a turn is lost */
	if (more && !list_linked(node))
		list_push(&c->x.run, node);
	core_touch(c, q);
}

unsigned int
core_sched(struct core *c)
{
	unsigned int n = 0, idle = 0;

	while (c->out.used < c->out.cap && idle < IDLE_TURNS) {
		struct list_node *node = list_pop(&c->x.run);
		uint32_t used = c->out.used;

		if (!node)
			break;
		turn(c, node);
		idle = c->out.used == used ? idle + 1 : 0;
		n++;
	}
	return n;
}

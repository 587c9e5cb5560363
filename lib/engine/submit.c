/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which queues did the program ring for? Called by the loop, with the lock. Everything in a ring was
 * written by a client: a handle may be any number.
 */
#include "engine/core.h"

static void
ring_for(struct core *c, const struct core_client *client, uint32_t entry)
{
	struct qp *qp = client->qp_of(client->arg, plx_bell_handle(entry));

	if (!qp)
		return;		/* destroyed meanwhile */
	if (plx_bell_kind(entry) == PLX_BELL_SQ)
		qp_sq_bell(qp, &c->x);
	else
		qp_rq_bell(qp, &c->x);
	core_touch(c, qp_owner(qp));
}

static unsigned int
take_bells(struct core *c, struct core_client *client)
{
	unsigned int n = 0;

	while (n < CORE_BELLS) {
		uint32_t *slot = &client->ring->slot[client->head & (PLX_BELL_SLOTS - 1)];
		uint32_t entry = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

		if (!entry)
			break;
		__atomic_store_n(slot, 0, __ATOMIC_RELAXED);
		client->head++;
		n++;
		ring_for(c, client, entry);
	}
	return n;
}

unsigned int
core_submit(struct core *c)
{
	unsigned int n = 0;

	list_for_each(node, &c->clients)
		n += take_bells(c, container_of(node, struct core_client, node));
	return n;
}

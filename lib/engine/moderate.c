/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When is a completion event due on a CQ that is moderated? Once so many CQEs came since the last event,
 * or some time after the first of them that asked for one, whichever is first. Called by the loop of the
 * CQ's home core, with the lock; eng_*() by control threads.
 *
 * While an event waits, this core arms the CQ itself: so each further CQE asks again, and who asks for
 * nothing pays nothing. The program sees its CQ armed, and the event then comes for what it asked for
 * last: an event too many is possible, none is lost (D-4).
 */
#include "engine/core.h"

static void
look_at(struct core *c)
{
	c->held_at = UINT64_MAX;
	list_for_each(n, &c->held)
		c->held_at = RTE_MIN(c->held_at, container_of(n, struct eng_cq, held_node)->held_until);
}

void
core_release(struct core *c, struct eng_cq *cq)
{
	if (!cq->held)
		return;
	cq->held = false;
	list_del(&cq->held_node);
	look_at(c);
}

static void
hold(struct core *c, struct eng_cq *cq)
{
	if (!cq->held) {
		cq->held = true;
		cq->held_until = c->x.now + cq->mod_ns;
		list_push(&c->held, &cq->held_node);
		c->held_at = RTE_MIN(c->held_at, cq->held_until);
	}
	__atomic_store_n(&cq->cq.ctl->arm, PLX_CQ_ARM_ANY, __ATOMIC_RELAXED);
}

bool
core_holds(struct core *c, struct eng_cq *cq)
{
	bool ripe = (cq->mod_count && cq->cq.tail - cq->told >= cq->mod_count) ||
		    (cq->held && c->x.now >= cq->held_until);

	if (cq->mod_ns && !ripe) {
		hold(c, cq);
		return true;
	}
	/* before the event: who has it may arm anew */
	if (cq->held)
		__atomic_exchange_n(&cq->cq.ctl->arm, PLX_CQ_ARM_NONE, __ATOMIC_ACQ_REL);
	return false;
}

void
core_told(struct core *c, struct eng_cq *cq)
{
	core_release(c, cq);
	cq->told = cq->cq.tail;
}

static void
owe(struct core *c, struct cq *cq)
{
	if (cq->event_due)
		return;
	cq->event_due = true;
	list_push(&c->x.cq_events, &cq->event_node);
}

/* The notice sends them in this round. */
void
core_held_timer(struct core *c)
{
	list_for_each(n, &c->held) {
		struct eng_cq *cq = container_of(n, struct eng_cq, held_node);

		if (c->x.now >= cq->held_until)
			owe(c, &cq->cq);
	}
}

struct moderation {
	struct eng_cq *cq;
	uint32_t count;
	uint64_t ns;
};

static int
moderate(struct core *c, void *arg)
{
	const struct moderation *m = arg;

	m->cq->mod_count = m->count;
	m->cq->mod_ns = m->ns;
	m->cq->told = m->cq->cq.tail;
	if (m->cq->held) {	/* what waited under the old rule comes now */
		m->cq->held_until = c->held_at = 0;
		owe(c, &m->cq->cq);
	}
	return 0;
}

void
eng_cq_moderate(struct eng_cq *cq, struct core *home_core, uint32_t count, uint64_t ns)
{
	struct moderation m = { cq, count, ns };

	if (home_core)
		eng_call(home_core, moderate, &m);
	else
		moderate(NULL, &m);
}

struct resize {
	struct eng_cq *cq;
	struct plx_cqe *ring;
	uint32_t log2_size, cqe;
};

static int
resize(struct core *c, void *arg)
{
	const struct resize *r = arg;
	uint32_t before = r->cq->cq.tail;
	int rc = cq_move(&r->cq->cq, r->ring, r->log2_size, r->cqe);

	(void)c;
	if (rc == 0)
		r->cq->told += r->cq->cq.tail - before;	/* CQEs are counted anew */
	return rc;
}

int
eng_cq_move(struct eng_cq *cq, struct core *home_core, struct plx_cqe *ring, uint32_t log2_size,
	    uint32_t cqe)
{
	struct resize r = { cq, ring, log2_size, cqe };

	return home_core ? eng_call(home_core, resize, &r) : resize(NULL, &r);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who belongs to a core? Clients and QPs join and leave. Called by lib/serve inside eng_call(), so with
 * the lock, but for eng_qp_del().
 */
#include "engine/core.h"

void
core_client_add(struct core *c, struct core_client *client)
{
	client->head = 0;
	list_push(&c->clients, &client->node);
}

void
core_client_del(struct core *c, struct core_client *client)
{
	(void)c;
	list_del(&client->node);
}

static void
count(struct core *c, struct eng_qp *q, bool connected)
{
	if (connected == q->connected)
		return;
	q->connected = connected;
	__atomic_store_n(&c->connected, connected ? c->connected + 1 : c->connected - 1,
			 __ATOMIC_RELAXED);
	if (connected && !c->serves_port)
		core_wake(eng_port_core(c->engine));	/* it looks for the frames of all */
}

int
core_qp_add(struct core *c, struct eng_qp *q)
{
	int rc = demux_add(c->demux, qp_num(q->qp), q->qp);

	if (rc < 0)
		return rc;
	q->core = c;
	q->timer_at = QP_NEVER;
	twheel_node_init(&q->timer);
	list_init(&q->ears);
	qp_set_owner(q->qp, q);
	__atomic_store_n(&c->num_qps, c->num_qps + 1, __ATOMIC_RELAXED);
	core_wake(eng_port_core(c->engine));	/* it sleeps longer while there is no QP */
	return 0;
}

void
core_qp_hear(struct core *c, struct eng_qp *q, struct eng_ear *ear)
{
	(void)c;
	ear->events = 0;
	list_node_init(&ear->event_node);
	list_push(&q->ears, &ear->node);
}

void
core_qp_deaf(struct core *c, struct eng_ear *ear)
{
	core_take_events(c);	/* what is raised by now is its to hear, and gone with it */
	list_del(&ear->node);
	if (list_linked(&ear->event_node))
		list_del(&ear->event_node);
}

static void
all_deaf(struct core *c, struct eng_qp *q)
{
	struct list_node *n;

	while ((n = list_first(&q->ears)))
		core_qp_deaf(c, container_of(n, struct eng_ear, node));
}

struct leave {
	struct eng_qp *q;
	void (*gone)(void *arg);
	void *arg;
};

static int
leave(struct core *c, void *arg)
{
	const struct leave *l = arg;
	struct eng_qp *q = l->q;

	l->gone(l->arg);
	demux_del(c->demux, qp_num(q->qp));
	twheel_cancel(&c->wheel, &q->timer);
	gather_forget(c, q->qp);
	qp_fini(q->qp, &c->x);
	core_take_events(c);	/* none that is raised may name it afterwards */
	all_deaf(c, q);
	q->last_again = false;
	count(c, q, false);
	__atomic_store_n(&c->num_qps, c->num_qps - 1, __ATOMIC_RELAXED);
	return 0;
}

static int
leave_path(struct core *c, void *arg)
{
	core_path_none(c, arg);
	return 0;
}

/* First no news of its neighbour go to the port's core any more, then no news of its path come from
 * there; what was on its way has run when a core has answered. The others may know it too: a client
 * may ring for any handle at any core. */
void
eng_qp_del(struct eng_qp *q, void (*gone)(void *arg), void *arg)
{
	struct leave l = { .q = q, .gone = gone, .arg = arg };
	struct engine *e = q->core->engine;

	eng_call(eng_port_core(e), leave_path, q);
	eng_call(q->core, leave, &l);
	if (e->num_cores == 1)
		return;
	eng_quiet(e);
	eng_flush(q->core);	/* what another core sent back */
}

/* enum ibv_qp_state: RTR is 2, RTS 3, SQD 4. */
static bool
is_connected(const struct qp *qp)
{
	uint32_t state = qp_state(qp);

	return state >= 2 && state <= 4;
}

void
core_qp_changed(struct core *c, struct eng_qp *q)
{
	count(c, q, is_connected(q->qp));
	if (qp_state(q->qp) == 0)	/* RESET: its WQEs are gone */
		gather_forget(c, q->qp);
	core_touch(c, q);
	core_wake(c);	/* its sleep was chosen when there was less to do */
}

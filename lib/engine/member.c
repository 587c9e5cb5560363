/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who belongs to a core? Clients, QPs and CQs join and leave, and QPs get their paths. Called by
 * lib/serve inside eng_call(), so with the lock.
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

void
core_cq_del(struct core *c, struct eng_cq *cq)
{
	(void)c;
	if (cq->cq.event_due && list_linked(&cq->cq.event_node))
		list_del(&cq->cq.event_node);
	if (cq->error_due)
		list_del(&cq->error_node);
}

static void
count(struct core *c, struct eng_qp *q, bool connected)
{
	if (connected == q->connected)
		return;
	q->connected = connected;
	__atomic_store_n(&c->connected, connected ? c->connected + 1 : c->connected - 1,
			 __ATOMIC_RELAXED);
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
	list_node_init(&q->event_node);
	qp_set_owner(q->qp, q);
	__atomic_store_n(&c->num_qps, c->num_qps + 1, __ATOMIC_RELAXED);
	return 0;
}

void
core_qp_del(struct core *c, struct eng_qp *q)
{
	demux_del(c->demux, qp_num(q->qp));
	core_path_none(c, q);
	twheel_cancel(&c->wheel, &q->timer);
	gather_forget(c, q->qp);
	qp_fini(q->qp, &c->x);
	core_take_events(c);	/* none that is raised may name it afterwards */
	if (list_linked(&q->event_node))
		list_del(&q->event_node);
	count(c, q, false);
	__atomic_store_n(&c->num_qps, c->num_qps - 1, __ATOMIC_RELAXED);
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

static void
path_of(const struct path *p, struct qp_path *out)
{
	out->tmpl = p->tmpl;
	memcpy(out->src_gid, p->src_gid, 16);
	memcpy(out->dst_gid, p->dst_gid, 16);
	out->ready = p->ready;
	out->loop = p->loop;
}

/* A neighbour was resolved or moved. */
static void
path_changed(struct path *p, void *arg)
{
	struct eng_qp *q = arg;
	struct qp_path path;

	if (!q->path_used || p != &q->path[q->path_at])
		return;		/* still being opened: its opener reads it afterwards */
	path_of(p, &path);
	qp_path_set(q->qp, &q->core->x, &path);
	core_touch(q->core, q);
}

int
core_path_open(struct core *c, struct eng_qp *q, const struct path_req *req, struct qp_path *out)
{
	struct path *p = &q->path[!q->path_at];
	int rc;

	memset(p, 0, sizeof(*p));
	rc = path_open(c->net, p, req, c->x.now, path_changed, q);
	core_net_touch(c);
	if (rc == 0)
		path_of(p, out);
	return rc;
}

void
core_path_keep(struct core *c, struct eng_qp *q)
{
	core_path_none(c, q);
	q->path_at = !q->path_at;
	q->path_used = true;
}

void
core_path_drop(struct core *c, struct eng_qp *q)
{
	path_close(c->net, &q->path[!q->path_at]);
}

void
core_path_none(struct core *c, struct eng_qp *q)
{
	if (q->path_used)
		path_close(c->net, &q->path[q->path_at]);
	q->path_used = false;
}

bool
core_path_waits(const struct eng_qp *q)
{
	return q->path_used && !q->path[q->path_at].ready;
}

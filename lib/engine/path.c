/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How do a QP and lib/net hear of each other? lib/net, with its neighbours, belongs to the core that
 * serves the port; a QP may belong to another one. Called by lib/serve inside eng_call() of the
 * port's core, by lib/net on that core, and by the loop.
 */
#include "engine/core.h"

void
core_path_of(const struct path *p, struct qp_path *out)
{
	memset(out, 0, sizeof(*out));
	out->tmpl = p->tmpl;
	memcpy(out->src_gid, p->src_gid, 16);
	memcpy(out->dst_gid, p->dst_gid, 16);
	out->ready = p->ready;
	out->way = p->group ? OUT_BOTH : p->loop ? OUT_SELF : OUT_WIRE;
}

/* On the QP's core. The word is cleared first: what is told from here on comes as another note. */
static int
take_news(struct core *c, void *arg)
{
	struct eng_qp *q = arg;
	struct qp_path path;

	__atomic_exchange_n(&q->path_told, 0, __ATOMIC_SEQ_CST);
	seqcell_get(&q->path_news, &path);
	qp_path_set(q->qp, &c->x, &path);
	core_touch(c, q);
	return 0;
}

static void
tell(struct core *c, struct eng_qp *q, const struct qp_path *path)
{
	if (q->core == c) {
		qp_path_set(q->qp, &c->x, path);
		core_touch(c, q);
		return;
	}
	seqcell_set(&q->path_news, path);
	if (__atomic_exchange_n(&q->path_told, 1, __ATOMIC_SEQ_CST))
		return;
	q->path_note.fn = take_news;
	q->path_note.arg = q;
	core_post(q->core, &q->path_note);
}

/* A neighbour was resolved or moved. */
static void
path_changed(struct path *p, void *arg)
{
	struct eng_qp *q = arg;
	struct qp_path path;

	if (!q->path_used || p != &q->path[q->path_at])
		return;		/* still being opened: told when it is kept */
	core_path_of(p, &path);
	tell(eng_port_core(q->core->engine), q, &path);
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
		core_path_of(p, out);
	return rc;
}

void
core_path_keep(struct core *c, struct eng_qp *q)
{
	core_path_none(c, q);
	q->path_at = !q->path_at;
	q->path_used = true;
	/* it may have changed since the QP was given it */
	if (q->path[q->path_at].ready)
		path_changed(&q->path[q->path_at], q);
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

/* On the port's core. */
static int
take_confirm(struct core *c, void *arg)
{
	struct eng_qp *q = arg;

	net_confirm(c->net, q->confirm_gid, q->confirm_mac, c->x.now);
	core_net_touch(c);
	__atomic_store_n(&q->confirm_told, 0, __ATOMIC_RELEASE);
	return 0;
}

void
core_confirm(struct core *c, struct eng_qp *q, const uint8_t gid[16], const uint8_t mac[6])
{
	if (c->serves_port) {
		net_confirm(c->net, gid, mac, c->x.now);
		core_net_touch(c);
		return;
	}
	if (__atomic_load_n(&q->confirm_told, __ATOMIC_ACQUIRE))
		return;
	memcpy(q->confirm_gid, gid, 16);
	memcpy(q->confirm_mac, mac, 6);
	__atomic_store_n(&q->confirm_told, 1, __ATOMIC_RELAXED);
	q->confirm_note.fn = take_confirm;
	q->confirm_note.arg = q;
	core_post(eng_port_core(c->engine), &q->confirm_note);
}

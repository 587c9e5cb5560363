/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC targets: QPs that belong to a domain and to no client. Clients hold handles of one; it ends with the
 * last of them, whoever made it (F17). Control threads, under the stack's lock.
 */
#include <errno.h>
#include <stdlib.h>

#include "serve/qp.h"
#include "serve/xrcd.h"

/* On the target's core, for each request that it takes (transport/qp.h). An SRQ of any domain may be
 * looked at here, which is why srq_free() waits for all cores. */
static const struct xrc_srq *
find(void *arg, uint32_t srqn)
{
	const struct qpair *t = arg;
	const struct squeue *s = table_get(&t->xrcd->stack->srqs, srqn & SRQN_HANDLE);
	const struct xrc_srq *at = s ? __atomic_load_n(&s->at, __ATOMIC_ACQUIRE) : NULL;

	if (!at || s->number != srqn || s->open->xrcd != t->xrcd)
		return NULL;
	return &at[core_index(t->core)];
}

static int
hear(struct core *c, void *arg)
{
	struct qpair *h = arg;

	core_qp_hear(c, &h->target->e, &h->ear);
	return 0;
}

static int
deaf(struct core *c, void *arg)
{
	struct qpair *h = arg;

	core_qp_deaf(c, &h->ear);
	return 0;
}

/* What a client holds of a target. */
static int
handle_new(struct client *cl, struct xrcd_open *o, struct qpair *t, struct qpair **out)
{
	struct qpair *h = calloc(1, sizeof(*h));
	int rc;

	if (!h)
		return -ENOMEM;
	h->client = cl;
	h->target = t;
	h->open = o;
	list_init(&h->mcasts);
	rc = table_add(&cl->stack->qps, h, &h->handle, &h->gen);
	if (rc < 0) {
		free(h);
		return rc;
	}
	h->ear = (struct eng_ear){ .client = &cl->seat[core_index(t->core)].on, .handle = h->handle,
				   .gen = h->gen };
	eng_call(t->core, hear, h);
	o->users++;
	t->handles++;
	list_push(&cl->qps, &h->node);
	*out = h;
	return 0;
}

static void
nothing(void *arg)
{
	(void)arg;
}

/* No handle is out: no doorbell finds it. */
static void
target_free(struct qpair *t)
{
	struct xrcd *d = t->xrcd;

	eng_qp_del(&t->e, nothing, NULL);
	memory_is_back(d->stack, eng_wait_qps(d->stack->eng));
	list_del(&t->node);
	qp_memory_free(t);
	xrcd_drop(d);
}

void
target_close(struct qpair *h)
{
	struct qpair *t = h->target;
	struct stack *s = h->client->stack;

	eng_call(t->core, deaf, h);
	table_del(&s->qps, h->handle);
	list_del(&h->node);
	h->open->users--;
	eng_quiet(s->eng);	/* a client may ring for any handle at any core */
	free(h);
	if (--t->handles == 0)
		target_free(t);
}

static int
target_new(struct xrcd *d, struct ctl_create_qp *m, struct qpair **out)
{
	struct stack *s = d->stack;
	struct qpair *t = qp_alloc();
	struct qp_conf conf;
	int rc;

	if (!t)
		return -ENOMEM;
	t->xrcd = d;
	t->core = eng_core(s->eng, eng_place(s->eng, 0, UINT32_MAX));
	conf = qp_conf_of(s, m);
	conf.handle = UINT32_MAX;	/* its receives complete for SRQs: a CQE frees no slot of a QP */
	conf.xrc = (struct xrc_domain){ find, t };
	rc = qp_rings(t, m, &conf);
	if (rc == 0)
		rc = qp_number_and_join(s, t, &conf);
	if (rc < 0) {
		qp_memory_free(t);
		return rc;
	}
	xrcd_hold(d);
	list_push(&d->targets, &t->node);
	*out = t;
	return 0;
}

int
target_create(struct client *cl, struct ctl_create_qp *m)
{
	struct xrcd_open *o = xrcd_get(cl, m->xrcd);
	struct qpair *t, *h;
	int rc;

	if (!o)
		return -EINVAL;
	m->cap = (struct ctl_qp_cap){ 0 };	/* it posts nothing, and its receives are the SRQs' (FC66) */
	rc = target_new(o->xrcd, m, &t);
	if (rc < 0)
		return rc;
	rc = handle_new(cl, o, t, &h);
	if (rc < 0) {
		target_free(t);
		return rc;
	}
	m->qp = h->handle;
	m->qp_gen = h->gen;
	m->qp_num = qp_num(t->e.qp);
	m->core = core_index(t->core);
	return 0;
}

int
serve_open_qp(struct client *cl, struct ctl_open_qp *m)
{
	struct xrcd_open *o = xrcd_get(cl, m->xrcd);
	struct qpair *h;
	int rc;

	if (!o)
		return -EINVAL;
	list_for_each(n, &o->xrcd->targets) {
		struct qpair *t = container_of(n, struct qpair, node);

		if (qp_num(t->e.qp) != m->qp_num)
			continue;
		rc = handle_new(cl, o, t, &h);
		if (rc < 0)
			return rc;
		m->qp = h->handle;
		m->qp_gen = h->gen;
		m->core = core_index(t->core);
		return 0;
	}
	return -EINVAL;
}

struct forget {
	struct qpair *t;
	struct srq *srq;
};

static int
forget(struct core *c, void *arg)
{
	const struct forget *f = arg;

	(void)c;
	qp_forget_srq(f->t->e.qp, f->srq);
	return 0;
}

void
target_forget_srq(struct xrcd *d, struct srq *srq)
{
	list_for_each(n, &d->targets) {
		struct forget f = { container_of(n, struct qpair, node), srq };

		eng_call(f.t->core, forget, &f);
	}
	eng_quiet(d->stack->eng);
}

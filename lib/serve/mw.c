/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which windows are there? Made and freed here; what they reach is for work requests to say. Control threads,
 * under the stack's lock.
 */
#include "mem/mw.h"

#include <errno.h>
#include <stdlib.h>

#include "serve/object.h"

int
serve_alloc_mw(struct client *cl, struct ctl_mw *m)
{
	struct stack *s = cl->stack;
	struct pd *pd = pd_get(cl, m->pd);
	struct window *w;
	int rc;

	if (!pd || (m->type != MW_TYPE_1 && m->type != MW_TYPE_2))
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	rc = table_add(&s->windows, w, &w->handle, NULL);
	if (rc < 0)
		goto free_window;
	rc = mw_add(s->mrs, m->pd, (enum mw_type)m->type, &w->mw);
	if (rc < 0)
		goto del_handle;
	w->client = cl;
	w->pd = pd;
	pd->users++;
	list_push(&cl->windows, &w->node);
	m->mw = w->handle;
	m->rkey = w->mw->key;
	return 0;
del_handle:
	table_del(&s->windows, w->handle);
free_window:
	free(w);
	return rc;
}

/* Bound to nothing, then every core passes a quiet point: none is looking at it any more. */
void
window_free(struct window *w)
{
	struct stack *s = w->client->stack;

	mw_close(s->mrs, w->mw);
	eng_quiet(s->eng);
	mw_release(s->mrs, w->mw);
	table_del(&s->windows, w->handle);
	list_del(&w->node);
	w->pd->users--;
	free(w);
}

int
serve_dealloc_mw(struct client *cl, struct ctl_mw *m)
{
	struct window *w = table_get(&cl->stack->windows, m->mw);

	if (!w || w->client != cl)
		return -EINVAL;
	window_free(w);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which way does an address handle lead? Its path belongs to the core that serves the port, like those
 * of QPs; every core may send by it, so the newest path stands where all read it. Called by lib/serve
 * inside eng_call() of the port's core, and there by lib/net.
 */
#include "engine/core.h"

static void
publish(struct eng_ah *a)
{
	struct qp_path path;

	core_path_of(&a->path, &path);
	seqcell_set(&a->ah.path, &path);
}

/* A neighbour was resolved or moved. Sends that wait for it look again by themselves. */
static void
changed(struct path *p, void *arg)
{
	(void)p;
	publish(arg);
}

int
core_ah_open(struct core *c, struct eng_ah *a, const struct path_req *req)
{
	int rc = path_open(c->net, &a->path, req, c->x.now, changed, a);

	core_net_touch(c);
	if (rc < 0)
		return rc;
	a->ah.labelled = req->flow_label & 0xfffff;
	a->ah.asked_at = c->x.now;
	publish(a);
	if (!a->path.ready)
		core_wake(c);	/* its sleep was chosen when there was nobody to ask for */
	return 0;
}

void
core_ah_close(struct core *c, struct eng_ah *a)
{
	path_close(c->net, &a->path);
	core_net_touch(c);
}

bool
core_ah_waits(const struct eng_ah *a)
{
	return !a->path.ready;
}

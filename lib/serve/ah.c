/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Address handles: made, found, freed. Control threads, under the stack's lock; what is marked runs on a
 * core.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "net/neigh.h"
#include "serve/object.h"
#include "wire/udp4791.h"

int
ah_check(const struct ctl_ah_attr *ah)
{
	return ah->is_global && ah->port_num == 1 ? 0 : -EINVAL;
}

void
ah_explain(struct stack *s, int rc)
{
	if (rc == -ENETUNREACH)
		log_once(&s->said_route, PLX_LOG_ERR, "no route to a peer: its address is in no network "
			 "of --ip, and there is no --gw for it");
	if (rc == -ENOMEM)
		log_once(&s->said_neighbours, PLX_LOG_ERR, "no path to a peer: there are %u to other "
			 "neighbours already; destroy address handles or queue pairs first", NEIGH_MAX);
}

/* On a core, for what a client wrote: a number of any size. */
const struct ah *
ah_of_handle(void *stack, uint32_t handle)
{
	const struct stack *s = stack;
	const struct ahandle *a = table_get(&s->ahs, handle);

	return a ? &a->e.ah : NULL;
}

struct opening {
	struct ahandle *a;
	const struct ctl_ah_attr *attr;
};

/* On the port's core. static_rate is of no use to a port that sends at its own speed; sl and the LIDs are
 * InfiniBand's. */
static int
open_path(struct core *c, void *arg)
{
	const struct opening *o = arg;
	struct path_req req = {
		.sgid_index = o->attr->sgid_index,
		.flow_label = o->attr->flow_label,
		.udp_sport = udp4791_sport_of_label(o->attr->flow_label),
		.hop_limit = o->attr->hop_limit,
		.traffic_class = o->attr->traffic_class,
		.group = true,
	};

	memcpy(req.dgid, o->attr->dgid, sizeof(req.dgid));
	return core_ah_open(c, &o->a->e, &req);
}

static int
close_path(struct core *c, void *arg)
{
	struct ahandle *a = arg;

	core_ah_close(c, &a->e);
	return 0;
}

/* The path stands before any core can find it. */
static int
publish(struct stack *s, struct ahandle *a, const struct ctl_ah_attr *attr)
{
	struct opening o = { .a = a, .attr = attr };
	int rc = eng_call(eng_port_core(s->eng), open_path, &o);

	if (rc < 0) {
		ah_explain(s, rc);
		return rc;
	}
	rc = table_add(&s->ahs, a, &a->handle, &a->e.ah.gen);
	if (rc < 0)
		eng_call(eng_port_core(s->eng), close_path, a);
	return rc;
}

int
serve_create_ah(struct client *cl, struct ctl_create_ah *m)
{
	struct stack *s = cl->stack;
	struct pd *pd = pd_get(cl, m->pd);
	struct ahandle *a;
	int rc;

	if (!pd || ah_check(&m->attr) < 0)
		return -EINVAL;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->e.ah.pd = pd->handle;
	rc = publish(s, a, &m->attr);
	if (rc < 0) {
		free(a);
		return rc;
	}
	a->client = cl;
	a->pd = pd;
	pd->users++;
	list_push(&cl->ahs, &a->node);
	m->ah = a->handle;
	m->ah_gen = a->e.ah.gen;
	return 0;
}

static struct ahandle *
ah_get(struct client *cl, uint32_t handle)
{
	struct ahandle *a = table_get(&cl->stack->ahs, handle);

	return a && a->client == cl ? a : NULL;
}

/* On the port's core. */
static int
waits(struct core *c, void *arg)
{
	const struct ahandle *a = arg;

	(void)c;
	return core_ah_waits(&a->e);
}

bool
serve_ah_waits(struct client *cl, const struct ctl_create_ah *m)
{
	struct ahandle *a = ah_get(cl, m->ah);

	return a && a->e.ah.gen == m->ah_gen && eng_call(eng_port_core(cl->stack->eng), waits, a) == 1;
}

void
ah_free(struct ahandle *a)
{
	struct stack *s = a->client->stack;

	/* a core looks it up for each packet and keeps nothing of it over a round */
	table_del(&s->ahs, a->handle);
	eng_call(eng_port_core(s->eng), close_path, a);
	eng_quiet(s->eng);
	list_del(&a->node);
	a->pd->users--;
	free(a);
}

int
serve_destroy_ah(struct client *cl, struct ctl_destroy_ah *m)
{
	struct ahandle *a = ah_get(cl, m->ah);

	if (!a)
		return -EINVAL;
	ah_free(a);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups: which QPs are attached to which, and how many may be. Control threads, under the
 * stack's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "serve/object.h"
#include "transport/numbers.h"

struct mgroup {
	struct list_node node;		/* of the stack's */
	uint8_t gid[16];
	uint32_t users;			/* QPs */
};

/* One QP in one group. */
struct membership {
	struct list_node node;		/* of the QP's */
	struct mgroup *group;
};

static struct mgroup *
group_find(struct stack *s, const uint8_t gid[16])
{
	list_for_each(n, &s->mgroups) {
		struct mgroup *g = container_of(n, struct mgroup, node);

		if (memcmp(g->gid, gid, 16) == 0)
			return g;
	}
	return NULL;
}

/* Found or made, with one user more; NULL: no memory, or too many groups or QPs of this one. */
static struct mgroup *
group_hold(struct stack *s, const uint8_t gid[16])
{
	struct mgroup *g = group_find(s, gid);

	if (!g && s->num_mgroups < MAX_MCAST_GRP) {
		g = calloc(1, sizeof(*g));
		if (!g)
			return NULL;
		memcpy(g->gid, gid, 16);
		list_push(&s->mgroups, &g->node);
		s->num_mgroups++;
	}
	if (!g || g->users == MAX_MCAST_QP)
		return NULL;
	g->users++;
	return g;
}

static void
group_drop(struct stack *s, struct mgroup *g)
{
	if (--g->users)
		return;
	list_del(&g->node);
	s->num_mgroups--;
	free(g);
}

static struct membership *
membership_of(const struct qpair *q, const uint8_t gid[16])
{
	list_for_each(n, &q->mcasts) {
		struct membership *m = container_of(n, struct membership, node);

		if (memcmp(m->group->gid, gid, 16) == 0)
			return m;
	}
	return NULL;
}

static void
leave(struct qpair *q, struct membership *m)
{
	eng_group_detach(&q->e, m->group->gid);
	group_drop(q->client->stack, m->group);
	list_del(&m->node);
	free(m);
}

static int
join(struct qpair *q, const uint8_t gid[16])
{
	struct stack *s = q->client->stack;
	struct membership *m = calloc(1, sizeof(*m));
	int rc = -ENOMEM;

	if (!m)
		return rc;
	m->group = group_hold(s, gid);
	if (!m->group)
		goto free_membership;
	rc = eng_group_attach(&q->e, gid);
	if (rc < 0)
		goto drop_group;
	list_push(&q->mcasts, &m->node);
	return 0;
drop_group:
	group_drop(s, m->group);
free_membership:
	free(m);
	return rc;
}

/* F10: a QP that is attached stays attached, and gets one copy. One detach ends it. */
int
serve_attach_mcast(struct client *cl, struct ctl_mcast *m)
{
	struct qpair *q = qp_get(cl, m->qp);

	if (!q || qp_conf(q->e.qp)->type != QPT_UD)
		return -EINVAL;
	return membership_of(q, m->gid) ? 0 : join(q, m->gid);
}

int
serve_detach_mcast(struct client *cl, struct ctl_mcast *m)
{
	struct qpair *q = qp_get(cl, m->qp);
	struct membership *of = q ? membership_of(q, m->gid) : NULL;

	if (!of)
		return -EINVAL;
	leave(q, of);
	return 0;
}

void
mcast_leave_all(struct qpair *q)
{
	struct list_node *n;

	while ((n = list_first(&q->mcasts)))
		leave(q, container_of(n, struct membership, node));
}

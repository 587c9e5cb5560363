/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * On which core does a CQ live, and how do QPs of other cores complete on it? Control threads, under
 * the stack's lock.
 *
 * A CQ with a completion vector other than 0 lives on that core. One of vector 0 comes to live where
 * its first QP goes: a program that says nothing has both on one core.
 */
#include <errno.h>
#include <stdlib.h>

#include "serve/object.h"

/* What another core has of a CQ. */
struct annex {
	struct eng_feed feed;		/* first */
	struct rings rings;
};

uint32_t
home_place(struct stack *s, const struct cqueue *scq, const struct cqueue *rcq)
{
	uint32_t vector = scq->vector ? scq->vector : rcq->vector;
	struct core *home = scq->home ? scq->home : rcq->home;

	return eng_place(s->eng, vector, home ? core_index(home) : UINT32_MAX);
}

static int
new_annex(struct cqueue *cq, struct core *core, struct annex **out)
{
	size_t ring = sizeof(struct plx_cqe) << cq->e.cq.log2_size;
	struct annex *a = calloc(1, sizeof(*a));
	char *at;

	if (!a)
		return -ENOMEM;
	if (rings_new(&a->rings, sizeof(struct plx_cq_ctl) + ring) < 0) {
		free(a);
		return -ENOMEM;
	}
	at = a->rings.at;
	eng_feed_add(&a->feed, &cq->e, cq->home, core, (void *)at,
		     (void *)(at + sizeof(struct plx_cq_ctl)));
	*out = a;
	return 0;
}

int
home_join(struct cqueue *cq, struct core *core, struct cq **out)
{
	struct annex **a = &cq->annex[core_index(core)];
	int rc = 0;

	if (!cq->home)
		cq->home = core;
	if (cq->home == core) {
		*out = &cq->e.cq;
		return 0;
	}
	if (!*a)
		rc = new_annex(cq, core, a);
	if (rc == 0)
		*out = &(*a)->feed.at.cq;
	return rc;
}

static bool
narrow(const struct annex *a, uint32_t log2_size)
{
	return a && a->feed.at.cq.log2_size < log2_size;
}

int
home_widen(const struct cqueue *cq, uint32_t log2_size, struct rings *spare)
{
	size_t ring = sizeof(struct plx_cqe) << log2_size;

	for (uint32_t i = 0; i < ENG_MAX_CORES; i++)
		if (narrow(cq->annex[i], log2_size) &&
		    rings_new(&spare[i], sizeof(struct plx_cq_ctl) + ring) < 0)
			return -ENOMEM;
	return 0;
}

void
home_widened(struct cqueue *cq, uint32_t log2_size, struct rings *spare)
{
	for (uint32_t i = 0; i < ENG_MAX_CORES; i++) {
		struct annex *a = cq->annex[i];
		char *at = spare[i].at;

		if (!at)
			continue;
		eng_feed_refit(&a->feed, (void *)at, (void *)(at + sizeof(struct plx_cq_ctl)), log2_size);
		rings_free(&a->rings);
		a->rings = spare[i];
	}
}

void
home_settle(const struct cqueue *cq, const struct core *core)
{
	struct annex *a = cq->annex[core_index(core)];

	if (a)
		eng_feed_settle(&a->feed);
}

void
home_leave(struct cqueue *cq)
{
	if (cq->home)
		eng_cq_del(&cq->e, cq->home);
	for (uint32_t i = 0; i < ENG_MAX_CORES; i++) {
		if (!cq->annex[i])
			continue;
		rings_free(&cq->annex[i]->rings);
		free(cq->annex[i]);
		cq->annex[i] = NULL;
	}
}

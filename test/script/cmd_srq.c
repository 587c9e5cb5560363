/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines about shared receive queues: srq, limit, resize, lie. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>

#include "run.h"

static struct host_srq *
named(struct run *r, const char *name)
{
	struct host_srq *s = name ? host_srq_find(&r->h, name) : NULL;

	if (!s)
		run_fail(r, "no such shared receive queue: %s", name ? name : "");
	return s;
}

struct srq *
srq_read(struct run *r, struct words *w)
{
	const char *name = words_opt(w, "srq");

	return name ? &named(r, name)->srq : NULL;
}

/* srq NAME [rq=16] [pd=1] */
static void
cmd_make(struct run *r, struct words *w)
{
	const char *name = words_next(w);
	uint32_t max_wr = (uint32_t)run_opt(r, w, "rq", 16), pd = (uint32_t)run_opt(r, w, "pd", 1);

	if (!name || !host_srq_add(&r->h, name, max_wr, pd))
		run_fail(r, "srq NAME, and not too many");
}

static void
expect(struct run *r, struct words *w, int rc)
{
	if (words_flag(w, "fails") ? rc != -EINVAL : rc)
		run_fail(r, "it answers %s", rc ? strerror(-rc) : "0");
}

/* limit NAME N [fails]: ibv_modify_srq(IBV_SRQ_LIMIT); N is then what is armed. */
static void
cmd_limit(struct run *r, struct words *w)
{
	struct host_srq *s = named(r, words_next(w));
	const char *n = words_next(w);

	if (!n)
		run_fail(r, "limit NAME N");
	expect(r, w, srq_arm(&s->srq, (uint32_t)run_number(r, n)));
}

/* armed NAME N: what ibv_query_srq() says. */
static void
cmd_armed(struct run *r, struct words *w)
{
	struct host_srq *s = named(r, words_next(w));
	const char *n = words_next(w);

	if (!n || srq_limit(&s->srq) != run_number(r, n))
		run_fail(r, "the limit is %u", srq_limit(&s->srq));
}

/* resize NAME N [fails]: ibv_modify_srq(IBV_SRQ_MAX_WR) */
static void
cmd_resize(struct run *r, struct words *w)
{
	struct host_srq *s = named(r, words_next(w));
	const char *n = words_next(w);

	if (!n)
		run_fail(r, "resize NAME N");
	expect(r, w, host_srq_resize(s, (uint32_t)run_number(r, n)));
}

/* lie NAME N: the client says that it has posted N more than it has. */
static void
cmd_lie(struct run *r, struct words *w)
{
	struct host_srq *s = named(r, words_next(w));
	const char *n = words_next(w);

	if (!n)
		run_fail(r, "lie NAME N");
	s->ctl.tail = s->tail + (uint32_t)run_number(r, n);
}

const struct cmd cmd_srq[] = {
	{ "srq", cmd_make }, { "limit", cmd_limit }, { "armed", cmd_armed }, { "resize", cmd_resize },
	{ "lie", cmd_lie }, { NULL, NULL },
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines about the shared queues that a peer names: srqn, srqn_gone. */
#include "run.h"

/* srqn NAME [number=N] [pd=1] [domain=0] [rq=256]: one more shared queue, with a CQ of its own. */
static void
cmd_srqn(struct run *r, struct words *w)
{
	struct host_named want = { .number = (uint32_t)run_opt(r, w, "number", 0),
				 .pd = (uint32_t)run_opt(r, w, "pd", 1),
				 .domain = (uint32_t)run_opt(r, w, "domain", 0),
				 .wrs = (uint32_t)run_opt(r, w, "rq", 256) };
	const char *name = words_next(w);

	if (!r->h.xrc)
		run_fail(r, "the script is not run as xrc");
	if (!name || !host_named_add(&r->h, name, &want, NULL))
		run_fail(r, "srqn NAME");
}

/* srqn_gone NAME: it is destroyed. */
static void
cmd_srqn_gone(struct run *r, struct words *w)
{
	const char *name = words_next(w);
	struct host_srq *s = name ? host_srq_find(&r->h, name) : NULL;

	if (!s)
		run_fail(r, "no such shared queue");
	host_named_destroy(&r->h, s);
	run_settle(r);
}

const struct cmd cmd_xrc[] = {
	{ "srqn", cmd_srqn }, { "srqn_gone", cmd_srqn_gone }, { NULL, NULL },
};

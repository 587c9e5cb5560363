/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why did queue pairs fail? For whoever asked by POLLUX_EXPLAIN=1: a line each, printed by the core's own
 * thread, or by the one that ends the stack. So many lines a second; of the others there is the number.
 */
#include "engine/core.h"

#include <rte_cycles.h>

#include "base/log.h"

#define LINES 16u		/* in a second */

int
core_explain_init(struct core *c)
{
	c->explain = calloc(1, sizeof(*c->explain));
	if (!c->explain)
		return -ENOMEM;
	c->x.whys = &c->explain->box;
	return 0;
}

void
core_explain_fini(struct core *c)
{
	c->x.whys = NULL;
	free(c->explain);
	c->explain = NULL;
}

/* What is to be printed now. */
struct lines {
	struct qp_why why[WHY_BOX];
	uint32_t num, more;
};

/* With the lock. */
static void
take(struct core *c, struct lines *out, bool last)
{
	struct explain *e = c->explain;
	uint64_t now = rte_rdtsc();
	bool over = !e->since || now - e->since >= clock_ticks(&c->clock, 1000000000u);

	if (over) {
		e->since = now;
		e->said = 0;
	}
	out->num = e->box.num < LINES - e->said ? e->box.num : LINES - e->said;
	memcpy(out->why, e->box.why, out->num * sizeof(out->why[0]));
	e->said += out->num;
	e->unsaid += e->box.num - out->num + e->box.lost;
	__atomic_store_n(&e->box.num, 0, __ATOMIC_RELAXED);
	e->box.lost = 0;
	out->more = over || last ? e->unsaid : 0;
	__atomic_store_n(&e->unsaid, e->unsaid - out->more, __ATOMIC_RELAXED);
}

static void
print(const struct lines *l)
{
	char text[QP_WHY_TEXT];

	for (uint32_t i = 0; i < l->num; i++) {
		qp_why_text(&l->why[i], text, sizeof(text));
		log_line(PLX_LOG_ERR, "%s", text);
	}
	if (l->more)
		log_line(PLX_LOG_ERR, "%u more queue pairs failed", l->more);
}

void
core_explain(struct core *c)
{
	struct explain *e = c->explain;
	struct lines lines;

	if (__builtin_expect(!e, 1))
		return;
	if (!__atomic_load_n(&e->box.num, __ATOMIC_RELAXED) && !__atomic_load_n(&e->unsaid, __ATOMIC_RELAXED))
		return;
	if (!core_try(c, false))
		return;
	take(c, &lines, false);
	while (core_leave(c))
		core_round(c, CORE_ROUND_POST);
	print(&lines);
}

void
core_explain_last(struct core *c)
{
	struct lines lines;

	if (!c->explain)
		return;
	take(c, &lines, true);
	print(&lines);
}

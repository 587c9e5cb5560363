/* SPDX-License-Identifier: BSD-3-Clause */
/* Which number, key or place does this word mean in this run? Called by every command. */
#include <stdlib.h>
#include <string.h>

#include "expr.h"
#include "run.h"

void *
run_alloc(struct run *r, size_t n)
{
	struct run_arena *a = calloc(1, sizeof(*a) + n);

	if (!a)
		abort();
	a->next = r->arena;
	r->arena = a;
	return a->bytes;
}

char *
run_strdup(struct run *r, const char *s)
{
	return strcpy(run_alloc(r, strlen(s) + 1), s);
}

static bool
function(const char *name, uint64_t arg, uint64_t *out)
{
	if (!strcmp(name, "T")) {	/* local ACK timeout (section 1.F) */
		*out = arg ? (uint64_t)4096 << arg : 0;
		return arg < 32;
	}
	if (!strcmp(name, "RNR")) {
		*out = arg < 32 ? expr_rnr_ns[arg] : 0;
		return arg < 32;
	}
	return false;
}

static bool
region_address(void *ctx, const char *name, const uint64_t *arg, uint64_t *out)
{
	struct run *r = ctx;
	struct host_mr *m = arg ? NULL : host_mr_find(&r->h, name);

	if (arg)
		return function(name, *arg, out);
	if (m)
		*out = m->iova;
	return m != NULL;
}

static bool
region_key(void *ctx, const char *name, const uint64_t *arg, uint64_t *out)
{
	struct run *r = ctx;
	struct host_mr *m = arg ? NULL : host_mr_find(&r->h, name);
	struct host_mw *w = arg || m ? NULL : host_mw_find(&r->h, name);

	if (m)
		*out = m->key;
	if (w)
		*out = w->key;
	return m || w;
}

uint64_t
run_number(struct run *r, const char *text)
{
	struct expr_names names = { region_address, r };
	uint64_t v;

	if (!expr_eval(text, &names, &v))
		run_fail(r, "not a number: %s", text);
	return v;
}

uint32_t
run_key(struct run *r, const char *text)
{
	struct expr_names names = { region_key, r };
	uint64_t v;

	if (!expr_eval(text, &names, &v))
		run_fail(r, "not a key: %s", text);
	return (uint32_t)v;
}

uint64_t
run_opt(struct run *r, struct words *w, const char *key, uint64_t otherwise)
{
	const char *v = words_opt(w, key);

	return v ? run_number(r, v) : otherwise;
}

struct run_place
run_place(struct run *r, const char *text)
{
	struct run_place p = { 0 };
	char *name = run_strdup(r, text), *plus = strchr(name, '+');

	if (plus) {
		*plus = 0;
		p.offset = run_number(r, plus + 1);
	}
	p.name = name;
	p.mr = host_mr_find(&r->h, name);
	if (!p.mr && strcmp(name, "peer") && strcmp(name, "zero") && strcmp(name, "grh"))
		run_fail(r, "no region is called %s", name);
	return p;
}

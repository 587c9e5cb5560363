/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines about memory windows: mw, dealloc; and what a post of a bind says. */
#include <infiniband/verbs.h>
#include <string.h>

#include "run.h"

static struct host_mw *
named(struct run *r, const char *name)
{
	struct host_mw *m = name ? host_mw_find(&r->h, name) : NULL;

	if (!m)
		run_fail(r, "no such window: %s", name ? name : "");
	return m;
}

/* mw NAME [type=2] [pd=1] */
static void
cmd_mw_(struct run *r, struct words *w)
{
	const char *name = words_next(w);
	uint64_t type = run_opt(r, w, "type", 2);
	uint32_t pd = (uint32_t)run_opt(r, w, "pd", 1);

	if (!name || (type != 1 && type != 2) || !host_mw_add(&r->h, name, pd, (enum mw_type)type))
		run_fail(r, "mw NAME, and not too many");
}

/* dealloc NAME */
static void
cmd_dealloc(struct run *r, struct words *w)
{
	host_mw_dealloc(&r->h, named(r, words_next(w)));
}

static uint32_t
rights(struct run *r, struct words *w)
{
	const char *text = words_opt(w, "rights");
	char *copy = run_strdup(r, text ? text : "rw,rr,ra"), *part;
	uint32_t flags = 0;

	while ((part = strsep(&copy, ",")))
		flags |= run_right(r, part);
	return flags;
}

/* mw=NAME mr=REGION[+OFFSET] [len=] [va=] [rights=] [tag=N]; len= 0 binds to nothing, and needs no region. */
void
mw_read(struct run *r, struct words *w, struct plx_sq_wqe *wqe)
{
	struct host_mw *m = named(r, words_opt(w, "mw"));
	const char *mr = words_opt(w, "mr"), *lkey = words_opt(w, "lkey");
	struct run_place p = { 0 };

	if (mr)
		p = run_place(r, mr);
	wqe->bind.length = run_opt(r, w, "len", p.mr ? p.mr->len - p.offset : 0);
	wqe->bind.lkey = lkey ? run_key(r, lkey) : p.mr ? p.mr->key : 0;
	wqe->bind.access = rights(r, w);
	wqe->remote_addr = run_opt(r, w, "va", p.mr ? p.mr->iova + p.offset : 0);
	wqe->rkey = (m->key & ~0xffu) | ((uint32_t)run_opt(r, w, "tag", m->key + 1) & 0xff);
	wqe->num_sge = 0;
	wqe->length = 0;
	m->key = wqe->rkey;
}

const struct cmd cmd_mw[] = { { "mw", cmd_mw_ }, { "dealloc", cmd_dealloc }, { NULL, NULL } };

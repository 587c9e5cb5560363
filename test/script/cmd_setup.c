/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that make the scene: host, mr, qp, use, dereg, fill, path. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

#include "data.h"
#include "run.h"

/* host [ip=4|6] [vlan=TCI] [slots=N] [quantum=N] [inflight=N] */
static void
cmd_host(struct run *r, struct words *w)
{
	r->h.ip6 = run_opt(r, w, "ip", 4) == 6;
	r->h.vlan = (uint16_t)run_opt(r, w, "vlan", 0);
	r->h.slots = (uint32_t)run_opt(r, w, "slots", r->h.slots);
	r->h.quantum = (uint32_t)run_opt(r, w, "quantum", r->h.quantum);
	r->h.x.max_inflight = (uint32_t)run_opt(r, w, "inflight", r->h.x.max_inflight);
}

static const struct {
	const char *name;
	uint32_t bit;
} rights[] = {
	{ "lw", IBV_ACCESS_LOCAL_WRITE }, { "rw", IBV_ACCESS_REMOTE_WRITE },
	{ "rr", IBV_ACCESS_REMOTE_READ }, { "ra", IBV_ACCESS_REMOTE_ATOMIC },
	{ "mw", IBV_ACCESS_MW_BIND }, { "zb", IBV_ACCESS_ZERO_BASED }, { "none", 0 },
	{ "fg", 1 << 8 }, { "fp", 1 << 9 },	/* FLUSH_GLOBAL and _PERSISTENT of later versions */
};
#define RIGHTS (sizeof(rights) / sizeof(rights[0]))

uint32_t
run_right(struct run *r, const char *name)
{
	size_t i = 0;

	while (i < RIGHTS && strcmp(name, rights[i].name))
		i++;
	if (i == RIGHTS)
		run_fail(r, "no such right: %s", name);
	return rights[i].bit;
}

/* access=lw,rw,rr,ra,mw,zb,fg,fp or none; `all` without the option. */
static uint32_t
access_flags(struct run *r, struct words *w, const char *all)
{
	const char *text = words_opt(w, "access");
	char *copy = run_strdup(r, text ? text : all), *part;
	uint32_t flags = 0;

	while ((part = strsep(&copy, ",")))
		flags |= run_right(r, part);
	return flags;
}

/* mr NAME LENGTH [access=...] [pd=N] [iova=N] */
static void
cmd_mr(struct run *r, struct words *w)
{
	const char *name = words_next(w), *len = words_next(w);
	struct mr d = { .pd = (uint32_t)run_opt(r, w, "pd", 1), .iova = run_opt(r, w, "iova", 0),
			.access = access_flags(r, w, "lw,rw,rr,ra,mw,fg") };

	if (!name || !len)
		run_fail(r, "mr NAME LENGTH");
	d.length = run_number(r, len);
	if (!host_mr_add(&r->h, name, &d))
		run_fail(r, "mr_add refuses it");
}

/* dereg NAME [busy] */
static void
cmd_dereg(struct run *r, struct words *w)
{
	const char *name = words_next(w);
	struct host_mr *m = name ? host_mr_find(&r->h, name) : NULL;
	int rc;

	if (!m)
		run_fail(r, "dereg REGION");
	rc = host_mr_dereg(&r->h, m);
	if (words_flag(w, "busy") ? rc != -EBUSY : rc)
		run_fail(r, "it answers %s", rc ? strerror(-rc) : "0");
}

static const char *const state_names[] = { "reset", "init", "rtr", "rts" };

static uint32_t
state_of(struct run *r, const char *name)
{
	for (uint32_t i = 0; i < 4; i++)
		if (!strcmp(name, state_names[i]))
			return i;
	run_fail(r, "state is reset, init, rtr or rts");
}

static uint32_t
mtu_of(struct run *r, uint64_t bytes)
{
	for (uint32_t i = IBV_MTU_256; i <= IBV_MTU_4096; i++)
		if (128u << i == bytes)
			return i;
	run_fail(r, "mtu is 256, 512, 1024, 2048 or 4096");
}

static uint32_t
type_of(struct run *r, const char *name)
{
	if (!name || !strcmp(name, "rc"))
		return IBV_QPT_RC;
	if (!strcmp(name, "uc"))
		return IBV_QPT_UC;
	if (!strcmp(name, "ud"))
		return IBV_QPT_UD;
	run_fail(r, "type is rc, uc or ud");
}

static void
want_of(struct run *r, struct words *w, struct host_qp_want *want)
{
	struct qp_attr *a = &want->attr;

	memset(want, 0, sizeof(*want));
	want->type = type_of(r, words_opt(w, "type"));
	a->path_mtu = mtu_of(r, run_opt(r, w, "mtu", 1024));
	a->access_flags = access_flags(r, w, "lw,rw,rr,ra,fg");
	a->qkey = (uint32_t)run_opt(r, w, "qkey", 0x11111111);
	a->timeout = (uint8_t)run_opt(r, w, "timeout", 10);
	a->retry_cnt = (uint8_t)run_opt(r, w, "retry_cnt", 7);
	a->rnr_retry = (uint8_t)run_opt(r, w, "rnr_retry", 7);
	a->min_rnr_timer = (uint8_t)run_opt(r, w, "min_rnr", 12);
	a->max_rd_atomic = (uint8_t)run_opt(r, w, "rd", 16);
	a->max_dest_rd_atomic = (uint8_t)run_opt(r, w, "dest_rd", 16);
	want->sq = (uint32_t)run_opt(r, w, "sq", 256);
	want->rq = (uint32_t)run_opt(r, w, "rq", 256);
	want->srq = srq_read(r, w);
	want->send_cqe = (uint32_t)run_opt(r, w, "scq", 1024);
	want->recv_cqe = (uint32_t)run_opt(r, w, "rcq", 1024);
	want->pd = (uint32_t)run_opt(r, w, "pd", 1);
	want->ip_mtu = (uint32_t)run_opt(r, w, "ip_mtu", 4200);
	want->max_inline = (uint32_t)run_opt(r, w, "inline", PLX_MAX_INLINE);
	want->domain = (uint32_t)run_opt(r, w, "domain", 0);
	want->psn = (int)run_opt(r, w, "start", (uint64_t)-1);
}

/* qp [NAME] [type=rc|uc|ud] [qkey=] [mtu=] [timeout=] [retry_cnt=] [rnr_retry=] [min_rnr=] [rd=] [dest_rd=]
 * [access=] [sq=] [rq=] [srq=] [scq=] [rcq=] [pd=] [inline=] [ip_mtu=] [start=]
 * [state=reset|init|rtr|rts] */
void
setup_qp(struct run *r, struct words *w)
{
	struct host_qp_want want;
	const char *state = words_opt(w, "state"), *name = words_next(w);
	int rc;

	want_of(r, w, &want);
	r->qp = host_qp_add(&r->h, name ? name : "qp", &want);
	if (!r->qp)
		run_fail(r, "no QP: %s", r->h.broken);
	if (want.type == IBV_QPT_UD && !r->h.ah_there[0])
		ah_make(r, 0);
	rc = host_qp_raise(&r->h, r->qp, &want, state_of(r, state ? state : "rts"));
	if (rc)
		run_fail(r, "qp_modify on the way up: %s", strerror(-rc));
	run_settle(r);
}

/* use NAME: from here on lines speak of that QP. */
static void
cmd_use(struct run *r, struct words *w)
{
	const char *name = words_next(w);

	for (unsigned int i = 0; name && i < r->h.num_qps; i++) {
		if (strcmp(r->h.qp[i]->name, name))
			continue;
		r->qp = r->h.qp[i];
		return;
	}
	run_fail(r, "no such QP");
}

/* fill REGION[+OFFSET] DATA: the application writes into its own memory. */
static void
cmd_fill(struct run *r, struct words *w)
{
	const char *at = words_next(w), *text = words_next(w);
	struct run_place p;
	const uint8_t *data;
	uint32_t len;

	if (!at || !text)
		run_fail(r, "fill REGION[+OFFSET] DATA");
	p = run_place(r, at);
	data = data_parse(r, text, &len);
	if (!p.mr || p.offset + len > p.mr->len)
		run_fail(r, "outside the region");
	memcpy(p.mr->mem + p.offset, data, len);
	memcpy(p.mr->shadow + p.offset, data, len);
}

const struct cmd cmd_setup[] = {
	{ "host", cmd_host }, { "mr", cmd_mr }, { "dereg", cmd_dereg }, { "qp", setup_qp },
	{ "use", cmd_use }, { "fill", cmd_fill }, { NULL, NULL },
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Address handles in scripts, and what the WQE of a datagram says of its way. */
#include <string.h>

#include "run.h"
#include "wire/group.h"

static uint32_t
number_of(struct run *r, struct words *w)
{
	const char *text = words_next(w);
	uint64_t n = text ? run_number(r, text) : HOST_AHS;

	if (n >= HOST_AHS)
		run_fail(r, "an address handle is a number below %d", HOST_AHS);
	return (uint32_t)n;
}

static void
set_path(struct ah *ah, const struct wire_tmpl_conf *t, bool ready)
{
	struct qp_path path = { .ready = ready, .way = OUT_WIRE };

	memcpy(path.src_gid, t->src_gid, 16);
	memcpy(path.dst_gid, t->dst_gid, 16);
	wire_tmpl_make(&path.tmpl, t);
	seqcell_set(&ah->path, &path);
}

static struct wire_tmpl_conf
conf_of(struct run *r)
{
	const struct pkt *out = &run_qp(r)->out;
	struct wire_tmpl_conf t = { .udp_sport = out->sport, .hop_limit = out->ttl,
				    .traffic_class = out->tos, .flow_label = out->flow,
				    .vlan_tci = out->vlan };

	memcpy(t.src_mac, out->src_mac, 6);
	memcpy(t.dst_mac, out->dst_mac, 6);
	memcpy(t.src_gid, out->src, 16);
	memcpy(t.dst_gid, out->dst, 16);
	return t;
}

void
ah_make(struct run *r, uint32_t n)
{
	struct ah *ah = &r->h.ah[n];
	struct wire_tmpl_conf t = conf_of(r);

	memset(ah, 0, sizeof(*ah));
	ah->pd = ah->gen = 1;
	ah->labelled = true;
	ah->asked_at = r->h.x.now;
	set_path(ah, &t, true);
	r->h.ah_there[n] = true;
}

/* ah N [pd=] [gen=] [tos=] [ttl=] [flow=] [sport=] [peer=] [group=] [no_label] [down]: made anew. peer: the
 * last byte of its address; group: the whole one of a multicast group. */
static void
cmd_ah(struct run *r, struct words *w)
{
	uint32_t n = number_of(r, w);
	const char *group = words_opt(w, "group");
	struct ah *ah = &r->h.ah[n];
	struct wire_tmpl_conf t;

	ah_make(r, n);
	ah->pd = (uint32_t)run_opt(r, w, "pd", 1);
	ah->gen = (uint32_t)run_opt(r, w, "gen", 1);
	ah->labelled = !words_flag(w, "no_label");
	t = conf_of(r);
	t.traffic_class = (uint8_t)run_opt(r, w, "tos", t.traffic_class);
	t.hop_limit = (uint8_t)run_opt(r, w, "ttl", t.hop_limit);
	t.flow_label = (uint32_t)run_opt(r, w, "flow", t.flow_label);
	t.udp_sport = (uint16_t)run_opt(r, w, "sport", t.udp_sport);
	t.dst_gid[15] = (uint8_t)run_opt(r, w, "peer", t.dst_gid[15]);
	if (group) {
		group_parse(r, group, t.dst_gid);
		wire_group_mac(t.dst_gid, t.dst_mac);
	}
	set_path(ah, &t, !words_flag(w, "down"));
}

/* ah_up N: its neighbour is found. */
static void
cmd_ah_up(struct run *r, struct words *w)
{
	uint32_t n = number_of(r, w);
	struct wire_tmpl_conf t = conf_of(r);

	set_path(&r->h.ah[n], &t, true);
	run_settle(r);
}

/* ah_gone N: it is destroyed. */
static void
cmd_ah_gone(struct run *r, struct words *w)
{
	r->h.ah_there[number_of(r, w)] = false;
}

/* [ah=0] [ah_gen=1] [qpn=] [qkey=] */
void
ud_read(struct run *r, struct words *w, struct plx_sq_wqe *wqe)
{
	wqe->ud.ah = (uint32_t)run_opt(r, w, "ah", 0);
	wqe->ud.ah_gen = (uint32_t)run_opt(r, w, "ah_gen", 1);
	wqe->ud.qpn = (uint32_t)run_opt(r, w, "qpn", r->qp->peer_qpn);
	wqe->ud.qkey = (uint32_t)run_opt(r, w, "qkey", r->qp->out.qkey);
}

const struct cmd cmd_ud[] = {
	{ "ah", cmd_ah }, { "ah_up", cmd_ah_up }, { "ah_gone", cmd_ah_gone }, { NULL, NULL },
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which packet do the words of a line describe? Called by the wire lines, for both directions. */
#include "packet_text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"

#define DEFAULT_VA 0x200000u
#define DEFAULT_RKEY 0x1234u

/* Names for acknowledgements by what they say. */
static const struct {
	const char *name;
	uint8_t syndrome;
} naks[] = {
	{ "NAK_SEQ", 0x60 }, { "NAK_INV", 0x61 }, { "NAK_ACCESS", 0x62 }, { "NAK_OP", 0x63 },
	{ "RNR_NAK", 0x20 },
};

static bool
is_response(uint8_t opcode)
{
	const struct pkt_op *o = pkt_op(opcode);

	return o && o->response;
}

uint32_t
packet_base(const struct host_qp *q, uint8_t opcode, bool outgoing)
{
	return is_response(opcode) == outgoing ? q->rq_base : q->sq_base;
}

/* A name without a class is of the current QP's. */
static int
of_class(struct run *r, const char *name)
{
	int opcode = pkt_opcode(name);

	return opcode < 0 || strchr(name, '.') || opcode > 0x1f ? opcode : opcode | run_qp(r)->class;
}

static int
opcode_of(struct run *r, const char *name, uint8_t *syndrome)
{
	*syndrome = 0x1f;
	for (size_t i = 0; i < sizeof(naks) / sizeof(naks[0]); i++) {
		if (strcmp(name, naks[i].name))
			continue;
		*syndrome = naks[i].syndrome;
		return 0x11 | run_qp(r)->class;
	}
	if (isdigit((unsigned char)name[0]))
		return (int)(run_number(r, name) & 0xff);
	return of_class(r, name);
}

/* The two ends of an XRC connection have a number each. */
static void
address_xrc(struct run *r, struct pkt *p, bool outgoing)
{
	if (!r->h.xrc)
		return;
	if (is_response(p->opcode) == outgoing)
		p->dqpn++;
	p->xrc_srqn = r->qp->srq->number;
}

static bool
any(struct words *w, const char *key)
{
	const char *v = words_opt(w, key);

	return v && !strcmp(v, "?");
}

static void
read_psn(struct run *r, struct words *w, struct want *t, bool outgoing)
{
	const char *v = words_opt(w, "psn");

	if (!v)
		run_fail(r, "psn= is missing");
	t->any_psn = !strcmp(v, "?");
	if (t->any_psn)
		return;
	if (*v == '@')
		t->p.psn = (uint32_t)run_number(r, v + 1);
	else
		t->p.psn = packet_base(r->qp, t->p.opcode, outgoing) + (uint32_t)run_number(r, v);
	t->p.psn &= 0xffffff;
}

static void
read_bth(struct run *r, struct words *w, struct pkt *p)
{
	p->se = words_flag(w, "se");
	p->mig = run_opt(r, w, "mig", p->mig);
	p->tver = (uint8_t)run_opt(r, w, "tver", 0);
	p->pkey = (uint16_t)run_opt(r, w, "pkey", p->pkey);
	p->fecn = words_flag(w, "fecn");
	p->becn = words_flag(w, "becn");
	p->resv6 = (uint8_t)run_opt(r, w, "resv6", 0);
	p->resv7 = (uint8_t)run_opt(r, w, "resv7", 0);
	p->dqpn = (uint32_t)run_opt(r, w, "dqpn", p->dqpn);
	p->pad = (int)run_opt(r, w, "pad", (uint64_t)-1);
	p->pad_byte = (uint8_t)run_opt(r, w, "pad_byte", 0);
}

/* The last byte of an address. */
static void
read_host(struct run *r, struct words *w, const char *key, uint8_t *gid)
{
	gid[15] = (uint8_t)run_opt(r, w, key, gid[15]);
}

static void
read_l3(struct run *r, struct words *w, struct pkt *p)
{
	const char *group = words_opt(w, "group");

	if (group)
		group_read(r, group, p);
	read_host(r, w, "src", p->src);
	read_host(r, w, "dst", p->dst);
	p->sport = (uint16_t)run_opt(r, w, "sport", p->sport);
	p->dport = (uint16_t)run_opt(r, w, "dport", p->dport);
	p->udp_csum = (uint16_t)run_opt(r, w, "udp_csum", 0);
	p->tos = (uint8_t)run_opt(r, w, "tos", p->tos);
	p->flow = (uint32_t)run_opt(r, w, "flow", p->flow);
	p->ttl = (uint8_t)run_opt(r, w, "ttl", p->ttl);
	p->proto = (uint8_t)run_opt(r, w, "proto", p->proto);
	p->ihl = (uint8_t)run_opt(r, w, "ihl", p->ihl);
	p->frag = (uint16_t)run_opt(r, w, "frag", p->frag);
	p->ethertype = (uint16_t)run_opt(r, w, "ethertype", 0);
	p->vlan = (uint16_t)run_opt(r, w, "vlan", p->vlan);
	p->icrc_xor = words_flag(w, "bad_icrc") ? 0x01000000 : 0;
	p->ip_len_add = (int)run_opt(r, w, "ip_len_add", 0);
	p->udp_len_add = (int)run_opt(r, w, "udp_len_add", 0);
	p->cut = (uint32_t)run_opt(r, w, "cut", 0);
	p->trail = (uint32_t)run_opt(r, w, "trail", 0);
	p->flip = words_opt(w, "flip") ? (uint32_t)run_opt(r, w, "flip", 0) + 1 : 0;
}

static void
read_exts(struct run *r, struct words *w, struct want *t, bool outgoing)
{
	const char *rkey = words_opt(w, "rkey"), *inv = words_opt(w, "inv");
	struct pkt *p = &t->p;

	p->qkey = (uint32_t)run_opt(r, w, "qkey", p->qkey);
	p->src_qpn = (uint32_t)run_opt(r, w, "src_qpn", p->src_qpn);
	p->xrc_srqn = (uint32_t)run_opt(r, w, "srqn", p->xrc_srqn);
	p->va = run_opt(r, w, "va", DEFAULT_VA);
	p->rkey = rkey ? run_key(r, rkey) : DEFAULT_RKEY;
	p->len = (uint32_t)run_opt(r, w, "len", p->payload_len);
	p->plt = (uint8_t)run_opt(r, w, "plt", 1);
	p->sel = (uint8_t)run_opt(r, w, "sel", 0);
	p->swap_add = run_opt(r, w, "swap", run_opt(r, w, "add", 0));
	p->compare = run_opt(r, w, "compare", 0);
	p->orig = run_opt(r, w, "orig", 0);
	p->imm = (uint32_t)run_opt(r, w, "imm", 0);
	p->ieth = inv ? run_key(r, inv) : 0;
	p->syndrome = (uint8_t)run_opt(r, w, "syndrome", p->syndrome);
	p->syndrome = (uint8_t)(p->syndrome + run_opt(r, w, "timer", 0));
	t->any_msn = any(w, "msn");
	if (outgoing && (pkt_exts(p->opcode) & EXT_AETH) && !words_opt(w, "msn"))
		run_fail(r, "msn= is missing");
	if (!t->any_msn)
		p->msn = (uint32_t)run_opt(r, w, "msn", 0) & 0xffffff;
}

void
packet_read(struct run *r, struct words *w, const char *name, struct want *t, bool outgoing)
{
	const char *payload = words_opt(w, "payload"), *body = words_opt(w, "body");
	uint8_t syndrome;
	int opcode = opcode_of(r, name, &syndrome);

	if (opcode < 0)
		run_fail(r, "no such packet: %s", name);
	memset(t, 0, sizeof(*t));
	t->p = outgoing ? run_qp(r)->out : run_qp(r)->in;
	t->p.opcode = (uint8_t)opcode;
	t->p.syndrome = syndrome;
	address_xrc(r, &t->p, outgoing);
	if (payload)
		t->p.payload = data_parse(r, payload, &t->p.payload_len);
	if (body)
		t->p.body = data_parse(r, body, &t->p.body_len);
	t->p.ackreq = words_flag(w, "ackreq");
	t->any_ackreq = words_flag(w, "ackreq?");
	t->mid_ackreq = words_flag(w, "mid_ackreq?");
	read_psn(r, w, t, outgoing);
	read_l3(r, w, &t->p);
	read_bth(r, w, &t->p);
	read_exts(r, w, t, outgoing);
}

/* Whole messages: first packet, middle ones, last one; and the packet when there is only one. */
static const struct message messages[] = {
	{ "send", { "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_ONLY" } },
	{ "send_imm", { "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST_IMM", "SEND_ONLY_IMM" } },
	{ "send_inv", { "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST_INV", "SEND_ONLY_INV" } },
	{ "write", { "WRITE_FIRST", "WRITE_MIDDLE", "WRITE_LAST", "WRITE_ONLY" } },
	{ "write_imm", { "WRITE_FIRST", "WRITE_MIDDLE", "WRITE_LAST_IMM", "WRITE_ONLY_IMM" } },
	{ "read_resp", { "READ_RESP_FIRST", "READ_RESP_MIDDLE", "READ_RESP_LAST", "READ_RESP_ONLY" } },
};
#define MESSAGES (sizeof(messages) / sizeof(messages[0]))

void
message_part(const struct message *m, const struct want *whole, uint32_t i, uint32_t n, uint32_t mtu,
	     struct want *t)
{
	bool last = i + 1 == n;
	int which = n == 1 ? 3 : i == 0 ? 0 : last ? 2 : 1;
	uint32_t len = whole->p.payload_len;

	*t = *whole;
	t->p.opcode = (uint8_t)(pkt_opcode(m->part[which]) | (whole->p.opcode & 0xe0));
	t->p.psn = (whole->p.psn + i) & 0xffffff;
	if (len)
		t->p.payload += (size_t)i * mtu;
	t->p.payload_len = last ? len - i * mtu : mtu;
	t->p.ackreq = last && whole->p.ackreq;
	t->p.se = last && whole->p.se;
	t->any_ackreq = last ? whole->any_ackreq : whole->mid_ackreq;
}

const struct message *
message_find(const char *name)
{
	for (size_t i = 0; i < MESSAGES; i++)
		if (!strcmp(name, messages[i].name))
			return &messages[i];
	return NULL;
}

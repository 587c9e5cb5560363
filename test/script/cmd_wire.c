/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines about the wire: ">" what the host must have sent, "<" what its peer sends, raw, wait, quiet.
 * PSNs are counted from the start PSN of their direction.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "run.h"

#define DEFAULT_VA 0x200000u
#define DEFAULT_RKEY 0x1234u
#define TRAIN_MAX 4096u

/* A packet to be sent or expected, and what of it does not matter. */
struct want {
	struct pkt p;
	bool any_ackreq, any_msn, any_psn;
	bool mid_ackreq;	/* packets of a message before its last may ask for an ACK too */
};

/* Names for acknowledgements by what they say. */
static const struct {
	const char *name;
	uint8_t syndrome;
} naks[] = {
	{ "NAK_SEQ", 0x60 }, { "NAK_INV", 0x61 }, { "NAK_ACCESS", 0x62 }, { "NAK_OP", 0x63 }, { "RNR_NAK", 0x20 },
};

static bool
is_response(uint8_t opcode)
{
	const struct pkt_op *o = pkt_op(opcode);

	return o && o->response;
}

/* The PSN that the script calls 0 for this packet. */
static uint32_t
base_of(const struct host_qp *q, uint8_t opcode, bool outgoing)
{
	return is_response(opcode) == outgoing ? q->rq_base : q->sq_base;
}

static int
opcode_of(struct run *r, const char *name, uint8_t *syndrome)
{
	*syndrome = 0x1f;
	for (size_t i = 0; i < sizeof(naks) / sizeof(naks[0]); i++) {
		if (strcmp(name, naks[i].name))
			continue;
		*syndrome = naks[i].syndrome;
		return 0x11;
	}
	if (isdigit((unsigned char)name[0]))
		return (int)(run_number(r, name) & 0xff);
	return pkt_opcode(name);
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
		t->p.psn = (uint32_t)run_number(r, v + 1) & 0xffffff;
	else
		t->p.psn = (base_of(r->qp, t->p.opcode, outgoing) + (uint32_t)run_number(r, v)) & 0xffffff;
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
	read_host(r, w, "src", p->src);
	read_host(r, w, "dst", p->dst);
	p->sport = (uint16_t)run_opt(r, w, "sport", p->sport);
	p->dport = (uint16_t)run_opt(r, w, "dport", p->dport);
	p->udp_csum = (uint16_t)run_opt(r, w, "udp_csum", 0);
	p->tos = (uint8_t)run_opt(r, w, "tos", p->tos);
	p->ttl = (uint8_t)run_opt(r, w, "ttl", p->ttl);
	p->proto = (uint8_t)run_opt(r, w, "proto", p->proto);
	p->ihl = (uint8_t)run_opt(r, w, "ihl", p->ihl);
	p->frag = (uint16_t)run_opt(r, w, "frag", p->frag);
	p->ethertype = (uint16_t)run_opt(r, w, "ethertype", 0);
	p->vlan = (uint16_t)run_opt(r, w, "vlan", 0);
	p->icrc_xor = words_flag(w, "bad_icrc") ? 0x01000000 : 0;
	p->ip_len_add = (int)run_opt(r, w, "ip_len_add", 0);
	p->udp_len_add = (int)run_opt(r, w, "udp_len_add", 0);
	p->cut = (uint32_t)run_opt(r, w, "cut", 0);
	p->trail = (uint32_t)run_opt(r, w, "trail", 0);
}

static void
read_exts(struct run *r, struct words *w, struct want *t, bool outgoing)
{
	const char *rkey = words_opt(w, "rkey");
	struct pkt *p = &t->p;

	p->va = run_opt(r, w, "va", DEFAULT_VA);
	p->rkey = rkey ? run_key(r, rkey) : DEFAULT_RKEY;
	p->len = (uint32_t)run_opt(r, w, "len", p->payload_len);
	p->swap_add = run_opt(r, w, "swap", run_opt(r, w, "add", 0));
	p->compare = run_opt(r, w, "compare", 0);
	p->orig = run_opt(r, w, "orig", 0);
	p->imm = (uint32_t)run_opt(r, w, "imm", 0);
	p->ieth = (uint32_t)run_opt(r, w, "inv", 0);
	p->syndrome = (uint8_t)run_opt(r, w, "syndrome", p->syndrome);
	p->syndrome = (uint8_t)(p->syndrome + run_opt(r, w, "timer", 0));
	t->any_msn = any(w, "msn");
	if (outgoing && (pkt_exts(p->opcode) & EXT_AETH) && !words_opt(w, "msn"))
		run_fail(r, "msn= is missing");
	if (!t->any_msn)
		p->msn = (uint32_t)run_opt(r, w, "msn", 0) & 0xffffff;
}

static void
build(struct run *r, struct words *w, const char *name, struct want *t, bool outgoing)
{
	const char *payload = words_opt(w, "payload");
	uint8_t syndrome;
	int opcode = opcode_of(r, name, &syndrome);

	if (opcode < 0)
		run_fail(r, "no such packet: %s", name);
	memset(t, 0, sizeof(*t));
	t->p = outgoing ? run_qp(r)->out : run_qp(r)->in;
	t->p.opcode = (uint8_t)opcode;
	t->p.syndrome = syndrome;
	if (payload)
		t->p.payload = data_parse(r, payload, &t->p.payload_len);
	t->p.ackreq = words_flag(w, "ackreq");
	t->any_ackreq = words_flag(w, "ackreq?");
	t->mid_ackreq = words_flag(w, "mid_ackreq?");
	read_psn(r, w, t, outgoing);
	read_bth(r, w, &t->p);
	read_l3(r, w, &t->p);
	read_exts(r, w, t, outgoing);
}

/* Whole messages: first packet, middle ones, last one; and the packet when there is only one. */
static const struct message {
	const char *name;
	const char *part[4];	/* FIRST MIDDLE LAST ONLY */
} messages[] = {
	{ "send", { "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_ONLY" } },
	{ "send_imm", { "SEND_FIRST", "SEND_MIDDLE", "SEND_LAST_IMM", "SEND_ONLY_IMM" } },
	{ "write", { "WRITE_FIRST", "WRITE_MIDDLE", "WRITE_LAST", "WRITE_ONLY" } },
	{ "write_imm", { "WRITE_FIRST", "WRITE_MIDDLE", "WRITE_LAST_IMM", "WRITE_ONLY_IMM" } },
	{ "read_resp", { "READ_RESP_FIRST", "READ_RESP_MIDDLE", "READ_RESP_LAST", "READ_RESP_ONLY" } },
};
#define MESSAGES (sizeof(messages) / sizeof(messages[0]))

/* Packet `i` of `n` of the message that `whole` describes. */
static void
part_of(const struct message *m, const struct want *whole, uint32_t i, uint32_t n, uint32_t mtu,
	struct want *t)
{
	bool last = i + 1 == n;
	int which = n == 1 ? 3 : i == 0 ? 0 : last ? 2 : 1;
	uint32_t len = whole->p.payload_len;

	*t = *whole;
	t->p.opcode = (uint8_t)pkt_opcode(m->part[which]);
	t->p.psn = (whole->p.psn + i) & 0xffffff;
	if (len)
		t->p.payload += (size_t)i * mtu;
	t->p.payload_len = last ? len - i * mtu : mtu;
	t->p.ackreq = last && whole->p.ackreq;
	t->p.se = last && whole->p.se;
	t->any_ackreq = last ? whole->any_ackreq : whole->mid_ackreq;
}

/* "1,3..5" holds i. */
static bool
in_list(struct run *r, const char *list, uint32_t i)
{
	char *copy = list ? run_strdup(r, list) : NULL, *part;

	while ((part = strsep(&copy, ","))) {
		char *dots = strstr(part, "..");
		uint64_t a, b;

		if (dots)
			*dots = 0;
		a = run_number(r, part);
		b = dots ? run_number(r, dots + 2) : a;
		if (i >= a && i <= b)
			return true;
	}
	return false;
}

static void
compare(struct run *r, struct want *t, const struct host_frame *f)
{
	uint32_t base = base_of(r->qp, t->p.opcode, true);
	char want[600], got[600];
	uint8_t bytes[PKT_MAX];
	const char *why;
	struct pkt p;
	size_t n, i = 0;

	why = pkt_decode(f->bytes, f->len, &p);
	if (why)
		run_fail(r, "the host sent what is not a RoCEv2 packet: %s", why);
	t->p.ip_id = p.ip_id;		/* may be any (A7) */
	if (t->any_ackreq)
		t->p.ackreq = p.ackreq;
	if (t->any_msn)
		t->p.msn = p.msn;
	if (t->any_psn)
		t->p.psn = p.psn;
	n = pkt_encode(&t->p, bytes);
	if (n == f->len && !memcmp(bytes, f->bytes, n))
		return;
	pkt_print(&t->p, base, want, sizeof(want));
	pkt_print(&p, base, got, sizeof(got));
	while (i < n && i < f->len && bytes[i] == f->bytes[i])
		i++;
	run_fail(r, "expected: %s\n    got:      %s%s\n    frames of %zu and %zu bytes differ from byte %zu on",
		 want, got, p.icrc_ok ? "" : "  WRONG ICRC", n, f->len, i);
}

static void
expect_one(struct run *r, struct want *t)
{
	struct host_frame *f = r->h.frames;
	char line[600];

	if (!f) {
		pkt_print(&t->p, base_of(r->qp, t->p.opcode, true), line, sizeof(line));
		run_fail(r, "expected: %s\n    got:      nothing was sent", line);
	}
	compare(r, t, f);
	r->h.frames = f->next;
	if (!f->next)
		r->h.frames_end = &r->h.frames;
	free(f);
}

static void
inject_one(struct run *r, struct want *t)
{
	uint8_t *bytes = run_alloc(r, PKT_MAX);
	size_t len = pkt_encode(&t->p, bytes);
	char line[600];

	pkt_print(&t->p, 0, line, sizeof(line));
	host_note(&r->h, "< %s%s", line, t->p.icrc_xor ? " bad_icrc" : "");
	host_rx(&r->h, bytes, len);
	run_settle(r);
}

static const struct message *
message(const char *name)
{
	for (size_t i = 0; i < MESSAGES; i++)
		if (!strcmp(name, messages[i].name))
			return &messages[i];
	return NULL;
}

/* from=I to=I lose=LIST choose packets of a whole message, counted from 0. ackreq_every=N: among N
 * packets in a row one asks for an ACK. */
static void
train(struct run *r, struct words *w, const struct message *m, bool outgoing)
{
	const char *lose = words_opt(w, "lose");
	uint32_t from = (uint32_t)run_opt(r, w, "from", 0), mtu = run_qp(r)->mtu, n, to;
	uint32_t every = (uint32_t)run_opt(r, w, "ackreq_every", 0), since = 0;
	struct want whole, t;

	build(r, w, m->part[0], &whole, outgoing);
	n = (whole.p.payload_len + mtu - 1) / mtu;
	n = n ? n : 1;
	if (n > TRAIN_MAX)
		run_fail(r, "more than %u packets", TRAIN_MAX);
	to = (uint32_t)run_opt(r, w, "to", n - 1);
	for (uint32_t i = from; i <= to; i++) {
		part_of(m, &whole, i, n, mtu, &t);
		if (in_list(r, lose, i))
			host_note(&r->h, "  (lost: packet %u of the message)", i);
		else if (outgoing)
			expect_one(r, &t);
		else
			inject_one(r, &t);
		since = t.p.ackreq ? 0 : since + 1;	/* as it was sent */
		if (every && since >= every)
			run_fail(r, "%u packets without AckReq", since);
	}
}

static void
wire_line(struct run *r, struct words *w, bool outgoing)
{
	const char *name = words_next(w);
	const struct message *m = name ? message(name) : NULL;
	struct want t;

	if (!name)
		run_fail(r, "a packet's name is missing");
	if (m) {
		train(r, w, m, outgoing);
		return;
	}
	build(r, w, name, &t, outgoing);
	if (outgoing)
		expect_one(r, &t);
	else
		inject_one(r, &t);
}

static void
cmd_expect(struct run *r, struct words *w)
{
	run_qp(r);
	wire_line(r, w, true);
}

static void
cmd_inject(struct run *r, struct words *w)
{
	run_qp(r);
	if (!r->burst)
		run_claimed(r);
	wire_line(r, w, false);
}

/* raw HEX: a frame from its Ethernet header on, as it stands. */
static void
cmd_raw(struct run *r, struct words *w)
{
	const char *hex = words_next(w);
	const uint8_t *bytes;
	uint32_t len;

	run_qp(r);
	run_claimed(r);
	if (!hex)
		run_fail(r, "raw HEX");
	bytes = data_parse(r, hex, &len);
	host_note(&r->h, "< %u raw bytes", len);
	host_rx(&r->h, bytes, len);
	run_settle(r);
}

static void
advance(struct run *r, uint64_t ns)
{
	run_qp(r);
	run_claimed(r);
	host_advance(&r->h, r->h.x.now + ns);
	run_settle(r);
}

/*
 * wait T: nothing happens before, something may at that very time.
 * wait A..B: until something happens, which must be between the two.
 */
static void
cmd_wait(struct run *r, struct words *w)
{
	char *text = run_strdup(r, words_next(w) ?: "");
	char *dots = strstr(text, "..");
	uint64_t start = r->h.x.now, from, to;

	if (dots)
		*dots = 0;
	from = run_number(r, text);
	to = dots ? run_number(r, dots + 2) : from;
	advance(r, to);
	if (dots && !host_has_news(&r->h))
		run_fail(r, "nothing happened within %llu ns", (unsigned long long)to);
	if (r->h.x.now - start < from)
		run_fail(r, "something happened after %llu ns already, not after %llu",
			 (unsigned long long)(r->h.x.now - start), (unsigned long long)from);
}

/* quiet T: nothing at all happens. */
static void
cmd_quiet(struct run *r, struct words *w)
{
	const char *text = words_next(w);

	if (!text)
		run_fail(r, "quiet TIME");
	advance(r, run_number(r, text));
	run_claimed(r);
}

const struct cmd cmd_wire[] = {
	{ ">", cmd_expect }, { "<", cmd_inject }, { "raw", cmd_raw }, { "wait", cmd_wait },
	{ "quiet", cmd_quiet }, { NULL, NULL },
};

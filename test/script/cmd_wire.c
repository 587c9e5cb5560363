/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lines about the wire: ">" what the host must have sent, "<" what its peer sends, raw, wait, quiet.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "packet_text.h"

#define TRAIN_MAX 4096u

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
	uint32_t base = packet_base(r->qp, t->p.opcode, true);
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
	run_fail(r, "expected: %s\n    got:      %s%s\n    frames of %zu and %zu bytes differ from byte"
		 " %zu on", want, got, p.icrc_ok ? "" : "  WRONG ICRC", n, f->len, i);
}

static void
expect_one(struct run *r, struct want *t)
{
	struct host_frame *f = r->h.frames;
	char line[600];

	if (!f) {
		pkt_print(&t->p, packet_base(r->qp, t->p.opcode, true), line, sizeof(line));
		run_fail(r, "expected: %s\n    got:      nothing was sent", line);
	}
	compare(r, t, f);
	r->h.frames = f->next;
	if (!f->next)
		r->h.frames_end = &r->h.frames;
	free(f);
}

/* The IP header as a UD receive must show it (F3). */
static void
keep_area(struct run *r, const struct pkt *p, const uint8_t *bytes)
{
	const uint8_t *ip = bytes + (p->vlan ? 18 : 14);

	memset(r->area, 0, sizeof(r->area));
	memcpy(r->area + (p->ip6 ? 0 : 20), ip, p->ip6 ? 40 : 20);
}

static void
inject_one(struct run *r, struct want *t)
{
	static uint8_t bytes[PKT_MAX];
	size_t len = pkt_encode(&t->p, bytes);
	char line[600];

	pkt_print(&t->p, 0, line, sizeof(line));
	host_note(&r->h, "< %s%s", line, t->p.icrc_xor ? " bad_icrc" : "");
	keep_area(r, &t->p, bytes);
	host_rx(&r->h, bytes, len);
	run_settle(r);
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

	packet_read(r, w, m->part[0], &whole, outgoing);
	n = (whole.p.payload_len + mtu - 1) / mtu;
	n = n ? n : 1;
	if (n > TRAIN_MAX)
		run_fail(r, "more than %u packets", TRAIN_MAX);
	to = (uint32_t)run_opt(r, w, "to", n - 1);
	for (uint32_t i = from; i <= to; i++) {
		message_part(m, &whole, i, n, mtu, &t);
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
	const struct message *m = name ? message_find(name) : NULL;
	uint64_t repeat = run_opt(r, w, "repeat", 1);
	struct want t;

	if (!name)
		run_fail(r, "a packet's name is missing");
	if (m) {
		train(r, w, m, outgoing);
		return;
	}
	packet_read(r, w, name, &t, outgoing);
	if (outgoing)
		expect_one(r, &t);
	else
		for (; repeat; repeat--)
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

/*
 * take: whatever the answer was, at most one packet that is a response, and whatever it meant for the
 * application. For packets of which only the limits of the answer are told.
 */
static void
cmd_take(struct run *r, struct words *w)
{
	struct host *h = &r->h;
	const struct pkt_op *op;
	struct pkt p;

	(void)w;
	if (h->frames) {
		if (pkt_decode(h->frames->bytes, h->frames->len, &p) || !(op = pkt_op(p.opcode)) ||
		    !op->response)
			run_fail(r, "the answer is no response");
		if (h->frames->next)
			run_fail(r, "more than one packet for an answer");
	}
	host_forget(h);
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
	{ "quiet", cmd_quiet }, { "take", cmd_take }, { NULL, NULL },
};

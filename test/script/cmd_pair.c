/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The line "pair A B": two packets arrive one after the other, each well formed for itself. Which may
 * stand where is written down here a second time, for every opcode that RC has or might have (C10);
 * the rest is other lines, run one by one.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "pkt.h"
#include "run.h"

#define MTU 1024u

/* What a request is within its message. */
enum part { ALONE, FIRST, MIDDLE, LAST };
enum kind { SEND, WRITE, READ, ATOMIC, FLUSH, WORD };

static const struct {
	const char *name;
	enum kind kind;
	enum part part;
	bool wqe;		/* takes a receive */
} ops[] = {
	{ "SEND_FIRST", SEND, FIRST, true }, { "SEND_MIDDLE", SEND, MIDDLE, false },
	{ "SEND_LAST", SEND, LAST, false }, { "SEND_LAST_IMM", SEND, LAST, false },
	{ "SEND_LAST_INV", SEND, LAST, false }, { "SEND_ONLY", SEND, ALONE, true },
	{ "SEND_ONLY_IMM", SEND, ALONE, true }, { "SEND_ONLY_INV", SEND, ALONE, true },
	{ "WRITE_FIRST", WRITE, FIRST, false }, { "WRITE_MIDDLE", WRITE, MIDDLE, false },
	{ "WRITE_LAST", WRITE, LAST, false }, { "WRITE_LAST_IMM", WRITE, LAST, true },
	{ "WRITE_ONLY", WRITE, ALONE, false }, { "WRITE_ONLY_IMM", WRITE, ALONE, true },
	{ "READ_REQUEST", READ, ALONE, false }, { "CMP_SWAP", ATOMIC, ALONE, false },
	{ "FETCH_ADD", ATOMIC, ALONE, false }, { "FLUSH", FLUSH, ALONE, false },
	{ "ATOMIC_WRITE", WORD, ALONE, false },
};
#define OPS (sizeof(ops) / sizeof(ops[0]))

struct pair {
	struct run *r;
	bool in;			/* a message is coming in */
	enum kind kind;			/* of this kind */
	uint32_t psn, msn, done;	/* bytes of the message so far */
	uint32_t wr;			/* the receive that is next, or in use */
	bool wqe;			/* in use */
	bool dead;
	uint64_t word;
};

__attribute__((format(printf, 2, 3))) static void
line(struct pair *p, const char *fmt, ...)
{
	char text[300];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	run_line(p->r, text);
}

static void
refused(struct pair *p, const char *nak, const char *status, const char *event)
{
	line(p, "> %s psn=%u msn=%u", nak, p->psn, p->msn);
	if (p->wqe)
		line(p, "cqe %u %s", p->wr++, status);
	for (; p->wr < 4; p->wr++)
		line(p, "cqe %u flush", p->wr);
	if (event && (!p->wqe || !strcmp(event, "QP_ACCESS_ERR")))
		line(p, "event %s", event);
	line(p, "state ERR");
	p->dead = true;
}

/* READ, atomics and the like answer for themselves. */
static void
answered(struct pair *p, size_t op)
{
	p->msn++;
	if (ops[op].kind == READ)
		line(p, "> READ_RESP_ONLY psn=%u msn=%u payload=c+8:10", p->psn, p->msn);
	else if (ops[op].kind == FLUSH || ops[op].kind == WORD)
		line(p, "> READ_RESP_ONLY psn=%u msn=%u", p->psn, p->msn);
	else
		line(p, "> ATOMIC_ACK psn=%u msn=%u orig=%llu", p->psn, p->msn,
		     (unsigned long long)p->word++);
	p->word += ops[op].kind == WORD;
	line(p, "mem c u64:%llu", (unsigned long long)p->word);
	p->psn++;
}

static void
taken(struct pair *p, size_t op, uint32_t len)
{
	bool last = ops[op].part == LAST || ops[op].part == ALONE;
	bool imm = strstr(ops[op].name, "_IMM");

	line(p, "mem %s+%u peer:%u", ops[op].kind == SEND ? "b" : "a", p->done, len);
	p->done += len;
	p->msn += last;
	line(p, "> ACK psn=%u msn=%u", p->psn++, p->msn);
	if (last && p->wqe)
		line(p, "cqe %u len=%u%s%s", p->wr++, p->done, imm ? " imm=5" : "",
		     ops[op].kind == WRITE ? " op=write_imm" : "");
	if (last)
		p->wqe = false;
	p->in = !last;
	p->kind = ops[op].kind;
}

/* `after`: the packet that is to follow, so that the length of a WRITE is right for it. */
static void
request(struct pair *p, size_t op, const char *after)
{
	bool begins = ops[op].part == FIRST || ops[op].part == ALONE;
	uint32_t len = ops[op].part == FIRST || ops[op].part == MIDDLE ? MTU : 10;
	uint32_t whole = ops[op].part == ALONE ? len : strstr(after, "LAST") ? MTU + 10 : 3 * MTU;

	if (ops[op].kind == READ)
		line(p, "< %s psn=%u va=c+8 rkey=c len=10 ackreq", ops[op].name, p->psn);
	else if (ops[op].kind == FLUSH)
		line(p, "< %s psn=%u va=c rkey=c len=64 ackreq", ops[op].name, p->psn);
	else if (ops[op].kind == WORD)
		line(p, "< %s psn=%u va=c rkey=c len=8 payload=u64:%llu ackreq", ops[op].name, p->psn,
		     (unsigned long long)p->word + 1);
	else if (ops[op].kind == ATOMIC)
		line(p, "< %s psn=%u va=c rkey=c swap=%llu compare=%llu ackreq", ops[op].name, p->psn,
		     (unsigned long long)(ops[op].name[0] == 'C' ? p->word + 1 : 1),
		     (unsigned long long)(ops[op].name[0] == 'C' ? p->word : 0));
	else
		line(p, "< %s psn=%u va=a rkey=a len=%u payload=peer:%u imm=5 inv=0x1234 ackreq",
		     ops[op].name, p->psn, whole, len);
	if (p->dead)
		return;
	if (begins ? p->in : !p->in || p->kind != ops[op].kind) {
		refused(p, "NAK_INV", "loc_qp_op", "QP_REQ_ERR");
		return;
	}
	if (begins)
		p->done = 0;
	p->wqe |= ops[op].wqe;
	if (strstr(ops[op].name, "_INV"))
		refused(p, "NAK_ACCESS", "loc_access", "QP_ACCESS_ERR");
	else if (ops[op].kind >= READ)
		answered(p, op);
	else
		taken(p, op, len);
}

static void
packet(struct pair *p, const char *name, const char *after)
{
	size_t op = 0;

	while (op < OPS && strcmp(ops[op].name, name))
		op++;
	if (op < OPS && !(p->r->h.xrc && ops[op].kind >= FLUSH))
		request(p, op, after);
	else	/* a response that nobody waits for, or no opcode at all */
		line(p, "< %s psn=%u payload=peer:8 ackreq", name, p->psn);
	line(p, "quiet 10us");
}

/* The receives, from 1 on, are there for what takes one. */
static void
cmd_pair_(struct run *r, struct words *w)
{
	struct pair p = { .r = r, .wr = 1, .word = 100 };
	const char *first = words_next(w), *second = words_next(w);
	char a[32], b[32];

	if (!first || !second)
		run_fail(r, "pair A B");
	snprintf(a, sizeof(a), "%s", first);
	snprintf(b, sizeof(b), "%s", second);
	line(&p, "mr a 4096");
	line(&p, "mr b 4096");
	line(&p, "mr c 64");
	line(&p, "fill c u64:100");
	for (uint32_t i = 1; i < 4; i++)
		line(&p, "recv wr=%u sge=b:4096", i);
	packet(&p, a, b);
	packet(&p, b, "");
	line(&p, "state %s", p.dead ? "ERR" : "RTS");
}

const struct cmd cmd_pair[] = { { "pair", cmd_pair_ }, { NULL, NULL } };

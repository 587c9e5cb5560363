/* SPDX-License-Identifier: BSD-3-Clause */
/* Which opcodes are there and what is in them? The table of section 1.A. */
#include "pkt.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define RC (1u << CLASS_RC)
#define UC (1u << CLASS_UC)
#define UD (1u << CLASS_UD)
#define XRC (1u << CLASS_XRC)

static const struct pkt_op ops[] = {
	{ "SEND_FIRST", 0x00, RC | UC | XRC, 0, false, true },
	{ "SEND_MIDDLE", 0x01, RC | UC | XRC, 0, false, true },
	{ "SEND_LAST", 0x02, RC | UC | XRC, 0, false, true },
	{ "SEND_LAST_IMM", 0x03, RC | UC | XRC, EXT_IMM, false, true },
	{ "SEND_ONLY", 0x04, RC | UC | UD | XRC, 0, false, true },
	{ "SEND_ONLY_IMM", 0x05, RC | UC | UD | XRC, EXT_IMM, false, true },
	{ "WRITE_FIRST", 0x06, RC | UC | XRC, EXT_RETH, false, true },
	{ "WRITE_MIDDLE", 0x07, RC | UC | XRC, 0, false, true },
	{ "WRITE_LAST", 0x08, RC | UC | XRC, 0, false, true },
	{ "WRITE_LAST_IMM", 0x09, RC | UC | XRC, EXT_IMM, false, true },
	{ "WRITE_ONLY", 0x0a, RC | UC | XRC, EXT_RETH, false, true },
	{ "WRITE_ONLY_IMM", 0x0b, RC | UC | XRC, EXT_RETH | EXT_IMM, false, true },
	{ "READ_REQUEST", 0x0c, RC | XRC, EXT_RETH, false, false },
	{ "READ_RESP_FIRST", 0x0d, RC | XRC, EXT_AETH, true, true },
	{ "READ_RESP_MIDDLE", 0x0e, RC | XRC, 0, true, true },
	{ "READ_RESP_LAST", 0x0f, RC | XRC, EXT_AETH, true, true },
	{ "READ_RESP_ONLY", 0x10, RC | XRC, EXT_AETH, true, true },
	{ "ACK", 0x11, RC | XRC, EXT_AETH, true, false },
	{ "ATOMIC_ACK", 0x12, RC | XRC, EXT_AETH | EXT_ORIG, true, false },
	{ "CMP_SWAP", 0x13, RC | XRC, EXT_ATOMIC, false, false },
	{ "FETCH_ADD", 0x14, RC | XRC, EXT_ATOMIC, false, false },
	{ "SEND_LAST_INV", 0x16, RC | XRC, EXT_IETH, false, true },
	{ "SEND_ONLY_INV", 0x17, RC | XRC, EXT_IETH, false, true },
	{ "FLUSH", 0x1c, RC, EXT_FETH | EXT_RETH, false, false },
	{ "ATOMIC_WRITE", 0x1d, RC, EXT_RETH, false, true },
};

static const struct pkt_op cnp = { "CNP", 0x01, 1u << CLASS_CNP, 0, false, true };
static const char *const class_name[8] = { "", "UC.", "RD.", "UD.", "", "XRC.", "?.", "?." };

void
pkt_defaults(struct pkt *p)
{
	memset(p, 0, sizeof(*p));
	p->ttl = 64;
	p->proto = 17;
	p->ihl = 5;
	p->frag = 0x4000;
	p->sport = 0xc000;
	p->dport = 4791;
	p->mig = true;
	p->pad = -1;
	p->pkey = 0xffff;
}

const struct pkt_op *
pkt_op(uint8_t opcode)
{
	unsigned int class = opcode >> 5, op = opcode & 31;

	if (opcode == 0x81)
		return &cnp;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (ops[i].op == op)
			return ops[i].classes >> class & 1 ? &ops[i] : NULL;
	return NULL;
}

int
pkt_opcode(const char *name)
{
	char full[64];

	for (unsigned int c = 0; c < 256; c++) {
		const struct pkt_op *o = pkt_op((uint8_t)c);

		if (!o)
			continue;
		snprintf(full, sizeof(full), "%s%s", class_name[c >> 5], o->name);
		if (!strcmp(full, name))
			return (int)c;
	}
	return -1;
}

uint16_t
pkt_exts(uint8_t opcode)
{
	const struct pkt_op *o = pkt_op(opcode);

	if (!o)
		return 0;
	if (opcode >> 5 == CLASS_UD)
		return (uint16_t)(o->ext | EXT_DETH);
	if (opcode >> 5 == CLASS_XRC && !o->response)
		return (uint16_t)(o->ext | EXT_XRC);
	return o->ext;
}

/* snprintf that goes on at the end of what is there. */
#define ADD(...) \
	do { \
		size_t at_ = strlen(buf); \
		snprintf(buf + at_, size - at_, __VA_ARGS__); \
	} while (0)

static void
print_exts(const struct pkt *p, char *buf, size_t size)
{
	uint16_t ext = pkt_exts(p->opcode);

	if (ext & EXT_XRC)
		ADD(" srqn=0x%x", p->xrc_srqn);
	if (ext & EXT_DETH)
		ADD(" qkey=0x%x src_qpn=0x%x", p->qkey, p->src_qpn);
	if (ext & EXT_FETH)
		ADD(" plt=%u sel=%u", p->plt, p->sel);
	if (ext & EXT_RETH)
		ADD(" va=0x%llx rkey=0x%x len=%u", (unsigned long long)p->va, p->rkey, p->len);
	if (ext & EXT_ATOMIC)
		ADD(" va=0x%llx rkey=0x%x swap_add=0x%llx compare=0x%llx", (unsigned long long)p->va,
		    p->rkey, (unsigned long long)p->swap_add, (unsigned long long)p->compare);
	if (ext & EXT_AETH)
		ADD(" syndrome=0x%02x msn=%u", p->syndrome, p->msn);
	if (ext & EXT_ORIG)
		ADD(" orig=0x%llx", (unsigned long long)p->orig);
	if (ext & EXT_IMM)
		ADD(" imm=0x%x", p->imm);
	if (ext & EXT_IETH)
		ADD(" inv=0x%x", p->ieth);
}

static void
print_payload(const struct pkt *p, char *buf, size_t size)
{
	if (!p->payload_len)
		return;
	ADD(" payload=%u[", p->payload_len);
	for (uint32_t i = 0; i < p->payload_len && i < 8; i++)
		ADD("%02x", p->payload[i]);
	ADD("%s]", p->payload_len > 8 ? ".." : "");
}

static void
print_flags(const struct pkt *p, char *buf, size_t size)
{
	if (p->ackreq)
		ADD(" ackreq");
	if (p->se)
		ADD(" se");
	if (!p->mig)
		ADD(" mig=0");
	if (p->fecn || p->becn)
		ADD(" fecn=%d becn=%d", p->fecn, p->becn);
	if (p->tver)
		ADD(" tver=%u", p->tver);
	if (p->pad > 0)
		ADD(" pad=%d", p->pad);
	if (p->pkey != 0xffff)
		ADD(" pkey=0x%x", p->pkey);
	ADD(" dqpn=0x%x", p->dqpn);
}

void
pkt_print(const struct pkt *p, uint32_t base, char *buf, size_t size)
{
	const struct pkt_op *o = pkt_op(p->opcode);

	buf[0] = 0;
	if (o)
		ADD("%s%s", class_name[p->opcode >> 5], o->name);
	else
		ADD("0x%02x", p->opcode);
	ADD(" psn=%d(0x%06x)", (int32_t)((p->psn - base) << 8) >> 8, p->psn);
	print_exts(p, buf, size);
	print_payload(p, buf, size);
	print_flags(p, buf, size);
}

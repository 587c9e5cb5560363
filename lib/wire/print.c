/* SPDX-License-Identifier: BSD-3-Clause */
/* What would a person call this packet? Called by tests and by control code, never per packet. */
#include "wire/print.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "wire/hdr.h"

struct text {
	char *at;
	size_t left;
};

static void __attribute__((format(printf, 2, 3)))
put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at, t->left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->left)
		n = t->left ? (int)t->left - 1 : 0;
	t->at += n;
	t->left -= (size_t)n;
}

static void
put_gid(struct text *t, const uint8_t gid[16])
{
	char addr[INET6_ADDRSTRLEN];
	int ip4 = gid_is_ip4(gid);

	put(t, "%s", inet_ntop(ip4 ? AF_INET : AF_INET6, ip4 ? gid + 12 : gid, addr, sizeof(addr)));
}

/* One printer for each entry of WIRE_EXT_LIST, called by that name. */

static void
put_XRCETH(struct text *t, const struct wire_pkt *p)
{
	put(t, " xrceth(srq 0x%06x)", p->xrc_srqn);
}

static void
put_DETH(struct text *t, const struct wire_pkt *p)
{
	put(t, " deth(qkey 0x%08x src 0x%06x)", p->deth.qkey, p->deth.src_qpn);
}

static void
put_FETH(struct text *t, const struct wire_pkt *p)
{
	put(t, " feth(type %u level %u)", p->feth.type, p->feth.level);
}

static void
put_RETH(struct text *t, const struct wire_pkt *p)
{
	put(t, " reth(va 0x%" PRIx64 " rkey 0x%x len %u)", p->reth.va, p->reth.rkey, p->reth.len);
}

static void
put_ATOMICETH(struct text *t, const struct wire_pkt *p)
{
	put(t, " atomiceth(va 0x%" PRIx64 " rkey 0x%x", p->atomic.va, p->atomic.rkey);
	put(t, " swap_add 0x%" PRIx64 " compare 0x%" PRIx64 ")", p->atomic.swap_add, p->atomic.compare);
}

static void
put_AETH(struct text *t, const struct wire_pkt *p)
{
	put(t, " aeth(0x%02x msn %u)", p->aeth.syndrome, p->aeth.msn);
}

static void
put_ATOMICACKETH(struct text *t, const struct wire_pkt *p)
{
	put(t, " atomicack(0x%" PRIx64 ")", p->atomic_orig);
}

static void
put_IMM(struct text *t, const struct wire_pkt *p)
{
	put(t, " imm(0x%08x)", ntohl(p->imm));
}

static void
put_IETH(struct text *t, const struct wire_pkt *p)
{
	put(t, " ieth(rkey 0x%x)", p->inv_rkey);
}

char *
wire_text(char *buf, size_t size, const struct wire_pkt *pkt)
{
	struct text t = { buf, size };

	put_gid(&t, pkt->src_gid);
	put(&t, " > ");
	put_gid(&t, pkt->dst_gid);
	put(&t, " %s qpn 0x%06x psn %u%s%s", pkt->info->name, pkt->dest_qpn, pkt->psn.v,
	    pkt->se ? " se" : "", pkt->ack_req ? " ack" : "");
	if (pkt->payload_len)
		put(&t, " pad %u len %u", pkt->pad, pkt->payload_len);
#define PUT_IF_NAMED(name, len) \
	if (pkt->info->ext & WIRE_EXT_##name) \
		put_##name(&t, pkt);
	WIRE_EXT_LIST(PUT_IF_NAMED)
#undef PUT_IF_NAMED
	return buf;
}

char *
wire_frame_text(char *buf, size_t size, const uint8_t *frame, size_t len)
{
	struct wire_pkt pkt;
	enum drop_reason why = wire_parse(frame, len, &pkt);

	if (why == DROP_NONE)
		return wire_text(buf, size, &pkt);
	snprintf(buf, size, "dropped: %s (%zu bytes)", drop_text(why), len);
	return buf;
}

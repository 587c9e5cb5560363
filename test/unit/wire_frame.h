/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames for the tests of lib/wire: a template, a BTH, a body given as bytes, an ICRC. */
#ifndef UNIT_WIRE_FRAME_H
#define UNIT_WIRE_FRAME_H

#include <stdlib.h>
#include <string.h>

#include "wire/build.h"
#include "wire/hdr.h"
#include "wire/icrc.h"

#define FRAME_MAX (WIRE_MAX_HEADERS + 8192u)

struct frame {
	uint8_t bytes[FRAME_MAX];
	size_t len;
	uint8_t *l3, *udp, *bth;	/* into bytes */
};

static const uint8_t frame_gid4[2][16] = {
	{ [10] = 0xff, 0xff, 10, 0, 0, 1 }, { [10] = 0xff, 0xff, 10, 0, 0, 2 },
};
static const uint8_t frame_gid6[2][16] = { { 0xfd, [15] = 1 }, { 0xfd, [15] = 2 } };

static inline struct wire_tmpl_conf
frame_conf(bool ip6)
{
	struct wire_tmpl_conf c = {
		.dst_mac = { 2, 0, 0, 0, 0, 2 }, .src_mac = { 2, 0, 0, 0, 0, 1 },
		.udp_sport = 0xc123, .hop_limit = 64,
	};

	memcpy(c.src_gid, ip6 ? frame_gid6[0] : frame_gid4[0], 16);
	memcpy(c.dst_gid, ip6 ? frame_gid6[1] : frame_gid4[1], 16);
	return c;
}

/* body: extension headers, payload and pad. The ICRC is right. */
static inline void
frame_make_conf(struct frame *f, const struct wire_tmpl_conf *conf, const struct wire_bth *bth,
		const void *body, size_t body_len)
{
	struct wire_tmpl t;
	uint8_t *at;

	wire_tmpl_make(&t, conf);
	memset(f->bytes, 0xee, sizeof(f->bytes));
	f->bth = wire_put_tmpl(f->bytes, &t, (uint32_t)(WIRE_BTH_LEN + body_len));
	at = wire_put_bth(f->bth, bth);
	if (body_len)
		memcpy(at, body, body_len);
	at += body_len;
	f->l3 = f->bytes + t.l3;
	f->udp = f->bth - UDP_HDR_LEN;
	wire_icrc_seal(f->l3, t.ip6, (size_t)(at - f->l3));
	f->len = (size_t)(at - f->bytes) + WIRE_ICRC_LEN;
}

static inline void
frame_make(struct frame *f, bool ip6, uint8_t opcode, uint8_t pad, const void *body,
	   size_t body_len)
{
	struct wire_tmpl_conf conf = frame_conf(ip6);
	struct wire_bth bth = {
		.opcode = opcode, .mig_req = true, .ack_req = true, .pad = pad, .pkey = 0xffff,
		.dest_qpn = 0x11, .psn = psn_make(0xffffff),
	};

	frame_make_conf(f, &conf, &bth, body, body_len);
}

/* Parses a copy that ends where its memory ends: a sanitizer sees each byte too many. */
static inline enum drop_reason
frame_parse_at_edge(const uint8_t *frame, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	enum drop_reason why;
	struct wire_pkt pkt;

	memcpy(copy, frame, len);
	why = len ? wire_parse(copy, len, &pkt) : wire_parse(copy + 1, 0, &pkt);
	if (why == DROP_NONE && (pkt.payload < copy || pkt.icrc + 4 > copy + len ||
				 pkt.payload + pkt.payload_len + pkt.pad != pkt.icrc))
		abort();
	if (why == DROP_NONE)
		wire_icrc_ok(&pkt);
	wire_classify(copy, len);
	free(copy);
	return why;
}

#endif

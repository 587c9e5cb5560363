/* SPDX-License-Identifier: BSD-3-Clause */
/* One frame of a QP, from the path's template to the ICRC, in an outbox slot. Owning core only. */
#ifndef TRANSPORT_FRAME_H
#define TRANSPORT_FRAME_H

#include "transport/qp_priv.h"
#include "wire/hdr.h"
#include "wire/icrc.h"

struct frame {
	uint8_t *data;		/* the Ethernet header */
	uint8_t *at;		/* where the next header or the payload goes */
	uint32_t payload_len;
	uint8_t pad;
};

/* What differs between the BTHs of one QP. */
struct frame_bth {
	enum wire_op op;
	struct psn psn;
	bool se, ack_req;
};

/* Takes the next slot and writes all headers up to the BTH, by this path to that QP; the extension headers
 * that `op` has and then the payload are the caller's. False: the outbox is full. */
static inline bool
frame_open_as(struct frame *f, enum wire_class class, struct xport *x, const struct frame_bth *b,
	      uint32_t payload_len, const struct wire_tmpl *t, uint32_t dest_qpn)
{
	struct out_slot *slot = out_get(x->out);
	uint8_t opcode = wire_opcode(class, b->op);
	struct wire_bth bth = {
		.opcode = opcode,
		.se = b->se,
		.mig_req = true,	/* MIGRATED, the only state we have (A14) */
		.ack_req = b->ack_req,
		.pad = (uint8_t)(-payload_len & 3u),	/* A11 */
		.pkey = PKEY_DEFAULT,
		.dest_qpn = dest_qpn,
		.psn = b->psn,
	};
	uint32_t ib_len = WIRE_BTH_LEN + wire_op_info[opcode].ext_len + payload_len + bth.pad;

	if (!slot)
		return false;
	f->data = slot->data;
	f->payload_len = payload_len;
	f->pad = bth.pad;
	f->at = wire_put_bth(wire_put_tmpl(slot->data, t, ib_len), &bth);
	return true;
}

/* The same for a QP of whatever type. */
static inline bool
frame_open_to(struct frame *f, const struct qp *qp, struct xport *x, const struct frame_bth *b,
	      uint32_t payload_len, const struct wire_tmpl *t, uint32_t dest_qpn)
{
	return frame_open_as(f, qp->kind->class, x, b, payload_len, t, dest_qpn);
}

/* The same to the peer of a connected QP. */
static inline bool
frame_open(struct frame *f, struct qp *qp, struct xport *x, const struct frame_bth *b,
	   uint32_t payload_len)
{
	return frame_open_to(f, qp, x, b, payload_len, &qp->attr.path.tmpl, qp->attr.dest_qpn);
}

/* The payload stands at f->at: pad, ICRC, and the slot is filled. Returns the frame's length. */
static inline uint32_t
frame_seal_to(struct frame *f, struct xport *x, const struct wire_tmpl *t, uint8_t way)
{
	uint8_t *end = f->at + f->payload_len;
	uint32_t len;

	memset(end, 0, WIRE_ICRC_LEN);	/* pad; the rest of the word is the ICRC's */
	end += f->pad;
	wire_icrc_seal(f->data + t->l3, t->ip6, (size_t)(end - f->data) - t->l3);
	len = (uint32_t)(end - f->data) + WIRE_ICRC_LEN;
	out_put(x->out, len, way);
	return len;
}

static inline uint32_t
frame_seal(struct frame *f, struct qp *qp, struct xport *x)
{
	return frame_seal_to(f, x, &qp->attr.path.tmpl, qp->attr.path.way);
}

/* The payload stays where it is, at ext->data, and is read once, for the ICRC; the headers end at
 * f->at. ext->at is filled in. */
static inline uint32_t
frame_seal_ext(struct frame *f, struct qp *qp, struct xport *x, struct out_ext *ext)
{
	const struct wire_tmpl *t = &qp->attr.path.tmpl;
	uint8_t *l3 = f->data + t->l3, *bth_end = l3 + wire_icrc_masked_len(t->ip6);
	uint32_t crc = wire_icrc_start(l3, t->ip6);
	uint32_t len = (uint32_t)(f->at - f->data) + ext->len + f->pad + WIRE_ICRC_LEN;

	ext->at = (uint32_t)(f->at - f->data);
	crc = wire_icrc_update(crc, bth_end, (size_t)(f->at - bth_end));
	crc = wire_icrc_update(crc, ext->data, ext->len);
	memset(f->at, 0, f->pad);
	crc = wire_icrc_update(crc, f->at, f->pad);
	wire_icrc_store(f->at + f->pad, crc);
	out_put_ext(x->out, len, ext);
	return len;
}

#endif

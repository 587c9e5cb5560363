/* SPDX-License-Identifier: BSD-3-Clause */
/* The requester: from WQEs to request packets. Owning core only. */
#ifndef TRANSPORT_REQ_H
#define TRANSPORT_REQ_H

#include <string.h>

#include "transport/qp_priv.h"

/* What finishes a request. */
enum req_answer {
	ANSWER_ACK,
	ANSWER_READ,		/* READ responses with data */
	ANSWER_ATOMIC,		/* ATOMIC_ACK */
	ANSWER_EMPTY,		/* READ_RESP_ONLY without payload */
	ANSWER_NONE,		/* it has no packet */
};

/* What a wr opcode is made of. */
struct req_op {
	uint8_t first, middle, last, only;	/* enum wire_op; only 0: it cannot be done */
	uint8_t wc;				/* enum wc_opcode */
	uint8_t need;				/* enum mem_access of its SGEs */
	uint8_t answer;				/* enum req_answer */
	bool fixed;				/* its SGEs or inline data are so many bytes: */
	uint8_t bytes;
	bool no_inline;				/* of the answered ones: no bytes of it stand in the slot */
	bool imm, se;				/* se: takes IBV_SEND_SOLICITED (A15) */
};

extern const struct req_op req_ops[WR_OPCODES];

/* A READ, an atomic or what is ordered like them: not finished by an ACK, and one of max_rd_atomic (B7). */
static inline bool
req_is_rd(const struct req_wr *wr)
{
	return req_ops[wr->opcode].answer != ANSWER_ACK;
}

/* For a CQE; of an opcode that we do not know, any. */
static inline uint8_t
req_wc_opcode(uint8_t wr_opcode)
{
	return wr_opcode < WR_OPCODES ? req_ops[wr_opcode].wc : (uint8_t)WC_SEND;
}

/* req_plan.c: the copy and the checks of WQE `index`, kept in qp->tx. Gives it PSNs from req.next on
 * when it is new; when not, it must still be what it was. FAULT_NONE or why the WR cannot be done. */
enum fault req_load(struct qp *qp, struct xport *x, uint32_t index);
/* The same for a READ or atomic that is being answered, in qp->rx. */
enum fault req_load_answered(struct qp *qp, struct xport *x, uint32_t index);
/* For a CQE of a WQE that was never started: wr_id, opcode and flags alone. */
void req_identify(struct qp *qp, uint32_t index);
/* The SGEs of a copy. */
struct mem_sgl req_sgl(const struct qp *qp, const struct req_copy *c);

/* The payload of the WQE that is worked on, from its byte `at` on, straight from the SGEs or the WQE into a
 * frame. False: its memory was deregistered meanwhile. */
static inline bool
req_put_payload(const struct qp *qp, const struct xport *x, uint32_t at, uint8_t *to, uint32_t len)
{
	const struct req_copy *c = &qp->tx;
	struct mem_sgl sgl;

	if (!len)
		return true;
	if (c->wqe.w.flags & PLX_WQE_INLINE) {
		memcpy(to, c->wqe.data + at, len);
		return true;
	}
	sgl = req_sgl(qp, c);
	return mem_sgl_read(x->mrs, &sgl, at, to, len) == MEM_OK;
}

/* The packets of a READ request that begins at PSN `at` of `wr`: up to the end of its piece. */
uint32_t req_chunk_left(const struct req *req, const struct req_wr *wr, struct psn at);

/* req.c */
/* Sends the next request packet if it may. *len: bytes of the frame. */
enum req_sent req_send(struct qp *qp, struct xport *x, uint32_t *len);

/* req_uc.c: the same where nobody acknowledges; and the end of waiting for a neighbour. */
enum req_sent req_uc_send(struct qp *qp, struct xport *x, uint32_t *len);
void req_uc_expire(struct qp *qp, struct xport *x);

/* req_local.c: the WQE at cur, which has no packet, is done if it was not before, and completes if all before
 * it have. Or why it cannot be done. */
enum fault req_local(struct qp *qp, struct xport *x);
/* For req_locals_done() alone. */
void req_complete_locals(struct qp *qp, struct xport *x);

/* WQEs before head are over: so are those from there on that have no packet and are done. */
static inline void
req_locals_done(struct qp *qp, struct xport *x)
{
	const struct req *req = &qp->req;

	if (req->head != req->planned && (req_wr_at(qp, req->head)->flags & REQ_WR_LOCAL))
		req_complete_locals(qp, x);
}

/* The WQE at head was sent, all of it. What still reads its memory holds its completion back. */
void req_unacked_done(struct qp *qp, struct xport *x);

/* req_ud.c: a datagram, by the address handle of its WQE; and the time to look for that again. */
enum req_sent req_ud_send(struct qp *qp, struct xport *x, uint32_t *len);
void req_ud_expire(struct qp *qp, struct xport *x);

/* There are WQEs not sent, or packets not acknowledged. */
bool req_has_work(const struct qp *qp);

/* SQD: raises SQ_DRAINED, once, when all that was started is done (E6). */
void req_check_drained(struct qp *qp, struct xport *x);

/* Back to the oldest packet not acknowledged. */
void req_go_back(struct qp *qp);

/* Everything before `to` is acknowledged; req.head is the WQE that holds it. The send pointer is
 * never behind it (B24). */
void req_una_set(struct qp *qp, struct psn to);

#endif

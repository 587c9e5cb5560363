/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a fault means on the wire, in the completions and in events (table 1.G), and how completions
 * and events leave the transport. Owning core only.
 *
 * plx_cqe.vendor_err of a CQE with an error is (syndrome << 8 | code): the AETH syndrome that was
 * received (requester) or sent (responder), 0 without one, and the code below of what ended the queue
 * pair. Completions that were flushed have it too, so that the first one of any queue tells.
 */
#ifndef TRANSPORT_STATUS_H
#define TRANSPORT_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/numbers.h"
#include "transport/qp.h"
#include "wire/aeth.h"

/*
 * X(code, name, syndrome sent, status of the WR concerned, event, what happened)
 * Responder's faults: the WR is the receive in use, if there is one; the event QP_REQ_ERR is raised
 * only when there is none. Requester's faults: the WR is the oldest send. Codes are for users and
 * never change; they rise in the list. doc/guides/why.md has them with what to do.
 */
#define FAULT_LIST(X) \
	X(0x00, NONE, 0, WC_SUCCESS, EV_NONE, "nothing happened") \
	/* responder; C10 */ \
	X(0x01, SEQUENCE, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_REQ_ERR, \
	  "refused the peer's request: its packets make no message in this order") \
	/* C11 */ \
	X(0x02, QP_ACCESS, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_REQ_ERR, \
	  "refused the peer's request: qp_access_flags here do not allow the operation") \
	/* C9 */ \
	X(0x03, DEPTH, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_REQ_ERR, \
	  "refused the peer's READ or atomic: more at a time than max_dest_rd_atomic here") \
	/* C14, C15 */ \
	X(0x04, LENGTH, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_REQ_ERR, \
	  "refused the peer's request: a packet's length fits neither the message nor the path MTU here") \
	/* C18 */ \
	X(0x05, TOO_LONG, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_REQ_ERR, \
	  "refused the peer's request: its message is longer than 2^31 bytes") \
	/* C20 */ \
	X(0x06, MISALIGNED, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_REQ_ERR, \
	  "refused the peer's atomic: its address is no multiple of 8") \
	/* C16 */ \
	X(0x07, RECV_SHORT, AETH_NAK_INV_REQ, WC_LOC_LEN_ERR, EV_NONE, \
	  "refused the peer's message: it is longer than the receive buffer here") \
	/* C11, C27 */ \
	X(0x08, RKEY, AETH_NAK_REM_ACCESS, WC_LOC_ACCESS_ERR, EV_QP_ACCESS_ERR, \
	  "refused the peer's access: its rkey names no memory here with that range and those rights") \
	/* C17 */ \
	X(0x09, RECV_SGE, AETH_NAK_REM_OP, WC_LOC_PROT_ERR, EV_NONE, \
	  "could not place the peer's message: the receive here names memory that its lkey does not allow") \
	/* where no NAK ends it */ \
	X(0x0a, KEY_GUESSED, 0, WC_WR_FLUSH_ERR, EV_QP_ACCESS_ERR, \
	  "gave the connection up: the peer used one wrong rkey after the other") \
	/* F15 */ \
	X(0x0b, NO_SRQ, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_ACCESS_ERR, \
	  "refused the peer's request: the XRC domain here has no shared receive queue of that number") \
	/* requester; B16 */ \
	X(0x10, REM_INV_REQ, 0, WC_REM_INV_REQ_ERR, EV_NONE, \
	  "the peer refused the request as invalid: operation, length, number, or rights of the QP there") \
	X(0x11, REM_ACCESS, 0, WC_REM_ACCESS_ERR, EV_NONE, \
	  "the peer refused the access: rkey, address, length or rights are not those of its memory") \
	X(0x12, REM_OP, 0, WC_REM_OP_ERR, EV_NONE, \
	  "the peer could not carry out the request") \
	/* B22 */ \
	X(0x13, RETRY_EXC, 0, WC_RETRY_EXC_ERR, EV_NONE, \
	  "the peer does not answer") \
	X(0x14, RNR_RETRY_EXC, 0, WC_RNR_RETRY_EXC_ERR, EV_NONE, \
	  "the peer had no receive posted, as often as rnr_retry allows") \
	/* B26 */ \
	X(0x15, BAD_RESP, 0, WC_BAD_RESP_ERR, EV_NONE, \
	  "the peer's answer is not what was asked for") \
	/* B27 */ \
	X(0x16, SEND_SGE, 0, WC_LOC_PROT_ERR, EV_NONE, \
	  "the request names memory here that its lkey does not allow") \
	/* malformed, or changed under us */ \
	X(0x17, SEND_OP, 0, WC_LOC_QP_OP_ERR, EV_NONE, \
	  "the request cannot be: its operation or number of SGEs, or it was changed after it was posted") \
	/* B30 */ \
	X(0x18, SEND_LENGTH, 0, WC_LOC_LEN_ERR, EV_NONE, \
	  "the request's length is not one that its operation can have") \
	X(0x19, NO_NEIGHBOUR, 0, WC_RETRY_EXC_ERR, EV_NONE, \
	  "nobody answered for the peer's address or the gateway to it: nothing could be sent") \
	X(0x1a, ASKED_AGAIN, 0, WC_RETRY_EXC_ERR, EV_NONE, \
	  "the same packet was lost again and again, more often than retry_cnt allows") \
	X(0x1b, NO_AH, 0, WC_LOC_QP_OP_ERR, EV_NONE, \
	  "the request's address handle was destroyed before it was sent, or is of another PD") \
	/* F18 */ \
	X(0x1c, BIND, 0, WC_MW_BIND_ERR, EV_NONE, \
	  "the window cannot be bound so: it, its range, its rights, or the region's") \
	/* F21 */ \
	X(0x1d, LOCAL_INV, 0, WC_LOC_QP_OP_ERR, EV_NONE, \
	  "the key to invalidate is not that of a type 2 window that this queue pair has bound") \
	/* both */ \
	X(0x30, FLUSHED, 0, WC_WR_FLUSH_ERR, EV_NONE, \
	  "the program moved it to the error state") \
	/* D-6 */ \
	X(0x31, CQ_OVERFLOW, 0, WC_WR_FLUSH_ERR, EV_QP_FATAL, \
	  "a completion queue of it was full when a completion came")

enum fault {
#define FAULT_ENUM(code, name, syndrome, status, event, text) FAULT_##name = (code),
	FAULT_LIST(FAULT_ENUM)
#undef FAULT_ENUM
	FAULT_COUNT
};

struct fault_info {
	const char *name;	/* NULL: no such code */
	const char *text;
	uint8_t syndrome;
	uint8_t status;		/* enum wc_status */
	uint8_t event;		/* enum qp_event_no */
};

extern const struct fault_info fault_info[FAULT_COUNT];

static inline uint32_t
fault_vendor_err(enum fault f, uint8_t syndrome)
{
	return (uint32_t)syndrome << 8 | (uint32_t)f;
}

/* Raises an event for the application's async fd; counts it as lost when the array is full. */
void xport_event(struct xport *x, uint32_t type, struct qp *qp, struct cq *cq);

/* The oldest WR of the send queue is done: with FAULT_NONE a CQE if it asked for one, else always. It
 * and all that follow are held back while external parts of its frames are out: the program may use
 * its memory for something else as soon as it knows. */
void status_send(struct qp *qp, struct xport *x, enum fault f, uint8_t syndrome);

/* Completes the sends that status_send() held back, up to the first that must still wait. */
void status_release(struct qp *qp, struct xport *x);
/* What is held back completes never: RESET, or the QP's end. No external part is out any more. */
void status_forget_held(struct qp *qp, struct xport *x);

/* The receive WQE in use is done, with what was received. */
struct status_recv {
	uint32_t byte_len;
	uint32_t imm;
	bool has_imm, has_inv, solicited, write, grh;	/* has_inv: imm is the key that is invalid now */
	uint32_t src_qpn;
};
void status_recv_ok(struct qp *qp, struct xport *x, const struct status_recv *r);

/* The receive WQE in use could not take the message, which is lost; the QP goes on (F4). */
void status_recv_lost(struct qp *qp, struct xport *x, enum fault f);

/* The requester's end: CQE for the oldest send, then ERR and the flush (B16), or SQE and the flush of
 * the send queue alone (E7). */
void status_fail_send(struct qp *qp, struct xport *x, enum fault f, uint8_t syndrome);

/* The responder's end: CQE for the receive in use, event, then ERR and the flush (1.G). What is still
 * due to the peer, the NAK last, goes out from ERR. */
void status_fail_recv(struct qp *qp, struct xport *x, enum fault f);

/* Moves to ERR, for the reason that qp_end_...() was told, and completes all WQEs of both queues with
 * WR_FLUSH_ERR (D-2). */
void status_flush(struct qp *qp, struct xport *x);

/* QP in ERR or SQE: completes the send WQEs that are there with WR_FLUSH_ERR. */
void status_flush_sends(struct qp *qp, struct xport *x);

/* QP in ERR: completes the receive WQEs that are there and asks for a doorbell with the next one. */
void status_flush_recvs(struct qp *qp, struct xport *x);

#endif

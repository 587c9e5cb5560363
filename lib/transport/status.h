/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a fault means on the wire, in the completions and in events (table 1.G), and how completions
 * and events leave the transport. Owning core only.
 *
 * plx_cqe.vendor_err of a CQE with an error is (syndrome << 8 | fault): the AETH syndrome that was
 * received (requester) or sent (responder), 0 without one, and the number of the fault below.
 */
#ifndef TRANSPORT_STATUS_H
#define TRANSPORT_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/numbers.h"
#include "transport/qp.h"
#include "wire/aeth.h"

/*
 * X(name, syndrome sent, status of the WR concerned, event)
 * Responder's faults: the WR is the receive in use, if there is one; the event QP_REQ_ERR is raised
 * only when there is none. Requester's faults: the WR is the oldest send.
 */
#define FAULT_LIST(X) \
	X(NONE, 0, WC_SUCCESS, EV_NONE) \
	/* responder */ \
	X(SEQUENCE, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_REQ_ERR)	/* opcode out of place (C10) */ \
	X(QP_ACCESS, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_REQ_ERR)	/* qp_access_flags (C11) */ \
	X(DEPTH, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_REQ_ERR)	/* max_dest_rd_atomic (C9) */ \
	X(LENGTH, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_REQ_ERR)	/* C14, C15 */ \
	X(TOO_LONG, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_REQ_ERR)	/* above 2^31 (C18) */ \
	X(MISALIGNED, AETH_NAK_INV_REQ, WC_LOC_QP_OP_ERR, EV_QP_REQ_ERR) /* atomic (C20) */ \
	X(RECV_SHORT, AETH_NAK_INV_REQ, WC_LOC_LEN_ERR, EV_NONE)	/* C16 */ \
	X(RKEY, AETH_NAK_REM_ACCESS, WC_LOC_ACCESS_ERR, EV_QP_ACCESS_ERR) /* C11, C27 */ \
	X(RECV_SGE, AETH_NAK_REM_OP, WC_LOC_PROT_ERR, EV_NONE)		/* C17 */ \
	/* requester */ \
	X(REM_INV_REQ, 0, WC_REM_INV_REQ_ERR, EV_NONE) \
	X(REM_ACCESS, 0, WC_REM_ACCESS_ERR, EV_NONE) \
	X(REM_OP, 0, WC_REM_OP_ERR, EV_NONE) \
	X(RETRY_EXC, 0, WC_RETRY_EXC_ERR, EV_NONE) \
	X(RNR_RETRY_EXC, 0, WC_RNR_RETRY_EXC_ERR, EV_NONE) \
	X(BAD_RESP, 0, WC_BAD_RESP_ERR, EV_NONE)			/* B26 */ \
	X(SEND_SGE, 0, WC_LOC_PROT_ERR, EV_NONE)			/* B27 */ \
	X(SEND_OP, 0, WC_LOC_QP_OP_ERR, EV_NONE)			/* malformed, or changed under us */ \
	X(SEND_LENGTH, 0, WC_LOC_LEN_ERR, EV_NONE)			/* B30 */ \
	/* both */ \
	X(FLUSHED, 0, WC_WR_FLUSH_ERR, EV_NONE) \
	X(CQ_OVERFLOW, 0, WC_WR_FLUSH_ERR, EV_QP_FATAL)			/* D-6 */

enum fault {
#define FAULT_ENUM(name, syndrome, status, event) FAULT_##name,
	FAULT_LIST(FAULT_ENUM)
#undef FAULT_ENUM
	FAULT_COUNT
};

struct fault_info {
	const char *name;
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
	bool has_imm, solicited, write;
};
void status_recv_ok(struct qp *qp, struct xport *x, const struct status_recv *r);

/* The requester's end: CQE for the oldest send, then ERR and the flush (B16). */
void status_fail_send(struct qp *qp, struct xport *x, enum fault f, uint8_t syndrome);

/* The responder's end: CQE for the receive in use, event, then ERR and the flush (1.G). What is still
 * due to the peer, the NAK last, goes out from ERR. */
void status_fail_recv(struct qp *qp, struct xport *x, enum fault f);

/* Moves to ERR and completes all WQEs of both queues with WR_FLUSH_ERR (D-2). */
void status_flush(struct qp *qp, struct xport *x);

/* QP in ERR: completes the receive WQEs that are there and asks for a doorbell with the next one. */
void status_flush_recvs(struct qp *qp, struct xport *x);

#endif

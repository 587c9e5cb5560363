/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a QP's type decides. One row for each type there is; qp_init() picks it, and everything else
 * asks the row: nobody compares types. Constant; owning core only where it is called.
 */
#ifndef TRANSPORT_KIND_H
#define TRANSPORT_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "telemetry/counters.h"
#include "transport/numbers.h"
#include "wire/opcode.h"

struct qp;
struct xport;
struct wire_pkt;

enum req_sent {
	REQ_SENT,		/* one frame, or what needs none is done */
	REQ_WAITS,		/* nothing to send before something happens */
	REQ_FULL,		/* no slot */
};

struct qp_kind {
	enum wire_class class;	/* of the packets that it takes and sends (A20) */
	bool has_sq, has_rq;	/* a queue that it has not has no WQEs and needs no CQ */
	bool named_srq;		/* each request says from which SRQ its receive comes (F15) */
	bool acked;		/* a send is done when it is acknowledged; otherwise when it was sent (F8) */
	bool ends;		/* a send that fails here ends the QP, not only its send queue (E7) */
	/* not acked, with a path: ACK timeout that a send waits for a neighbour; else 0 */
	uint8_t patience;
	uint32_t wr_ops;	/* 1 << enum wr_opcode: what may stand in its send queue */

	/* Whether a packet of its class comes from somebody it listens to (B29, C32, F1). */
	enum drop_reason (*admits)(const struct qp *qp, const struct wire_pkt *pkt);
	/* A request packet for a QP that receives, a response packet for one that sends. */
	void (*rx_request)(struct qp *qp, struct xport *x, const struct wire_pkt *pkt);
	void (*rx_response)(struct qp *qp, struct xport *x, const struct wire_pkt *pkt);
	/* Sends the next request packet if it may. *len: bytes of the frame, or what it counts for. */
	enum req_sent (*send)(struct qp *qp, struct xport *x, uint32_t *len);
	/* The time of retry_wake_at() has come, for a QP that sends. */
	void (*expire)(struct qp *qp, struct xport *x);
};

/* `type` with its verbs value. NULL: there is no such type here. */
const struct qp_kind *qp_kind_of(uint32_t type);

#endif

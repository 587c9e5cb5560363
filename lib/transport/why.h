/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Why is a queue pair in ERR or SQE? The transport keeps the facts, which cost nothing until then; the
 * sentence is made elsewhere, when somebody asks.
 */
#ifndef TRANSPORT_WHY_H
#define TRANSPORT_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/psn.h"

struct qp;
struct xport;

/* What the QP itself keeps. Core only. */
struct qp_end {
	uint8_t fault;		/* enum fault; FAULT_NONE: it has not ended */
	uint8_t syndrome;	/* of the NAK that was received, or sent, for it; 0: none */
	uint8_t retries, rnr_retries;	/* used since the peer last acknowledged something */
	uint8_t opcode;		/* enum wr_opcode of the send */
	bool has_send, has_recv;	/* a WR failed; else nothing was posted that could */
	bool ours;		/* the fault was found here, in what the peer asked for */
	uint8_t nak;		/* syndrome of the last NAK that was received; 0: none */
	struct psn nak_psn;
	struct psn psn;		/* of the packet that failed */
	uint64_t wr_id;
};

/* All that the sentence needs, in a copy of its own. */
struct qp_why {
	struct qp_end end;
	uint32_t qpn, dest_qpn;
	uint32_t type;		/* enum qp_type_no */
	uint32_t state;		/* enum qp_state_no */
	uint8_t src_gid[16], dst_gid[16];	/* zero: it had no path */
	uint8_t timeout, retry_cnt, rnr_retry;
};

/* Queue pairs that ended lately, for whoever tells people. The core adds, with its lock; whoever empties
 * it has the lock. */
#define WHY_BOX 16u
struct why_box {
	struct qp_why why[WHY_BOX];
	uint32_t num;		/* any thread may read */
	uint32_t lost;		/* found no room */
};

/* The oldest send failed, in state ERR or SQE already. Core only. */
void qp_end_send(struct qp *qp, struct xport *x, uint32_t fault, uint8_t syndrome);
/* What the peer asked for cannot be; fault_info's syndrome is or will be sent. Core only. */
void qp_end_recv(struct qp *qp, struct xport *x, uint32_t fault);
/* Neither: the program's will, or a CQ. Core only. */
void qp_end_other(struct qp *qp, struct xport *x, uint32_t fault);

/* 0, or -ENODATA when the QP is in neither ERR nor SQE. Core only. */
int qp_why(const struct qp *qp, struct qp_why *out);

/* The code that the first error completion had or would have had. */
uint32_t qp_why_vendor_err(const struct qp_why *w);

/* One sentence without a newline, cut to len, which always ends it with a NUL. Pure; any thread. */
#define QP_WHY_TEXT 448u	/* the longest one, with its NUL */
void qp_why_text(const struct qp_why *w, char *out, size_t len);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Going back, and when it is enough: ACK timer, RNR wait, retry counters. Owning core only. */
#ifndef TRANSPORT_RETRY_H
#define TRANSPORT_RETRY_H

#include "transport/qp_priv.h"

/* QP to RTS: full counters, no timer. */
void retry_init(struct qp *qp);

/* una moved: counters are full again (B19, B22), waits are over, the timer starts anew (B21). */
void retry_progress(struct qp *qp);

/* The oldest packet goes out (again): the ACK timer starts anew at the next retry_arm(). */
void retry_restart(struct qp *qp);

/* Starts the ACK timer if it is to run and does not, stops it if it is not. After whatever happened. */
void retry_arm(struct qp *qp, const struct xport *x);

/* A sequence NAK, a gap in responses or an implied NAK for una. `moved`: it acknowledged something
 * first, then no retry is used. */
void retry_nak(struct qp *qp, struct xport *x, bool moved);

/* An RNR NAK with this timer code for una. */
void retry_rnr(struct qp *qp, struct xport *x, uint8_t code);

/* When retry_expire() is to be called, or QP_NEVER. */
uint64_t retry_wake_at(const struct qp *qp);
void retry_expire(struct qp *qp, struct xport *x);

#endif

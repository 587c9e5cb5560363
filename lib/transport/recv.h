/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the receive WQEs of a QP come from. Owning core only. */
#ifndef TRANSPORT_RECV_H
#define TRANSPORT_RECV_H

#include "transport/qp_priv.h"

/* At qp_init(): chooses between the QP's own queue and a shared one. */
void recv_init(struct qp *qp);

/* In ERR, once all its receives are completed: the application of a QP with a shared queue, which sees
 * no flush of it, is told that none will follow (E8). Once between RESET and RESET. */
void recv_last(struct qp *qp, struct xport *x);

#endif

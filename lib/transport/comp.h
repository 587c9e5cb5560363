/* SPDX-License-Identifier: BSD-3-Clause */
/* The completer: acknowledgements and responses. Owning core only. */
#ifndef TRANSPORT_COMP_H
#define TRANSPORT_COMP_H

#include "transport/qp_priv.h"

/* A response packet (WIRE_RESPONSE) for a QP that sends. */
void comp_rx(struct qp *qp, struct xport *x, const struct wire_pkt *pkt);

#endif

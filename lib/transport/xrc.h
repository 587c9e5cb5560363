/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC: a target QP takes requests for all SRQs of its domain; each request names one by its number.
 * Everything else is the reliable connection's (requester: req.c, comp.c; responder: resp.c). Owning
 * core only, but for what is marked.
 */
#ifndef TRANSPORT_XRC_H
#define TRANSPORT_XRC_H

#include "transport/qp.h"

/* kind.c: the row of the target type. A request: its SRQ is looked for first (F15). */
void xrc_rx_request(struct qp *qp, struct xport *x, const struct wire_pkt *pkt);
/* The next WQE of the SRQ that the request named, as take_recv. */
int xrc_take(struct qp *qp);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The GSI QP, number 1: management datagrams for whoever manages connections. It has no queues: what comes is
 * handed on as it lies in its frame, what is sent goes into the outbox at once. Owning core only, which is
 * the one that serves the port.
 */
#ifndef TRANSPORT_GSI_H
#define TRANSPORT_GSI_H

#include <stdint.h>

#include "telemetry/counters.h"
#include "transport/qp.h"

#define GSI_QPN 1u
#define GSI_QKEY 0x80010000u	/* F5 */

/* Is this packet to QP 1 one for it? DROP_NONE, DROP_QP_TYPE (A20), DROP_PKEY (A16), DROP_QKEY (F1). */
enum drop_reason gsi_admits(const struct wire_pkt *pkt);

/*
 * Sends `len` bytes to QP `dest_qpn` of the path's peer, with the Q_Key of all GSI QPs. 0, -EAGAIN (the
 * outbox is full, or the neighbour is not known yet), -EMSGSIZE (more than `mtu`). *psn: of the next one.
 */
int gsi_send(struct xport *x, const struct qp_path *path, uint32_t dest_qpn, uint32_t mtu, const void *data,
	     uint32_t len, struct psn *psn);

#endif

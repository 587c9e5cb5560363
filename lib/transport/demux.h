/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a parsed packet to its QP, or to the reason why there is none. Sans-IO; the table belongs to
 * the owning core, which also changes it (by mailbox).
 */
#ifndef TRANSPORT_DEMUX_H
#define TRANSPORT_DEMUX_H

#include <stdbool.h>
#include <stdint.h>

#include "telemetry/counters.h"
#include "wire/parse.h"

struct qp;
struct demux;

/* NULL without memory. */
struct demux *demux_new(void);
void demux_free(struct demux *d);

/* 0, -EEXIST, -ENOMEM. A QPN is 24 bits, above 1, not 0xffffff. */
int demux_add(struct demux *d, uint32_t qpn, struct qp *qp);
void demux_del(struct demux *d, uint32_t qpn);
struct qp *demux_find(const struct demux *d, uint32_t qpn);

/*
 * Which QP is this packet for? DROP_NONE and *out, or DROP_QPN (unknown, 0, 1, 0xffffff: nothing is
 * ever sent in reply, A18), DROP_QP_TYPE (class is not the QP's, A20), DROP_PKEY (A16),
 * DROP_ADDRESS (not the QP's path, C32, B29), DROP_QP_STATE (C31).
 */
enum drop_reason demux_rx(const struct demux *d, const struct wire_pkt *pkt, struct qp **out);
/* Does it match the one entry of the port's table (A16)? */
bool demux_pkey_ok(uint16_t pkey);
/* May this QP have the packet? DROP_NONE, or the reasons above but DROP_QPN; and those of its kind. */
enum drop_reason demux_admits(const struct qp *qp, const struct wire_pkt *pkt);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups as one core knows them: which of its QPs are attached, and to which of them a packet
 * goes (F10). Sans-IO; the table belongs to the owning core, which also changes it (by mailbox).
 */
#ifndef TRANSPORT_MCAST_H
#define TRANSPORT_MCAST_H

#include <stdbool.h>
#include <stdint.h>

#include "telemetry/counters.h"
#include "wire/parse.h"

#define MCAST_QPN 0xffffffu

struct qp;
struct mcast;

/* NULL without memory. */
struct mcast *mcast_new(void);
void mcast_free(struct mcast *m);

/* 0, -EEXIST (nothing changed: it will get one copy, as before), -ENOMEM. */
int mcast_attach(struct mcast *m, const uint8_t gid[16], struct qp *qp);
/* 0, or -ENOENT when it is not attached. */
int mcast_detach(struct mcast *m, const uint8_t gid[16], const struct qp *qp);

/* How many QPs are attached to it. */
uint32_t mcast_attached(const struct mcast *m, const uint8_t gid[16]);

/*
 * A word of the caller's own that goes with a group, which is there as long as it is not 0 or a QP is
 * attached. 0 or -ENOMEM.
 */
int mcast_mark(struct mcast *m, const uint8_t gid[16], uint64_t mark);
/* That word; 0 for a group that is not there. */
uint64_t mcast_marked(const struct mcast *m, const uint8_t gid[16]);
/* Is any group there? */
bool mcast_any(const struct mcast *m);

/*
 * Who gets a packet whose destination is a group? Calls `take` for each QP that is attached and admits it;
 * those that do not are counted one by one, each for its own reason. DROP_NONE, or why nobody here may:
 * DROP_DST_GID (no such group), DROP_QPN (DestQP is not 0xffffff, A18), DROP_QP_TYPE (not of UD).
 * `take` attaches and detaches nothing.
 */
enum drop_reason mcast_rx(const struct mcast *m, const struct wire_pkt *pkt, struct cnt_block *cnt,
			  void (*take)(void *arg, struct qp *qp), void *arg);

#endif

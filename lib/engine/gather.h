/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames whose payload lies in the program's memory, on a port that gathers: which of them the port
 * still reads. A core has one, or NULL where every frame is copied whole.
 *
 * A frame's payload is an external buffer of DPDK's with a ticket. The ticket comes back when the
 * last mbuf that refers to it is freed, on whatever thread that is, and the core tells the QP.
 */
#ifndef ENGINE_GATHER_H
#define ENGINE_GATHER_H

#include <stdbool.h>
#include <stdint.h>

struct core;
struct gather;
struct qp;
struct rte_mbuf;

#define GATHER_TICKETS 1024u	/* frames that a port may hold; beyond them is copied */
#define GATHER_LOOK_NS 20000u	/* between two requests to the port for what completions wait for */

/* Control thread, before the core runs. 0 or -ENOMEM. */
int gather_init(struct core *c);
/*
 * Control thread, after the port is closed and the core with it. What the port has not even then
 * given back stays in memory for ever; true: there is nothing of that.
 */
bool gather_fini(struct gather *g);

/* The rest with the core's lock. */

/* Outbox slot i, filled into m, has an external part: makes m a chain of three. */
void gather_attach(struct core *c, struct rte_mbuf *m, uint32_t i);
/* After each sending: tells the QPs what came back, and asks the port for what completions wait for. */
void gather_round(struct core *c);
/* The QP is gone or was reset: what is out for it belongs to nobody. */
void gather_forget(struct core *c, const struct qp *qp);

#endif

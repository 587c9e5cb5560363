/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An address handle as cores read it: the way to a peer, which no QP owns. Written by the core that
 * serves the port, in whose hands the path is; any core sends by it.
 */
#ifndef TRANSPORT_AH_H
#define TRANSPORT_AH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/seqcell.h"
#include "transport/qp.h"

struct ah {
	/* for good, from before any core finds it */
	uint32_t pd;
	uint32_t gen;		/* with the handle: a WQE that waits must not meet a successor */
	bool labelled;		/* its flow label chose the UDP source port; else the two QPNs do (A2) */
	uint64_t asked_at;	/* when its neighbour was first asked for, ns */

	SEQCELL(struct qp_path) path;
};

#endif

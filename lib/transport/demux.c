/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose packet is this? Called by the engine for every parsed packet; on the owning core, which also
 * changes the table.
 *
 * QPNs are random numbers of 24 bits. The table is indexed by them, in leaves that exist while they
 * hold a QP: no packet, however chosen, makes a look-up long.
 */
#include "transport/demux.h"

#include <errno.h>
#include <stdlib.h>

#include "transport/mcast.h"
#include "transport/qp_priv.h"

#define QPN_BITS 24u
#define LEAF_BITS 8u
#define LEAF_SIZE (1u << LEAF_BITS)
#define NUM_LEAVES (1u << (QPN_BITS - LEAF_BITS))

struct leaf {
	uint32_t used;
	struct qp *qp[LEAF_SIZE];
};

struct demux {
	struct leaf *leaf[NUM_LEAVES];
};

struct demux *
demux_new(void)
{
	return calloc(1, sizeof(struct demux));
}

void
demux_free(struct demux *d)
{
	if (!d)
		return;
	for (uint32_t i = 0; i < NUM_LEAVES; i++)
		free(d->leaf[i]);
	free(d);
}

int
demux_add(struct demux *d, uint32_t qpn, struct qp *qp)
{
	struct leaf **leaf = &d->leaf[(qpn & PSN_MASK) >> LEAF_BITS];

	if (demux_find(d, qpn))
		return -EEXIST;
	if (!*leaf)
		*leaf = calloc(1, sizeof(**leaf));
	if (!*leaf)
		return -ENOMEM;
	(*leaf)->qp[qpn & (LEAF_SIZE - 1)] = qp;
	(*leaf)->used++;
	return 0;
}

void
demux_del(struct demux *d, uint32_t qpn)
{
	struct leaf **leaf = &d->leaf[(qpn & PSN_MASK) >> LEAF_BITS];

	if (!demux_find(d, qpn))
		return;
	(*leaf)->qp[qpn & (LEAF_SIZE - 1)] = NULL;
	if (--(*leaf)->used == 0) {
		free(*leaf);
		*leaf = NULL;
	}
}

struct qp *
demux_find(const struct demux *d, uint32_t qpn)
{
	const struct leaf *leaf;

	if (qpn < 2 || qpn >= MCAST_QPN)
		return NULL;
	leaf = d->leaf[qpn >> LEAF_BITS];
	return leaf ? leaf->qp[qpn & (LEAF_SIZE - 1)] : NULL;
}

/* The low 15 bits are equal and not all zero, and one of the two is a full member (A16). */
static bool
pkey_ok(uint16_t a, uint16_t b)
{
	return (a & 0x7fff) && (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000);
}

bool
demux_pkey_ok(uint16_t pkey)
{
	return pkey_ok(pkey, PKEY_DEFAULT);
}

enum drop_reason
demux_admits(const struct qp *qp, const struct wire_pkt *pkt)
{
	bool request = pkt->info->traits & WIRE_REQUEST;

	if (wire_opcode_class(pkt->opcode) != qp->kind->class)
		return DROP_QP_TYPE;
	if (!(request ? qp_receives(qp) : qp_sends(qp)))
		return DROP_QP_STATE;
	if (!pkey_ok(pkt->pkey, PKEY_DEFAULT))
		return DROP_PKEY;
	return qp->kind->admits(qp, pkt);
}

enum drop_reason
demux_rx(const struct demux *d, const struct wire_pkt *pkt, struct qp **out)
{
	struct qp *qp = demux_find(d, pkt->dest_qpn);

	if (!qp)
		return DROP_QPN;
	*out = qp;
	return demux_admits(qp, pkt);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What goes to and comes from QP 1? Called by the engine for packets to it, and for what its owner sends; on
 * the core that serves the port.
 */
#include "transport/gsi.h"

#include <errno.h>
#include <string.h>

#include "transport/demux.h"
#include "transport/frame.h"

enum drop_reason
gsi_admits(const struct wire_pkt *pkt)
{
	if (wire_opcode_class(pkt->opcode) != WIRE_UD)
		return DROP_QP_TYPE;
	if (!demux_pkey_ok(pkt->pkey))
		return DROP_PKEY;
	return pkt->deth.qkey == GSI_QKEY ? DROP_NONE : DROP_QKEY;
}

int
gsi_send(struct xport *x, const struct qp_path *path, uint32_t dest_qpn, uint32_t mtu, const void *data,
	 uint32_t len, struct psn *psn)
{
	const struct frame_bth bth = { .op = WIRE_SEND_ONLY, .psn = *psn };
	struct frame f;

	if (len > mtu)
		return -EMSGSIZE;
	if (!path->ready || !frame_open_as(&f, WIRE_UD, x, &bth, len, &path->tmpl, dest_qpn))
		return -EAGAIN;
	f.at = wire_put_deth(f.at, GSI_QKEY, GSI_QPN);
	memcpy(f.at, data, len);
	frame_seal_to(&f, x, &path->tmpl, path->way);
	*psn = psn_add(*psn, 1);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does a QP's type decide? Read by qp_init() and, through the QP, by the whole room; on the
 * owning core.
 */
#include "transport/kind.h"

#include <string.h>

#include "transport/comp.h"
#include "transport/qp_priv.h"
#include "transport/req.h"
#include "transport/resp.h"
#include "transport/retry.h"
#include "transport/xrc.h"

#define WR(name) (1u << WR_##name)

/* Connected: from the peer of its path alone (B29, C32). */
static enum drop_reason
admits_peer(const struct qp *qp, const struct wire_pkt *pkt)
{
	if (memcmp(pkt->src_gid, qp->attr.path.dst_gid, 16) ||
	    memcmp(pkt->dst_gid, qp->attr.path.src_gid, 16))
		return DROP_ADDRESS;
	return DROP_NONE;
}

/* From anybody who knows the Q_Key (F1). */
static enum drop_reason
admits_qkey(const struct qp *qp, const struct wire_pkt *pkt)
{
	return pkt->deth.qkey == qp->attr.qkey ? DROP_NONE : DROP_QKEY;
}

/* What only the other end of a connection is sent, or an answer of a class that has none. */
static void
astray(struct qp *qp, struct xport *x, const struct wire_pkt *pkt)
{
	(void)qp;
	(void)pkt;
	cnt_drop(x->cnt, DROP_QP_TYPE);
}

#define LOCAL_OPS (WR(LOCAL_INV) | WR(BIND_MW))
#define RELIABLE_OPS (LOCAL_OPS | WR(SEND) | WR(SEND_IMM) | WR(SEND_INV) | WR(RDMA_WRITE) | \
		      WR(RDMA_WRITE_IMM) | WR(RDMA_READ) | WR(CMP_SWAP) | WR(FETCH_ADD))

/* and of RC alone, by the table of opcodes */
#define RC_OPS (WR(FLUSH) | WR(ATOMIC_WRITE))

static const struct qp_kind kinds[QPT_COUNT] = {
	[QPT_RC] = {
		.class = WIRE_RC,
		.has_sq = true,
		.has_rq = true,
		.acked = true,
		.ends = true,
		.wr_ops = RELIABLE_OPS | RC_OPS,
		.admits = admits_peer,
		.rx_request = resp_rx,
		.rx_response = comp_rx,
		.send = req_send,
		.expire = retry_expire,
	},
	[QPT_UC] = {
		.class = WIRE_UC,
		.has_sq = true,
		.has_rq = true,
		.patience = 18,		/* 1.07 s */
		/* SEND with invalidate is no packet of this class (F8) */
		.wr_ops = WR(SEND) | WR(SEND_IMM) | WR(RDMA_WRITE) | WR(RDMA_WRITE_IMM) | LOCAL_OPS,
		.admits = admits_peer,
		.rx_request = resp_uc_rx,
		.rx_response = astray,
		.send = req_uc_send,
		.expire = req_uc_expire,
	},
	[QPT_UD] = {
		.class = WIRE_UD,
		.has_sq = true,
		.has_rq = true,
		.wr_ops = WR(SEND) | WR(SEND_IMM),
		.admits = admits_qkey,
		.rx_request = resp_ud_rx,
		.rx_response = astray,
		.send = req_ud_send,
		.expire = req_ud_expire,
	},
	/* The two ends of an XRC connection: the requester of RC, and its responder. */
	[QPT_XRC_INI] = {
		.class = WIRE_XRC,
		.has_sq = true,
		.acked = true,
		.ends = true,
		.wr_ops = RELIABLE_OPS,
		.admits = admits_peer,
		.rx_request = astray,
		.rx_response = comp_rx,
		.send = req_send,
		.expire = retry_expire,
	},
	[QPT_XRC_TGT] = {
		.class = WIRE_XRC,
		.named_srq = true,
		.acked = true,
		.ends = true,
		.admits = admits_peer,
		.rx_request = xrc_rx_request,
		.rx_response = astray,
		.send = req_send,
		.expire = retry_expire,
	},
};

const struct qp_kind *
qp_kind_of(uint32_t type)
{
	return type < QPT_COUNT && kinds[type].admits ? &kinds[type] : NULL;
}

bool
qp_type_exists(uint32_t type)
{
	return qp_kind_of(type) != NULL;
}

bool
qp_type_receives(uint32_t type)
{
	const struct qp_kind *k = qp_kind_of(type);

	return k && k->has_rq;
}

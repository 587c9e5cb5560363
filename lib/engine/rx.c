/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What came in, and for whom? Called by the loop, with the lock. A frame is judged in this order:
 * RoCE or lib/net's; our MAC, or a group's (group.c); its form; our address; its ICRC; its QP. Whatever
 * fails is counted under one reason and forgotten.
 */
#include "engine/core.h"

#include <rte_prefetch.h>

#include "transport/gsi.h"
#include "wire/icrc.h"

static bool
is_ours(struct core *c, const uint8_t gid[16])
{
	if (memcmp(gid, c->last_gid, 16) == 0)
		return true;
	if (gid_find(c->net, gid) < 0)
		return false;
	memcpy(c->last_gid, gid, 16);
	return true;
}

/* Nobody but us can answer to that. If the QP is not one that is gone, a program mixed up its QPNs, or
 * the two ends of a test have one address. */
static enum drop_reason
no_such_qp(struct core *c, const struct wire_pkt *pkt)
{
	char line[CORE_LINE_LEN];

	if (pkt->dest_qpn == GSI_QPN)
		return core_gsi_rx(c, pkt);
	if (gid_find(c->net, pkt->src_gid) < 0)
		return DROP_QPN;
	if (!c->said_self && !(c->was_qpn && c->was_qpn(c->was_arg, pkt->dest_qpn))) {
		c->said_self = true;
		snprintf(line, sizeof(line), "QP 0x%06x was sent to at this device's own address, and "
			 "there is no such QP here: is the peer another process with the same address? "
			 "Give each its own --ip", pkt->dest_qpn);
		core_say(c, line);
	}
	return DROP_QPN_SELF;
}

static enum drop_reason
roce(struct core *c, const uint8_t *frame, uint32_t len)
{
	struct wire_pkt pkt;
	struct eng_qp *q;
	struct qp *qp;
	enum drop_reason why;

	if (__builtin_expect(!core_is_for_us(c, frame), 0))
		return core_group_rx(c, frame, len);
	why = wire_parse(frame, len, &pkt);
	if (why != DROP_NONE)
		return why;
	if (!is_ours(c, pkt.dst_gid))
		return DROP_DST_GID;
	if (!wire_icrc_ok(&pkt))
		return DROP_ICRC;
	why = demux_rx(c->demux, &pkt, &qp);
	if (why == DROP_QPN)
		return no_such_qp(c, &pkt);
	if (why != DROP_NONE)
		return why;
	qp_rx(qp, &c->x, &pkt);
	q = qp_owner(qp);
	core_touch(c, q);
	if (__builtin_expect(c->x.now >= q->confirm_at, 0)) {
		q->confirm_at = c->x.now + CORE_CONFIRM_NS;
		core_confirm(c, q, pkt.src_gid, frame + 6);
	}
	return DROP_NONE;
}

static enum drop_reason
other(struct core *c, const uint8_t *frame, uint32_t len)
{
	enum drop_reason why = net_rx(c->net, frame, len, c->x.now, &c->cnt);

	core_net_touch(c);
	return why;
}

static void
receive(struct core *c, struct rte_mbuf *m)
{
	enum drop_reason why = DROP_LENGTH;
	const uint8_t *frame;

	/* a peer with smaller buffers than ours sends in pieces */
	if (__builtin_expect(m->nb_segs == 1, 1) || rte_pktmbuf_linearize(m) == 0) {
		frame = rte_pktmbuf_mtod(m, const uint8_t *);
		if (wire_classify(frame, m->data_len) == WIRE_KIND_ROCE)
			why = roce(c, frame, m->data_len);
		else
			why = other(c, frame, m->data_len);
	}
	if (why != DROP_NONE)
		cnt_drop(&c->cnt, why);
}

static void
receive_all(struct core *c, struct rte_mbuf **bufs, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		rte_prefetch0(rte_pktmbuf_mtod(bufs[i], void *));
	for (unsigned int i = 0; i < n; i++)
		receive(c, bufs[i]);
	rte_pktmbuf_free_bulk(bufs, n);
}

/* Of what the port gave; frames from ourselves are counted when they are sent. */
static void
count_all(struct core *c, struct rte_mbuf **bufs, unsigned int n)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < n; i++)
		bytes += bufs[i]->pkt_len;
	cnt_add(&c->cnt, CNT_RX_FRAMES, n);
	cnt_add(&c->cnt, CNT_RX_BYTES, bytes);
}

/* One of several cores: some of what comes is another's, and others have what is this one's. */
static unsigned int
receive_shared(struct core *c)
{
	struct rte_mbuf *bufs[3 * CORE_RX_BURST];
	unsigned int n = 0, kept = 0, moved;

	if (c->serves_port) {
		n = port_rx(c->port, 0, bufs, CORE_RX_BURST);
		count_all(c, bufs, n);
		kept = handoff_sort(c, bufs, n);
		n -= kept;
	}
	kept += handoff_loop_take(c, bufs + kept, CORE_RX_BURST, &moved);
	kept += handoff_rx_take(c, bufs + kept, CORE_RX_BURST);
	if (kept)
		receive_all(c, bufs, kept);
	return n + moved + kept;
}

unsigned int
core_rx(struct core *c)
{
	struct rte_mbuf *bufs[2 * CORE_RX_BURST];
	unsigned int n;

	if (__builtin_expect(c->peers != NULL, 0))
		return receive_shared(c);
	n = port_rx(c->port, 0, bufs, CORE_RX_BURST);
	if (n)
		count_all(c, bufs, n);
	n += core_loop_take(c, bufs + n, CORE_RX_BURST);
	if (n)
		receive_all(c, bufs, n);
	return n;
}

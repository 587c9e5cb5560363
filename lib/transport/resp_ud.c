/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where does this datagram go? Called by qp_rx() for each one that the QP admits, by its Q_Key (F1); on the
 * owning core. Of one that came to a group each attached QP gets it for itself.
 *
 * Its PSN says nothing. What finds no receive, or one that is too short, is lost, and the receive is the next
 * one's (F4); nothing is answered. Only a receive that names memory wrongly ends the QP.
 */
#include <string.h>

#include "transport/resp.h"
#include "transport/resp_check.h"
#include "wire/hdr.h"

#define GRH_AREA 40u		/* in front of the payload (F3) */

/* The header with which it came: IPv6's, or zeros and IPv4's (F3). */
static void
fill_area(uint8_t area[GRH_AREA], const struct wire_pkt *pkt)
{
	if (pkt->ip6) {
		memcpy(area, pkt->l3, IP6_HDR_LEN);
		return;
	}
	memset(area, 0, GRH_AREA - IP4_HDR_LEN);
	memcpy(area + GRH_AREA - IP4_HDR_LEN, pkt->l3, IP4_HDR_LEN);
}

static bool
place(struct resp_job *job)
{
	const struct wire_pkt *pkt = job->pkt;
	struct mem_sgl sgl = resp_sgl(job->qp);
	uint8_t area[GRH_AREA];

	fill_area(area, pkt);
	if (mem_sgl_write(job->x->mrs, &sgl, 0, area, GRH_AREA) != MEM_OK)
		return false;
	return !pkt->payload_len || mem_sgl_write(job->x->mrs, &sgl, GRH_AREA, pkt->payload,
						  pkt->payload_len) == MEM_OK;
}

static void
lose(struct resp_job *job, enum drop_reason why)
{
	cnt_drop(job->x->cnt, why);
	xport_trace(job->x, TRACE_DROP, job->qp, job->pkt->psn, why);
}

void
resp_ud_rx(struct qp *qp, struct xport *x, const struct wire_pkt *pkt)
{
	struct resp_job the_job = { .qp = qp, .x = x, .pkt = pkt }, *job = &the_job;
	bool imm = pkt->info->ext & WIRE_EXT_IMM;
	enum fault f = FAULT_NONE;

	if (!resp_take_wqe(job, &f)) {
		lose(job, DROP_NO_RECV);
		return;
	}
	if (f == FAULT_NONE && qp->resp.wqe_len < GRH_AREA + pkt->payload_len) {
		lose(job, DROP_MSG_LENGTH);
		/* another QP of the queue may have been meant to get it: it is not kept for this one */
		if (qp->conf.srq)
			status_recv_lost(qp, x, FAULT_RECV_SHORT);
		return;
	}
	if (f != FAULT_NONE || !place(job)) {
		status_fail_recv(qp, x, FAULT_RECV_SGE);
		return;
	}
	cnt_add(x->cnt, CNT_RX_REQUESTS, 1);
	status_recv_ok(qp, x, &(struct status_recv){
		.byte_len = GRH_AREA + pkt->payload_len,
		.imm = imm ? pkt->imm : 0,
		.has_imm = imm,
		.solicited = pkt->se,
		.grh = true,
		.src_qpn = pkt->deth.src_qpn,
	});
}

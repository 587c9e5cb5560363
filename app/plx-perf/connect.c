/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: how do the QPs of two ends become connections? Called before the traffic. */
#include <poll.h>
#include <string.h>

#include "conn.h"
#include "say.h"
#include "stats.h"

#define PORT 1
#define MIN_RNR_TIMER 1			/* 10 us: receives are always on their way here */
#define PORT_WAIT_NS 10000000000ull

/* A port of two processes comes up when both are there. */
static int
wait_for_port(struct device *d)
{
	uint64_t until = now_ns() + PORT_WAIT_NS;

	while (d->port.state != IBV_PORT_ACTIVE) {
		if (now_ns() > until)
			return fail("the port of %s is not active; is the other end of its link there?",
				    d->name);
		poll(NULL, 0, 20);
		if (ibv_query_port(d->ctx, PORT, &d->port))
			return fail("cannot query the port of %s", d->name);
	}
	return 0;
}

static int
choose_mtu(struct conn *c)
{
	uint64_t most = 128u << c->dev->port.active_mtu;

	if (c->peer.mtu < most)
		most = c->peer.mtu;
	if (c->test->mtu > most)
		return fail("--mtu %llu is more than a port carries; the largest is %llu",
			    (unsigned long long)c->test->mtu, (unsigned long long)most);
	c->mtu = (uint32_t)(c->test->mtu ? c->test->mtu : most);
	return 0;
}

static int
connect_qp(struct conn *c, struct conn_qp *q)
{
	uint8_t mine = device_rd_atom(c->dev);
	uint8_t rd_atom = (uint8_t)(c->peer.rd_atom < mine ? c->peer.rd_atom : mine);
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)(__builtin_ctz(c->mtu) - 7),
		.dest_qp_num = q->peer_qpn,
		.rq_psn = q->peer_psn,
		.max_dest_rd_atomic = rd_atom,
		.min_rnr_timer = MIN_RNR_TIMER,
		.ah_attr = {
			.is_global = 1,
			.port_num = PORT,
			.grh = { .sgid_index = (uint8_t)c->dev->gid_index, .hop_limit = 64 },
		},
		.sq_psn = q->psn,
		.timeout = (uint8_t)c->test->timeout,
		.retry_cnt = (uint8_t)c->test->retry,
		.rnr_retry = (uint8_t)c->test->rnr,
		.max_rd_atomic = rd_atom,
	};
	int rc;

	a.ah_attr.grh.dgid.global.subnet_prefix = htobe64(c->peer.gid_high);
	a.ah_attr.grh.dgid.global.interface_id = htobe64(c->peer.gid_low);
	rc = ibv_modify_qp(q->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (rc)
		return fail("cannot take QP 0x%06x to RTR: %s; is the peer's address on this network? "
			    "try another --gid-index at both ends", q->qp->qp_num, strerror(rc));
	a.qp_state = IBV_QPS_RTS;
	rc = ibv_modify_qp(q->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	return rc ? fail("cannot take QP 0x%06x to RTS: %s", q->qp->qp_num, strerror(rc)) : 0;
}

int
conn_connect(struct conn *c)
{
	if (wait_for_port(c->dev) || choose_mtu(c))
		return -1;
	for (uint32_t i = 0; i < c->qps; i++) {
		if (connect_qp(c, &c->qp[i]))
			return -1;
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/transport/xrc: what a target says of a request that it cannot take. The rest is in packet scripts. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "sim/pair.h"
#include "transport/numbers.h"
#include "transport/status.h"

static const struct xrc_srq *
empty_domain(void *arg, uint32_t srqn)
{
	(void)arg;
	(void)srqn;
	return NULL;
}

/* A request for an SRQ that the target's domain does not have. */
static void
xrc_rx_request__says_why(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 100, 200 } });
	struct pair_side *s = &p->side[1];
	struct qp_conf conf = *qp_conf(s->q->qp);
	struct wire_pkt pkt = { .opcode = 0xa4, .info = &wire_op_info[0xa4], .psn = psn_make(100) };
	struct qp *qp = aligned_alloc(64, qp_size());
	struct qp_attr attr;
	struct qp_why why;

	qp_query(s->q->qp, &attr);
	conf.type = QPT_XRC_TGT;
	conf.send_cq = conf.recv_cq = NULL;
	conf.sq.max_wr = conf.rq.max_wr = 0;
	conf.xrc.find = empty_domain;
	memset(qp, 0, qp_size());
	CHECK_EQ(qp_init(qp, &conf), 0);
	attr.state = QPS_INIT;
	CHECK_EQ(qp_modify(qp, &s->x, QPM_STATE | QPM_PKEY_INDEX | QPM_PORT | QPM_ACCESS_FLAGS, &attr), 0);
	attr.state = QPS_RTR;
	CHECK_EQ(qp_modify(qp, &s->x, QPM_STATE | QPM_AV | QPM_PATH_MTU | QPM_DEST_QPN | QPM_RQ_PSN |
			   QPM_MAX_DEST_RD_ATOMIC | QPM_MIN_RNR_TIMER, &attr), 0);
	qp_rx(qp, &s->x, &pkt);
	CHECK_EQ(qp_state(qp), QPS_ERR);
	CHECK_EQ(qp_why(qp, &why), 0);
	CHECK_EQ(why.end.fault, FAULT_NO_SRQ);
	CHECK_EQ(qp_why_vendor_err(&why), AETH_NAK_INV_REQ << 8 | FAULT_NO_SRQ);
	qp_fini(qp, &s->x);
	free(qp);
	pair_free(p);
}

static const struct check_case cases[] = {
	CHECK_CASE(xrc_rx_request__says_why),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host as two ends of XRC connections: beside each QP, which is the initiator then, stands a target
 * of the next number, and receives go to shared queues that a peer names. Called by setup and post
 * lines.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

bool host_xrc;

static const struct xrc_srq *
find(void *arg, uint32_t srqn)
{
	struct host_qp *q = arg;

	for (unsigned int i = 0; i < q->host->num_srqs; i++) {
		struct host_srq *s = q->host->srq[i];

		if (s->cq && s->number == srqn && s->domain == q->domain && !s->gone)
			return &s->at;
	}
	return NULL;
}

struct host_srq *
host_named_add(struct host *h, const char *name, const struct host_named *want, struct host_cq *cq)
{
	struct host_srq *s = host_srq_add(h, name, want->wrs, want->pd);

	if (!s)
		return NULL;
	s->number = want->number ? want->number : 0x20000 + h->num_srqs;
	s->domain = want->domain;
	if (!cq) {
		cq = &s->own_cq;
		host_cq_add(h, cq, 1024);
	}
	s->cq = cq;
	s->at = (struct xrc_srq){ &s->srq, &cq->cq };
	return s;
}

void
host_named_destroy(struct host *h, struct host_srq *s)
{
	s->gone = true;
	for (unsigned int i = 0; i < h->num_qps; i++)
		if (h->qp[i]->tgt)
			qp_forget_srq(h->qp[i]->tgt, &s->srq);
}

/* q->conf is the initiator's by now. */
void
host_tgt_add(struct host *h, struct host_qp *q, const struct host_qp_want *want)
{
	struct qp_conf conf = q->conf;

	q->host = h;
	q->domain = want->domain;
	q->srq = host_named_add(h, q->name, &(struct host_named){ .wrs = want->rq, .pd = want->pd,
								   .domain = want->domain }, &q->recv_cq);
	q->tgt_qpn = q->qpn + 1;
	conf.qpn = q->tgt_qpn;
	conf.type = IBV_QPT_XRC_RECV;
	conf.handle = UINT32_MAX;
	conf.pd = 0;
	conf.send_cq = NULL;
	conf.sq = (struct wq_conf){ .ctl = &q->rq_ctl };
	conf.xrc = (struct xrc_domain){ find, q };
	q->tgt = aligned_alloc(64, (qp_size() + 63) & ~(size_t)63);
	if (!q->tgt || !q->srq)
		abort();
	memset(q->tgt, 0, qp_size());
	if (qp_init(q->tgt, &conf))
		host_broke(h, "qp_init refuses the target's conf");
	qp_set_owner(q->tgt, q);
	if (demux_add(h->demux, q->tgt_qpn, q->tgt))
		host_broke(h, "demux_add refuses the target's QPN");
}

void
host_tgt_free(struct host *h, struct host_qp *q)
{
	if (!q->tgt)
		return;
	demux_del(h->demux, q->tgt_qpn);
	qp_fini(q->tgt, &h->x);
	free(q->tgt);
}

/* The masks of section 1.E. */
static const struct {
	uint32_t state, ini, tgt;
} steps[] = {
	{ IBV_QPS_INIT, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPS_RTR, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
	{ IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC,
	  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT },
};

int
host_xrc_raise(struct host *h, struct host_qp *q, const struct qp_attr *want, uint32_t state)
{
	struct qp_attr attr = *want;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int rc;

		if (steps[i].state > state || steps[i].state <= qp_state(q->qp))
			continue;
		attr.state = steps[i].state;
		attr.dest_qpn = q->peer_qpn;
		rc = qp_modify(q->qp, &h->x, steps[i].ini, &attr);
		attr.dest_qpn = q->peer_qpn + 1;
		if (!rc)
			rc = qp_modify(q->tgt, &h->x, steps[i].tgt, &attr);
		if (rc)
			return rc;
	}
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QPs of the host and the application's half of their rings. Called by setup and post lines.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

#define QPN_OURS 0x11u
#define QPN_PEER 0x8012u
#define QPN_STEP 0x101u

static uint32_t
log2_of(uint32_t n)
{
	uint32_t l = 0;

	while (1u << l < n)
		l++;
	return l;
}

void
host_cq_add(struct host *h, struct host_cq *c, uint32_t cqes)
{
	c->log2_size = log2_of(cqes);
	c->ring = aligned_alloc(64, sizeof(struct plx_cqe) << c->log2_size);
	if (!c->ring)
		abort();
	memset(c->ring, 0, sizeof(struct plx_cqe) << c->log2_size);
	cq_init(&c->cq, &c->ctl, c->ring, c->log2_size, cqes);
	c->cq.handle = h->num_qps;
	c->cq.event_fd = c->cq.async_fd = -1;
}

void
host_wq_conf(struct wq_conf *c, struct plx_wq_ctl *ctl, uint32_t max_wr, uint32_t stride)
{
	c->ctl = ctl;
	c->log2_size = log2_of(max_wr ? max_wr : 1);
	c->stride = stride;
	c->max_wr = max_wr;
	c->max_sge = PLX_MAX_SGE;
	c->slots = aligned_alloc(64, (((size_t)stride << c->log2_size) + 63) & ~(size_t)63);
	if (!c->slots)
		abort();
}

/* 10.0.0.1 and 10.0.0.2, or fd00::1 and fd00::2: the host is 1, its peer 2. */
static void
address(struct pkt *p, bool ip6, int src, int dst)
{
	uint8_t *gid[2] = { p->src, p->dst };
	int last[2] = { src, dst };

	for (int i = 0; i < 2; i++) {
		memset(gid[i], 0, 16);
		gid[i][15] = (uint8_t)last[i];
		if (ip6) {
			gid[i][0] = 0xfd;
		} else {
			gid[i][10] = gid[i][11] = 0xff;
			gid[i][12] = 10;
		}
	}
	memset(p->src_mac, 0, 6);
	memset(p->dst_mac, 0, 6);
	p->src_mac[0] = p->dst_mac[0] = 0x02;
	p->src_mac[5] = (uint8_t)src;
	p->dst_mac[5] = (uint8_t)dst;
	p->ip6 = ip6;
}

static void
templates(struct host *h, struct host_qp *q)
{
	pkt_defaults(&q->out);
	address(&q->out, h->ip6, 1, 2);
	q->out.sport = (uint16_t)(0xc000 + q->qpn);
	q->out.tos = 0x20;
	q->out.flow = h->ip6 ? 0x12345 : 0;
	q->out.vlan = h->vlan;
	q->out.dqpn = q->peer_qpn;
	pkt_defaults(&q->in);
	address(&q->in, h->ip6, 2, 1);
	q->in.sport = 0xd234;
	q->in.vlan = h->vlan;
	q->in.dqpn = q->qpn;
	q->out.src_qpn = q->qpn;
	q->in.src_qpn = q->peer_qpn;
}

void
host_path(const struct host_qp *q, struct qp_path *path)
{
	struct wire_tmpl_conf t = { .udp_sport = q->out.sport, .hop_limit = q->out.ttl,
				    .traffic_class = q->out.tos, .flow_label = q->out.flow,
				    .vlan_tci = q->out.vlan };

	memcpy(t.src_mac, q->out.src_mac, 6);
	memcpy(t.dst_mac, q->out.dst_mac, 6);
	memcpy(t.src_gid, q->out.src, 16);
	memcpy(t.dst_gid, q->out.dst, 16);
	memcpy(path->src_gid, q->out.src, 16);
	memcpy(path->dst_gid, q->out.dst, 16);
	wire_tmpl_make(&path->tmpl, &t);
	path->ready = true;
	path->way = OUT_WIRE;
}

static void
start_psns(struct host *h, struct host_qp *q, const struct host_qp_want *want)
{
	/* The two directions start apart, so that one is not taken for the other. */
	q->sq_base = want->psn >= 0 ? (uint32_t)want->psn : h->start_psn;
	q->rq_base = (q->sq_base + 0x7fffff) & 0xffffff;
}

struct host_qp *
host_qp_add(struct host *h, const char *name, const struct host_qp_want *want)
{
	struct host_qp *q;

	if (h->num_qps == HOST_QPS)
		return NULL;
	q = aligned_alloc(64, (sizeof(*q) + 63) & ~(size_t)63);
	if (!q)
		abort();
	memset(q, 0, sizeof(*q));
	snprintf(q->name, sizeof(q->name), "%s", name);
	q->qpn = want->qpn ? want->qpn : QPN_OURS + h->num_qps * QPN_STEP;
	q->peer_qpn = QPN_PEER + h->num_qps * QPN_STEP;
	q->class = h->xrc ? 0xa0 :
		   want->type == IBV_QPT_UC ? 0x20 : want->type == IBV_QPT_UD ? 0x60 : 0;
	q->mtu = 128u << want->attr.path_mtu;
	start_psns(h, q, want);
	templates(h, q);
	host_cq_add(h, &q->send_cq, want->send_cqe);
	host_cq_add(h, &q->recv_cq, want->recv_cqe);
	q->conf = (struct qp_conf){
		.qpn = q->qpn, .handle = h->num_qps, .gen = 1,
		.type = want->type ? want->type : IBV_QPT_RC, .pd = want->pd,
		.send_cq = &q->send_cq.cq, .recv_cq = &q->recv_cq.cq, .max_inline = want->max_inline,
		.port_ip_mtu = want->ip_mtu, .dev_max_rd_atomic = 16, .dev_max_dest_rd_atomic = 16,
	};
	host_wq_conf(&q->conf.sq, &q->sq_ctl, want->sq, plx_sq_stride(PLX_MAX_SGE, want->max_inline));
	if (h->xrc) {
		q->conf.type = IBV_QPT_XRC_SEND;
		q->conf.recv_cq = NULL;
	} else {
		q->conf.srq = want->srq;
		host_wq_conf(&q->conf.rq, &q->rq_ctl, want->srq ? 0 : want->rq, plx_rq_stride(PLX_MAX_SGE));
	}
	q->qp = aligned_alloc(64, (qp_size() + 63) & ~(size_t)63);
	if (!q->qp)
		abort();
	memset(q->qp, 0, qp_size());
	if (qp_init(q->qp, &q->conf))
		host_broke(h, "qp_init refuses its conf");
	qp_set_owner(q->qp, q);
	if (demux_add(h->demux, q->qpn, q->qp))
		host_broke(h, "demux_add refuses the QPN");
	h->qp[h->num_qps++] = q;
	if (h->xrc)
		host_tgt_add(h, q, want);
	return q;
}

void
host_qp_free(struct host *h, struct host_qp *q)
{
	host_tgt_free(h, q);
	demux_del(h->demux, q->qpn);
	qp_fini(q->qp, &h->x);
	free(q->qp);
	free(q->send_cq.ring);
	free(q->recv_cq.ring);
	free(q->conf.sq.slots);
	free(q->conf.rq.slots);
	free(q->wr);
	free(q);
}

/* The masks of section 1.E: of all types, and what the acknowledged ones want beside it. */
static const struct {
	uint32_t all, acked;
} steps[] = {
	[IBV_QPS_INIT] = { IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0 },
	[IBV_QPS_RTR] = { IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
			  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
	[IBV_QPS_RTS] = { IBV_QP_STATE | IBV_QP_SQ_PSN,
			  IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC },
};

uint32_t
host_qp_mask(uint32_t type, uint32_t state)
{
	static const uint32_t ud[] = {
		[IBV_QPS_INIT] = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		[IBV_QPS_RTR] = IBV_QP_STATE,
		[IBV_QPS_RTS] = IBV_QP_STATE | IBV_QP_SQ_PSN,
	};

	if (type == IBV_QPT_UD)
		return ud[state];
	return steps[state].all | (type == IBV_QPT_UC ? 0 : steps[state].acked);
}

int
host_qp_raise(struct host *h, struct host_qp *q, const struct host_qp_want *want, uint32_t state)
{
	struct qp_attr attr = want->attr;

	attr.port_num = 1;
	attr.dest_qpn = q->peer_qpn;
	attr.sq_psn = q->sq_base;
	attr.rq_psn = q->rq_base;
	host_path(q, &attr.path);
	q->out.qkey = q->in.qkey = attr.qkey;
	if (h->xrc)
		return host_xrc_raise(h, q, &attr, state);
	for (attr.state = qp_state(q->qp) + 1; attr.state <= state; attr.state++) {
		int rc = qp_modify(q->qp, &h->x, host_qp_mask(q->conf.type, attr.state), &attr);

		if (rc)
			return rc;
	}
	return 0;
}

int
host_post(struct host *h, struct host_qp *q, const struct plx_sq_wqe *wqe, const struct plx_sge *sge,
	  const void *inline_data)
{
	const struct wq_conf *c = &q->conf.sq;
	uint8_t *slot = c->slots + (size_t)(q->sq_tail & ((1u << c->log2_size) - 1)) * c->stride;

	if (q->sq_tail - q->sq_free >= c->max_wr)
		return -ENOMEM;
	memcpy(slot, wqe, sizeof(*wqe));
	if (wqe->flags & PLX_WQE_INLINE)
		memcpy(slot + sizeof(*wqe), inline_data, wqe->length);
	else if (wqe->num_sge <= PLX_MAX_SGE)
		memcpy(slot + sizeof(*wqe), sge, wqe->num_sge * sizeof(*sge));
	q->sq_ctl.tail = ++q->sq_tail;
	q->sq_ctl.bell = 1;
	qp_sq_bell(q->qp, &h->x);
	return 0;
}

int
host_recv(struct host *h, struct host_qp *q, uint64_t wr_id, uint32_t num_sge,
	  const struct plx_sge *sge)
{
	const struct wq_conf *c = &q->conf.rq;
	uint8_t *slot = c->slots + (size_t)(q->rq_tail & ((1u << c->log2_size) - 1)) * c->stride;
	struct plx_rq_wqe wqe = { .wr_id = wr_id, .num_sge = num_sge };

	if (q->rq_tail - q->rq_free >= c->max_wr)
		return -ENOMEM;
	memcpy(slot, &wqe, sizeof(wqe));
	if (num_sge && num_sge <= PLX_MAX_SGE)
		memcpy(slot + sizeof(wqe), sge, num_sge * sizeof(*sge));
	q->rq_ctl.tail = ++q->rq_tail;
	/* As the application does: a doorbell only when the core asked for one. */
	if (q->rq_ctl.bell_wanted && !q->rq_ctl.bell) {
		q->rq_ctl.bell = 1;
		qp_rq_bell(q->qp, &h->x);
	}
	return 0;
}

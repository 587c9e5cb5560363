/* SPDX-License-Identifier: BSD-3-Clause */
/* A context, a CQ and a connected QP on the mock, for the tests of the verbs. */
#ifndef UNIT_VERBS_WORLD_H
#define UNIT_VERBS_WORLD_H

#include <errno.h>
#include <stdlib.h>

#include <pollux/verbs.h>

#include "verbs_mock.h"

struct world {
	struct ibv_context *ctx;
	struct ibv_comp_channel *channel;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

struct world_conf {
	bool can_drive;
	bool with_channel;
	int sig_all;
	int cqe;
	uint32_t send_wr, recv_wr, sge, inline_data;
	enum ibv_qp_type type;	/* 0: RC */
};

static inline void
world_state(struct world *w, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state, .max_rd_atomic = 4 };
	int mask = IBV_QP_STATE | (state == IBV_QPS_RTS ? IBV_QP_MAX_QP_RD_ATOMIC : 0);

	if (ibv_modify_qp(w->qp, &attr, mask))
		abort();
}

static inline struct ibv_qp *
world_qp(struct world *w, const struct world_conf *c)
{
	struct ibv_qp_init_attr init = {
		.send_cq = w->cq,
		.recv_cq = w->cq,
		.qp_type = c->type ? c->type : IBV_QPT_RC,
		.sq_sig_all = c->sig_all,
		.cap = { c->send_wr ? c->send_wr : 16, c->recv_wr ? c->recv_wr : 16,
			 c->sge ? c->sge : 4, c->sge ? c->sge : 4, c->inline_data },
	};

	return ibv_create_qp(w->pd, &init);
}

static inline void
world_open(struct world *w, struct world_conf c)
{
	struct ibv_device **list;

	mock_start(c.can_drive);
	list = ibv_get_device_list(NULL);
	w->ctx = list ? ibv_open_device(list[0]) : NULL;
	ibv_free_device_list(list);
	if (!w->ctx)
		abort();
	w->pd = ibv_alloc_pd(w->ctx);
	w->channel = c.with_channel ? ibv_create_comp_channel(w->ctx) : NULL;
	w->cq = ibv_create_cq(w->ctx, c.cqe ? c.cqe : 64, w, w->channel, 0);
	w->qp = w->pd && w->cq ? world_qp(w, &c) : NULL;
	if (!w->qp)
		abort();
	world_state(w, IBV_QPS_INIT);
	world_state(w, IBV_QPS_RTR);
	world_state(w, IBV_QPS_RTS);
}

static inline void
world_close(struct world *w)
{
	if (ibv_destroy_qp(w->qp) || ibv_destroy_cq(w->cq) ||
	    (w->channel && ibv_destroy_comp_channel(w->channel)) || ibv_dealloc_pd(w->pd) ||
	    ibv_close_device(w->ctx))
		abort();
	mock_stop();
}

#endif

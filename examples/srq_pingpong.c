/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two programs send messages back and forth on several connections at once, whose receives all come from one
 * shared queue. Speaks with rdma-core's ibv_srq_pingpong too.
 */
#include <stdio.h>
#include <time.h>

#include "common/pingpong.h"

#define MAX_QP 256u	/* so many addresses are exchanged, however many QPs there are */

struct lane {
	struct pp_peer peer;
	unsigned int pending;	/* bits of enum pp_wr_id: what the next send waits for */
};

struct game {
	struct ibv_srq *srq;
	struct lane lane[MAX_QP];
	unsigned int slots;	/* to receive into; the SRQ gives them to the QPs as messages come */
	unsigned int started, sent, received;
};

/* wr_id of a receive: its slot, and that it is one. */
static bool
post_recv(struct pp *pp, struct game *g, unsigned int slot)
{
	struct ibv_sge sge = pp_in(pp, slot % g->slots);
	struct ibv_recv_wr wr = {
		.wr_id = (uint64_t)slot << 2 | PP_RECV, .sg_list = &sge, .num_sge = 1,
	}, *bad;
	int err = ibv_post_srq_recv(g->srq, &wr, &bad);

	if (err)
		fprintf(stderr, "Couldn't post receive (%d)\n", err);
	return !err;
}

static bool
create_srq(struct pp *pp, struct game *g)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = pp->opt.rx_depth, .max_sge = 1 } };

	g->srq = ibv_create_srq(pp->pd, &init);
	if (!g->srq)
		perror("Couldn't create SRQ");
	return g->srq;
}

static bool
create_qp(struct pp *pp, struct game *g, unsigned int n)
{
	struct ibv_qp_init_attr init = {
		.send_cq = pp->cq,
		.recv_cq = pp->cq,
		.srq = g->srq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = (uint8_t)pp->opt.ib_port };
	struct pp_peer *peer = &g->lane[n].peer;
	int err;

	peer->qp = ibv_create_qp(pp->pd, &init);
	if (!peer->qp) {
		fprintf(stderr, "Couldn't create QP[%u]\n", n);
		return false;
	}
	peer->local = (struct pp_address){ .lid = pp->port.lid, .qpn = peer->qp->qp_num, .psn = pp_psn(),
					   .gid = pp->gid };
	pp_print("local address:", &peer->local);
	err = ibv_modify_qp(peer->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS);
	if (err)
		fprintf(stderr, "Failed to modify QP[%u] to INIT (%d)\n", n, err);
	return !err;
}

static bool
connect_qp(struct pp *pp, struct pp_peer *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = pp_mtu(pp->opt.mtu),
		.dest_qp_num = peer->remote.qpn,
		.rq_psn = peer->remote.psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = pp_path(pp, peer->remote.lid, &peer->remote.gid),
	};
	int err = ibv_modify_qp(peer->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				IBV_QP_MIN_RNR_TIMER);

	if (!err) {
		attr.qp_state = IBV_QPS_RTS;
		attr.timeout = 14;
		attr.retry_cnt = 7;
		attr.rnr_retry = 7;
		attr.sq_psn = peer->local.psn;
		attr.max_rd_atomic = 1;
		err = ibv_modify_qp(peer->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	}
	if (err)
		fprintf(stderr, "Failed to modify QP 0x%06x to RTS (%d)\n", peer->local.qpn, err);
	return !err;
}

static bool
tell_all(struct pp *pp, const struct game *g)
{
	bool ok = true;

	for (unsigned int i = 0; i < MAX_QP && ok; i++)
		ok = pp_tell(pp->fd, &g->lane[i].peer.local);
	return ok;
}

static bool
hear_all(struct pp *pp, struct game *g)
{
	bool ok = true;

	for (unsigned int i = 0; i < MAX_QP && ok; i++)
		ok = pp_hear(pp->fd, &g->lane[i].peer.remote);
	for (unsigned int i = 0; i < pp->opt.num_qp && ok; i++)
		ok = connect_qp(pp, &g->lane[i].peer);
	return ok;
}

static bool
meet(struct pp *pp, struct game *g)
{
	bool ok;

	if (!pp_call(pp))
		return false;
	ok = pp->opt.server ? tell_all(pp, g) && hear_all(pp, g) && pp_tell_done(pp->fd) :
			      hear_all(pp, g) && tell_all(pp, g) && pp_hear_done(pp->fd);
	for (unsigned int i = 0; i < pp->opt.num_qp && ok; i++)
		pp_print("remote address:", &g->lane[i].peer.remote);
	return ok;
}

/* The answer to a message of this connection, or the message after the answer. */
static bool
next(struct pp *pp, struct game *g, struct lane *lane)
{
	if (lane->pending || g->started == pp->opt.iters)
		return true;
	g->started++;
	lane->pending = PP_SEND | PP_RECV;
	return pp_post_send(pp, &lane->peer, PP_SEND);
}

static bool
take(struct pp *pp, struct game *g, const struct ibv_wc *wc)
{
	unsigned int what = wc->wr_id & (PP_SEND | PP_RECV), slot = (unsigned int)(wc->wr_id >> 2), n = 0;

	if (!pp_succeeded(wc))
		return false;
	while (n < pp->opt.num_qp && g->lane[n].peer.qp->qp_num != wc->qp_num)
		n++;
	if (n == pp->opt.num_qp) {
		fprintf(stderr, "Couldn't find QPN %06x\n", wc->qp_num);
		return false;
	}
	g->lane[n].pending &= ~what;
	if (what == PP_SEND)
		g->sent++;
	else
		g->received++;
	if (what == PP_RECV && (!pp_check(pp, slot % g->slots) || !post_recv(pp, g, slot)))
		return false;
	return next(pp, g, &g->lane[n]);
}

static bool
play(struct pp *pp, struct game *g)
{
	struct timespec start;
	struct ibv_wc wc[16];

	clock_gettime(CLOCK_MONOTONIC, &start);
	for (unsigned int i = 0; i < pp->opt.num_qp; i++) {
		g->lane[i].pending = pp->opt.server ? 0 : PP_RECV;
		if (!next(pp, g, &g->lane[i]))
			return false;
	}
	while (g->sent < pp->opt.iters || g->received < pp->opt.iters) {
		int n = pp_wait(pp, wc, 16);

		for (int i = 0; i < n; i++)
			if (!take(pp, g, &wc[i]))
				return false;
		if (!n)
			return false;
	}
	pp_report(pp, pp->opt.iters, &start);
	pp_part(pp);
	return true;
}

static bool
run(struct pp *pp, struct game *g)
{
	const struct pp_options *o = &pp->opt;

	g->slots = o->check ? o->rx_depth : 1;
	if (!pp_mtu(o->mtu) || !pp_open(pp, o->rx_depth + o->num_qp, g->slots, 0) || !create_srq(pp, g))
		return false;
	for (unsigned int i = 0; i < o->num_qp; i++)
		if (!create_qp(pp, g, i))
			return false;
	for (unsigned int i = 0; i < o->rx_depth; i++)
		if (!post_recv(pp, g, i))
			return false;
	return meet(pp, g) && play(pp, g);
}

int
main(int argc, char **argv)
{
	struct pp pp = { .opt = { .tcp_port = 18515, .ib_port = 1, .size = 4096, .mtu = 1024, .num_qp = 16,
				  .rx_depth = 500, .iters = 1000, .clients = 1, .gid_idx = -1 }, .fd = -1 };
	static struct game game;
	bool ok;

	pp_options_read(&pp.opt, "pdismqrnlegoc", argc, argv);
	if (pp.opt.num_qp > pp.opt.rx_depth || pp.opt.num_qp > MAX_QP) {
		fprintf(stderr, "%u QPs: %u at most, and a receive for each\n", pp.opt.num_qp, MAX_QP);
		return 1;
	}
	ok = run(&pp, &game);
	for (unsigned int i = 0; i < MAX_QP && game.lane[i].peer.qp; i++)
		if (ibv_destroy_qp(game.lane[i].peer.qp))
			fprintf(stderr, "Couldn't destroy QP[%u]\n", i);
	if (game.srq && ibv_destroy_srq(game.srq))
		fprintf(stderr, "Couldn't destroy SRQ\n");
	pp_close(&pp);
	return ok ? 0 : 1;
}

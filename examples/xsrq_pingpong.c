/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A server and its clients send messages back and forth by XRC: each message names the shared receive
 * queue of the peer that it is for, and each end has one QP to send and one to receive. Speaks with
 * rdma-core's ibv_xsrq_pingpong too. Here the server begins.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/pingpong.h"

#define MAX_CLIENTS 256u

struct peer {
	int fd;
	struct ibv_qp *recv_qp, *send_qp;
	struct pp_xrc_address local, remote;
	unsigned int sent, received;
};

struct game {
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	unsigned int srqn, slots, clients;
	struct peer peer[MAX_CLIENTS];
};

static bool
post_recv(struct pp *pp, struct game *g, unsigned int slot)
{
	struct ibv_sge sge = pp_in(pp, slot);
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;
	int err = ibv_post_srq_recv(g->srq, &wr, &bad);

	if (err)
		fprintf(stderr, "Couldn't post receive (%d)\n", err);
	return !err;
}

static bool
create_srq(struct pp *pp, struct game *g)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,		/* shared with no other process */
		.oflags = O_CREAT,
	};
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = g->slots, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC,
		.cq = pp->cq,
		.pd = pp->pd,
	};

	init.xrcd = g->xrcd = ibv_open_xrcd(pp->ctx, &domain);
	if (!g->xrcd) {
		perror("Couldn't Open the XRC Domain");
		return false;
	}
	g->srq = ibv_create_srq_ex(pp->ctx, &init);
	if (!g->srq || ibv_get_srq_num(g->srq, &g->srqn)) {
		perror("Couldn't create SRQ");
		return false;
	}
	for (unsigned int i = 0; i < g->slots; i++)
		if (!post_recv(pp, g, i))
			return false;
	return true;
}

/* What is received completes on the CQ of the SRQ, what is sent on that of the sending QP. */
static bool
create_qps(struct pp *pp, struct game *g, struct peer *peer)
{
	struct ibv_qp_init_attr_ex recv = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = g->xrcd,
	};
	struct ibv_qp_init_attr_ex send = {
		.qp_type = IBV_QPT_XRC_SEND, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = pp->pd,
		.send_cq = pp->cq, .cap = { .max_send_wr = 16, .max_send_sge = 1 },
	};
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = (uint8_t)pp->opt.ib_port };
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;

	peer->recv_qp = ibv_create_qp_ex(pp->ctx, &recv);
	peer->send_qp = peer->recv_qp ? ibv_create_qp_ex(pp->ctx, &send) : NULL;
	if (!peer->send_qp) {
		perror("Couldn't create QPs");
		return false;
	}
	peer->local = (struct pp_xrc_address){ .lid = pp->port.lid, .recv_qpn = peer->recv_qp->qp_num,
					    .send_qpn = peer->send_qp->qp_num, .psn = pp_psn(),
					    .srqn = g->srqn, .gid = pp->gid };
	if (!ibv_modify_qp(peer->recv_qp, &init, mask) && !ibv_modify_qp(peer->send_qp, &init, mask))
		return true;
	fprintf(stderr, "Failed to modify QPs to INIT\n");
	return false;
}

/* The peer's sending QP is connected with our receiving one, and the other way round. */
static bool
connect_qps(struct pp *pp, struct peer *peer)
{
	const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	const int rts = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = pp_mtu(pp->opt.mtu),
		.dest_qp_num = peer->remote.send_qpn,
		.rq_psn = peer->remote.psn,
		.min_rnr_timer = 12,
		.ah_attr = pp_path(pp, peer->remote.lid, &peer->remote.gid),
	};
	int err = ibv_modify_qp(peer->recv_qp, &attr, rtr | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);

	attr.dest_qp_num = peer->remote.recv_qpn;
	err = err ? err : ibv_modify_qp(peer->send_qp, &attr, rtr);
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = peer->local.psn;
	attr.timeout = 14;
	attr.retry_cnt = attr.rnr_retry = 7;
	err = err ? err : ibv_modify_qp(peer->recv_qp, &attr, rts);
	err = err ? err : ibv_modify_qp(peer->send_qp, &attr, rts | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					IBV_QP_MAX_QP_RD_ATOMIC);
	if (err)
		fprintf(stderr, "Failed to connect QPs (%d)\n", err);
	return !err;
}

static bool
meet(struct pp *pp, struct game *g)
{
	int listener = pp->opt.server ? -1 : pp_listen(&pp->opt);
	bool ok = pp->opt.server || listener >= 0;

	for (unsigned int i = 0; i < g->clients && ok; i++) {
		struct peer *peer = &g->peer[i];

		peer->fd = pp->opt.server ? pp_connect(&pp->opt) : pp_accept(listener);
		ok = peer->fd >= 0 && create_qps(pp, g, peer) &&
		     (pp->opt.server ?
		      pp_xrc_tell(peer->fd, &peer->local) && pp_xrc_hear(peer->fd, &peer->remote) &&
		      connect_qps(pp, peer) :
		      pp_xrc_hear(peer->fd, &peer->remote) && connect_qps(pp, peer) &&
		      pp_xrc_tell(peer->fd, &peer->local));
	}
	if (listener >= 0)
		close(listener);
	return ok;
}

static bool
post_send(struct pp *pp, struct peer *peer)
{
	struct ibv_sge sge = pp_out(pp);
	struct ibv_send_wr wr = {
		.wr_id = UINT32_MAX, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED, .qp_type.xrc.remote_srqn = peer->remote.srqn,
	}, *bad;

	return !ibv_post_send(peer->send_qp, &wr, &bad) || !fprintf(stderr, "Couldn't post send\n");
}

static bool
take(struct pp *pp, struct game *g, const struct ibv_wc *wc)
{
	struct peer *peer = g->peer;
	bool recv = wc->opcode == IBV_WC_RECV;

	if (!pp_succeeded(wc))
		return false;
	while (peer < g->peer + g->clients &&
	       (recv ? peer->recv_qp : peer->send_qp)->qp_num != wc->qp_num)
		peer++;
	if (peer == g->peer + g->clients) {
		fprintf(stderr, "Unable to find qp %x\n", wc->qp_num);
		return false;
	}
	if (!recv) {
		peer->sent++;
		return true;
	}
	peer->received++;
	if (!pp_check(pp, (unsigned int)wc->wr_id) || !post_recv(pp, g, (unsigned int)wc->wr_id))
		return false;
	/* the server has its last answer; a client answers each */
	return (!pp->opt.server && peer->received == pp->opt.iters) || post_send(pp, peer);
}

static bool
play(struct pp *pp, struct game *g)
{
	const unsigned int all = g->clients * pp->opt.iters;
	unsigned int done = 0;
	struct ibv_wc wc[16];

	for (unsigned int i = 0; i < g->clients && !pp->opt.server; i++)
		if (!post_send(pp, &g->peer[i]))
			return false;
	while (done < 2 * all) {
		int n = pp_wait(pp, wc, 16);

		for (int i = 0; i < n; i++)
			if (!take(pp, g, &wc[i]))
				return false;
		if (!n)
			return false;
		done += (unsigned int)n;
	}
	return true;
}

/* Nobody goes before the other has all. */
static bool
part(struct game *g)
{
	char end[sizeof("END")] = "END";

	for (unsigned int i = 0; i < g->clients; i++)
		if (!pp_write(g->peer[i].fd, end, sizeof(end)) || !pp_read(g->peer[i].fd, end, sizeof(end)))
			return false;
	printf("success\n");
	return true;
}

static bool
run(struct pp *pp, struct game *g)
{
	g->clients = pp->opt.server ? 1 : pp->opt.clients < MAX_CLIENTS ? pp->opt.clients : MAX_CLIENTS;
	g->slots = 16 * g->clients;
	return pp_mtu(pp->opt.mtu) && pp_open(pp, 2 * g->slots, g->slots, 0) && create_srq(pp, g) &&
	       meet(pp, g) && play(pp, g) && part(g);
}

int
main(int argc, char **argv)
{
	struct pp pp = { .opt = { .tcp_port = 18515, .ib_port = 1, .size = 4096, .mtu = 1024, .clients = 1,
				  .iters = 5, .gid_idx = -1, .check = true }, .fd = -1 };
	static struct game game;
	bool ok;

	pp_options_read(&pp.opt, "pdismCTlego", argc, argv);
	ok = run(&pp, &game);
	for (struct peer *p = game.peer; p < game.peer + game.clients; p++) {
		if ((p->send_qp && ibv_destroy_qp(p->send_qp)) || (p->recv_qp && ibv_destroy_qp(p->recv_qp)))
			fprintf(stderr, "Couldn't destroy QPs\n");
		if (p->fd > 0)
			close(p->fd);
	}
	if ((game.srq && ibv_destroy_srq(game.srq)) || (game.xrcd && ibv_close_xrcd(game.xrcd)))
		fprintf(stderr, "Couldn't destroy SRQ and XRC Domain\n");
	pp_close(&pp);
	return ok ? 0 : 1;
}

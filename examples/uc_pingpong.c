/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two programs send a message back and forth on an unreliable connection: nothing is sent again, and a
 * message that is lost ends the game. Speaks with rdma-core's ibv_uc_pingpong too.
 */
#include <stdio.h>

#include "common/pingpong.h"

static struct ibv_qp *
create_qp(struct pp *pp)
{
	struct ibv_qp_init_attr init = {
		.send_cq = pp->cq,
		.recv_cq = pp->cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = pp->opt.rx_depth, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UC,
	};
	struct ibv_qp *qp = ibv_create_qp(pp->pd, &init);

	if (!qp)
		perror("Couldn't create QP");
	return qp;
}

static bool
to_init(struct pp *pp, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = 0,
		.port_num = (uint8_t)pp->opt.ib_port,
		.qp_access_flags = 0,
	};
	int err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				IBV_QP_ACCESS_FLAGS);

	if (err)
		fprintf(stderr, "Failed to modify QP to INIT (%d)\n", err);
	return !err;
}

/* As a reliable one, but without what concerns answers: no timers, no retries, no READs. */
static bool
connect_qp(struct pp *pp, struct pp_peer *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = pp_mtu(pp->opt.mtu),
		.dest_qp_num = peer->remote.qpn,
		.rq_psn = peer->remote.psn,
		.ah_attr = pp_path(pp, peer->remote.lid, &peer->remote.gid),
	};
	int err = ibv_modify_qp(peer->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);

	if (err) {
		fprintf(stderr, "Failed to modify QP to RTR (%d)\n", err);
		return false;
	}
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = peer->local.psn;
	err = ibv_modify_qp(peer->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	if (err)
		fprintf(stderr, "Failed to modify QP to RTS (%d)\n", err);
	return !err;
}

static bool
run(struct pp *pp, struct pp_peer *peer)
{
	if (!pp_mtu(pp->opt.mtu) || !pp_open(pp, pp->opt.rx_depth + 1, 1, 0))
		return false;
	peer->qp = create_qp(pp);
	return peer->qp && to_init(pp, peer->qp) && pp_post_recvs(pp, peer, pp->opt.rx_depth) &&
	       pp_meet(pp, peer, connect_qp) && pp_play(pp, peer);
}

int
main(int argc, char **argv)
{
	struct pp pp = { .opt = { .tcp_port = 18515, .ib_port = 1, .size = 4096, .mtu = 1024, .rx_depth = 500,
				  .iters = 1000, .clients = 1, .gid_idx = -1 }, .fd = -1 };
	struct pp_peer peer = { .qp = NULL };
	bool ok;

	pp_options_read(&pp.opt, "pdismrnlegc", argc, argv);
	ok = run(&pp, &peer);
	if (peer.qp && ibv_destroy_qp(peer.qp))
		fprintf(stderr, "Couldn't destroy QP\n");
	pp_close(&pp);
	return ok ? 0 : 1;
}

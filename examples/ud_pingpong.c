/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two programs send a datagram back and forth. Each is one packet, and arrives behind 40 bytes that say
 * where it came from. Speaks with rdma-core's ibv_ud_pingpong too.
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
		.qp_type = IBV_QPT_UD,
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
		.qkey = PP_QKEY,
	};
	int err = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	if (err)
		fprintf(stderr, "Failed to modify QP to INIT (%d)\n", err);
	return !err;
}

/* The QP has no peer: each send names one, by an address handle and the number of its QP. */
static bool
make_ready(struct pp *pp, struct pp_peer *peer)
{
	struct ibv_ah_attr path = pp_path(pp, peer->remote.lid, &peer->remote.gid);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int err = ibv_modify_qp(peer->qp, &attr, IBV_QP_STATE);

	if (err) {
		fprintf(stderr, "Failed to modify QP to RTR (%d)\n", err);
		return false;
	}
	attr.qp_state = IBV_QPS_RTS;
	attr.sq_psn = peer->local.psn;
	err = ibv_modify_qp(peer->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	if (err) {
		fprintf(stderr, "Failed to modify QP to RTS (%d)\n", err);
		return false;
	}
	peer->ah = ibv_create_ah(pp->pd, &path);
	if (!peer->ah)
		perror("Failed to create AH");
	return peer->ah;
}

static bool
size_fits(const struct pp *pp)
{
	unsigned int mtu = 128u << pp->port.active_mtu;

	if (pp->opt.size <= mtu)
		return true;
	fprintf(stderr, "Requested size larger than port MTU (%u)\n", mtu);
	return false;
}

static bool
run(struct pp *pp, struct pp_peer *peer)
{
	if (!pp_open(pp, pp->opt.rx_depth + 1, 1, PP_GRH) || !size_fits(pp))
		return false;
	peer->qp = create_qp(pp);
	return peer->qp && to_init(pp, peer->qp) && pp_post_recvs(pp, peer, pp->opt.rx_depth) &&
	       pp_meet(pp, peer, make_ready) && pp_play(pp, peer);
}

int
main(int argc, char **argv)
{
	struct pp pp = { .opt = { .tcp_port = 18515, .ib_port = 1, .size = 1024, .rx_depth = 500,
				  .iters = 1000, .clients = 1, .gid_idx = -1 }, .fd = -1 };
	struct pp_peer peer = { .qp = NULL };
	bool ok;

	pp_options_read(&pp.opt, "pdisrnlegc", argc, argv);
	ok = run(&pp, &peer);
	if (peer.ah)
		ibv_destroy_ah(peer.ah);
	if (peer.qp && ibv_destroy_qp(peer.qp))
		fprintf(stderr, "Couldn't destroy QP\n");
	pp_close(&pp);
	return ok ? 0 : 1;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client lends its server a part of its memory for the length of one answer. It binds a memory window of
 * type 2 to a buffer, and tells the server the key. The server writes through the window, and the SEND that
 * says so takes the key back. So go storage protocols; here the buffer's region gives peers no right at all.
 *
 * Shown besides: the work request builder (ibv_wr_*) and an extended CQ. One thread.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>

#include "common/pingpong.h"

/* What the client tells the server; big-endian. */
struct offer {
	uint64_t addr;
	uint32_t rkey, reserved;
};

struct lending {
	struct pp pp;			/* first: connect_qp() is given it */
	struct pp_peer peer;
	struct ibv_cq_ex *cq;
	struct ibv_qp_ex *ex;		/* the same QP, for the builder */
	struct ibv_mr *region;		/* the client's: slot 0 */
	struct ibv_mw *mw;
	unsigned int sent, heard;	/* completions of SENDs and of receives */
	uint32_t taken_back;		/* the key that the last message took back, or 0 */
};

/* send_ops_flags name what will be built; they make the QP one for ibv_wr_*. */
static bool
make_queues(struct lending *l)
{
	struct ibv_cq_init_attr_ex cq = { .cqe = 8, .wc_flags = IBV_WC_EX_WITH_IMM };	/* keys too */
	struct ibv_qp_init_attr_ex qp = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1,
			 .max_inline_data = sizeof(struct offer) },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = l->pp.pd,
		.send_ops_flags = l->pp.opt.server ? IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND :
				  IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND_WITH_INV,
	};

	l->cq = ibv_create_cq_ex(l->pp.ctx, &cq);
	if (l->cq) {
		qp.send_cq = qp.recv_cq = ibv_cq_ex_to_cq(l->cq);
		l->peer.qp = ibv_create_qp_ex(l->pp.ctx, &qp);
	}
	if (l->peer.qp)
		l->ex = ibv_qp_to_qp_ex(l->peer.qp);
	else
		perror(l->cq ? "Couldn't create QP" : "Couldn't create extended CQ");
	return l->ex;
}

static bool
make_window(struct lending *l)
{
	struct ibv_sge slot = pp_in(&l->pp, 0);

	l->region = ibv_reg_mr(l->pp.pd, (void *)(uintptr_t)slot.addr, slot.length,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	l->mw = l->region ? ibv_alloc_mw(l->pp.pd, IBV_MW_TYPE_2) : NULL;
	if (!l->mw)
		perror("Couldn't make a memory window");
	return l->mw;
}

/* Offers come to slot 0 of the server; answers have no bytes. */
static bool
post_recv(struct lending *l)
{
	struct ibv_sge sge = pp_in(&l->pp, 0);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = l->pp.opt.server ? 0 : 1 }, *bad;
	int err;

	sge.length = sizeof(struct offer);
	err = ibv_post_recv(l->peer.qp, &wr, &bad);
	if (err)
		fprintf(stderr, "Couldn't post receive (%d)\n", err);
	return !err;
}

static bool
move(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state, int mask)
{
	int err;

	attr->qp_state = state;
	err = ibv_modify_qp(qp, attr, IBV_QP_STATE | mask);
	if (err)
		fprintf(stderr, "Failed to modify QP to state %d (%d)\n", state, err);
	return !err;
}

/* The client's QP allows writes; the window says where. */
static bool
connect_qp(struct pp *pp, struct pp_peer *peer)
{
	struct ibv_qp_attr attr = {
		.port_num = (uint8_t)pp->opt.ib_port,
		.qp_access_flags = pp->opt.server ? IBV_ACCESS_REMOTE_WRITE : 0,
		.path_mtu = pp_mtu(pp->opt.mtu),
		.dest_qp_num = peer->remote.qpn,
		.rq_psn = peer->remote.psn,
		.min_rnr_timer = 12,
		.ah_attr = pp_path(pp, peer->remote.lid, &peer->remote.gid),
		.timeout = 14,		/* 67 ms */
		.retry_cnt = 7,
		.rnr_retry = 7,		/* for ever */
		.sq_psn = peer->local.psn,
	};

	return move(peer->qp, &attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) &&
	       post_recv((struct lending *)pp) &&
	       move(peer->qp, &attr, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
		    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) &&
	       move(peer->qp, &attr, IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

/* The completion that the CQ stands at. Of a failed one only status, wr_id, qp_num and vendor_err count. */
static bool
take(struct lending *l)
{
	if (l->cq->status) {
		fprintf(stderr, "Failed status %s (%d), vendor_err 0x%x\n", ibv_wc_status_str(l->cq->status),
			l->cq->status, ibv_wc_read_vendor_err(l->cq));
		return false;
	}
	if (ibv_wc_read_opcode(l->cq) == IBV_WC_SEND) {
		l->sent++;
		return true;
	}
	l->heard++;
	l->taken_back = ibv_wc_read_wc_flags(l->cq) & IBV_WC_WITH_INV ?
			ibv_wc_read_invalidated_rkey(l->cq) : 0;
	return true;
}

/* Until so many SENDs have completed and so many messages have come. */
static bool
wait_for(struct lending *l, unsigned int sent, unsigned int heard)
{
	struct ibv_poll_cq_attr attr = { 0 };
	bool ok = true;

	while (ok && (l->sent < sent || l->heard < heard)) {
		int err = ibv_start_poll(l->cq, &attr);

		if (err == ENOENT)	/* nothing there, and nothing to end */
			continue;
		if (err) {
			fprintf(stderr, "poll CQ failed %d\n", err);
			return false;
		}
		do
			ok = take(l);
		while (ok && !ibv_next_poll(l->cq));
		ibv_end_poll(l->cq);
	}
	return ok;
}

static bool
posted(int err)
{
	if (err)
		fprintf(stderr, "Couldn't post (%d)\n", err);
	return !err;
}

/* Bind, and tell the key: the queue's order lets both be posted at once. A window that was taken back may be
 * bound again, under a key whose low byte is new. */
static bool
lend(struct lending *l)
{
	struct ibv_sge slot = pp_in(&l->pp, 0);
	struct ibv_mw_bind_info info = { .mr = l->region, .addr = slot.addr, .length = slot.length,
					 .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	uint32_t rkey = ibv_inc_rkey(l->mw->rkey);
	struct offer offer = { htobe64(slot.addr), htobe32(rkey), 0 };

	ibv_wr_start(l->ex);
	l->ex->wr_flags = 0;
	ibv_wr_bind_mw(l->ex, l->mw, rkey, &info);
	l->ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(l->ex);
	ibv_wr_set_inline_data(l->ex, &offer, sizeof(offer));
	l->mw->rkey = rkey;	/* the builder leaves that to the program */
	return posted(ibv_wr_complete(l->ex));
}

/* Write to where the client said, and take the key back. More than the window holds would end both QPs. */
static bool
answer(struct lending *l)
{
	const struct offer *offer = (const struct offer *)(uintptr_t)pp_in(&l->pp, 0).addr;
	struct ibv_sge out = pp_out(&l->pp);

	ibv_wr_start(l->ex);
	l->ex->wr_flags = 0;
	ibv_wr_rdma_write(l->ex, be32toh(offer->rkey), be64toh(offer->addr));
	ibv_wr_set_sge(l->ex, out.lkey, out.addr, out.length);
	l->ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send_inv(l->ex, be32toh(offer->rkey));
	return posted(ibv_wr_complete(l->ex));
}

static bool
client_turn(struct lending *l, unsigned int n)
{
	if (!lend(l) || !wait_for(l, n + 1, n + 1) || !post_recv(l))
		return false;
	if (l->taken_back != l->mw->rkey) {
		fprintf(stderr, "the answer took back key 0x%x, not 0x%x\n", l->taken_back, l->mw->rkey);
		return false;
	}
	return pp_check(&l->pp, 0);
}

static bool
run(struct lending *l)
{
	bool client = l->pp.opt.server;

	if (!pp_mtu(l->pp.opt.mtu) || !pp_open(&l->pp, 1, 1, 0) || !make_queues(l) ||
	    (client && !make_window(l)) || !pp_meet(&l->pp, &l->peer, connect_qp))
		return false;
	for (unsigned int n = 0; n < l->pp.opt.iters; n++)
		if (!(client ? client_turn(l, n) : wait_for(l, n, n + 1) && post_recv(l) && answer(l)))
			return false;
	if (!wait_for(l, l->pp.opt.iters, l->pp.opt.iters))
		return false;
	printf("%u windows of %u bytes: lent, written and taken back with success\n", l->pp.opt.iters,
	       l->pp.opt.size);
	pp_part(&l->pp);
	return true;
}

int
main(int argc, char **argv)
{
	struct lending l = { .pp = { .opt = { .tcp_port = 18515, .ib_port = 1, .size = 4096, .mtu = 1024,
					      .iters = 1000, .gid_idx = -1 }, .fd = -1 } };
	bool ok;

	pp_options_read(&l.pp.opt, "pdismngc", argc, argv);
	ok = run(&l);
	if ((l.peer.qp && ibv_destroy_qp(l.peer.qp)) || (l.mw && ibv_dealloc_mw(l.mw)) ||
	    (l.region && ibv_dereg_mr(l.region)) || (l.cq && ibv_destroy_cq(ibv_cq_ex_to_cq(l.cq))))
		fprintf(stderr, "Couldn't destroy everything\n");
	pp_close(&l.pp);
	return ok ? 0 : 1;
}

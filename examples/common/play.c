/* SPDX-License-Identifier: BSD-3-Clause */
/* The game for programs with one queue pair: a message, its answer, and so on. */
#include <stdio.h>
#include <time.h>

#include "pingpong.h"

bool
pp_post_send(struct pp *pp, const struct pp_peer *peer, uint64_t wr_id)
{
	struct ibv_sge sge = pp_out(pp);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	int err;

	if (peer->ah) {
		wr.wr.ud.ah = peer->ah;
		wr.wr.ud.remote_qpn = peer->remote.qpn;
		wr.wr.ud.remote_qkey = PP_QKEY;
	}
	err = ibv_post_send(peer->qp, &wr, &bad);
	if (err)
		fprintf(stderr, "Couldn't post send (%d)\n", err);
	return !err;
}

/* All into one slot: the peer sends the next message when it has our answer. */
bool
pp_post_recvs(struct pp *pp, const struct pp_peer *peer, unsigned int n)
{
	struct ibv_sge sge = pp_in(pp, 0);
	struct ibv_recv_wr wr = { .wr_id = PP_RECV, .sg_list = &sge, .num_sge = 1 }, *bad;

	while (n) {
		int err = ibv_post_recv(peer->qp, &wr, &bad);

		if (err) {
			fprintf(stderr, "Couldn't post receive (%d)\n", err);
			return false;
		}
		n--;
	}
	return true;
}

static bool
as_client(struct pp *pp, struct pp_peer *peer, int fd,
	  bool (*ready)(struct pp *pp, struct pp_peer *peer))
{
	return pp_tell(fd, &peer->local) && pp_hear(fd, &peer->remote) && ready(pp, peer) &&
	       pp_tell_done(fd);
}

static bool
as_server(struct pp *pp, struct pp_peer *peer, int fd,
	  bool (*ready)(struct pp *pp, struct pp_peer *peer))
{
	return pp_hear(fd, &peer->remote) && ready(pp, peer) && pp_tell(fd, &peer->local) &&
	       pp_hear_done(fd);
}

bool
pp_meet(struct pp *pp, struct pp_peer *peer, bool (*ready)(struct pp *pp, struct pp_peer *peer))
{
	bool ok;

	peer->local = (struct pp_address){ .lid = pp->port.lid, .qpn = peer->qp->qp_num, .psn = pp_psn(),
					   .gid = pp->gid };
	pp_print("local address:", &peer->local);
	if (!pp_call(pp))
		return false;
	ok = pp->opt.server ? as_client(pp, peer, pp->fd, ready) : as_server(pp, peer, pp->fd, ready);
	if (ok)
		pp_print("remote address:", &peer->remote);
	return ok;
}

struct game {
	unsigned int started, sent, received, posted;
	unsigned int pending;		/* bits of enum pp_wr_id: what the next send waits for */
};

static bool
take(struct pp *pp, const struct pp_peer *peer, const struct ibv_wc *wc, struct game *g)
{
	if (!pp_succeeded(wc))
		return false;
	g->pending &= ~(unsigned int)wc->wr_id;
	if (wc->wr_id == PP_SEND) {
		g->sent++;
		return true;
	}
	g->received++;
	if (!pp_check(pp, 0))
		return false;
	if (--g->posted > 1)
		return true;
	if (!pp_post_recvs(pp, peer, pp->opt.rx_depth - g->posted))
		return false;
	g->posted = pp->opt.rx_depth;
	return true;
}

/* The answer to a message, or the message after the answer. */
static bool
next(struct pp *pp, const struct pp_peer *peer, struct game *g)
{
	if (g->pending || g->started == pp->opt.iters)
		return true;
	g->started++;
	g->pending = PP_SEND | PP_RECV;
	return pp_post_send(pp, peer, PP_SEND);
}

bool
pp_play(struct pp *pp, const struct pp_peer *peer)
{
	const unsigned int iters = pp->opt.iters;
	struct game g = { .posted = pp->opt.rx_depth, .pending = pp->opt.server ? 0 : PP_RECV };
	struct timespec start;

	clock_gettime(CLOCK_MONOTONIC, &start);
	while (g.sent < iters || g.received < iters) {
		struct ibv_wc wc[4];
		int n;

		if (!next(pp, peer, &g))
			return false;
		n = pp_wait(pp, wc, 4);
		if (!n)
			return false;
		for (int i = 0; i < n; i++)
			if (!take(pp, peer, &wc[i], &g))
				return false;
	}
	pp_report(pp, iters, &start);
	pp_part(pp);
	return true;
}

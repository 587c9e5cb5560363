/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that rests: with an open device and nothing else, or with a connected RC QP on which
 * nothing happens. idle.py looks at what that costs.
 *
 *	rest		opens the device, and waits
 *	rest FD		also connects a QP to the program at the other end of the socket FD
 *
 * It says "rests" when it has got so far, and goes on until it is killed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include <pollux/verbs.h>

#define GID_INDEX 1

struct end {
	uint32_t qpn, psn;
	union ibv_gid gid;
};

struct rest {
	struct ibv_context *ctx;
	struct ibv_qp *qp;
	struct end own, peer;
};

static int
fail(const char *what)
{
	perror(what);
	return 1;
}

static int
open_device(struct rest *r)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (!list || !list[0])
		return fail("no device");
	r->ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	return r->ctx ? 0 : fail("ibv_open_device");
}

static int
make_qp(struct rest *r)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_pd *pd = ibv_alloc_pd(r->ctx);

	init.send_cq = init.recv_cq = ibv_create_cq(r->ctx, 32, NULL, NULL, 0);
	r->qp = pd && init.send_cq ? ibv_create_qp(pd, &init) : NULL;
	if (!r->qp)
		return fail("no QP");
	r->own.qpn = r->qp->qp_num;
	if (ibv_query_gid(r->ctx, 1, GID_INDEX, &r->own.gid) ||
	    getrandom(&r->own.psn, sizeof(r->own.psn), 0) < 0)
		return fail("no GID");
	r->own.psn &= 0xffffff;
	return ibv_modify_qp(r->qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS) ? fail("INIT") : 0;
}

static int
swap_ends(struct rest *r, int fd)
{
	if (write(fd, &r->own, sizeof(r->own)) != sizeof(r->own) ||
	    read(fd, &r->peer, sizeof(r->peer)) != sizeof(r->peer))
		return fail("no word from the peer");
	return 0;
}

static int
connect_qp(struct rest *r)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = r->peer.qpn,
		.rq_psn = r->peer.psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = r->peer.gid, .sgid_index = GID_INDEX, .hop_limit = 64 } },
		.sq_psn = r->own.psn,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	if (ibv_modify_qp(r->qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return fail("RTR");
	a.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(r->qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) ? fail("RTS") : 0;
}

int
main(int argc, char **argv)
{
	struct rest r = { 0 };

	if (open_device(&r))
		return 1;
	if (argc > 1 && (make_qp(&r) || swap_ends(&r, atoi(argv[1])) || connect_qp(&r)))
		return 1;
	puts("rests");
	fflush(stdout);
	for (;;)
		pause();
}

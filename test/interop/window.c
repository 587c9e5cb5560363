/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory windows and keys that are taken back, for both ends of soft_roce.py: the same binary runs over
 * Pollux and, in the virtual machine, over rdma_rxe.
 *
 *   window TYPE END MTU GID-INDEX [HOST]
 *
 * Without HOST it is the server, which binds a window of TYPE 1 (ibv_bind_mw) or 2 (a work request) to a
 * part of its region. The client writes through it and reads that again; both compare every byte, and the
 * server sees that nothing beside the window was written. Then the window comes to its END, and the client
 * tries once more:
 *   none (nothing ends), send_inv (the client's SEND takes the key back, and the server's completion says
 *   which), local_inv (the server does), rebind (type 1: it has another key), dealloc, range (the last byte
 *   is beyond the window, but in the region; rxe does not look), rights (it may be written, not read)
 * The client prints "status N", enum ibv_wc_status of that last work request. Exit status 0: all else was
 * right. One thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "meet.h"

#define PATIENCE 20		/* seconds */
#define LEN 16384u
#define AT 4099u		/* the window: a part without any alignment */
#define SIZE 5003u
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

struct end {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t qpn, psn, rkey, zero;
};

static int type, gid_index;
static uint32_t mtu;
static const char *how, *host;

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_mw *mw;
static struct ibv_qp *qp;
static uint8_t *buf;
static struct end me, peer;
static uint64_t wr_id;
static bool rxe;

static bool
ends_by(const char *name)
{
	return !strcmp(how, name);
}

static void
make_objects(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	cq = pd ? ibv_create_cq(ctx, 16, NULL, NULL, 0) : NULL;
	buf = aligned_alloc(4096, LEN);
	mr = cq && buf ? ibv_reg_mr(pd, buf, LEN, RIGHTS | IBV_ACCESS_MW_BIND) : NULL;
	init.send_cq = init.recv_cq = cq;
	qp = mr ? ibv_create_qp(pd, &init) : NULL;
	if (!qp || ibv_query_gid(ctx, 1, gid_index, &me.gid))
		die("objects");
	rxe = !strncmp(ibv_get_device_name(list[0]), "rxe", 3);
	mw = host ? NULL : ibv_alloc_mw(pd, type == 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
	if (!host && !mw)
		die("window");
	me.qpn = qp->qp_num;
	me.psn = (uint32_t)(getpid() * 12345) & 0xffffff;
}

static uint8_t
mtu_code(void)
{
	uint8_t code = IBV_MTU_256;

	while (128u << code < mtu)
		code++;
	return code;
}

static void
bring_up(void)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = RIGHTS };
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR, .path_mtu = mtu_code(), .dest_qp_num = peer.qpn,
				   .rq_psn = peer.psn, .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
				   .ah_attr = { .is_global = 1, .port_num = 1,
						.grh = { .dgid = peer.gid, .sgid_index = (uint8_t)gid_index,
							 .hop_limit = 64 } } };
	/* an emulated machine is slow: a second */
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS, .sq_psn = me.psn, .timeout = 18, .retry_cnt = 6,
				   .rnr_retry = 7, .max_rd_atomic = 4 };

	if (ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ||
	    ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) ||
	    ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC))
		die("states");
}

/* The next completion, of the work request that was posted last. */
static struct ibv_wc
completion(void)
{
	time_t end = time(NULL) + PATIENCE;
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		if (time(NULL) > end)
			die("no completion");
	if (wc.wr_id != wr_id)
		die("completion of another work request");
	return wc;
}

static void
done(enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = completion();

	if (wc.status)
		die(ibv_wc_status_str(wc.status));
	if (wc.opcode != opcode)
		die("opcode of a completion");
}

static void
post(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	wr->wr_id = ++wr_id;
	wr->send_flags = IBV_SEND_SIGNALED;
	errno = ibv_post_send(qp, wr, &bad);
	if (errno)
		die("post_send");
}

/* `size` bytes to or from our buffer's `from`, through the peer's window at `to`. */
static void
reach(enum ibv_wr_opcode opcode, size_t from, uint64_t to, uint32_t size)
{
	struct ibv_sge sge = { (uintptr_t)buf + from, size, mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = opcode };

	if (opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = peer.rkey;
	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = peer.rkey;
	post(&wr);
}

/* The server's part. */

static void
bind_window(void)
{
	struct ibv_mw_bind_info info = {
		.mr = mr, .addr = (uintptr_t)buf + AT, .length = SIZE,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE | (ends_by("rights") ? 0 : IBV_ACCESS_REMOTE_READ),
	};
	struct ibv_mw_bind bind = { .wr_id = wr_id + 1, .send_flags = IBV_SEND_SIGNALED, .bind_info = info };
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .bind_mw = { .mw = mw, .bind_info = info } };

	if (type == 1) {
		wr_id++;
		errno = ibv_bind_mw(qp, mw, &bind);
		if (errno)
			die("bind_mw");
	} else {
		wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
		post(&wr);
		mw->rkey = wr.bind_mw.rkey;
	}
	done(IBV_WC_BIND_MW);
}

static void
post_recv(void)
{
	struct ibv_sge sge = { (uintptr_t)buf, 64, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = ++wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (ibv_post_recv(qp, &wr, &bad))
		die("post_recv");
}

static void
taken_back(void)
{
	struct ibv_wc wc = completion();

	if (wc.status || wc.opcode != IBV_WC_RECV || wc.byte_len != 8)
		die("the receive");
	/* rxe of Linux 6.1 gives programs the kernel's own bit for it */
	if (!(wc.wc_flags & (rxe ? 1u << 2 : (unsigned int)IBV_WC_WITH_INV)) ||
	    wc.invalidated_rkey != mw->rkey)
		die("the key in the completion");
}

static void
end_window(void)
{
	struct ibv_send_wr inv = { .opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = mw->rkey };

	if (ends_by("send_inv")) {
		taken_back();
	} else if (ends_by("local_inv")) {
		post(&inv);
		done(IBV_WC_LOCAL_INV);
	} else if (ends_by("rebind")) {
		bind_window();
	} else if (ends_by("dealloc")) {
		errno = ibv_dealloc_mw(mw);
		if (errno)
			die("dealloc_mw");
		mw = NULL;
	}
}

static void
serve(void)
{
	memset(buf, 0xee, LEN);
	bind_window();
	if (ends_by("send_inv"))
		post_recv();
	me.rkey = mw->rkey;
	me.addr = (uintptr_t)buf + AT;
	swap_words(&me, &peer, sizeof(me));
	together();		/* it has written and read */
	for (size_t i = 0; i < LEN; i++)
		if (buf[i] != (i >= AT && i < AT + SIZE ? pattern(i - AT) : 0xee))
			die("a byte differs");
	together();
	end_window();
	together();
	together();		/* it has tried again */
}

/* The client's part. */

static void
use(void)
{
	swap_words(&me, &peer, sizeof(me));
	for (size_t i = 0; i < SIZE; i++)
		buf[i] = pattern(i);
	reach(IBV_WR_RDMA_WRITE, 0, peer.addr, SIZE);
	done(IBV_WC_RDMA_WRITE);
	if (ends_by("rights"))
		return;
	reach(IBV_WR_RDMA_READ, LEN / 2, peer.addr, SIZE);
	done(IBV_WC_RDMA_READ);
	if (memcmp(buf, buf + LEN / 2, SIZE))
		die("a byte differs");
}

static void
ask(void)
{
	use();
	together();
	together();
	if (ends_by("send_inv")) {
		reach(IBV_WR_SEND_WITH_INV, 0, 0, 8);
		done(IBV_WC_SEND);
	}
	together();
	reach(ends_by("rights") ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, 0,
	      peer.addr + (ends_by("range") ? SIZE - 7 : 0), 8);
	printf("status %d\n", completion().status);
	together();
}

int
main(int argc, char **argv)
{
	if (argc < 5 || argc > 6)
		return 2;
	type = atoi(argv[1]);
	how = argv[2];
	mtu = (uint32_t)atoi(argv[3]);
	gid_index = atoi(argv[4]);
	host = argv[5];
	make_objects();
	meet(host);
	swap_words(&me, &peer, sizeof(me));
	bring_up();
	together();
	if (host)
		ask();
	else
		serve();
	/* the window first: rxe waits 50 seconds for one that is bound to a QP that ends */
	if ((mw && ibv_dealloc_mw(mw)) || ibv_destroy_qp(qp) || ibv_dereg_mr(mr))
		die("the end");
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A verbs program that looks at every byte, for both ends of soft_roce.py: the same binary runs over
 * Pollux and, in the virtual machine, over rdma_rxe.
 *
 *   peer OP SIZE COUNT MTU GID-INDEX FAULT [HOST]
 *
 * Without HOST it is the server. OP: send send_imm write write_imm read cas faa. COUNT messages of
 * SIZE bytes go to places of their own; who has them then compares them all. FAULT is none or
 *   key (of no region), range (behind the region), rights (a region without them), qp (a QP without
 *   them), short (receives too small), norecv (never a receive, two retries), late (receives after 0.2 s)
 * The client prints "status N", enum ibv_wc_status of the first completion that is no success, or 0.
 * Exit status 0: what was seen is right, whatever that status is. One thread.
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

#define IMM 0x12345678u
#define ADD 3u
#define PATIENCE 20		/* seconds */
#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		IBV_ACCESS_REMOTE_ATOMIC)

static const struct {
	const char *name;
	enum ibv_wr_opcode opcode;
	bool takes_recv, atomic;
} ops[] = {
	{ "send", IBV_WR_SEND, true, false },
	{ "send_imm", IBV_WR_SEND_WITH_IMM, true, false },
	{ "write", IBV_WR_RDMA_WRITE, false, false },
	{ "write_imm", IBV_WR_RDMA_WRITE_WITH_IMM, true, false },
	{ "read", IBV_WR_RDMA_READ, false, false },
	{ "cas", IBV_WR_ATOMIC_CMP_AND_SWP, false, true },
	{ "faa", IBV_WR_ATOMIC_FETCH_AND_ADD, false, true },
};

static struct {
	size_t op;		/* in ops */
	uint32_t size, count, mtu;
	int gid;
	const char *fault, *host;
} o;

/* What each end tells the other. */
struct end {
	union ibv_gid gid;
	uint64_t addr;
	uint32_t qpn, psn, rkey, zero;
};

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qp;
static uint8_t *buf;
static size_t len;
static struct end me, peer;

static bool
fault(const char *name)
{
	return !strcmp(o.fault, name);
}

static void
make_objects(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	int rights = !o.host && fault("rights") ? IBV_ACCESS_LOCAL_WRITE : RIGHTS;
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = o.count, .max_recv_wr = o.count,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};

	ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	cq = pd ? ibv_create_cq(ctx, (int)(2 * o.count), NULL, NULL, 0) : NULL;
	len = ((size_t)o.size * o.count + 4096) & ~(size_t)4095;
	buf = aligned_alloc(4096, len);
	mr = cq && buf ? ibv_reg_mr(pd, buf, len, rights) : NULL;
	init.send_cq = init.recv_cq = cq;
	qp = mr ? ibv_create_qp(pd, &init) : NULL;
	if (!qp || ibv_query_gid(ctx, 1, o.gid, &me.gid))
		die("objects");
	me.qpn = qp->qp_num;
	me.psn = (uint32_t)(getpid() * 12345) & 0xffffff;
	me.rkey = mr->rkey;
	me.addr = (uintptr_t)buf;
}

static uint8_t
mtu_code(void)
{
	uint8_t code = IBV_MTU_256;

	while (128u << code < o.mtu)
		code++;
	return code;
}

static void
bring_up(void)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = !o.host && fault("qp") ? 0 : RIGHTS };
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR, .path_mtu = mtu_code(), .dest_qp_num = peer.qpn,
				   .rq_psn = peer.psn, .max_dest_rd_atomic = 4, .min_rnr_timer = 12,
				   .ah_attr = { .is_global = 1, .port_num = 1,
						.grh = { .dgid = peer.gid, .sgid_index = (uint8_t)o.gid,
							 .hop_limit = 64 } } };
	/* an emulated machine is slow: a second */
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS, .sq_psn = me.psn, .timeout = 18, .retry_cnt = 6,
				   .rnr_retry = fault("norecv") ? 2 : 7, .max_rd_atomic = 4 };

	if (ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("INIT");
	if (ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		die("RTR");
	if (ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTS");
}

static void
post_recvs(void)
{
	for (uint32_t i = 0; i < o.count; i++) {
		struct ibv_sge sge = { (uintptr_t)buf + (size_t)i * o.size,
				       fault("short") ? o.size / 2 : o.size, mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		if (ibv_post_recv(qp, &wr, &bad))
			die("post_recv");
	}
}

static void
post_send(uint32_t i)
{
	size_t at = (size_t)i * o.size;
	struct ibv_sge sge = { (uintptr_t)buf + at, o.size, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1, .opcode = ops[o.op].opcode,
				  .send_flags = IBV_SEND_SIGNALED, .imm_data = htonl(IMM) }, *bad;
	uint32_t rkey = fault("key") ? peer.rkey ^ 0x100000 : peer.rkey;

	wr.wr.rdma.remote_addr = peer.addr + (fault("range") ? len : at);
	wr.wr.rdma.rkey = rkey;
	if (ops[o.op].atomic) {
		wr.wr.atomic.remote_addr = peer.addr + (fault("range") ? len : 0);
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ? i * ADD : ADD;
		wr.wr.atomic.swap = (i + 1) * ADD;
	}
	if (ibv_post_send(qp, &wr, &bad))
		die("post_send");
}

/* The next completion: of work request i, or whatever it is with an error. */
static enum ibv_wc_status
completion(uint32_t i, bool recv)
{
	time_t end = time(NULL) + PATIENCE;
	struct ibv_wc wc;

	while (!ibv_poll_cq(cq, 1, &wc))
		if (time(NULL) > end)
			die("no completion");
	if (wc.status)
		return wc.status;
	if (wc.wr_id != i)
		die("completion of another work request");
	if (recv && wc.byte_len != o.size)
		die("byte_len");
	if (recv && strstr(ops[o.op].name, "imm") &&
	    (!(wc.wc_flags & IBV_WC_WITH_IMM) || wc.imm_data != htonl(IMM)))
		die("immediate");
	return IBV_WC_SUCCESS;
}

/* Atomics all go to the first word: each leaves ADD more. */
static void
check(bool has_data)
{
	for (size_t i = 0; ops[o.op].atomic && i < (o.host ? o.count : 1); i++) {
		uint64_t have, want = (o.host ? i : o.count) * ADD;

		memcpy(&have, buf + i * o.size, sizeof(have));
		if (have != want)
			die("result of an atomic");
	}
	for (size_t i = 0; !ops[o.op].atomic && has_data && i < (size_t)o.size * o.count; i++)
		if (buf[i] != pattern(i))
			die("a byte differs");
}

static void
serve(void)
{
	bool recvs = ops[o.op].takes_recv && !fault("norecv");

	if (fault("late")) {
		together();
		usleep(200000);
	}
	if (recvs)
		post_recvs();
	if (!fault("late"))
		together();
	for (uint32_t i = 0; recvs && i < o.count && (fault("none") || fault("late")); i++)
		if (completion(i, true))
			die("a receive completed with an error");
	together();
	if (fault("none") || fault("late"))
		check(ops[o.op].opcode != IBV_WR_RDMA_READ);
}

static void
ask(void)
{
	enum ibv_wc_status status = IBV_WC_SUCCESS;

	together();
	for (uint32_t i = 0; i < o.count; i++)
		post_send(i);
	for (uint32_t i = 0; i < o.count && !status; i++)
		status = completion(i, false);
	together();
	printf("status %d\n", status);
	if (!status)
		check(ops[o.op].opcode == IBV_WR_RDMA_READ);
}

int
main(int argc, char **argv)
{
	bool source;

	if (argc < 7 || argc > 8)
		return 2;
	while (o.op < sizeof(ops) / sizeof(ops[0]) && strcmp(ops[o.op].name, argv[1]))
		o.op++;
	if (o.op == sizeof(ops) / sizeof(ops[0]))
		return 2;
	o.size = (uint32_t)atoi(argv[2]);
	o.count = (uint32_t)atoi(argv[3]);
	o.mtu = (uint32_t)atoi(argv[4]);
	o.gid = atoi(argv[5]);
	o.fault = argv[6];
	o.host = argv[7];
	make_objects();
	/* a READ's bytes come from the server, all others' from the client */
	source = (ops[o.op].opcode == IBV_WR_RDMA_READ) == !o.host;
	for (size_t i = 0; i < len; i++)
		buf[i] = source && !ops[o.op].atomic ? pattern(i) : 0;
	meet(o.host);
	swap_words(&me, &peer, sizeof(me));
	bring_up();
	if (o.host)
		ask();
	else
		serve();
	ibv_destroy_qp(qp);
	ibv_dereg_mr(mr);
	return 0;
}

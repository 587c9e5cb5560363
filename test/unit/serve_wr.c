/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The work request builder on a whole stack: every operation of every type moves its bytes, also on a parent
 * domain of one thread; and threads that build, abort and post on one QP lose nothing and double nothing
 * (FC58).
 */
#include <sys/mman.h>

#include "serve_verbs.h"

#define HALF (BUF_LEN / 2)		/* the peer's memory; what was sent lands at INBOX */
#define INBOX (BUF_LEN / 4)
#define QKEY 0x11111111u

/* Two ends of a type, of which `a` builds. */
struct ends {
	enum ibv_qp_type type;
	struct ibv_pd *pd;
	struct ibv_qp *a, *b;
	struct ibv_qp_ex *ex;
	struct ibv_ah *ah;		/* UD */
	struct ibv_xrcd *xrcd;		/* XRC */
	struct ibv_srq *srq;
	uint32_t srqn;
};

#define OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_UC (OPS_UD | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
#define OPS_RC (OPS_UC | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
		IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static struct ibv_qp *
built_qp(struct ibv_pd *pd, enum ibv_qp_type type, uint32_t wr)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = v.cq, .recv_cq = v.cq, .qp_type = type, .pd = pd, .cap = { wr, 16, 2, 2, 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = type == IBV_QPT_UD ? OPS_UD : type == IBV_QPT_UC ? OPS_UC : OPS_RC,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(v.ctx, &init);

	MUST(qp && ibv_qp_to_qp_ex(qp));
	return qp;
}

/* One step, with what its type needs of what is said for all. */
static void
step(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask)
{
	MUST(ibv_modify_qp(qp, &attr, mask | IBV_QP_STATE) == 0);
}

static void
to_inits(struct ibv_qp *qp)
{
	bool ud = qp->qp_type == IBV_QPT_UD;

	step(qp, (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY,
				       .qp_access_flags = ALL_ACCESS },
	     IBV_QP_PKEY_INDEX | IBV_QP_PORT | (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

#define CONNECTED (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define ANSWERS (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define ASKS (IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)

static void
to_ready(struct ibv_qp *qp, uint32_t peer)
{
	enum ibv_qp_type type = qp->qp_type;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer,
				    .max_dest_rd_atomic = 4, .min_rnr_timer = 1 };
	bool asks = type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
	bool answers = type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;

	attr.ah_attr.is_global = attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.sgid_index = 1;
	attr.ah_attr.grh.dgid = v.gid;
	to_inits(qp);
	step(qp, attr, (type == IBV_QPT_UD ? 0 : CONNECTED) | (answers ? ANSWERS : 0));
	/* a long timeout: threads that spin may be more than there are CPUs */
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 18, .retry_cnt = 7, .rnr_retry = 7,
				     .max_rd_atomic = 4 };
	step(qp, attr, type == IBV_QPT_XRC_RECV ? IBV_QP_SQ_PSN | IBV_QP_TIMEOUT :
	     IBV_QP_SQ_PSN | (asks ? ASKS : 0));
}

static void
xrc_open(struct ends *e)
{
	struct ibv_xrcd_init_attr domain = { .fd = -1, .oflags = O_CREAT,
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS };
	struct ibv_srq_init_attr_ex srq = { .attr = { .max_wr = 16, .max_sge = 2 }, .pd = v.pd, .cq = v.cq,
		.srq_type = IBV_SRQT_XRC, .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						       IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ };
	struct ibv_qp_init_attr_ex target = { .qp_type = IBV_QPT_XRC_RECV,
					      .comp_mask = IBV_QP_INIT_ATTR_XRCD };

	e->xrcd = srq.xrcd = target.xrcd = ibv_open_xrcd(v.ctx, &domain);
	MUST(e->xrcd);
	e->srq = ibv_create_srq_ex(v.ctx, &srq);
	e->b = ibv_create_qp_ex(v.ctx, &target);
	MUST(e->srq && e->b && ibv_get_srq_num(e->srq, &e->srqn) == 0);
}

static void
ends_open(struct ends *e, struct ibv_pd *pd, enum ibv_qp_type type)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1,
				    .grh = { .dgid = v.gid, .sgid_index = 1 } };

	*e = (struct ends){ .type = type, .pd = pd };
	e->a = built_qp(pd, type, 16);
	e->ex = ibv_qp_to_qp_ex(e->a);
	if (type == IBV_QPT_XRC_SEND)
		xrc_open(e);
	else
		e->b = built_qp(pd, type, 16);
	if (type == IBV_QPT_UD)
		e->ah = ibv_create_ah(v.pd, &attr);
	to_ready(e->a, e->b->qp_num);
	to_ready(e->b, e->a->qp_num);
}

static void
ends_close(struct ends *e)
{
	CHECK_EQ(ibv_destroy_qp(e->a), 0);
	CHECK_EQ(ibv_destroy_qp(e->b), 0);
	if (e->ah)
		CHECK_EQ(ibv_destroy_ah(e->ah), 0);
	if (!e->xrcd)
		return;
	CHECK_EQ(ibv_destroy_srq(e->srq), 0);
	CHECK_EQ(ibv_close_xrcd(e->xrcd), 0);
}

static void
fill(size_t at, size_t len, uint8_t seed)
{
	for (size_t i = 0; i < len; i++)
		v.buf[at + i] = (uint8_t)(seed + i * 7);
}

static bool drops;		/* there is no page where bytes are to arrive */

/* A receive of 40 + 2000 bytes at INBOX; a datagram's begins with its header. */
static void
expect(struct ends *e, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)v.buf + INBOX, 2040, v.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	if (drops)
		MUST(madvise(v.buf + INBOX, BUF_LEN - INBOX, MADV_DONTNEED) == 0);
	CHECK_EQ(e->srq ? ibv_post_srq_recv(e->srq, &wr, &bad) : ibv_post_recv(e->b, &wr, &bad), 0);
}

static void
address(struct ends *e)
{
	if (e->ah)
		ibv_wr_set_ud_addr(e->ex, e->ah, e->b->qp_num, QKEY);
	if (e->srq)
		ibv_wr_set_xrc_srqn(e->ex, e->srqn);
}

/* Two completions in whichever order, of the sender and the receiver; the receiver's. */
static void
both_done(enum ibv_wc_opcode sent, struct ibv_wc *received)
{
	struct ibv_wc wc[2] = { { 0 } };
	int r;

	memset(received, 0, sizeof(*received));
	CHECK(poll_one(v.cq, &wc[0]) && poll_one(v.cq, &wc[1]));
	CHECK(wc[0].status == IBV_WC_SUCCESS && wc[1].status == IBV_WC_SUCCESS);
	r = wc[0].opcode & IBV_WC_RECV ? 0 : 1;
	CHECK_EQ(wc[!r].opcode, sent);
	CHECK_EQ(wc[!r].wr_id, 7);
	*received = wc[r];
}

static void
begin(struct ends *e, unsigned int flags)
{
	ibv_wr_start(e->ex);
	e->ex->wr_id = 7;
	e->ex->wr_flags = flags;
}

/* 900 bytes from two places with an immediate, then 40 inline. */
static void
sends(struct ends *e)
{
	struct ibv_sge two[2] = { { (uintptr_t)v.buf, 400, v.mr->lkey },
				  { (uintptr_t)v.buf + 400, 500, v.mr->lkey } };
	uint32_t grh = e->ah ? 40 : 0;
	uint8_t word[40];
	struct ibv_wc wc;

	fill(0, 900, 3);
	expect(e, 1);
	begin(e, IBV_SEND_SIGNALED);
	ibv_wr_send_imm(e->ex, htobe32(0x01020304));
	ibv_wr_set_sge_list(e->ex, 2, two);
	address(e);
	CHECK_EQ(ibv_wr_complete(e->ex), 0);
	both_done(IBV_WC_SEND, &wc);
	CHECK(wc.wr_id == 1 && wc.byte_len == 900 + grh && wc.imm_data == htobe32(0x01020304));
	CHECK(wc.wc_flags & IBV_WC_WITH_IMM);
	CHECK(memcmp(v.buf, v.buf + INBOX + grh, 900) == 0);
	memset(word, 0x5a, sizeof(word));
	expect(e, 2);
	begin(e, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED);
	ibv_wr_send(e->ex);
	ibv_wr_set_inline_data(e->ex, word, sizeof(word));
	address(e);
	CHECK_EQ(ibv_wr_complete(e->ex), 0);
	both_done(IBV_WC_SEND, &wc);
	CHECK(wc.wr_id == 2 && wc.byte_len == 40 + grh);
	CHECK(memcmp(word, v.buf + INBOX + grh, 40) == 0);
}

static uint64_t
there(size_t at)
{
	return (uintptr_t)v.buf + HALF + at;
}

/* A batch of two, of which the second tells of both. */
static void
writes(struct ends *e)
{
	struct ibv_wc wc;

	fill(0, 5000, 9);
	memset(v.buf + HALF, 0, 6000);
	expect(e, 3);
	begin(e, 0);
	ibv_wr_rdma_write(e->ex, v.mr->rkey, there(0));
	ibv_wr_set_sge(e->ex, v.mr->lkey, (uintptr_t)v.buf, 3000);
	address(e);
	e->ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write_imm(e->ex, v.mr->rkey, there(3000), htobe32(9));
	ibv_wr_set_sge(e->ex, v.mr->lkey, (uintptr_t)v.buf + 3000, 2000);
	address(e);
	CHECK_EQ(ibv_wr_complete(e->ex), 0);
	both_done(IBV_WC_RDMA_WRITE, &wc);
	CHECK(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.imm_data == htobe32(9));
	CHECK(memcmp(v.buf, v.buf + HALF, 5000) == 0);
}

static void
one_done(struct ends *e, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = { 0 };

	ibv_wr_set_sge(e->ex, v.mr->lkey, (uintptr_t)v.buf, opcode == IBV_WC_RDMA_READ ? 4000 : 8);
	address(e);
	CHECK_EQ(ibv_wr_complete(e->ex), 0);
	CHECK(poll_one(v.cq, &wc) && wc.status == IBV_WC_SUCCESS && wc.opcode == opcode && wc.wr_id == 7);
}

static uint64_t
word_at(size_t at)
{
	uint64_t word;

	memcpy(&word, v.buf + at, sizeof(word));
	return word;
}

static void
fetches(struct ends *e)
{
	fill(HALF, 4000, 77);
	begin(e, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
	ibv_wr_rdma_read(e->ex, v.mr->rkey, there(0));
	one_done(e, IBV_WC_RDMA_READ);
	CHECK(memcmp(v.buf, v.buf + HALF, 4000) == 0);
	memset(v.buf + HALF, 0, 8);
	begin(e, IBV_SEND_SIGNALED);
	ibv_wr_atomic_fetch_add(e->ex, v.mr->rkey, there(0), 5);
	one_done(e, IBV_WC_FETCH_ADD);
	CHECK(word_at(0) == 0 && word_at(HALF) == 5);
	begin(e, IBV_SEND_SIGNALED);
	ibv_wr_atomic_cmp_swp(e->ex, v.mr->rkey, there(0), 5, 9);
	one_done(e, IBV_WC_COMP_SWAP);
	CHECK(word_at(0) == 5 && word_at(HALF) == 9);
}

/* What was aborted did not happen, and what fails takes its batch with it. */
static void
nothing(struct ends *e)
{
	struct ibv_wc wc;

	expect(e, 4);
	begin(e, IBV_SEND_SIGNALED);
	ibv_wr_send(e->ex);
	address(e);
	ibv_wr_abort(e->ex);
	begin(e, IBV_SEND_SIGNALED);
	ibv_wr_send(e->ex);
	address(e);
	ibv_wr_send(e->ex);
	ibv_wr_set_inline_data(e->ex, v.buf, 513);
	address(e);
	CHECK_EQ(ibv_wr_complete(e->ex), EINVAL);
	begin(e, IBV_SEND_SIGNALED);
	e->ex->wr_id = 7;
	ibv_wr_send(e->ex);
	address(e);
	CHECK_EQ(ibv_wr_complete(e->ex), 0);
	both_done(IBV_WC_SEND, &wc);
	CHECK_EQ(wc.wr_id, 4);
	CHECK_EQ(ibv_poll_cq(v.cq, 1, &wc), 0);
}

static void
all_of(struct ibv_pd *pd, enum ibv_qp_type type)
{
	struct ends e;

	ends_open(&e, pd, type);
	sends(&e);
	if (type != IBV_QPT_UD)
		writes(&e);
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
		fetches(&e);
	nothing(&e);
	ends_close(&e);
}

static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND };

static void
wr__moves_data_on_every_type(void)
{
	open_verbs("inline", 64, 16);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		all_of(v.pd, types[i]);
	CHECK_EQ(close_verbs(), 0);
}

/* Whatever arrives finds no page there, and the one that is read from is new. */
static void
wr__moves_data_of_on_demand_regions(void)
{
	open_verbs("inline", 64, 16);
	CHECK_EQ(ibv_dereg_mr(v.mr), 0);
	v.mr = ibv_reg_mr(v.pd, v.buf, BUF_LEN, ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	MUST(v.mr);
	drops = true;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		all_of(v.pd, types[i]);
	drops = false;
	CHECK_EQ(close_verbs(), 0);
}

static void
td__moves_data_on_every_type(void)
{
	struct ibv_td_init_attr none = { 0 };
	struct ibv_parent_domain_init_attr attr = { 0 };
	struct ibv_pd *pd;

	open_verbs("0,1", 64, 16);
	attr.pd = v.pd;
	attr.td = ibv_alloc_td(v.ctx, &none);
	pd = ibv_alloc_parent_domain(v.ctx, &attr);
	MUST(attr.td && pd);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		all_of(pd, types[i]);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_dealloc_td(attr.td), 0);
	CHECK_EQ(close_verbs(), 0);
}

#define THREADS 4
#define EACH 2000u			/* work requests that a thread posts */

static uint8_t seen[THREADS * EACH];
static struct ibv_qp_ex *shared;
static uint32_t completed;

/* A batch of `n`, and in front of it one that is dropped, by abort or an error. How many were posted. */
static unsigned int
build(uint64_t wr_id, unsigned int n)
{
	int err;

	ibv_wr_start(shared);
	shared->wr_id = UINT64_MAX;
	shared->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(shared, v.mr->rkey, there(0));
	if (wr_id & 1) {
		ibv_wr_abort(shared);
	} else {
		ibv_wr_set_inline_data(shared, v.buf, 65);
		MUST(ibv_wr_complete(shared) != 0);	/* EINVAL, or no room for even that */
	}
	ibv_wr_start(shared);
	shared->wr_flags = IBV_SEND_SIGNALED;
	for (unsigned int i = 0; i < n; i++) {
		shared->wr_id = wr_id + i;
		ibv_wr_rdma_write(shared, v.mr->rkey, there(wr_id % 64 * 8));
		if (wr_id % 8 == 0)
			sched_yield();	/* let others try to come in */
		ibv_wr_set_sge(shared, v.mr->lkey, (uintptr_t)v.buf, 8);
	}
	err = ibv_wr_complete(shared);
	MUST(err == 0 || err == ENOMEM);
	return err ? 0 : n;
}

static void *
poster(void *arg)
{
	uint64_t next = (uintptr_t)arg * EACH, end = next + EACH;
	unsigned int turn = 0, n;

	while (next < end) {
		unsigned int left = end - next < 4 ? (unsigned int)(end - next) : 4;

		n = turn++ % 6 == 5 ? !post_write(&shared->qp_base, next) : build(next, 1 + turn % left);
		next += n;
		if (!n)
			sched_yield();
	}
	return NULL;
}

static void *
poller(void *arg)
{
	struct ibv_wc wc[8];
	int n;

	(void)arg;
	while (__atomic_load_n(&completed, __ATOMIC_RELAXED) < THREADS * EACH) {
		n = ibv_poll_cq(v.cq, 8, wc);
		for (int i = 0; i < n; i++) {
			MUST(wc[i].status == IBV_WC_SUCCESS && wc[i].wr_id < THREADS * EACH);
			__atomic_fetch_add(&seen[wc[i].wr_id], 1, __ATOMIC_RELAXED);
		}
		__atomic_fetch_add(&completed, (uint32_t)n, __ATOMIC_RELAXED);
		if (!n)
			sched_yield();
	}
	return NULL;
}

static void
wr__threads_on_one_qp(void)
{
	pthread_t posters[THREADS], pollers[2];
	struct ibv_qp *b;

	open_verbs("inline", 256, 16);
	CHECK_EQ(ibv_destroy_qp(v.a), 0);
	v.a = built_qp(v.pd, IBV_QPT_RC, 32);
	b = built_qp(v.pd, IBV_QPT_RC, 1);
	to_ready(v.a, b->qp_num);
	to_ready(b, v.a->qp_num);
	shared = ibv_qp_to_qp_ex(v.a);
	for (uintptr_t i = 0; i < THREADS; i++)
		MUST(pthread_create(&posters[i], NULL, poster, (void *)i) == 0);
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&pollers[i], NULL, poller, NULL) == 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(posters[i], NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(pollers[i], NULL);
	for (uint32_t i = 0; i < THREADS * EACH; i++)
		CHECK_EQ(seen[i], 1);
	CHECK_EQ(ibv_destroy_qp(b), 0);
	CHECK_EQ(close_verbs(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(wr__moves_data_on_every_type),
	CHECK_CASE(wr__moves_data_of_on_demand_regions),
	CHECK_CASE(td__moves_data_on_every_type),
	CHECK_CASE(wr__threads_on_one_qp),
};
CHECK_MAIN(cases)

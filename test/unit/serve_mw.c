/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory windows by the verbs, on a whole stack: their life and the order of ends (FC46, FC62), what they
 * reach (FC45), what the calls refuse, and a window between two cores. What packets tell of them is in
 * test/script/rc/mw-*.pkt.
 */
#include "serve_verbs.h"

#define BIND_ACCESS (ALL_ACCESS | IBV_ACCESS_MW_BIND)
#define REMOTE (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static struct ibv_mr *mr;	/* to which windows are bound */
static uint8_t *half;		/* its memory */
#define LEN 4096u

static void
open_windows(const char *cores)
{
	open_verbs(cores, 64, 16);
	half = v.buf + BUF_LEN / 2;
	mr = ibv_reg_mr(v.pd, half, LEN, BIND_ACCESS);
	MUST(mr);
}

static int
close_windows(void)
{
	return ibv_dereg_mr(mr) || close_verbs();
}

static enum ibv_wc_status
done(uint64_t wr_id, struct ibv_wc *wc)
{
	MUST(poll_one(v.cq, wc));
	MUST(wc->wr_id == wr_id);
	return wc->status;
}

static struct ibv_mw_bind_info
range(uint64_t from, uint64_t len)
{
	return (struct ibv_mw_bind_info){ .mr = mr, .addr = (uintptr_t)half + from, .length = len,
					  .mw_access_flags = REMOTE };
}

static enum ibv_wc_status
bind_1(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
	struct ibv_mw_bind b = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED, .bind_info = info };
	enum ibv_wc_status status;
	struct ibv_wc wc;

	MUST(ibv_bind_mw(qp, mw, &b) == 0);
	status = done(1, &wc);
	MUST(status || wc.opcode == IBV_WC_BIND_MW);
	return status;
}

static struct ibv_send_wr
bind_wr(struct ibv_mw *mw, uint32_t rkey, struct ibv_mw_bind_info info)
{
	struct ibv_send_wr wr = { .wr_id = 2, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED };

	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = rkey;
	wr.bind_mw.bind_info = info;
	return wr;
}

static enum ibv_wc_status
bind_2(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind_info info)
{
	struct ibv_send_wr wr = bind_wr(mw, ibv_inc_rkey(mw->rkey), info), *bad;
	struct ibv_wc wc;

	MUST(ibv_post_send(qp, &wr, &bad) == 0 && mw->rkey == wr.bind_mw.rkey);
	return done(2, &wc);
}

static enum ibv_wc_status
write_by(struct ibv_qp *qp, uint32_t rkey, uint64_t to, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)v.buf, len, v.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 3, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	wr.wr.rdma.remote_addr = (uintptr_t)half + to;
	wr.wr.rdma.rkey = rkey;
	MUST(ibv_post_send(qp, &wr, &bad) == 0);
	return done(3, &wc);
}

static enum ibv_wc_status
invalidate(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t rkey)
{
	struct ibv_send_wr wr = { .wr_id = 4, .opcode = op, .send_flags = IBV_SEND_SIGNALED,
				  .invalidate_rkey = rkey }, *bad;
	struct ibv_wc wc;

	MUST(ibv_post_send(qp, &wr, &bad) == 0);
	return done(4, &wc);
}

/* Who is used goes after who uses it; what was refused works on. */
static void
mw__order_of_ends(void)
{
	struct ibv_mw *one, *two;
	uint32_t first;

	open_windows("inline");
	one = ibv_alloc_mw(v.pd, IBV_MW_TYPE_1);
	two = ibv_alloc_mw(v.pd, IBV_MW_TYPE_2);
	CHECK(one && two && one->type == IBV_MW_TYPE_1 && two->type == IBV_MW_TYPE_2);
	CHECK(one->pd == v.pd && one->context == v.ctx && (one->rkey ^ two->rkey) >> 8);
	CHECK_EQ(ibv_dealloc_pd(v.pd), EBUSY);
	first = one->rkey;
	CHECK_EQ(bind_1(v.b, one, range(0, 64)), IBV_WC_SUCCESS);
	CHECK(one->rkey != first && one->rkey >> 8 == first >> 8);
	CHECK_EQ(bind_2(v.b, two, range(64, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), EBUSY);
	v.buf[0] = 0x5a;
	CHECK_EQ(write_by(v.a, one->rkey, 0, 64), IBV_WC_SUCCESS);
	CHECK_EQ(write_by(v.a, two->rkey, 64, 64), IBV_WC_SUCCESS);
	CHECK_EQ(write_by(v.a, mr->rkey, 128, 64), IBV_WC_SUCCESS);
	CHECK(half[0] == 0x5a && half[64] == 0x5a && half[128] == 0x5a);
	CHECK_EQ(bind_1(v.b, one, (struct ibv_mw_bind_info){ .mr = NULL }), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), EBUSY);
	CHECK_EQ(ibv_dealloc_mw(two), 0);	/* bound as it is */
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(v.pd, half, LEN, BIND_ACCESS);
	MUST(mr);
	CHECK_EQ(bind_1(v.b, one, range(0, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dealloc_mw(one), 0);
	CHECK_EQ(close_windows(), 0);
}

/* A QP that is reset, or destroyed, lets go what it has bound. */
static void
mw__end_of_the_qp(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct ibv_mw *two, *three;

	open_windows("inline");
	two = ibv_alloc_mw(v.pd, IBV_MW_TYPE_2);
	three = ibv_alloc_mw(v.pd, IBV_MW_TYPE_2);
	MUST(two && three);
	CHECK_EQ(bind_2(v.a, two, range(0, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(bind_2(v.b, three, range(0, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_modify_qp(v.a, &attr, IBV_QP_STATE), 0);
	CHECK_EQ(ibv_dereg_mr(mr), EBUSY);
	CHECK_EQ(ibv_destroy_qp(v.b), 0);
	v.b = NULL;
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(v.pd, half, LEN, BIND_ACCESS);
	MUST(mr);
	v.b = new_qp(v.cq, 16, 0);
	connect_pair(v.a, v.b);
	CHECK_EQ(bind_2(v.b, two, range(0, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(write_by(v.a, two->rkey, 0, 64), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dealloc_mw(two) || ibv_dealloc_mw(three), 0);
	CHECK_EQ(close_windows(), 0);
}

/* The peer gives back what it was given; who is given nothing any more is refused. */
static void
mw__send_with_invalidate(void)
{
	struct ibv_mw *mw;
	struct ibv_wc wc;

	open_windows("inline");
	mw = ibv_alloc_mw(v.pd, IBV_MW_TYPE_2);
	MUST(mw && post_recv(v.b, 101) == 0);
	CHECK_EQ(bind_2(v.b, mw, range(0, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(write_by(v.a, mw->rkey, 0, 64), IBV_WC_SUCCESS);
	MUST(post(v.a, IBV_WR_SEND, 5, 0) == 0);	/* takes the receive */
	MUST(poll_one(v.cq, &wc) && wc.wr_id == 101 && wc.status == IBV_WC_SUCCESS);
	CHECK_EQ(wc.wc_flags, 0);
	MUST(post_recv(v.b, 102) == 0);
	{
		struct ibv_send_wr wr = { .wr_id = 6, .opcode = IBV_WR_SEND_WITH_INV,
					  .invalidate_rkey = mw->rkey }, *bad;

		MUST(ibv_post_send(v.a, &wr, &bad) == 0);
	}
	CHECK_EQ(done(102, &wc), IBV_WC_SUCCESS);
	CHECK_EQ(wc.opcode, IBV_WC_RECV);
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_INV);
	CHECK_EQ(wc.invalidated_rkey, mw->rkey);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(v.pd, half, LEN, BIND_ACCESS);
	MUST(mr);
	CHECK_EQ(write_by(v.a, mw->rkey, 0, 64), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(close_windows(), 0);
}

static void
mw__local_invalidate(void)
{
	struct ibv_mw *mw;

	open_windows("inline");
	mw = ibv_alloc_mw(v.pd, IBV_MW_TYPE_2);
	MUST(mw);
	CHECK_EQ(bind_2(v.b, mw, range(0, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(invalidate(v.b, IBV_WR_LOCAL_INV, mw->rkey), IBV_WC_SUCCESS);
	CHECK_EQ(bind_2(v.b, mw, range(0, 64)), IBV_WC_SUCCESS);
	CHECK_EQ(write_by(v.a, mw->rkey, 0, 64), IBV_WC_SUCCESS);
	CHECK_EQ(write_by(v.a, mw->rkey - 1, 0, 64), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(close_windows(), 0);
}

/* What is told at the call, and what by the completion (FC45). */
static void
mw__refused(void)
{
	struct ibv_mw_bind b = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED, .bind_info = range(0, 64) };
	struct ibv_mw *one, *two;
	struct ibv_send_wr wr, *bad;
	struct ibv_device_attr dev;
	struct ibv_mr *alien;
	struct ibv_pd *pd;

	open_windows("inline");
	pd = ibv_alloc_pd(v.ctx);
	one = ibv_alloc_mw(v.pd, IBV_MW_TYPE_1);
	two = ibv_alloc_mw(v.pd, IBV_MW_TYPE_2);
	MUST(pd && one && two);
	alien = ibv_reg_mr(pd, half, LEN, BIND_ACCESS);
	MUST(alien);
	errno = 0;
	CHECK(!ibv_alloc_mw(v.pd, (enum ibv_mw_type)0) && errno == EINVAL);
	CHECK(!ibv_alloc_mw(v.pd, (enum ibv_mw_type)3) && errno == EINVAL);
	CHECK_EQ(ibv_query_device(v.ctx, &dev), 0);
	CHECK_EQ(dev.max_mw, 1048576);
	CHECK_EQ(dev.device_cap_flags & (IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2A |
					 IBV_DEVICE_MEM_WINDOW_TYPE_2B),
		 IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	b.bind_info = range(0, 64);
	CHECK_EQ(ibv_bind_mw(v.b, two, &b), EINVAL);
	b.bind_info.mr = NULL;
	CHECK_EQ(ibv_bind_mw(v.b, one, &b), EINVAL);
	b.bind_info.mr = alien;
	CHECK_EQ(ibv_bind_mw(v.b, one, &b), EPERM);
	wr = bind_wr(one, one->rkey, range(0, 64));
	CHECK_EQ(ibv_post_send(v.b, &wr, &bad), EINVAL);
	wr = bind_wr(two, two->rkey ^ 0x100, range(0, 64));
	CHECK_EQ(ibv_post_send(v.b, &wr, &bad), EINVAL);
	wr = bind_wr(two, two->rkey, range(0, 64));
	wr.bind_mw.bind_info.mr = alien;
	CHECK_EQ(ibv_post_send(v.b, &wr, &bad), EINVAL);
	wr.bind_mw.bind_info.mr = NULL;
	CHECK_EQ(ibv_post_send(v.b, &wr, &bad), EINVAL);
	CHECK_EQ(bind_2(v.b, two, range(0, LEN + 1)), IBV_WC_MW_BIND_ERR);
	b.bind_info.mr = v.mr;		/* it may not be bound to */
	CHECK_EQ(bind_1(v.a, one, b.bind_info), IBV_WC_MW_BIND_ERR);
	CHECK_EQ(state_of(v.a), IBV_QPS_ERR);
	CHECK_EQ(ibv_dereg_mr(alien) || ibv_dealloc_pd(pd), 0);
	CHECK_EQ(ibv_dealloc_mw(one) || ibv_dealloc_mw(two), 0);
	CHECK_EQ(close_windows(), 0);
}

/* A context that is closed with all of it bound leaves nothing in the stack. What the program holds stays
 * where it is found: the last case. */
static void
mw__closed_with_everything(void)
{
	static struct ibv_mw *mw[8];

	open_windows("inline");
	for (int i = 0; i < 8; i++) {
		mw[i] = ibv_alloc_mw(v.pd, i & 1 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		MUST(mw[i]);
		CHECK_EQ(i & 1 ? bind_1(v.a, mw[i], range(0, 8)) : bind_2(v.b, mw[i], range(0, 8)),
			 IBV_WC_SUCCESS);
	}
	CHECK_EQ(ibv_close_device(v.ctx), 0);
	CHECK_EQ(stack_stop(), 0);
}

/*
 * A window is bound by one core and reached through another. Between a bind's completion and the next bind
 * the half that it does not reach is the program's own, though its peer tries it by the old key: an
 * unreliable connection drops that. Each bind is followed by a write by the new key, which arrives: so no 16
 * wrong ones come in a row.
 */
#define BINDS 200

static struct ibv_qp *
new_uc(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC,
					 .cap = { 64, 1, 1, 1, 0 } };

	return ibv_create_qp(v.pd, &init);
}

static void
uc_up(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = peer };

	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.sgid_index = 1;
	attr.ah_attr.grh.dgid = v.gid;
	MUST(to_init(qp) == 0);
	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			   IBV_QP_RQ_PSN) == 0);
	attr.qp_state = IBV_QPS_RTS;
	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) == 0);
}

static void
post_try(struct ibv_qp *qp, uint32_t rkey, uint64_t to)
{
	struct ibv_sge sge = { (uintptr_t)v.buf, LEN / 2, v.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)half + to;
	wr.wr.rdma.rkey = rkey;
	MUST(ibv_post_send(qp, &wr, &bad) == 0);
}

static bool
untouched(const uint8_t *at)
{
	for (uint32_t i = 0; i < LEN / 2; i++)
		if (at[i])
			return false;
	return true;
}

static bool
arrives(const uint8_t *last)
{
	uint64_t end = now_ms() + 20000;

	while (!__atomic_load_n(last, __ATOMIC_ACQUIRE) && now_ms() < end)
		sched_yield();
	return __atomic_load_n(last, __ATOMIC_ACQUIRE) == 0x11;
}

static void
mw__between_two_cores(void)
{
	struct ibv_cq *far_cq;
	struct ibv_qp *from, *to;
	bool own = true;
	struct ibv_mw *mw;
	struct ibv_wc wc;

	open_windows("0,1");
	far_cq = ibv_create_cq(v.ctx, 256, NULL, NULL, 1);
	mw = ibv_alloc_mw(v.pd, IBV_MW_TYPE_1);
	from = far_cq ? new_uc(far_cq) : NULL;
	to = far_cq ? new_uc(far_cq) : NULL;
	MUST(mw && from && to);
	uc_up(from, to->qp_num);
	uc_up(to, from->qp_num);
	memset(v.buf, 0x11, LEN / 2);
	for (uint32_t i = 0; own && i < BINDS; i++) {
		uint64_t mine = i & 1 ? 0 : LEN / 2;
		uint32_t old = mw->rkey;

		CHECK_EQ(bind_1(v.a, mw, range(LEN / 2 - mine, LEN / 2)), IBV_WC_SUCCESS);
		memset(half, 0, LEN);
		post_try(from, mw->rkey, LEN / 2 - mine);
		MUST(arrives(half + LEN - 1 - mine));
		post_try(from, old, mine);
		post_try(from, old, LEN / 2 - mine);
		for (int n = 0; n < 3; n++)
			MUST(poll_one(far_cq, &wc) && wc.status == IBV_WC_SUCCESS);
		own = untouched(half + mine);
	}
	CHECK(own);
	CHECK_EQ(state_of(to), IBV_QPS_RTS);
	CHECK_EQ(ibv_destroy_qp(from) || ibv_destroy_qp(to) || ibv_destroy_cq(far_cq), 0);
	CHECK(memchr(half, 0x11, LEN));
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(close_windows(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(mw__order_of_ends),
	CHECK_CASE(mw__end_of_the_qp),
	CHECK_CASE(mw__send_with_invalidate),
	CHECK_CASE(mw__local_invalidate),
	CHECK_CASE(mw__refused),
	CHECK_CASE(mw__between_two_cores),
	CHECK_CASE(mw__closed_with_everything),
};

CHECK_MAIN(cases)

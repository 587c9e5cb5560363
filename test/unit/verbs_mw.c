/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows: from the calls to ring slots, through each of the ways to post. */
#include "check.h"
#include "verbs_world.h"

struct scene {
	struct world w;
	struct ibv_mr *mr;
	struct ibv_mw *one, *two;
};

static char buf[4096];

static void
scene_open(struct scene *s, struct world_conf c)
{
	world_open(&s->w, c);
	s->mr = ibv_reg_mr(s->w.pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	s->one = ibv_alloc_mw(s->w.pd, IBV_MW_TYPE_1);
	s->two = ibv_alloc_mw(s->w.pd, IBV_MW_TYPE_2);
	if (!s->mr || !s->one || !s->two)
		abort();
}

static void
scene_close(struct scene *s)
{
	if (ibv_dealloc_mw(s->one) || ibv_dealloc_mw(s->two) || ibv_dereg_mr(s->mr))
		abort();
	world_close(&s->w);
}

static struct ibv_mw_bind_info
info_of(struct scene *s)
{
	return (struct ibv_mw_bind_info){ .mr = s->mr, .addr = 0x1000, .length = 1ull << 33,
					  .mw_access_flags = IBV_ACCESS_REMOTE_READ };
}

static bool
is_bind(struct scene *s, uint32_t index, uint32_t rkey, unsigned int flags)
{
	const struct plx_sq_wqe *q = mock_sq_wqe(s->w.qp->handle, index);

	return q->opcode == IBV_WR_BIND_MW && q->wr_id == 77 && q->flags == flags && q->num_sge == 0 &&
	       q->length == 0 && q->rkey == rkey && q->remote_addr == 0x1000 &&
	       q->bind.length == 1ull << 33 && q->bind.lkey == s->mr->lkey &&
	       q->bind.access == IBV_ACCESS_REMOTE_READ;
}

/* F19: the key that it has once the bind is done stands in the window at once, and differs in its low 8
 * bits. */
static void
bind_mw__fills_a_slot(void)
{
	struct ibv_mw_bind b = { .wr_id = 77, .send_flags = IBV_SEND_FENCE | IBV_SEND_INLINE };
	struct scene s;
	uint32_t key;

	for (int sig_all = 0; sig_all < 2; sig_all++) {
		scene_open(&s, (struct world_conf){ .sig_all = sig_all, .send_wr = 2 });
		b.bind_info = info_of(&s);
		s.one->rkey |= 0xff;
		key = s.one->rkey;
		CHECK_EQ(ibv_bind_mw(s.w.qp, s.one, &b), 0);
		CHECK_EQ(s.one->rkey, key & ~0xffu);
		CHECK(is_bind(&s, 0, key & ~0xffu, PLX_WQE_FENCE | (sig_all ? PLX_WQE_SIGNALED : 0)));
		CHECK(mock_take_bell());
		b.bind_info = (struct ibv_mw_bind_info){ .mr = NULL };
		CHECK_EQ(ibv_bind_mw(s.w.qp, s.one, &b), 0);
		CHECK_EQ(mock_sq_wqe(s.w.qp->handle, 1)->bind.length, 0);
		key = s.one->rkey;
		CHECK_EQ(ibv_bind_mw(s.w.qp, s.one, &b), ENOMEM);
		CHECK_EQ(s.one->rkey, key);
		scene_close(&s);
	}
}

static void
post_send__bind(void)
{
	struct ibv_send_wr wr = { .wr_id = 77, .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;
	struct scene s;
	uint32_t key;

	scene_open(&s, (struct world_conf){ 0 });
	key = s.two->rkey;
	wr.bind_mw.mw = s.two;
	wr.bind_mw.rkey = key ^ 0x80;
	wr.bind_mw.bind_info = info_of(&s);
	CHECK_EQ(ibv_post_send(s.w.qp, &wr, &bad), 0);
	CHECK(is_bind(&s, 0, key ^ 0x80, PLX_WQE_SIGNALED));
	CHECK_EQ(s.two->rkey, key ^ 0x80);
	scene_close(&s);
}

/* What the call refuses, and neither slot nor window changes. */
static void
bind_mw__refused(void)
{
	struct ibv_mw_bind b = { .wr_id = 77 };
	struct ibv_send_wr wr = { .wr_id = 77, .opcode = IBV_WR_BIND_MW }, *bad;
	struct ibv_pd *pd;
	struct ibv_mr *alien;
	struct scene s;
	uint32_t key;

	scene_open(&s, (struct world_conf){ 0 });
	pd = ibv_alloc_pd(s.w.ctx);
	CHECK(pd);
	pd->handle = s.w.pd->handle + 1;	/* the mock has one for all */
	alien = ibv_reg_mr(pd, buf, 8, IBV_ACCESS_MW_BIND);
	CHECK(alien);
	key = s.two->rkey;
	wr.bind_mw.bind_info = b.bind_info = info_of(&s);
	CHECK_EQ(ibv_bind_mw(s.w.qp, s.two, &b), EINVAL);
	b.bind_info.mr = NULL;
	CHECK_EQ(ibv_bind_mw(s.w.qp, s.one, &b), EINVAL);
	b.bind_info.mr = alien;
	CHECK_EQ(ibv_bind_mw(s.w.qp, s.one, &b), EPERM);
	wr.bind_mw.rkey = key;
	CHECK_EQ(ibv_post_send(s.w.qp, &wr, &bad), EINVAL);
	wr.bind_mw.mw = s.one;
	wr.bind_mw.rkey = s.one->rkey;
	CHECK_EQ(ibv_post_send(s.w.qp, &wr, &bad), EINVAL);
	wr.bind_mw.mw = s.two;
	wr.bind_mw.rkey = key ^ 0x100;
	CHECK_EQ(ibv_post_send(s.w.qp, &wr, &bad), EINVAL);
	wr.bind_mw.rkey = key;
	wr.bind_mw.bind_info.mr = alien;
	CHECK_EQ(ibv_post_send(s.w.qp, &wr, &bad), EINVAL);
	wr.bind_mw.bind_info.mr = NULL;
	CHECK_EQ(ibv_post_send(s.w.qp, &wr, &bad), EINVAL);
	CHECK_EQ(s.two->rkey, key);
	CHECK_EQ(mock_take_bell(), 0);
	CHECK_EQ(ibv_dereg_mr(alien) || ibv_dealloc_pd(pd), 0);
	scene_close(&s);
}

/* By type of QP, and by its state. */
static void
bind_mw__queue_pairs(void)
{
	static const struct {
		enum ibv_qp_type type;
		int err;
	} table[] = { { IBV_QPT_RC, 0 }, { IBV_QPT_UC, 0 }, { IBV_QPT_UD, EINVAL }, { IBV_QPT_XRC_SEND, 0 } };
	struct ibv_mw_bind b = { .wr_id = 77 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_LOCAL_INV }, *bad;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct scene s;

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		scene_open(&s, (struct world_conf){ .type = table[i].type });
		b.bind_info = info_of(&s);
		CHECK_EQ(ibv_bind_mw(s.w.qp, s.one, &b), table[i].err);
		CHECK_EQ(ibv_post_send(s.w.qp, &wr, &bad), table[i].err);
		CHECK_EQ(ibv_modify_qp(s.w.qp, &attr, IBV_QP_STATE), 0);
		CHECK_EQ(ibv_bind_mw(s.w.qp, s.one, &b), EINVAL);
		scene_close(&s);
	}
}

static void
alloc_mw__errors(void)
{
	struct scene s;

	scene_open(&s, (struct world_conf){ 0 });
	CHECK(s.one->pd == s.w.pd && s.one->context == s.w.ctx && s.one->type == IBV_MW_TYPE_1);
	CHECK(s.two->type == IBV_MW_TYPE_2 && s.two->handle != s.one->handle);
	mock.fail_type = CTL_ALLOC_MW;
	mock.fail_err = -ENOMEM;
	errno = 0;
	CHECK(!ibv_alloc_mw(s.w.pd, IBV_MW_TYPE_1));
	CHECK_EQ(errno, ENOMEM);
	mock.fail_type = CTL_DEALLOC_MW;
	mock.fail_err = -EIO;
	CHECK_EQ(ibv_dealloc_mw(s.one), EIO);
	scene_close(&s);
}

/* What rdma-core's own inline functions call. */
static void
ops__of_a_context(void)
{
	struct ibv_mw_bind b = { .wr_id = 77 };
	struct ibv_context_ops *ops;
	struct ibv_mw *mw;
	struct scene s;

	scene_open(&s, (struct world_conf){ 0 });
	ops = &s.w.ctx->ops;
	b.bind_info = info_of(&s);
	mw = ops->alloc_mw(s.w.pd, IBV_MW_TYPE_1);
	CHECK(mw);
	CHECK_EQ(ops->bind_mw(s.w.qp, mw, &b), 0);
	CHECK(is_bind(&s, 0, mw->rkey, 0));
	CHECK_EQ(ops->dealloc_mw(mw), 0);
	scene_close(&s);
}

static const struct check_case cases[] = {
	CHECK_CASE(bind_mw__fills_a_slot),
	CHECK_CASE(post_send__bind),
	CHECK_CASE(bind_mw__refused),
	CHECK_CASE(bind_mw__queue_pairs),
	CHECK_CASE(alloc_mw__errors),
	CHECK_CASE(ops__of_a_context),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs that mix up their objects, through the verbs on a whole stack: SRQs, domains and targets of
 * XRC, and groups and address handles. Each mistake is refused as its man page says, and everything ends
 * well afterwards.
 */
#include "serve_verbs.h"

#define QKEY 0x11111111u

/* The call gives nothing, and errno says why. */
#define FAILS(call, err) \
	do { \
		errno = 0; \
		CHECK((call) == NULL); \
		CHECK_EQ(errno, err); \
	} while (0)

static const uint8_t group4[16] = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 };
static const uint8_t group6[16] = { 0xff, 0x15, [15] = 0x77 };

static struct ibv_qp *
new_of(enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = { .send_cq = v.cq, .recv_cq = v.cq, .srq = srq, .qp_type = type,
					 .cap = { 16, 16, 2, 2, 64 } };

	return ibv_create_qp(v.pd, &init);
}

static struct ibv_xrcd *
new_domain(struct ibv_context *ctx)
{
	struct ibv_xrcd_init_attr a = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					.fd = -1, .oflags = O_CREAT };

	return ibv_open_xrcd(ctx, &a);
}

static struct ibv_srq *
named_srq(struct ibv_pd *pd, struct ibv_xrcd *x, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex a = {
		.attr = { .max_wr = 16, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_PD,
		.srq_type = IBV_SRQT_XRC, .pd = pd, .xrcd = x, .cq = cq,
	};

	return ibv_create_srq_ex(pd->context, &a);
}

static struct ibv_qp *
new_target(struct ibv_context *ctx, struct ibv_xrcd *x)
{
	struct ibv_qp_init_attr_ex a = { .qp_type = IBV_QPT_XRC_RECV,
					 .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = x };

	return ibv_create_qp_ex(ctx, &a);
}

static struct ibv_qp *
opened(struct ibv_context *ctx, struct ibv_xrcd *x, uint32_t qpn, enum ibv_qp_type type)
{
	struct ibv_qp_open_attr a = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = qpn, .xrcd = x, .qp_type = type,
	};

	return ibv_open_qp(ctx, &a);
}

/* An SRQ that peers name is no QP's own, and what belongs to a domain belongs to one context. */
static void
xrc__mixed_up_objects(void)
{
	struct ibv_context *other;
	struct ibv_xrcd *x, *theirs;
	struct ibv_srq *srq;
	struct ibv_qp *ini;
	struct ibv_pd *pd;
	struct ibv_cq *cq;

	open_verbs("inline", 64, 16);
	other = open_ctx();
	pd = ibv_alloc_pd(other);
	cq = ibv_create_cq(v.ctx, 16, NULL, NULL, 0);
	x = new_domain(v.ctx);
	theirs = new_domain(other);
	MUST(pd && cq && x && theirs);
	srq = named_srq(v.pd, x, cq);
	MUST(srq);
	FAILS(new_of(IBV_QPT_RC, srq), EINVAL);
	FAILS(new_of(IBV_QPT_UC, srq), EINVAL);
	FAILS(new_of(IBV_QPT_UD, srq), EINVAL);
	FAILS(new_of(IBV_QPT_XRC_RECV, NULL), EINVAL);
	FAILS(named_srq(v.pd, theirs, v.cq), EINVAL);
	FAILS(named_srq(pd, x, v.cq), EINVAL);
	FAILS(new_target(v.ctx, theirs), EINVAL);
	ini = new_of(IBV_QPT_XRC_SEND, srq);	/* what it does not have is said in vain (FC66) */
	MUST(ini && !ini->srq);
	CHECK(ibv_destroy_cq(cq) == EBUSY);
	CHECK(ibv_close_xrcd(x) == EBUSY);
	CHECK(ibv_destroy_srq(srq) == 0);	/* none of those holds it */
	CHECK(ibv_destroy_cq(cq) == 0);
	CHECK(ibv_close_xrcd(x) == 0);
	CHECK(ibv_destroy_qp(ini) == 0);
	CHECK(ibv_close_xrcd(theirs) == 0);
	CHECK(ibv_dealloc_pd(pd) == 0);
	CHECK(ibv_close_device(other) == 0);
	CHECK_EQ(close_verbs(), 0);
}

static bool
posts_nothing(struct ibv_qp *qp)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send = NULL;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv = NULL;

	return ibv_post_send(qp, &send, &bad_send) == EINVAL && bad_send == &send &&
	       ibv_post_recv(qp, &recv, &bad_recv) == EINVAL && bad_recv == &recv;
}

/* A handle opens the target of its domain, and nothing else; none of them posts, in any state (F17). */
static void
xrc__handles(void)
{
	struct ibv_xrcd *x, *another;
	struct ibv_context *other;
	struct ibv_qp *t, *u, *ini;
	union ibv_gid gid;

	open_verbs("inline", 64, 16);
	other = open_ctx();
	x = new_domain(v.ctx);
	another = new_domain(v.ctx);
	ini = new_of(IBV_QPT_XRC_SEND, NULL);
	t = x ? new_target(v.ctx, x) : NULL;
	MUST(another && ini && t);
	FAILS(opened(v.ctx, another, t->qp_num, IBV_QPT_XRC_RECV), EINVAL);
	FAILS(opened(other, x, t->qp_num, IBV_QPT_XRC_RECV), EINVAL);
	FAILS(opened(v.ctx, x, ini->qp_num, IBV_QPT_XRC_RECV), EINVAL);
	FAILS(opened(v.ctx, x, v.a->qp_num, IBV_QPT_XRC_RECV), EINVAL);
	FAILS(opened(v.ctx, x, t->qp_num, IBV_QPT_XRC_SEND), EINVAL);
	FAILS(opened(v.ctx, x, UINT32_MAX, IBV_QPT_XRC_RECV), EINVAL);
	u = opened(v.ctx, x, t->qp_num, IBV_QPT_XRC_RECV);
	MUST(u);
	memcpy(gid.raw, group4, 16);
	CHECK(ibv_attach_mcast(u, &gid, 0) == EINVAL);
	CHECK(posts_nothing(t) && posts_nothing(u));
	CHECK(to_init(t) == 0);
	CHECK(state_of(u) == IBV_QPS_INIT);
	CHECK(to_rtr(u, ini->qp_num) == 0 && posts_nothing(t) && posts_nothing(u));
	CHECK(to_rts(t) == 0 && posts_nothing(t) && posts_nothing(u));
	CHECK(ibv_destroy_qp(t) == 0);
	CHECK(state_of(u) == IBV_QPS_RTS);
	CHECK(ibv_close_xrcd(x) == EBUSY);
	CHECK(ibv_destroy_qp(u) == 0);
	CHECK(ibv_close_xrcd(x) == 0 && ibv_close_xrcd(another) == 0);
	CHECK(ibv_destroy_qp(ini) == 0);
	CHECK(ibv_close_device(other) == 0);
	CHECK_EQ(close_verbs(), 0);
}

static int
to_rts_ud(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	int rc = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	a.qp_state = IBV_QPS_RTR;
	rc = rc ? rc : ibv_modify_qp(qp, &a, IBV_QP_STATE);
	a.qp_state = IBV_QPS_RTS;
	return rc ? rc : ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static struct ibv_ah *
handle_to(struct ibv_pd *pd, const uint8_t gid[16], uint8_t sgid_index)
{
	struct ibv_ah_attr a = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = sgid_index } };

	memcpy(a.grh.dgid.raw, gid, 16);
	return ibv_create_ah(pd, &a);
}

static int
send_by(struct ibv_qp *qp, struct ibv_ah *ah)
{
	struct ibv_sge sge = { (uintptr_t)v.buf, 8, v.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = 0xffffff;
	wr.wr.ud.remote_qkey = QKEY;
	return ibv_post_send(qp, &wr, &bad);
}

/* F9, F10: groups are for datagrams alone, and a handle is its PD's and its family's. */
static void
group__mixed_up_objects(void)
{
	struct ibv_qp_attr to_group = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = 5 };
	const int rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	struct ibv_ah *ah, *foreign;
	struct ibv_qp *ud, *uc;
	struct ibv_pd *pd;
	union ibv_gid gid;
	struct ibv_wc wc;

	open_verbs("inline", 64, 16);
	memcpy(gid.raw, group4, 16);
	pd = ibv_alloc_pd(v.ctx);
	ud = new_of(IBV_QPT_UD, NULL);
	uc = new_of(IBV_QPT_UC, NULL);
	ah = handle_to(v.pd, group4, 1);
	foreign = pd ? handle_to(pd, group4, 1) : NULL;
	MUST(ud && uc && ah && foreign && to_rts_ud(ud) == 0 && to_init(uc) == 0);
	CHECK(ibv_attach_mcast(uc, &gid, 0) == EINVAL && ibv_attach_mcast(v.a, &gid, 0) == EINVAL);
	CHECK(ibv_attach_mcast(ud, &v.gid, 0) == EINVAL && ibv_detach_mcast(ud, &gid, 0) == EINVAL);
	FAILS(handle_to(v.pd, group4, 0), EINVAL);
	FAILS(handle_to(v.pd, group6, 1), EINVAL);
	to_group.ah_attr = (struct ibv_ah_attr){ .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1 } };
	to_group.ah_attr.grh.dgid = gid;
	CHECK(ibv_modify_qp(uc, &to_group, rtr) == EINVAL);
	CHECK(state_of(uc) == IBV_QPS_INIT);
	CHECK(ibv_attach_mcast(ud, &gid, 0) == 0 && ibv_attach_mcast(ud, &gid, 0) == 0);
	CHECK(send_by(ud, foreign) == EINVAL && send_by(ud, NULL) == EINVAL);
	CHECK(ibv_dealloc_pd(pd) == EBUSY && ibv_destroy_qp(ud) == EBUSY);
	CHECK(post_recv(ud, 7) == 0 && send_by(ud, ah) == 0);
	for (int i = 0; i < 2; i++)
		CHECK(poll_one(v.cq, &wc) && wc.status == IBV_WC_SUCCESS);
	CHECK(ibv_detach_mcast(ud, &gid, 0) == 0 && ibv_detach_mcast(ud, &gid, 0) == EINVAL);
	CHECK(ibv_destroy_ah(ah) == 0 && ibv_destroy_ah(foreign) == 0 && ibv_dealloc_pd(pd) == 0);
	CHECK(ibv_destroy_qp(ud) == 0 && ibv_destroy_qp(uc) == 0);
	CHECK_EQ(close_verbs(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(xrc__mixed_up_objects),
	CHECK_CASE(xrc__handles),
	CHECK_CASE(group__mixed_up_objects),
};

CHECK_MAIN(cases)

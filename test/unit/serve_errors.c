/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each verb answers to what it must refuse, in the form its man page promises (FC52), objects of two
 * contexts mixed among it; and that what is in use is not destroyed, and whole after the refusal (FC62).
 * Address handles, shared queues, XRC and groups: serve_errors_shared.c.
 */
#include <sys/mman.h>

#include "serve_refused.h"

static struct ibv_context *other;	/* a second context of the device, and what it has */
static struct ibv_comp_channel *other_ch;
static struct ibv_cq *other_cq;
static struct ibv_pd *other_pd;
static struct ibv_device_attr dev;
static struct ibv_qp *fresh;		/* in RESET */

static int
cq_of(int cqe, struct ibv_comp_channel *ch, int vector)
{
	return made(ibv_create_cq(v.ctx, cqe, NULL, ch, vector));
}

static int
qp_of(struct ibv_cq *scq, struct ibv_cq *rcq, struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr init = { .send_cq = scq, .recv_cq = rcq, .qp_type = IBV_QPT_RC,
					 .cap = cap };

	return made(ibv_create_qp(v.pd, &init));
}

#define CAP(...) qp_of(v.cq, v.cq, (struct ibv_qp_cap){ __VA_ARGS__ })
#define FEW { 1, 1, 1, 1, 0 }

static int
qp_ex_of(struct ibv_pd *pd, uint32_t mask)
{
	struct ibv_qp_init_attr_ex init = { .send_cq = v.cq, .recv_cq = v.cq, .qp_type = IBV_QPT_RC,
					    .cap = FEW, .pd = pd, .comp_mask = mask };

	return made(ibv_create_qp_ex(v.ctx, &init));
}

static int
mr_of(void *addr, size_t len, unsigned int access)
{
	return made(plx_reg_mr_iova2(v.pd, addr, len, (uintptr_t)addr, access));
}

static int
modify(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask)
{
	return ibv_modify_qp(qp, &attr, mask);
}

#define INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)

static int
send_of(struct ibv_qp *qp, enum ibv_wr_opcode op, int num_sge)
{
	struct ibv_sge sge[3] = { { (uintptr_t)v.buf, 8, v.mr->lkey } };
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = num_sge, .opcode = op }, *bad = NULL;
	int rc = ibv_post_send(qp, &wr, &bad);

	return rc && bad != &wr ? -1 : rc;
}

static int
recv_of(struct ibv_qp *qp, int num_sge)
{
	struct ibv_sge sge[3] = { { (uintptr_t)v.buf, 8, v.mr->lkey } };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = num_sge }, *bad = NULL;
	int rc = ibv_post_recv(qp, &wr, &bad);

	return rc && bad != &wr ? -1 : rc;
}

static void *
hole(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(at, 4096);
	return at;
}

static int
device_ex(uint32_t comp_mask)
{
	struct ibv_query_device_ex_input in = { .comp_mask = comp_mask };
	struct ibv_device_attr_ex attr;

	return ibv_query_device_ex(v.ctx, &in, &attr);
}

static int
modify_cq(uint32_t mask)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = mask };

	return ibv_modify_cq(v.cq, &attr);
}

static int
query_port(uint8_t port)
{
	struct ibv_port_attr attr;

	return plx_query_port(v.ctx, port, &attr);
}

/* X(what, the call, errno) */
#define REFUSED(X) \
	X("create_cq: cqe 0", cq_of(0, NULL, 0), EINVAL) \
	X("create_cq: cqe -1", cq_of(-1, NULL, 0), EINVAL) \
	X("create_cq: cqe above max_cqe", cq_of(dev.max_cqe + 1, NULL, 0), EINVAL) \
	X("create_cq: vector -1", cq_of(1, NULL, -1), EINVAL) \
	X("create_cq: vector num_comp_vectors", cq_of(1, NULL, v.ctx->num_comp_vectors), EINVAL) \
	X("create_cq: channel of another context", cq_of(1, other_ch, 0), EINVAL) \
	X("resize_cq: 0", ibv_resize_cq(v.cq, 0), EINVAL) \
	X("resize_cq: above max_cqe", ibv_resize_cq(v.cq, dev.max_cqe + 1), EINVAL) \
	X("modify_cq: unknown bit", modify_cq(2), EINVAL) \
	X("create_qp: send_wr", CAP((uint32_t)dev.max_qp_wr + 1, 1, 1, 1, 0), EINVAL) \
	X("create_qp: recv_wr", CAP(1, (uint32_t)dev.max_qp_wr + 1, 1, 1, 0), EINVAL) \
	X("create_qp: send_sge", CAP(1, 1, (uint32_t)dev.max_sge + 1, 1, 0), EINVAL) \
	X("create_qp: recv_sge", CAP(1, 1, 1, (uint32_t)dev.max_sge + 1, 0), EINVAL) \
	X("create_qp: inline", CAP(1, 1, 1, 1, PLX_MAX_INLINE + 1), EINVAL) \
	X("create_qp: send CQ of another context", qp_of(other_cq, v.cq, (struct ibv_qp_cap)FEW), EINVAL) \
	X("create_qp: recv CQ of another context", qp_of(v.cq, other_cq, (struct ibv_qp_cap)FEW), EINVAL) \
	X("create_qp: no CQ", qp_of(NULL, v.cq, (struct ibv_qp_cap)FEW), EINVAL) \
	X("create_qp_ex: PD of another context", qp_ex_of(other_pd, IBV_QP_INIT_ATTR_PD), EINVAL) \
	X("create_qp_ex: no PD", qp_ex_of(NULL, 0), EINVAL) \
	X("create_qp_ex: unknown bit", qp_ex_of(v.pd, IBV_QP_INIT_ATTR_PD | 1u << 30), EOPNOTSUPP) \
	X("modify_qp: RESET to RTS", modify(fresh, (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS }, \
					    IBV_QP_STATE), EINVAL) \
	X("modify_qp: RESET to ERR", to_err(fresh), EINVAL) \
	X("modify_qp: INIT without a port", modify(fresh, (struct ibv_qp_attr){ \
		.qp_state = IBV_QPS_INIT, .port_num = 1 }, INIT_MASK & ~IBV_QP_PORT), EINVAL) \
	X("modify_qp: port 2", modify(fresh, (struct ibv_qp_attr){ \
		.qp_state = IBV_QPS_INIT, .port_num = 2 }, INIT_MASK), EINVAL) \
	X("modify_qp: P_Key index 1", modify(fresh, (struct ibv_qp_attr){ \
		.qp_state = IBV_QPS_INIT, .port_num = 1, .pkey_index = 1 }, INIT_MASK), EINVAL) \
	X("modify_qp: unknown bit", modify(fresh, (struct ibv_qp_attr){ \
		.qp_state = IBV_QPS_INIT, .port_num = 1 }, INIT_MASK | 1 << 30), EINVAL) \
	X("reg_mr: no bytes", mr_of(v.buf, 0, 0), EINVAL) \
	X("reg_mr: over the end", mr_of(v.buf, SIZE_MAX, 0), EINVAL) \
	X("reg_mr: remote write alone", mr_of(v.buf, 8, IBV_ACCESS_REMOTE_WRITE), EINVAL) \
	X("reg_mr: atomic alone", mr_of(v.buf, 8, IBV_ACCESS_REMOTE_ATOMIC), EINVAL) \
	X("reg_mr: unknown bit", mr_of(v.buf, 8, 1u << 31), EINVAL) \
	X("reg_mr: all memory, for peers", \
	  mr_of(NULL, SIZE_MAX, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_READ), EOPNOTSUPP) \
	X("reg_mr: all memory, pinned", mr_of(NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE), EFAULT) \
	X("reg_mr: nothing there", mr_of(hole(), 8, 0), EFAULT) \
	X("query_port: 0", query_port(0), EINVAL) \
	X("query_port: 2", query_port(2), EINVAL) \
	X("query_gid: port 2", minus(ibv_query_gid(v.ctx, 2, 0, &(union ibv_gid){ 0 })), EINVAL) \
	X("query_gid: index 256", minus(ibv_query_gid(v.ctx, 1, 256, &(union ibv_gid){ 0 })), EINVAL) \
	X("query_pkey: index 1", minus(ibv_query_pkey(v.ctx, 1, 1, &(__be16){ 0 })), EINVAL) \
	X("query_device_ex: unknown bit", device_ex(1), EINVAL) \
	X("post_send: RESET", send_of(fresh, IBV_WR_SEND, 1), EINVAL) \
	X("post_recv: RESET", recv_of(fresh, 1), EINVAL) \
	X("post_send: SGEs", send_of(v.a, IBV_WR_SEND, 3), EINVAL) \
	X("post_send: SGEs -1", send_of(v.a, IBV_WR_SEND, -1), EINVAL) \
	X("post_send: opcode", send_of(v.a, (enum ibv_wr_opcode)31, 1), EINVAL) \
	X("post_send: opcode 99", send_of(v.a, (enum ibv_wr_opcode)99, 1), EINVAL) \
	X("post_recv: SGEs", recv_of(v.a, 3), EINVAL)

static void
verbs__errno_of_each(void)
{
	open_verbs("inline", 64, 16);
	other = open_ctx();
	other_ch = ibv_create_comp_channel(other);
	other_cq = ibv_create_cq(other, 1, NULL, other_ch, 0);
	other_pd = ibv_alloc_pd(other);
	fresh = new_qp(v.cq, 4, 0);
	CHECK(other_ch && other_cq && other_pd && fresh);
	CHECK_EQ(ibv_query_device(v.ctx, &dev), 0);
	REFUSED(REFUSED_TRY)
	CHECK(!check_failed);
	CHECK_EQ(state_of(fresh), IBV_QPS_RESET);
	CHECK(whole());
	CHECK_EQ(ibv_destroy_qp(fresh), 0);
	CHECK_EQ(ibv_destroy_cq(other_cq), 0);
	CHECK_EQ(ibv_destroy_comp_channel(other_ch), 0);
	CHECK_EQ(ibv_dealloc_pd(other_pd), 0);
	CHECK_EQ(ibv_close_device(other), 0);
	CHECK_EQ(close_verbs(), 0);
}

static void
destroy__busy_and_whole(void)
{
	struct ibv_wc wc;

	open_verbs("inline", 64, 16);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(ibv_dealloc_pd(v.pd), EBUSY);
		CHECK(whole());
		CHECK_EQ(ibv_destroy_cq(v.cq), EBUSY);
		CHECK(whole());
		CHECK_EQ(ibv_destroy_comp_channel(v.ch), EBUSY);
		CHECK_EQ(ibv_req_notify_cq(v.cq, 0), 0);
		CHECK(whole());
		CHECK(readable(v.ch->fd, 10000));
	}
	CHECK_EQ(ibv_destroy_qp(v.a), 0);
	CHECK_EQ(ibv_destroy_qp(v.b), 0);
	v.a = v.b = NULL;
	CHECK_EQ(ibv_dealloc_pd(v.pd), EBUSY);	/* the region is there */
	CHECK_EQ(ibv_destroy_comp_channel(v.ch), EBUSY);
	CHECK_EQ(ibv_poll_cq(v.cq, 1, &wc), 0);
	CHECK_EQ(close_verbs(), 0);
}

/* What still stands when the context is closed goes with it, and nothing of it is left in the stack. */
static void
close_device__takes_all_along(void)
{
	open_verbs("inline", 64, 16);
	for (int i = 0; i < 10; i++) {
		other = open_ctx();
		other_pd = ibv_alloc_pd(other);
		other_ch = ibv_create_comp_channel(other);
		other_cq = ibv_create_cq(other, 1, NULL, other_ch, 0);
		CHECK(other_pd && other_ch && other_cq);
		CHECK_EQ(ibv_destroy_cq(other_cq), 0);
		CHECK_EQ(ibv_destroy_comp_channel(other_ch), 0);
		CHECK_EQ(ibv_dealloc_pd(other_pd), 0);
		CHECK_EQ(ibv_close_device(other), 0);
	}
	CHECK(whole());
	CHECK_EQ(close_verbs(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(verbs__errno_of_each),
	CHECK_CASE(destroy__busy_and_whole),
	CHECK_CASE(close_device__takes_all_along),
};
CHECK_MAIN(cases)

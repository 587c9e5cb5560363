/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the verbs of address handles, shared receive queues, XRC and groups answer to what they must refuse,
 * in the form their man pages promise (FC52), with objects of two contexts; that nothing has changed then;
 * and that what is in use is not destroyed (FC62).
 */
#include "serve_refused.h"

/* All there is of a context: the first has the pair of `v`, too. */
static struct objects {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq, *xsrq;
	struct ibv_qp *ud, *target;
	struct ibv_ah *ah;
} mine, other;
static struct ibv_device_attr dev;
static int file;		/* of a domain that is open */

static struct ibv_ah_attr
address(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .dgid = v.gid,
									   .hop_limit = 64 } };

	return attr;
}

/* ... but for one thing */
#define AH_BUT(field, value) ({ \
	struct ibv_ah_attr attr_ = address(); \
	attr_.field = (value); \
	made(ibv_create_ah(mine.pd, &attr_)); })

/* From a completion; `flags` and the area's first bytes. */
static int
ah_from_wc(uint8_t port, unsigned int flags, uint8_t version, uint8_t last)
{
	struct ibv_wc wc = { .wc_flags = flags };
	struct ibv_ah_attr attr;
	uint8_t area[40] = { 0 };
	struct ibv_grh grh;
	int rc;

	area[0] = version;		/* of IPv6, to an address that is fd00::...last */
	area[6] = 17;
	area[8] = area[24] = 0xfd;
	area[23] = 9;
	area[39] = last;
	memcpy(&grh, area, sizeof(grh));
	rc = ibv_init_ah_from_wc(mine.ctx, port, &wc, &grh, &attr);
	if (rc == -1 && made(ibv_create_ah_from_wc(mine.pd, &wc, &grh, port)) != errno)
		return -1;
	return minus(rc);
}

static int
srq_of(struct ibv_pd *pd, uint32_t wr, uint32_t sge)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = wr, .max_sge = sge } };

	return made(ibv_create_srq(pd, &init));
}

#define TYPE IBV_SRQ_INIT_ATTR_TYPE
#define PD IBV_SRQ_INIT_ATTR_PD
#define XRC (IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ)
#define SRQ_EX(...) ({ \
	struct ibv_srq_init_attr_ex init_ = { .attr = { .max_wr = 8, .max_sge = 1 }, \
					      .srq_type = IBV_SRQT_XRC, .comp_mask = TYPE | PD | XRC, \
					      .pd = mine.pd, .xrcd = mine.xrcd, .cq = mine.cq }; \
	__VA_ARGS__; \
	made(ibv_create_srq_ex(mine.ctx, &init_)); })

static int
modify_srq(int mask, uint32_t wr, uint32_t limit)
{
	struct ibv_srq_attr attr = { .max_wr = wr, .srq_limit = limit };

	return ibv_modify_srq(mine.srq, &attr, mask);
}

static int
number_of(struct ibv_srq *srq)
{
	uint32_t n;

	return ibv_get_srq_num(srq, &n);
}

static int
post_to(struct ibv_srq *srq, int num_sge)
{
	struct ibv_sge sge[3] = { { (uintptr_t)v.buf, 8, v.mr->lkey } };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = num_sge }, *bad = NULL;
	int rc = ibv_post_srq_recv(srq, &wr, &bad);

	return rc && bad != &wr ? -1 : rc;
}

static int
xrcd_of(uint32_t mask, int fd, int oflags)
{
	struct ibv_xrcd_init_attr init = { .comp_mask = mask, .fd = fd, .oflags = oflags };

	return made(ibv_open_xrcd(mine.ctx, &init));
}

#define XRCD_MASK (IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS)

#define OPEN_QP(...) ({ \
	struct ibv_qp_open_attr open_ = { \
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE, \
		.qp_num = mine.target->qp_num, .xrcd = mine.xrcd, .qp_type = IBV_QPT_XRC_RECV }; \
	__VA_ARGS__; \
	made(ibv_open_qp(mine.ctx, &open_)); })

#define QP_EX(...) ({ \
	struct ibv_qp_init_attr_ex init_ = { .qp_type = IBV_QPT_XRC_RECV, .xrcd = mine.xrcd, \
					     .comp_mask = IBV_QP_INIT_ATTR_XRCD }; \
	__VA_ARGS__; \
	made(ibv_create_qp_ex(mine.ctx, &init_)); })

static int
qp_with(enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = { .send_cq = mine.cq, .recv_cq = mine.cq, .qp_type = type, .srq = srq,
					 .cap = { 4, 4, 1, 1, 0 } };

	return made(ibv_create_qp(mine.pd, &init));
}

static int
send_of(struct ibv_qp *qp)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	int rc = ibv_post_send(qp, &wr, &bad);

	return rc && bad != &wr ? -1 : rc;
}

static int
recv_of(struct ibv_qp *qp)
{
	struct ibv_recv_wr wr = { 0 }, *bad = NULL;
	int rc = ibv_post_recv(qp, &wr, &bad);

	return rc && bad != &wr ? -1 : rc;
}

static const union ibv_gid zero;
static const union ibv_gid group = { .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };
static const union ibv_gid nowhere = { .raw = { [10] = 0xff, [11] = 0xff, 192, 0, 2, 1 } };

/* X(what, the call, errno) */
#define AH_REFUSED(X) \
	X("create_ah: no GRH", AH_BUT(is_global, 0), EINVAL) \
	X("create_ah: port 0", AH_BUT(port_num, 0), EINVAL) \
	X("create_ah: port 2", AH_BUT(port_num, 2), EINVAL) \
	X("create_ah: GID index that is empty", AH_BUT(grh.sgid_index, 9), EINVAL) \
	X("create_ah: GID index 255", AH_BUT(grh.sgid_index, 255), EINVAL) \
	X("create_ah: no address", AH_BUT(grh.dgid, zero), EINVAL) \
	X("create_ah: no route", AH_BUT(grh.dgid, nowhere), ENETUNREACH) \
	X("init_ah_from_wc: no GRH", ah_from_wc(1, 0, 0x60, 1), EINVAL) \
	X("init_ah_from_wc: port 0", ah_from_wc(0, IBV_WC_GRH, 0x60, 1), EINVAL) \
	X("init_ah_from_wc: port 2", ah_from_wc(2, IBV_WC_GRH, 0x60, 1), EINVAL) \
	X("init_ah_from_wc: no such header", ah_from_wc(1, IBV_WC_GRH, 0x50, 1), EPROTONOSUPPORT) \
	X("init_ah_from_wc: to nobody here", ah_from_wc(1, IBV_WC_GRH, 0x60, 1), ENOENT)

#define SRQ_REFUSED(X) \
	X("create_srq: max_wr 0", srq_of(mine.pd, 0, 1), EINVAL) \
	X("create_srq: max_wr", srq_of(mine.pd, (uint32_t)dev.max_srq_wr + 1, 1), EINVAL) \
	X("create_srq: max_wr -1", srq_of(mine.pd, UINT32_MAX, 1), EINVAL) \
	X("create_srq: max_sge", srq_of(mine.pd, 1, (uint32_t)dev.max_srq_sge + 1), EINVAL) \
	X("create_srq_ex: unknown bit", SRQ_EX(init_.comp_mask |= 1u << 30), EOPNOTSUPP) \
	X("create_srq_ex: tags", SRQ_EX(init_.comp_mask |= IBV_SRQ_INIT_ATTR_TM), EOPNOTSUPP) \
	X("create_srq_ex: type of tags", SRQ_EX(init_.srq_type = IBV_SRQT_TM), EOPNOTSUPP) \
	X("create_srq_ex: no bit of PD", SRQ_EX(init_.comp_mask &= ~(uint32_t)PD), EINVAL) \
	X("create_srq_ex: no PD", SRQ_EX(init_.pd = NULL), EINVAL) \
	X("create_srq_ex: no bits of XRC", SRQ_EX(init_.comp_mask &= ~(uint32_t)XRC), EINVAL) \
	X("create_srq_ex: no domain", SRQ_EX(init_.xrcd = NULL), EINVAL) \
	X("create_srq_ex: no CQ", SRQ_EX(init_.cq = NULL), EINVAL) \
	X("create_srq_ex: PD of another context", SRQ_EX(init_.pd = other.pd), EINVAL) \
	X("create_srq_ex: domain of another context", SRQ_EX(init_.xrcd = other.xrcd), EINVAL) \
	X("create_srq_ex: CQ of another context", SRQ_EX(init_.cq = other.cq), EINVAL) \
	X("create_srq_ex: max_wr", SRQ_EX(init_.attr.max_wr = (uint32_t)dev.max_srq_wr + 1), EINVAL) \
	X("modify_srq: unknown bit", modify_srq(4, 8, 1), EINVAL) \
	X("modify_srq: limit above max_wr", modify_srq(IBV_SRQ_LIMIT, 0, 9), EINVAL) \
	X("modify_srq: max_wr 0", modify_srq(IBV_SRQ_MAX_WR, 0, 0), EINVAL) \
	X("modify_srq: max_wr", modify_srq(IBV_SRQ_MAX_WR, (uint32_t)dev.max_srq_wr + 1, 0), EINVAL) \
	X("modify_srq: fewer than wait", modify_srq(IBV_SRQ_MAX_WR, 3, 0), EINVAL) \
	X("modify_srq: fewer than the limit", modify_srq(IBV_SRQ_MAX_WR, 4, 0), EINVAL) \
	X("modify_srq: both, limit above", modify_srq(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 16, 17), EINVAL) \
	X("modify_srq: both, too few", modify_srq(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 3, 1), EINVAL) \
	X("get_srq_num: basic", number_of(mine.srq), EINVAL) \
	X("post_srq_recv: SGEs", post_to(mine.srq, 3), EINVAL) \
	X("post_srq_recv: SGEs -1", post_to(mine.srq, -1), EINVAL) \
	X("create_qp: SRQ of another context", qp_with(IBV_QPT_RC, other.srq), EINVAL) \
	X("create_qp: SRQ of a domain", qp_with(IBV_QPT_RC, mine.xsrq), EINVAL)

#define XRC_REFUSED(X) \
	X("open_xrcd: unknown bit", xrcd_of(XRCD_MASK | 4, -1, O_CREAT), EOPNOTSUPP) \
	X("open_xrcd: no bit of fd", xrcd_of(IBV_XRCD_INIT_ATTR_OFLAGS, -1, O_CREAT), EINVAL) \
	X("open_xrcd: no bit of flags", xrcd_of(IBV_XRCD_INIT_ATTR_FD, -1, O_CREAT), EINVAL) \
	X("open_xrcd: fd -2", xrcd_of(XRCD_MASK, -2, O_CREAT), EBADF) \
	X("open_xrcd: there is one", xrcd_of(XRCD_MASK, file, O_CREAT | O_EXCL), EINVAL) \
	X("open_xrcd: there is none", xrcd_of(XRCD_MASK, v.ctx->async_fd, 0), EAGAIN) \
	X("open_qp: unknown bit", OPEN_QP(open_.comp_mask |= 1u << 30), EOPNOTSUPP) \
	X("open_qp: no number", OPEN_QP(open_.comp_mask &= ~(uint32_t)IBV_QP_OPEN_ATTR_NUM), EINVAL) \
	X("open_qp: no bit of domain", OPEN_QP(open_.comp_mask &= ~(uint32_t)IBV_QP_OPEN_ATTR_XRCD), EINVAL) \
	X("open_qp: no type", OPEN_QP(open_.comp_mask &= ~(uint32_t)IBV_QP_OPEN_ATTR_TYPE), EINVAL) \
	X("open_qp: no domain", OPEN_QP(open_.xrcd = NULL), EINVAL) \
	X("open_qp: another type", OPEN_QP(open_.qp_type = IBV_QPT_XRC_SEND), EINVAL) \
	X("open_qp: another number", OPEN_QP(open_.qp_num ^= 1), EINVAL) \
	X("open_qp: a QP of no domain", OPEN_QP(open_.qp_num = v.a->qp_num), EINVAL) \
	X("open_qp: a QP of another domain", OPEN_QP(open_.qp_num = other.target->qp_num), EINVAL) \
	X("open_qp: domain of another context", OPEN_QP(open_.xrcd = other.xrcd), EINVAL) \
	X("create_qp_ex: target, no bit of domain", QP_EX(init_.comp_mask = 0), EINVAL) \
	X("create_qp_ex: target, no domain", QP_EX(init_.xrcd = NULL), EINVAL) \
	X("create_qp_ex: target, domain of another context", QP_EX(init_.xrcd = other.xrcd), EINVAL) \
	X("create_qp_ex: domain and no target", QP_EX(init_.qp_type = IBV_QPT_XRC_SEND), EINVAL) \
	X("create_qp: target", qp_with(IBV_QPT_XRC_RECV, NULL), EINVAL) \
	X("post_send: target", send_of(mine.target), EINVAL) \
	X("post_recv: target", recv_of(mine.target), EINVAL)

#define MCAST_REFUSED(X) \
	X("attach_mcast: RC", ibv_attach_mcast(v.a, &group, 0), EINVAL) \
	X("attach_mcast: target", ibv_attach_mcast(mine.target, &group, 0), EINVAL) \
	X("attach_mcast: no group", ibv_attach_mcast(mine.ud, &v.gid, 0), EINVAL) \
	X("attach_mcast: no address", ibv_attach_mcast(mine.ud, &zero, 0), EINVAL) \
	X("detach_mcast: not attached", ibv_detach_mcast(mine.ud, &group, 0), EINVAL) \
	X("detach_mcast: RC", ibv_detach_mcast(v.a, &group, 0), EINVAL)

static void
make_all(struct objects *o, struct ibv_context *ctx, struct ibv_pd *pd, struct ibv_cq *cq, int fd)
{
	struct ibv_xrcd_init_attr xrcd = { .comp_mask = XRCD_MASK, .fd = fd, .oflags = O_CREAT };
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 2 } };
	struct ibv_srq_init_attr_ex xsrq = { .attr = { .max_wr = 8, .max_sge = 2 }, .srq_type = IBV_SRQT_XRC,
					     .comp_mask = TYPE | PD | XRC, .pd = pd, .cq = cq };
	struct ibv_qp_init_attr_ex target = { .qp_type = IBV_QPT_XRC_RECV,
					      .comp_mask = IBV_QP_INIT_ATTR_XRCD };
	struct ibv_qp_init_attr ud = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
				       .cap = { 4, 0, 1, 0, 0 } };
	struct ibv_ah_attr ah = address();

	*o = (struct objects){ .ctx = ctx, .pd = pd, .cq = cq, .ah = ibv_create_ah(pd, &ah) };
	o->xrcd = ibv_open_xrcd(ctx, &xrcd);
	MUST(o->ah && o->xrcd);
	xsrq.xrcd = target.xrcd = o->xrcd;
	o->srq = ibv_create_srq(pd, &srq);
	o->xsrq = ibv_create_srq_ex(ctx, &xsrq);
	o->target = ibv_create_qp_ex(ctx, &target);
	MUST(o->srq && o->xsrq && o->target);
	ud.srq = o->srq;
	o->ud = ibv_create_qp(pd, &ud);
	MUST(o->ud);
}

/* Everything in the order that is right; what is in use is refused before. */
static int
end_all(const struct objects *o)
{
	int bad = 0;

	bad |= (ibv_close_xrcd(o->xrcd) != EBUSY) << 0;
	bad |= (ibv_destroy_qp(o->target) != 0) << 1;
	bad |= (ibv_close_xrcd(o->xrcd) != EBUSY) << 2;		/* of its SRQ */
	bad |= (ibv_destroy_cq(o->cq) != EBUSY) << 3;
	bad |= (ibv_destroy_srq(o->xsrq) != 0) << 4;
	bad |= (ibv_close_xrcd(o->xrcd) != 0) << 5;
	bad |= (ibv_destroy_srq(o->srq) != EBUSY) << 6;
	bad |= (ibv_destroy_qp(o->ud) != 0) << 7;
	bad |= (ibv_dealloc_pd(o->pd) != EBUSY) << 8;
	bad |= (ibv_destroy_srq(o->srq) != 0) << 9;
	bad |= (ibv_dealloc_pd(o->pd) != EBUSY) << 10;		/* of its AH */
	bad |= (ibv_destroy_ah(o->ah) != 0) << 11;
	return bad;
}

static void
begin(void)
{
	struct ibv_context *ctx;
	char name[] = "/tmp/pollux-xrcd-XXXXXX";

	open_verbs("inline", 64, 16);
	file = mkstemp(name);
	MUST(file >= 0 && unlink(name) == 0 && ibv_query_device(v.ctx, &dev) == 0);
	ctx = open_ctx();
	make_all(&mine, v.ctx, v.pd, v.cq, file);
	make_all(&other, ctx, ibv_alloc_pd(ctx), ibv_create_cq(ctx, 1, NULL, NULL, 0), -1);
}

static void
end(void)
{
	CHECK_EQ(end_all(&mine), 0);
	CHECK_EQ(end_all(&other), 0);
	CHECK_EQ(ibv_destroy_cq(other.cq), 0);
	CHECK_EQ(ibv_dealloc_pd(other.pd), 0);
	CHECK_EQ(ibv_close_device(other.ctx), 0);
	CHECK_EQ(close_verbs(), 0);
	close(file);
}

static void
verbs__errno_of_handles_and_groups(void)
{
	begin();
	AH_REFUSED(REFUSED_TRY)
	MCAST_REFUSED(REFUSED_TRY)
	CHECK(!check_failed);
	CHECK(whole());
	CHECK_EQ(ibv_attach_mcast(mine.ud, &group, 0), 0);
	CHECK_EQ(ibv_attach_mcast(mine.ud, &group, 0), 0);
	CHECK_EQ(ibv_detach_mcast(mine.ud, &group, 0), 0);
	CHECK_EQ(ibv_detach_mcast(mine.ud, &group, 0), EINVAL);
	end();
}

/* Five wait and the limit is 5: each refusal leaves both as they are. */
static void
verbs__errno_of_shared_queues(void)
{
	struct ibv_srq_attr attr = { 0 };
	uint32_t n;

	begin();
	for (int i = 0; i < 4; i++)
		CHECK_EQ(post_to(mine.srq, 1), 0);
	CHECK_EQ(modify_srq(IBV_SRQ_MAX_WR, 8, 0), 0);
	CHECK_EQ(post_to(mine.srq, 1), 0);
	CHECK_EQ(modify_srq(IBV_SRQ_LIMIT, 0, 5), 0);
	SRQ_REFUSED(REFUSED_TRY)
	CHECK(!check_failed);
	CHECK_EQ(ibv_query_srq(mine.srq, &attr), 0);
	CHECK_EQ(attr.max_wr, 8);
	CHECK_EQ(attr.max_sge, 2);
	CHECK_EQ(attr.srq_limit, 5);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(post_to(mine.srq, 2), 0);
	CHECK_EQ(post_to(mine.srq, 2), ENOMEM);
	CHECK_EQ(modify_srq(0, 0, 0), 0);
	/* a higher limit than the size, and a size below the limit: together they are right */
	CHECK_EQ(modify_srq(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 16, 8), 0);
	CHECK_EQ(modify_srq(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT, 8, 2), 0);
	CHECK_EQ(ibv_query_srq(mine.srq, &attr), 0);
	CHECK(attr.max_wr == 8 && attr.srq_limit == 2);
	CHECK_EQ(ibv_get_srq_num(mine.xsrq, &n), 0);
	CHECK(whole());
	end();
}

static void
verbs__errno_of_xrc(void)
{
	begin();
	XRC_REFUSED(REFUSED_TRY)
	CHECK(!check_failed);
	CHECK_EQ(state_of(mine.target), IBV_QPS_RESET);
	CHECK(whole());
	end();
}

static const struct check_case cases[] = {
	CHECK_CASE(verbs__errno_of_handles_and_groups),
	CHECK_CASE(verbs__errno_of_shared_queues),
	CHECK_CASE(verbs__errno_of_xrc),
};
CHECK_MAIN(cases)

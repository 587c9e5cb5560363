/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC of a whole stack: targets and who holds them, SRQs that are named, and all that ends, of one context
 * and of two, on one core and on two. Threads meet where there are two: also run under TSan.
 */
#include "serve_xrc.h"

struct named {			/* an SRQ, the application's half */
	struct ctl_create_srq m;
	uint32_t tail;
};

/* An initiator of w's context, and a target that any may hold. */
struct conn {
	uint32_t xrcd;
	struct end ini;
	struct ctl_create_qp tgt;
	struct named srq;
};

static int
new_srq(uint32_t xrcd, struct named *s)
{
	*s = (struct named){ .m = { .pd = w.pd, .type = 1, .xrcd = xrcd, .cq = w.cq.cq, .max_wr = 64,
				    .max_sge = 2 } };
	return call(CTL_CREATE_SRQ, &s->m);
}

static int
destroy_srq(const struct named *s)
{
	struct ctl_destroy_srq m = { .srq = s->m.srq };

	return call(CTL_DESTROY_SRQ, &m);
}

static void
post_named(struct named *s, size_t to, size_t len, uint64_t wr_id)
{
	uint32_t slot = s->tail & ((1u << s->m.wq.log2_size) - 1);
	struct plx_rq_wqe *q = (void *)((char *)at(&s->m.wq.slots) + (size_t)slot * s->m.wq.stride);
	struct plx_wq_ctl *ctl = at(&s->m.wq.ctl);

	*q = (struct plx_rq_wqe){ .wr_id = wr_id, .num_sge = 1 };
	*(struct plx_sge *)(void *)(q + 1) = (struct plx_sge){ (uintptr_t)w.buf + to, (uint32_t)len,
							       w.mr.lkey };
	__atomic_store_n(&ctl->tail, ++s->tail, __ATOMIC_RELEASE);
}

static int
new_target(const struct ctl_client *cl, uint32_t xrcd, struct ctl_create_qp *m)
{
	/* what it does not have is said in vain (FC66) */
	*m = (struct ctl_create_qp){ .type = QPT_XRC_TGT, .xrcd = xrcd, .cap = { 100, 1u << 30, 3, 3, 9 } };
	return local->call(cl->handle, CTL_CREATE_QP, m);
}

static int
open_target(const struct ctl_client *cl, uint32_t xrcd, uint32_t qp_num, uint32_t *qp)
{
	struct ctl_open_qp m = { .xrcd = xrcd, .qp_num = qp_num };
	int rc = local->call(cl->handle, CTL_OPEN_QP, &m);

	*qp = m.qp;
	return rc;
}

static int
destroy(const struct ctl_client *cl, uint32_t qp)
{
	struct ctl_destroy_qp m = { .qp = qp };

	return local->call(cl->handle, CTL_DESTROY_QP, &m);
}

static uint32_t
state_of(const struct ctl_client *cl, uint32_t qp)
{
	struct ctl_query_qp m = { .qp = qp };

	return local->call(cl->handle, CTL_QUERY_QP, &m) ? UINT32_MAX : m.attr.qp_state;
}

/* RC's attributes, as programs give them to both ends. */
static int
raise_to(const struct ctl_client *cl, uint32_t qp, uint32_t peer)
{
	struct ctl_modify_qp m = { .qp = qp,
		.mask = QPM_STATE | QPM_PKEY_INDEX | QPM_PORT | QPM_ACCESS_FLAGS,
		.attr = { .qp_state = QPS_INIT, .port_num = 1, .qp_access_flags = ALL_ACCESS } };
	int rc = local->call(cl->handle, CTL_MODIFY_QP, &m);

	m.mask = RTR_MASK;
	m.attr = rtr_attr(peer);
	if (rc == 0)
		rc = local->call(cl->handle, CTL_MODIFY_QP, &m);
	m.mask = QPM_STATE | QPM_TIMEOUT | QPM_RETRY_CNT | QPM_RNR_RETRY | QPM_SQ_PSN | QPM_MAX_QP_RD_ATOMIC;
	m.attr = (struct ctl_qp_attr){ .qp_state = QPS_RTS, .timeout = 17, .retry_cnt = 7, .rnr_retry = 7,
				       .max_rd_atomic = 16 };
	return rc ? rc : local->call(cl->handle, CTL_MODIFY_QP, &m);
}

static int
new_ini(struct end *e)
{
	*e = (struct end){ .m = { .pd = w.pd, .type = QPT_XRC_INI, .send_cq = w.cq.cq,
				  .cap = { 64, 1u << 30, 4, 1u << 30, 64 } } };
	return call(CTL_CREATE_QP, &e->m);
}

/* The target is cl's, the initiator w's. */
static int
connect_new(struct conn *c, const struct ctl_client *cl, uint32_t xrcd)
{
	int rc = new_target(cl, xrcd, &c->tgt);

	if (rc == 0)
		rc = new_ini(&c->ini);
	if (rc == 0)
		rc = raise_to(cl, c->tgt.qp, c->ini.m.qp_num);
	return rc ? rc : raise_to(&w.cl, c->ini.m.qp, c->tgt.qp_num);
}

static void
post_to(struct conn *c, const struct named *s, const struct send *what)
{
	struct send to = *what;

	to.srqn = s->m.number;
	post_send(&c->ini, &to);
}

static int
start(const char *cores)
{
	int rc = start_stack(cores);

	ack_timeout = 17;	/* who waits for a CPU is not dead */
	return rc ? rc : open_client();
}

/* Two completions, of the receive and of the send, in any order. */
static void
both(struct plx_cqe *send, struct plx_cqe *recv)
{
	for (int i = 0; i < 2; i++) {
		struct plx_cqe c;

		CHECK(poll(&c));
		*(c.queue == PLX_CQE_SQ ? send : recv) = c;
	}
}

static void
traffic(const char *cores)
{
	struct plx_cqe s, r;
	struct named srq[2];
	struct conn c[4];
	uint32_t xrcd;

	CHECK_EQ(start(cores), 0);
	CHECK_EQ(open_xrcd(&w.cl, -1, MAKE, &xrcd), 0);
	CHECK_EQ(new_srq(xrcd, &srq[0]), 0);
	CHECK_EQ(new_srq(xrcd, &srq[1]), 0);
	CHECK(srq[0].m.number != srq[1].m.number && srq[0].m.number < 1u << 24);
	for (int i = 0; i < 4; i++)	/* on both cores when there are two */
		CHECK_EQ(connect_new(&c[i], &w.cl, xrcd), 0);
	for (uint32_t i = 0; i < 64; i++) {
		struct conn *via = &c[i % 4];
		struct named *to = &srq[i / 4 % 2];

		memset(w.buf, (int)i + 1, 5000);
		memset(w.buf + 8192, 0, 5000);
		post_named(to, 8192, 5000, 100 + i);
		post_to(via, to, &(struct send){ .opcode = WR_SEND, .len = 5000, .wr_id = i });
		both(&s, &r);
		CHECK(s.status == WC_SUCCESS && s.wr_id == i && s.qp_num == via->ini.m.qp_num);
		CHECK(r.status == WC_SUCCESS && r.wr_id == 100 + i && r.byte_len == 5000);
		CHECK_EQ(r.qp_num, via->tgt.qp_num);	/* F16 */
		CHECK(memcmp(w.buf, w.buf + 8192, 5000) == 0);
		post_to(via, to, &(struct send){ .opcode = WR_RDMA_READ, .from = 16384, .len = 5000,
						 .to = 8192, .wr_id = i });
		CHECK(poll(&s) && s.status == WC_SUCCESS);
		CHECK(memcmp(w.buf, w.buf + 16384, 5000) == 0);
		memset(w.buf + 32768, 0, 8);
		post_to(via, to, &(struct send){ .opcode = WR_FETCH_ADD, .from = 24576, .len = 8,
						 .to = 32768, .compare_add = i + 1 });
		CHECK(poll(&s) && s.status == WC_SUCCESS);
		CHECK(w.buf[32768] == i + 1 && w.buf[24576] == 0);
	}
	CHECK_EQ(end_world(), 0);
}

static void
xrc__traffic_inline(void)
{
	traffic("inline");
}

static void
xrc__traffic_on_two_cores(void)
{
	traffic("0,1");
}

/* Capabilities of what an end does not have are 0, and what belongs to a domain keeps it open (FC66). */
static void
serve_create_qp__ends_of_xrc(void)
{
	struct ctl_create_qp m;
	struct ctl_query_qp q;
	struct named srq;
	struct end ini;
	uint32_t xrcd;

	CHECK_EQ(start("inline"), 0);
	CHECK_EQ(open_xrcd(&w.cl, -1, MAKE, &xrcd), 0);
	CHECK_EQ(new_ini(&ini), 0);
	CHECK(ini.m.cap.max_send_wr >= 64 && !ini.m.cap.max_recv_wr && !ini.m.cap.max_recv_sge);
	CHECK_EQ(new_target(&w.cl, xrcd + 1, &m), -EINVAL);
	CHECK_EQ(new_target(&w.cl, 0, &m), -EINVAL);
	CHECK_EQ(new_target(&w.cl, xrcd, &m), 0);
	CHECK(!m.cap.max_send_wr && !m.cap.max_recv_wr && !m.cap.max_send_sge && !m.cap.max_recv_sge &&
	      !m.cap.max_inline_data);
	q.qp = m.qp;
	CHECK_EQ(call(CTL_QUERY_QP, &q), 0);
	CHECK(!q.attr.cap.max_send_wr && !q.attr.cap.max_recv_wr && q.attr.qp_state == QPS_RESET);
	CHECK_EQ(close_xrcd(&w.cl, xrcd), -EBUSY);
	CHECK_EQ(new_srq(xrcd, &srq), 0);
	CHECK_EQ(destroy(&w.cl, m.qp), 0);
	CHECK_EQ(destroy(&w.cl, m.qp), -EINVAL);
	CHECK_EQ(close_xrcd(&w.cl, xrcd), -EBUSY);
	CHECK_EQ(destroy_srq(&srq), 0);
	CHECK_EQ(close_xrcd(&w.cl, xrcd), 0);
	ini.m = (struct ctl_create_qp){ .pd = w.pd, .type = QPT_XRC_INI, .send_cq = w.cq.cq, .srq = 1 };
	CHECK_EQ(call(CTL_CREATE_QP, &ini.m), -EINVAL);
	srq.m.xrcd = xrcd;
	CHECK_EQ(call(CTL_CREATE_SRQ, &srq.m), -EINVAL);
	CHECK_EQ(end_world(), 0);
}

/* A target lives until the last that holds it is gone, whoever made it; all of them may modify it (F17). */
static void
serve_open_qp__outlives_its_maker(void)
{
	struct ctl_client maker, third;
	struct plx_cqe s, r;
	uint32_t mine, theirs, third_xrcd, h1, h2, h3;
	struct ctl_mcast in_group = { .gid = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } };
	struct named srq;
	struct conn c;
	int fd = some_file();

	CHECK_EQ(start("inline"), 0);
	CHECK_EQ(local->open(0, CTL_ABI_VERSION, &maker), 0);
	CHECK_EQ(local->open(0, CTL_ABI_VERSION, &third), 0);
	CHECK_EQ(open_xrcd(&maker, fd, MAKE_NEW, &theirs), 0);
	CHECK_EQ(open_xrcd(&w.cl, fd, 0, &mine), 0);
	CHECK_EQ(open_xrcd(&third, fd, 0, &third_xrcd), 0);
	close(fd);
	CHECK_EQ(connect_new(&c, &maker, theirs), 0);
	CHECK_EQ(open_target(&w.cl, mine, c.ini.m.qp_num, &h1), -EINVAL);
	CHECK_EQ(open_target(&w.cl, mine + 1, c.tgt.qp_num, &h1), -EINVAL);
	CHECK_EQ(open_target(&w.cl, mine, c.tgt.qp_num, &h1), 0);
	CHECK_EQ(open_target(&w.cl, mine, c.tgt.qp_num, &h2), 0);
	CHECK_EQ(open_target(&third, third_xrcd, c.tgt.qp_num, &h3), 0);
	CHECK(h1 != h2 && h1 != c.tgt.qp);
	in_group.qp = h1;
	CHECK_EQ(call(CTL_ATTACH_MCAST, &in_group), -EINVAL);
	CHECK_EQ(call(CTL_DETACH_MCAST, &in_group), -EINVAL);
	CHECK_EQ(destroy(&third, h1), -EINVAL);		/* not its handle */
	CHECK_EQ(destroy(&w.cl, h1), 0);
	CHECK_EQ(close_xrcd(&w.cl, mine), -EBUSY);
	local->close(&maker);
	CHECK_EQ(state_of(&w.cl, h2), QPS_RTS);
	CHECK_EQ(new_srq(mine, &srq), 0);
	post_named(&srq, 8192, 100, 7);
	post_to(&c, &srq, &(struct send){ .opcode = WR_SEND, .len = 100 });
	both(&s, &r);
	CHECK(s.status == WC_SUCCESS && r.status == WC_SUCCESS && r.qp_num == c.tgt.qp_num);
	CHECK_EQ(destroy(&w.cl, h2), 0);
	CHECK_EQ(state_of(&third, h3), QPS_RTS);
	CHECK_EQ(open_target(&w.cl, mine, c.tgt.qp_num, &h2), 0);
	local->close(&third);
	CHECK_EQ(state_of(&w.cl, h2), QPS_RTS);
	CHECK_EQ(destroy(&w.cl, h2), 0);
	CHECK_EQ(open_target(&w.cl, mine, c.tgt.qp_num, &h2), -EINVAL);	/* that was the last */
	CHECK_EQ(destroy_srq(&srq), 0);
	CHECK_EQ(close_xrcd(&w.cl, mine), 0);
	CHECK_EQ(end_world(), 0);
}

static bool
heard(const struct ctl_client *cl, uint32_t type, uint32_t handle)
{
	struct plx_async_event ev;

	for (uint64_t end = now_ms() + 10000; now_ms() < end; usleep(100)) {
		drive(CTL_DRIVE_POLL);
		if (recv(cl->async_fd, &ev, sizeof(ev), MSG_DONTWAIT) != (ssize_t)sizeof(ev))
			continue;
		if (ev.type == type && ev.subject == PLX_EVENT_QP && ev.handle == handle)
			return true;
	}
	return false;
}

/* All that hold a target are told of what happens to it, each by its own handle (F15, F17). */
static void
serve_open_qp__all_hear(void)
{
	struct named none = { .m.number = 0x123456 };
	struct ctl_client other;
	uint32_t mine, theirs, h;
	struct plx_cqe e;
	struct conn c;
	int fd = some_file();

	CHECK_EQ(start("inline"), 0);
	CHECK_EQ(local->open(0, CTL_ABI_VERSION, &other), 0);
	CHECK_EQ(open_xrcd(&w.cl, fd, MAKE, &mine), 0);
	CHECK_EQ(open_xrcd(&other, fd, 0, &theirs), 0);
	close(fd);
	CHECK_EQ(connect_new(&c, &w.cl, mine), 0);
	CHECK_EQ(open_target(&other, theirs, c.tgt.qp_num, &h), 0);
	post_to(&c, &none, &(struct send){ .opcode = WR_SEND, .len = 100 });
	CHECK(poll(&e) && e.status == WC_REM_INV_REQ_ERR);
	CHECK(heard(&w.cl, EV_QP_ACCESS_ERR, c.tgt.qp));
	CHECK(heard(&other, EV_QP_ACCESS_ERR, h));
	CHECK_EQ(state_of(&other, h), QPS_ERR);
	CHECK_EQ(state_of(&w.cl, c.tgt.qp), QPS_ERR);
	local->close(&other);
	CHECK_EQ(end_world(), 0);
}

/* An SRQ of another domain is none, though this stack knows the number (F15). */
static void
xrc__another_domain(void)
{
	uint32_t xrcd[2];
	struct named srq;
	struct plx_cqe e;
	struct conn c;

	CHECK_EQ(start("inline"), 0);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(open_xrcd(&w.cl, -1, MAKE, &xrcd[i]), 0);
	CHECK_EQ(new_srq(xrcd[0], &srq), 0);
	post_named(&srq, 8192, 100, 1);
	CHECK_EQ(connect_new(&c, &w.cl, xrcd[1]), 0);
	post_to(&c, &srq, &(struct send){ .opcode = WR_SEND, .len = 100 });
	CHECK(poll(&e) && e.status == WC_REM_INV_REQ_ERR && e.queue == PLX_CQE_SQ);
	CHECK(heard(&w.cl, EV_QP_ACCESS_ERR, c.tgt.qp));
	CHECK(!peek(&e));
	CHECK_EQ(end_world(), 0);
}

/* SRQs that end while messages for them come in: no completion afterwards, nothing is touched. */
static void
ends_under_traffic(const char *cores)
{
	uint32_t xrcd, sent;
	struct plx_cqe e;

	CHECK_EQ(start(cores), 0);
	CHECK_EQ(open_xrcd(&w.cl, -1, MAKE, &xrcd), 0);
	for (int turn = 0; turn < 20; turn++) {
		struct named srq;
		struct conn c[2];

		CHECK_EQ(new_srq(xrcd, &srq), 0);
		for (int i = 0; i < 2; i++) {
			CHECK_EQ(connect_new(&c[i], &w.cl, xrcd), 0);
			for (int k = 0; k < 8; k++) {
				post_named(&srq, 1 << 20, 1 << 20, 1);
				post_to(&c[i], &srq, &(struct send){ .opcode = WR_SEND, .len = 1 << 20 });
			}
		}
		for (int k = 0; k < turn; k++)
			drive(CTL_DRIVE_POLL);
		CHECK_EQ(destroy_srq(&srq), 0);
		sent = 0;
		while (peek(&e))	/* what it completed before */
			sent += e.queue == PLX_CQE_SQ;
		memset(w.buf + (1 << 20), 0x5a, 1 << 20);
		for (; sent < 16; sent++)
			CHECK(poll(&e) && e.queue == PLX_CQE_SQ);
		for (size_t i = 1 << 20; i < 2 << 20; i++)
			CHECK(w.buf[i] == 0x5a);
		for (int i = 0; i < 2; i++) {
			CHECK_EQ(destroy(&w.cl, c[i].ini.m.qp), 0);
			CHECK_EQ(destroy(&w.cl, c[i].tgt.qp), 0);
		}
		CHECK(!peek(&e));
	}
	CHECK_EQ(close_xrcd(&w.cl, xrcd), 0);
	CHECK_EQ(end_world(), 0);
}

static void
serve_destroy_srq__under_traffic_inline(void)
{
	ends_under_traffic("inline");
}

static void
serve_destroy_srq__under_traffic_on_two_cores(void)
{
	ends_under_traffic("0,1");
}

/* Everything is left as it is, of two contexts: nothing stays, whichever is closed first. */
static void
local_close__in_any_order(void)
{
	for (int first = 0; first < 2; first++) {
		struct ctl_client other;
		uint32_t mine, theirs, h;
		struct named srq;
		struct conn c[2];
		int fd = some_file();

		CHECK_EQ(start("inline"), 0);
		CHECK_EQ(local->open(0, CTL_ABI_VERSION, &other), 0);
		CHECK_EQ(open_xrcd(&w.cl, fd, MAKE, &mine), 0);
		CHECK_EQ(open_xrcd(&other, fd, 0, &theirs), 0);
		close(fd);
		CHECK_EQ(new_srq(mine, &srq), 0);
		CHECK_EQ(connect_new(&c[0], &w.cl, mine), 0);
		CHECK_EQ(connect_new(&c[1], &other, theirs), 0);
		CHECK_EQ(open_target(&other, theirs, c[0].tgt.qp_num, &h), 0);
		for (int k = 0; k < 16; k++)
			post_to(&c[k & 1], &srq, &(struct send){ .opcode = WR_SEND, .len = 1 << 20 });
		if (first)
			local->close(&other);
		local->close(&w.cl);
		if (!first)
			local->close(&other);
		close(w.ch.fd);
		free(w.buf);
		CHECK_EQ(stack_stop(), 0);
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(xrc__traffic_inline),
	CHECK_CASE(xrc__traffic_on_two_cores),
	CHECK_CASE(serve_create_qp__ends_of_xrc),
	CHECK_CASE(serve_open_qp__outlives_its_maker),
	CHECK_CASE(serve_open_qp__all_hear),
	CHECK_CASE(xrc__another_domain),
	CHECK_CASE(serve_destroy_srq__under_traffic_inline),
	CHECK_CASE(serve_destroy_srq__under_traffic_on_two_cores),
	CHECK_CASE(local_close__in_any_order),
};

CHECK_MAIN(cases)

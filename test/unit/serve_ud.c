/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams through a whole stack: two UD QPs of one process, their handles, Q_Keys, and QP 1. */
#include <linux/capability.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "serve_fixture.h"
#include "transport/gsi.h"
#include "wire/hdr.h"

#define QKEY 0x11111111u
#define GRH 40u

static struct ctl_create_ah ah;

static int
new_ah(uint32_t sgid_index, const uint8_t gid[16], uint32_t label)
{
	ah = (struct ctl_create_ah){ .pd = w.pd, .attr = { .sgid_index = (uint8_t)sgid_index, .is_global = 1,
				     .port_num = 1, .hop_limit = 7, .traffic_class = 0x2c,
				     .flow_label = label } };
	memcpy(ah.attr.dgid, gid, 16);
	return call(CTL_CREATE_AH, &ah);
}

static int
to(struct end *e, uint32_t state, uint32_t mask, uint32_t qkey)
{
	return modify(e, QPM_STATE | mask, (struct ctl_qp_attr){ .qp_state = state, .port_num = 1,
								 .qkey = qkey });
}

static int
new_ud(struct end *e)
{
	int rc;

	memset(e, 0, sizeof(*e));
	e->m = (struct ctl_create_qp){ .pd = w.pd, .type = QPT_UD, .send_cq = w.cq.cq, .recv_cq = w.cq.cq,
				       .cap = { 64, 64, 4, 4, 64 } };
	rc = call(CTL_CREATE_QP, &e->m);
	if (rc == 0)
		rc = to(e, QPS_INIT, QPM_PKEY_INDEX | QPM_PORT | QPM_QKEY, QKEY);
	if (rc == 0)
		rc = to(e, QPS_RTR, 0, 0);
	return rc ? rc : to(e, QPS_RTS, QPM_SQ_PSN, 0);
}

static int
start_ud(const char *cores)
{
	int rc = start_stack(cores);

	if (rc == 0)
		rc = open_client();
	if (rc == 0)
		rc = new_ud(&w.a);
	if (rc == 0)
		rc = new_ud(&w.b);
	return rc ? rc : new_ah(1, w.gid, 0);
}

/* `len` bytes from the buffer's start, to `qpn`. */
static void
post_dgram(uint32_t qpn, uint32_t qkey, size_t len)
{
	struct end *e = &w.a;
	uint32_t slot = e->sq_tail & ((1u << e->m.sq.log2_size) - 1);
	struct plx_sq_wqe *q = (void *)((char *)at(&e->m.sq.slots) + (size_t)slot * e->m.sq.stride);
	struct plx_sge *sge = (void *)(q + 1);

	*q = (struct plx_sq_wqe){ .wr_id = 5, .opcode = WR_SEND, .flags = PLX_WQE_SIGNALED, .num_sge = 1,
				  .length = (uint32_t)len,
				  .ud = { .ah = ah.ah, .ah_gen = ah.ah_gen, .qpn = qpn, .qkey = qkey } };
	*sge = (struct plx_sge){ (uintptr_t)w.buf, (uint32_t)len, w.mr.lkey };
	ring(e, at(&e->m.sq.ctl), ++e->sq_tail, PLX_BELL_SQ);
}

/* The completions of one send and one receive, in any order. */
static bool
both(struct plx_cqe *send, struct plx_cqe *recv)
{
	for (int i = 0; i < 2; i++) {
		struct plx_cqe c;

		if (!poll(&c))
			return false;
		*(c.queue == PLX_CQE_SQ ? send : recv) = c;
	}
	return true;
}

/* The header in the area, as the attributes of the handle make it (F3, A2, FC07, FC09). */
static void
check_area(const uint8_t *area, bool ip6)
{
	static const uint8_t none[20];

	if (ip6) {
		CHECK_EQ(be32_load(area), 6u << 28 | 0x2cu << 20 | 0x12345);
		CHECK_EQ(area[IP6_HOPS], 7);
		CHECK_MEM(area + IP6_SRC, ah.attr.dgid, 16);
		CHECK_MEM(area + IP6_DST, ah.attr.dgid, 16);
		return;
	}
	CHECK_MEM(area, none, 20);
	CHECK_EQ(area[20], 0x45);
	CHECK_EQ(area[20 + IP4_TOS], 0x2c);
	CHECK_EQ(area[20 + IP4_TTL], 7);
	CHECK_MEM(area + 20 + IP4_SRC, w.gid + 12, 4);
	CHECK_MEM(area + 20 + IP4_DST, w.gid + 12, 4);
}

static void
datagrams(bool ip6)
{
	static const size_t lens[] = { 0, 1, 100, 1024 };
	uint8_t *got = w.buf + (1 << 20);
	struct plx_cqe s, r;

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		memset(got, 0xaa, 4096);
		for (size_t k = 0; k < lens[i]; k++)
			w.buf[k] = (uint8_t)(3 * k + i);
		post_recv(&w.b, 1 << 20, 2048, 9);
		post_dgram(w.b.m.qp_num, QKEY, lens[i]);
		CHECK(both(&s, &r));
		CHECK_EQ(s.status, WC_SUCCESS);
		CHECK_EQ(s.opcode, WC_SEND);
		CHECK_EQ(r.status, WC_SUCCESS);
		CHECK_EQ(r.wr_id, 9);
		CHECK_EQ(r.byte_len, GRH + lens[i]);
		CHECK_EQ(r.wc_flags, WC_GRH);
		CHECK_EQ(r.src_qp, w.a.m.qp_num);
		check_area(got, ip6);
		CHECK_MEM(got + GRH, w.buf, lens[i]);
		CHECK_EQ(got[GRH + lens[i]], 0xaa);
	}
}

static void
ud__both_families(void)
{
	struct ctl_query_gid gid = { .port = 1, .index = 0 };

	CHECK_EQ(start_ud("inline"), 0);
	datagrams(false);
	CHECK_EQ(call(CTL_QUERY_GID, &gid), 0);
	CHECK_EQ(new_ah(0, gid.gid, 0x12345), 0);
	datagrams(true);
	CHECK_EQ(end_world(), 0);
}

/* Two QPs of two cores: each sends by the handle, and the QPN says whose a frame is. */
static void
ud__two_cores(void)
{
	CHECK_EQ(start_ud("0,1"), 0);
	CHECK(w.a.m.core != w.b.m.core);
	datagrams(false);
	CHECK_EQ(end_world(), 0);
}

/* F1: not a byte, and the port tells how many; F2: the QP's own. */
static void
ud__q_keys(void)
{
	struct ctl_query_port p = { .port = 1 };
	struct plx_cqe s, r;

	CHECK_EQ(start_ud("inline"), 0);
	post_recv(&w.b, 1 << 20, 2048, 9);
	for (int i = 0; i < 3; i++) {
		post_dgram(w.b.m.qp_num, QKEY + 1, 8);
		CHECK(poll(&s));
		CHECK_EQ(s.status, WC_SUCCESS);
	}
	for (int i = 0; i < 10; i++)
		drive(CTL_DRIVE_POLL);
	CHECK(!peek(&r));
	CHECK_EQ(call(CTL_QUERY_PORT, &p), 0);
	CHECK_EQ(p.qkey_viol_cntr, 3);
	post_dgram(w.b.m.qp_num, 0x80000000u | 77, 8);
	CHECK(both(&s, &r));
	CHECK_EQ(r.byte_len, GRH + 8);
	CHECK_EQ(end_world(), 0);
}

/* Without CAP_NET_RAW, which this thread gives up. */
static void *
unprivileged(void *arg)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	int *rc = arg;

	rc[0] = (int)syscall(SYS_capget, &head, data);
	data[0].effective &= ~(1u << CAP_NET_RAW);
	rc[1] = (int)syscall(SYS_capset, &head, data);
	rc[2] = to(&w.a, QPS_RTS, QPM_QKEY, 0x80000001u);
	rc[3] = to(&w.a, QPS_RTS, QPM_QKEY, 0x7fffffffu);
	return NULL;
}

static void
ud__controlled_q_keys(void)
{
	struct ctl_query_qp q = { 0 };
	int rc[4] = { 1, 1, 1, 1 };
	pthread_t t;

	CHECK_EQ(start_ud("inline"), 0);
	pthread_create(&t, NULL, unprivileged, rc);
	pthread_join(t, NULL);
	CHECK_EQ(rc[0], 0);
	CHECK_EQ(rc[1], 0);
	CHECK_EQ(rc[2], -EPERM);
	CHECK_EQ(rc[3], 0);
	q.qp = w.a.m.qp;
	CHECK_EQ(call(CTL_QUERY_QP, &q), 0);
	CHECK_EQ(q.attr.qkey, 0x7fffffffu);
	if (geteuid() == 0) {
		CHECK_EQ(to(&w.a, QPS_RTS, QPM_QKEY, 0x80000001u), 0);
	}
	CHECK_EQ(end_world(), 0);
}

/* Sends that name a handle which is gone end in error, and hurt nothing. */
static void
ud__destroyed_handle(void)
{
	struct ctl_destroy_ah d;
	struct plx_cqe c;

	CHECK_EQ(start_ud("inline"), 0);
	d.ah = ah.ah;
	CHECK_EQ(call(CTL_DESTROY_AH, &d), 0);
	post_dgram(w.b.m.qp_num, QKEY, 8);
	CHECK(poll(&c));
	CHECK_EQ(c.status, WC_LOC_QP_OP_ERR);
	CHECK_EQ(new_ah(1, w.gid, 0), 0);
	CHECK_EQ(to(&w.a, QPS_RTS, 0, 0), 0);	/* from SQE */
	datagrams(false);
	CHECK_EQ(end_world(), 0);
}

/* Handles come and go while a thread sends by one that stays. */
static uint32_t stop_churn;

static void *
churn(void *arg)
{
	struct ctl_create_ah m = ah;
	struct ctl_destroy_ah d;

	(void)arg;
	while (!__atomic_load_n(&stop_churn, __ATOMIC_RELAXED)) {
		if (call(CTL_CREATE_AH, &m))
			break;
		d.ah = m.ah;
		call(CTL_DESTROY_AH, &d);
	}
	return NULL;
}

static void
ud__handles_come_and_go(void)
{
	struct plx_cqe s, r;
	uint32_t bad = 0;
	pthread_t t;

	CHECK_EQ(start_ud("0,1"), 0);
	stop_churn = 0;
	pthread_create(&t, NULL, churn, NULL);
	for (int i = 0; i < 200; i++) {
		post_recv(&w.b, 1 << 20, 2048, 9);
		post_dgram(w.b.m.qp_num, QKEY, 64);
		bad += !both(&s, &r) || s.status || r.status;
	}
	__atomic_store_n(&stop_churn, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	CHECK_EQ(bad, 0);
	CHECK_EQ(end_world(), 0);
}

/* QP 1 (F5, A18). */
static struct {
	uint32_t num, src_qpn, len;
	uint8_t data[256];
} mad;

static void
got_mad(void *arg, struct core *c, const struct wire_pkt *pkt)
{
	(void)arg;
	(void)c;
	mad.src_qpn = pkt->deth.src_qpn;
	mad.len = pkt->payload_len;
	memcpy(mad.data, pkt->payload, pkt->payload_len < 256 ? pkt->payload_len : 256);
	__atomic_store_n(&mad.num, mad.num + 1, __ATOMIC_RELEASE);
}

static int
send_mad(struct core *c, void *arg)
{
	struct stack *s = stack_running();
	struct ahandle *a = table_get(&s->ahs, ah.ah);
	const uint32_t *len = arg;

	return core_gsi_send(c, &a->e, GSI_QPN, w.buf, *len);
}

static bool
mads(uint32_t n)
{
	struct plx_cqe c;

	for (uint64_t end = now_ms() + 5000; now_ms() < end; usleep(100)) {
		drive(CTL_DRIVE_POLL);
		peek(&c);
		if (__atomic_load_n(&mad.num, __ATOMIC_ACQUIRE) == n)
			return true;
	}
	return false;
}

static void
gsi(const char *cores)
{
	struct engine *e;
	uint32_t len = 256;
	struct plx_cqe c;

	memset(&mad, 0, sizeof(mad));
	CHECK_EQ(start_ud(cores), 0);
	e = stack_running()->eng;
	for (size_t i = 0; i < len; i++)
		w.buf[i] = (uint8_t)(5 * i);
	CHECK_EQ(eng_gsi_open(e, got_mad, NULL), 0);
	CHECK_EQ(eng_gsi_open(e, got_mad, NULL), -EBUSY);
	CHECK_EQ(eng_call(eng_port_core(e), send_mad, &len), 0);
	CHECK(mads(1));
	CHECK_EQ(mad.src_qpn, 1);
	CHECK_EQ(mad.len, 256);
	CHECK_MEM(mad.data, w.buf, 256);
	len = 4097;
	CHECK_EQ(eng_call(eng_port_core(e), send_mad, &len), -EMSGSIZE);
	/* a program's QP with another Q_Key, to QP 1 and to 0; then, with the right one of its own */
	post_dgram(1, QKEY, 8);
	post_dgram(0, QKEY, 8);
	CHECK(poll(&c) && poll(&c));
	if (geteuid() == 0) {
		CHECK_EQ(to(&w.a, QPS_RTS, QPM_QKEY, GSI_QKEY), 0);
		post_dgram(1, GSI_QKEY, 8);
		CHECK(mads(2));
		CHECK_EQ(mad.src_qpn, w.a.m.qp_num);
	}
	eng_gsi_close(e);
	len = 8;
	CHECK_EQ(eng_call(eng_port_core(e), send_mad, &len), 0);
	CHECK_EQ(end_world(), 0);
	CHECK(mad.num == 1 || geteuid() == 0);
}

static void
gsi__owner_gets_them(void)
{
	gsi("inline");
}

static void
gsi__from_another_core(void)
{
	gsi("0,1");
}

/* E7: a datagram whose handle is gone stops the sending; the QP still receives, and from RTS on sends. */
static void
ud__sqe_and_back(void)
{
	struct plx_cqe s = { 0 }, r = { 0 };
	struct ctl_destroy_ah gone;
	struct ctl_query_qp q;
	struct end a;

	CHECK_EQ(start_ud("inline"), 0);
	gone = (struct ctl_destroy_ah){ .ah = ah.ah };
	q = (struct ctl_query_qp){ .qp = w.a.m.qp };
	CHECK_EQ(call(CTL_DESTROY_AH, &gone), 0);
	post_dgram(w.b.m.qp_num, QKEY, 8);
	CHECK(poll(&s));
	CHECK_EQ(s.status, WC_LOC_QP_OP_ERR);
	CHECK_EQ(call(CTL_QUERY_QP, &q), 0);
	CHECK_EQ(q.attr.qp_state, QPS_SQE);
	post_dgram(w.b.m.qp_num, QKEY, 8);
	CHECK(poll(&s));
	CHECK_EQ(s.status, WC_WR_FLUSH_ERR);
	CHECK_EQ(new_ah(1, w.gid, 0), 0);
	post_recv(&w.a, 1 << 20, 2048, 9);
	a = w.a;
	w.a = w.b;		/* the other one sends */
	post_dgram(a.m.qp_num, QKEY, 8);
	CHECK(both(&s, &r));
	CHECK(s.status == WC_SUCCESS && r.status == WC_SUCCESS && r.qp_num == a.m.qp_num);
	w.b = w.a;
	w.a = a;
	CHECK_EQ(-to(&w.a, QPS_RTS, QPM_CUR_STATE, 0), EINVAL);	/* cur_qp_state is not RESET */
	CHECK_EQ(to(&w.a, QPS_RTS, 0, 0), 0);
	post_recv(&w.b, 1 << 20, 2048, 10);
	post_dgram(w.b.m.qp_num, QKEY, 8);
	CHECK(both(&s, &r));
	CHECK(s.status == WC_SUCCESS && r.status == WC_SUCCESS && r.wr_id == 10);
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(ud__both_families),
	CHECK_CASE(ud__two_cores),
	CHECK_CASE(ud__q_keys),
	CHECK_CASE(ud__controlled_q_keys),
	CHECK_CASE(ud__destroyed_handle),
	CHECK_CASE(ud__handles_come_and_go),
	CHECK_CASE(gsi__owner_gets_them),
	CHECK_CASE(gsi__from_another_core),
	CHECK_CASE(ud__sqe_and_back),
};
CHECK_MAIN(cases)

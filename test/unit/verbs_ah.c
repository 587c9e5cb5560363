/* SPDX-License-Identifier: BSD-3-Clause */
/* Address handles, also from what came in; datagrams into ring slots. */
#include "check.h"
#include "verbs_world.h"

static uint8_t area[40];
static char buf[2048];

/* Bytes of a real header, 10.11.0.9 to 10.11.0.1 with TOS 0x2b, behind 20 zero bytes (F3). */
static void
area_ip4(void)
{
	static const uint8_t ip[20] = { 0x45, 0x2b, 0, 60, 0, 0, 0x40, 0, 63, 17, 0, 0, 10, 11, 0, 9,
					10, 11, 0, 1 };
	uint32_t sum = 0;

	memset(area, 0, sizeof(area));
	memcpy(area + 20, ip, 20);
	for (int i = 20; i < 40; i += 2)
		sum += (uint32_t)area[i] << 8 | area[i + 1];
	sum = ~((sum & 0xffff) + (sum >> 16));
	area[30] = (uint8_t)(sum >> 8);
	area[31] = (uint8_t)sum;
}

/* fe80::9 to GID 0 of the mock, traffic class 0x2b, flow label 0x12345. */
static void
area_ip6(void)
{
	static const uint8_t ip[40] = {
		0x62, 0xb1, 0x23, 0x45, 0, 40, 17, 63,
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9,
		0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 1 };

	memcpy(area, ip, sizeof(area));
}

static int
init_ah(struct world *w, struct ibv_ah_attr *attr)
{
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH, .sl = 3, .slid = 4, .dlid_path_bits = 5 };

	memset(attr, 0x5a, sizeof(*attr));
	errno = 0;
	return ibv_init_ah_from_wc(w->ctx, 1, &wc, (struct ibv_grh *)area, attr);
}

static void
init_ah_from_wc__ip4(void)
{
	static const uint8_t from[16] = { [10] = 0xff, 0xff, 10, 11, 0, 9 };
	struct ibv_ah_attr attr;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	area_ip4();
	CHECK_EQ(init_ah(&w, &attr), 0);
	CHECK(memcmp(attr.grh.dgid.raw, from, 16) == 0);
	CHECK_EQ(attr.grh.sgid_index, 1);
	CHECK_EQ(attr.grh.flow_label, 0);
	CHECK_EQ(attr.grh.hop_limit, 255);
	CHECK_EQ(attr.grh.traffic_class, 0x28);	/* a mark of congestion is not an answer's */
	CHECK_EQ(attr.is_global, 1);
	CHECK_EQ(attr.port_num, 1);
	CHECK_EQ(attr.sl, 3);
	CHECK_EQ(attr.dlid, 4);
	CHECK_EQ(attr.src_path_bits, 5);
	world_close(&w);
}

static void
init_ah_from_wc__ip6(void)
{
	static const uint8_t from[16] = { 0xfe, 0x80, [15] = 9 };
	struct ibv_ah_attr attr;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	area_ip6();
	CHECK_EQ(init_ah(&w, &attr), 0);
	CHECK(memcmp(attr.grh.dgid.raw, from, 16) == 0);
	CHECK_EQ(attr.grh.sgid_index, 0);
	CHECK_EQ(attr.grh.flow_label, 0x12345);
	CHECK_EQ(attr.grh.traffic_class, 0x28);
	world_close(&w);
}

/* Every header that is none of a datagram for us. */
static void
init_ah_from_wc__refuses(void)
{
	struct ibv_wc no_grh = { 0 };
	struct ibv_ah_attr attr;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	memset(area, 0xaa, sizeof(area));
	CHECK_EQ(init_ah(&w, &attr), -1);
	CHECK_EQ(errno, EPROTONOSUPPORT);
	for (int at = 20; at < 40; at++) {
		if (at == 22 || at == 23)
			continue;
		area_ip4();
		area[at] ^= 0x10;
		CHECK_EQ(init_ah(&w, &attr), -1);
		CHECK_EQ(errno, EPROTONOSUPPORT);	/* the checksum */
	}
	area_ip6();
	area[6] = 6;
	CHECK_EQ(init_ah(&w, &attr), -1);
	CHECK_EQ(errno, EPROTONOSUPPORT);
	area_ip6();
	area[39] = 2;
	CHECK_EQ(init_ah(&w, &attr), -1);
	CHECK_EQ(errno, ENOENT);
	area_ip6();
	CHECK_EQ(ibv_init_ah_from_wc(w.ctx, 1, &no_grh, (struct ibv_grh *)area, &attr), -1);
	CHECK_EQ(errno, EINVAL);
	no_grh.wc_flags = IBV_WC_GRH;
	CHECK_EQ(ibv_init_ah_from_wc(w.ctx, 2, &no_grh, (struct ibv_grh *)area, &attr), -1);
	CHECK_EQ(errno, EINVAL);
	world_close(&w);
}

static void
create_ah__says_what_was_asked(void)
{
	struct ibv_ah_attr attr = {
		.grh = { .flow_label = 0xabcde, .sgid_index = 1, .hop_limit = 9, .traffic_class = 8 },
		.is_global = 1, .port_num = 1, .static_rate = 6, .sl = 2,
	};
	struct ibv_wc wc = { .wc_flags = IBV_WC_GRH };
	struct ibv_ah *ah;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	attr.grh.dgid.raw[15] = 42;
	ah = ibv_create_ah(w.pd, &attr);
	CHECK(ah != NULL);
	CHECK(ah->context == w.ctx && ah->pd == w.pd);
	CHECK_EQ(ah->handle, 5);
	CHECK_EQ(mock.last_ah.pd, 3);
	CHECK_EQ(mock.last_ah.attr.dgid[15], 42);
	CHECK_EQ(mock.last_ah.attr.flow_label, 0xabcde);
	CHECK_EQ(mock.last_ah.attr.sgid_index, 1);
	CHECK_EQ(mock.last_ah.attr.hop_limit, 9);
	CHECK_EQ(mock.last_ah.attr.traffic_class, 8);
	CHECK_EQ(mock.last_ah.attr.is_global, 1);
	CHECK_EQ(ibv_destroy_ah(ah), 0);
	mock.fail_type = CTL_CREATE_AH;
	mock.fail_err = -ENETUNREACH;
	CHECK(!ibv_create_ah(w.pd, &attr));
	CHECK_EQ(errno, ENETUNREACH);
	area_ip4();
	ah = ibv_create_ah_from_wc(w.pd, &wc, (struct ibv_grh *)area, 1);
	CHECK(ah != NULL);
	CHECK_EQ(mock.last_ah.attr.dgid[15], 9);
	ibv_destroy_ah(ah);
	area[20] = 0;
	CHECK(!ibv_create_ah_from_wc(w.pd, &wc, (struct ibv_grh *)area, 1));
	CHECK_EQ(errno, EPROTONOSUPPORT);
	world_close(&w);
}

/* A UD QP beside the RC QP of the world, in RTS, and a handle. */
struct dgram {
	struct world w;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	struct ibv_sge sge;
	struct ibv_send_wr wr, *bad;
};

static void
dgram_open(struct dgram *d)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD, .cap = { 4, 4, 2, 2, 64 } };
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1 };
	struct ibv_qp_attr a = { 0 };

	memset(d, 0, sizeof(*d));
	world_open(&d->w, (struct world_conf){ 0 });
	init.send_cq = init.recv_cq = d->w.cq;
	d->qp = ibv_create_qp(d->w.pd, &init);
	d->ah = ibv_create_ah(d->w.pd, &attr);
	CHECK(d->qp && d->ah);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		a.qp_state = (enum ibv_qp_state)state;
		CHECK_EQ(ibv_modify_qp(d->qp, &a, IBV_QP_STATE), 0);
	}
	d->sge = (struct ibv_sge){ (uintptr_t)buf, 100, 0x33 };
	d->wr = (struct ibv_send_wr){ .wr_id = 9, .sg_list = &d->sge, .num_sge = 1,
				      .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = htobe32(7),
				      .send_flags = IBV_SEND_SIGNALED };
	d->wr.wr.ud.ah = d->ah;
	d->wr.wr.ud.remote_qpn = 0x123456;
	d->wr.wr.ud.remote_qkey = 0x11111111;
}

static void
dgram_close(struct dgram *d)
{
	ibv_destroy_ah(d->ah);
	ibv_destroy_qp(d->qp);
	world_close(&d->w);
}

static void
post_send__datagram(void)
{
	const struct plx_sq_wqe *wqe;
	struct dgram d;

	dgram_open(&d);
	CHECK_EQ(ibv_post_send(d.qp, &d.wr, &d.bad), 0);
	wqe = mock_sq_wqe(d.qp->handle, 0);
	CHECK_EQ(wqe->wr_id, 9);
	CHECK_EQ(wqe->opcode, IBV_WR_SEND_WITH_IMM);
	CHECK_EQ(wqe->flags, PLX_WQE_SIGNALED);
	CHECK_EQ(wqe->length, 100);
	CHECK_EQ(wqe->imm, htobe32(7));
	CHECK_EQ(wqe->ud.ah, 5);
	CHECK_EQ(wqe->ud.ah_gen, 77);
	CHECK_EQ(wqe->ud.qpn, 0x123456);
	CHECK_EQ(wqe->ud.qkey, 0x11111111);
	CHECK_EQ(((const struct plx_sge *)(wqe + 1))->lkey, 0x33);
	CHECK_EQ(mock.qp[d.qp->handle].sq.ctl->tail, 1);
	dgram_close(&d);
}

/* B30: one packet holds 1024 bytes on this port. */
static void
post_send__datagram_beyond_the_mtu(void)
{
	struct ibv_sge two[2];
	struct dgram d;

	dgram_open(&d);
	d.sge.length = 1024;
	CHECK_EQ(ibv_post_send(d.qp, &d.wr, &d.bad), 0);
	d.sge.length = 1025;
	CHECK_EQ(ibv_post_send(d.qp, &d.wr, &d.bad), EINVAL);
	CHECK(d.bad == &d.wr);
	two[0] = two[1] = d.sge;
	two[0].length = 1000;
	two[1].length = 25;
	d.wr.sg_list = two;
	d.wr.num_sge = 2;
	CHECK_EQ(ibv_post_send(d.qp, &d.wr, &d.bad), EINVAL);
	CHECK_EQ(mock.qp[d.qp->handle].sq.ctl->tail, 1);
	dgram_close(&d);
}

static void
post_send__datagram_refused(void)
{
	static const enum ibv_wr_opcode others[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_SEND_WITH_INV, IBV_WR_LOCAL_INV, IBV_WR_TSO,
		(enum ibv_wr_opcode)77,
	};
	struct ibv_pd other = { 0 };
	struct dgram d;

	dgram_open(&d);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		d.wr.opcode = others[i];
		CHECK_EQ(ibv_post_send(d.qp, &d.wr, &d.bad), EINVAL);
	}
	d.wr.opcode = IBV_WR_SEND;
	d.wr.wr.ud.ah = NULL;
	CHECK_EQ(ibv_post_send(d.qp, &d.wr, &d.bad), EINVAL);
	d.wr.wr.ud.ah = d.ah;
	d.ah->pd = &other;
	CHECK_EQ(ibv_post_send(d.qp, &d.wr, &d.bad), EINVAL);
	d.ah->pd = d.w.pd;
	d.wr.num_sge = 3;
	CHECK_EQ(ibv_post_send(d.qp, &d.wr, &d.bad), EINVAL);
	d.wr.num_sge = 1;
	d.wr.send_flags = IBV_SEND_INLINE;
	d.sge.length = 65;
	CHECK_EQ(ibv_post_send(d.qp, &d.wr, &d.bad), EINVAL);
	d.sge.length = 64;
	for (int i = 0; i < 4; i++)
		CHECK_EQ(ibv_post_send(d.qp, &d.wr, &d.bad), 0);
	CHECK_EQ(ibv_post_send(d.qp, &d.wr, &d.bad), ENOMEM);
	dgram_close(&d);
}

static const struct check_case cases[] = {
	CHECK_CASE(init_ah_from_wc__ip4),
	CHECK_CASE(init_ah_from_wc__ip6),
	CHECK_CASE(init_ah_from_wc__refuses),
	CHECK_CASE(create_ah__says_what_was_asked),
	CHECK_CASE(post_send__datagram),
	CHECK_CASE(post_send__datagram_beyond_the_mtu),
	CHECK_CASE(post_send__datagram_refused),
};
CHECK_MAIN(cases)

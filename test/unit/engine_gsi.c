/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What comes to QP 1? Frames with every QPN that is near it, every opcode, Q_Key and P_Key, through the
 * receiving side of a core (A18, A20). The owner's side is in serve_ud.c.
 */
#include "engine/core.h"

#include "serve_fixture.h"
#include "transport/gsi.h"
#include "wire_frame.h"

#define PAYLOAD 24u

/* One frame, and what came of it. */
struct tried {
	struct frame f;
	struct cnt_block cnt;	/* by how much each of the core's counters grew */
	uint32_t owned;		/* how often the owner of QP 1 got it */
	bool quiet;		/* no QP of ours has anything to say to it */
};

static uint32_t owned;
static bool as_it_was;		/* what the owner got last is that frame */
static struct tried t;

static void
own(void *arg, struct core *c, const struct wire_pkt *pkt)
{
	(void)c;
	owned++;
	as_it_was = arg == &t && pkt->dest_qpn == GSI_QPN && pkt->deth.qkey == GSI_QKEY &&
		    pkt->deth.src_qpn == 0x123 && pkt->payload_len >= PAYLOAD &&
		    pkt->payload[pkt->payload_len - 1] == 0x77;
}

static void
take_all(struct core *c)
{
	while (core_tx(c) + core_rx(c))
		;
}

/* With the core, which a loop brings the frame at once. */
static int
try_on(struct core *c, void *arg)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(c->port->pool);
	uint64_t *grown = t.cnt.cnt, *now = c->cnt.cnt;

	(void)arg;
	if (!m)
		return -ENOMEM;
	memcpy(rte_pktmbuf_append(m, (uint16_t)t.f.len), t.f.bytes, t.f.len);
	take_all(c);	/* what the device says of itself comes back from a loop */
	t.cnt = c->cnt;
	owned = 0;
	if (port_tx(c->port, 0, &m, 1) != 1)
		return -EBUSY;
	t.quiet = core_rx(c) == 1 && list_empty(&c->x.run) && list_empty(&c->x.late);
	for (size_t i = 0; i < CNT_COUNT; i++)
		grown[i] = now[i] - grown[i];
	for (size_t i = 0; i < DROP_COUNT; i++)
		t.cnt.drop[i] = c->cnt.drop[i] - t.cnt.drop[i];
	t.owned = owned;
	return 0;
}

/* DROP_NONE: the owner got it, once. Otherwise it is dropped for this reason alone, without a trace. */
static bool
ends_as(enum drop_reason why)
{
	if (eng_call(eng_core(stack_running()->eng, 0), try_on, NULL) < 0)
		return false;
	for (int i = 1; i < DROP_COUNT; i++)
		if (t.cnt.drop[i] != (i == (int)why))
			return false;
	for (int i = 0; i < CNT_COUNT; i++)
		if (i != CNT_RX_FRAMES && i != CNT_RX_BYTES && t.cnt.cnt[i])
			return false;
	return t.quiet && t.owned == (why == DROP_NONE) && (why != DROP_NONE || as_it_was);
}

/* From another host; all the rest is right for QP 1. */
static void
make(uint8_t opcode, uint32_t dest_qpn, uint32_t qkey, uint16_t pkey)
{
	struct wire_tmpl_conf conf = frame_conf(false);
	const struct wire_bth bth = { .opcode = opcode, .pkey = pkey, .dest_qpn = dest_qpn };
	uint8_t body[WIRE_LEN_DETH + WIRE_LEN_IMM + PAYLOAD] = { 0 };

	wire_put_deth(body, qkey, 0x123);
	body[sizeof(body) - 1] = 0x77;
	memcpy(conf.dst_gid, w.gid, 16);
	memcpy(conf.dst_mac, eng_core(stack_running()->eng, 0)->port->mac, 6);
	frame_make_conf(&t.f, &conf, &bth, body, sizeof(body));
}

static bool
to(uint32_t dest_qpn, enum drop_reason why)
{
	make(0x64, dest_qpn, GSI_QKEY, 0xffff);
	return ends_as(why);
}

static int
start(void)
{
	int rc = start_world("inline");

	return rc ? rc : eng_gsi_open(stack_running()->eng, own, &t);
}

static int
stop(void)
{
	eng_gsi_close(stack_running()->eng);
	return end_world();
}

/* Only 1 is QP 1: 0 is nobody, 0xffffff is nobody's without a group, and who asks for a program's QP gets
 * that. Nothing is answered to any of them. */
static void
core_rx__destinations(void)
{
	CHECK_EQ(start(), 0);
	CHECK(to(1, DROP_NONE));
	CHECK(to(0, DROP_QPN));
	CHECK(to(0xffffff, DROP_QPN));
	for (int bit = 0; bit < 24; bit++) {
		CHECK(to(GSI_QPN ^ 1u << bit, DROP_QPN));
		CHECK(to(0xffffff ^ 1u << bit, DROP_QPN));
	}
	CHECK(to(w.a.m.qp_num, DROP_QP_TYPE));
	CHECK(to(1, DROP_NONE));
	eng_gsi_close(stack_running()->eng);
	CHECK(to(1, DROP_QPN));
	CHECK_EQ(end_world(), 0);
}

static void
core_rx__keys_of_qp_1(void)
{
	CHECK_EQ(start(), 0);
	for (int bit = 0; bit < 32; bit++) {
		make(0x64, GSI_QPN, GSI_QKEY ^ 1u << bit, 0xffff);
		CHECK(ends_as(DROP_QKEY));
	}
	for (int bit = 0; bit < 16; bit++) {
		make(0x64, GSI_QPN, GSI_QKEY, (uint16_t)(0xffff ^ 1u << bit));
		CHECK(ends_as(bit == 15 ? DROP_NONE : DROP_PKEY));
	}
	make(0x64, GSI_QPN, GSI_QKEY, 0xffff);
	t.f.bytes[t.f.len - 1] ^= 1;
	CHECK(ends_as(DROP_ICRC));
	CHECK_EQ(stop(), 0);
}

/* Of 256 opcodes, the two of UD. */
static void
core_rx__every_opcode_to_qp_1(void)
{
	CHECK_EQ(start(), 0);
	for (uint32_t op = 0; op < 256; op++) {
		make((uint8_t)op, GSI_QPN, GSI_QKEY, 0xffff);
		if (!ends_as(op == 0x64 || op == 0x65 ? DROP_NONE :
			     wire_op_info[op].name ? DROP_QP_TYPE : DROP_OPCODE)) {
			printf("opcode 0x%02x\n", op);
			check_failed = 1;
		}
	}
	CHECK(!check_failed);
	CHECK_EQ(stop(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(core_rx__destinations),
	CHECK_CASE(core_rx__keys_of_qp_1),
	CHECK_CASE(core_rx__every_opcode_to_qp_1),
};
CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of lib/transport/demux.c: the table, and each reason to drop. */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "sim/pair.h"
#include "transport/numbers.h"

static void
demux_add__find_del(void)
{
	struct demux *d = demux_new();
	struct qp *a = (struct qp *)(uintptr_t)64, *b = (struct qp *)(uintptr_t)128;

	CHECK(demux_find(d, 0x123456) == NULL);
	CHECK_EQ(demux_add(d, 0x123456, a), 0);
	CHECK_EQ(demux_add(d, 0x123456, b), -EEXIST);
	CHECK_EQ(demux_add(d, 0x123457, b), 0);
	CHECK(demux_find(d, 0x123456) == a);
	CHECK(demux_find(d, 0x123457) == b);
	CHECK(demux_find(d, 0x1123456) == NULL);
	demux_del(d, 0x123456);
	demux_del(d, 0x123456);
	CHECK(demux_find(d, 0x123456) == NULL);
	CHECK(demux_find(d, 0x123457) == b);
	demux_del(d, 0x123457);
	CHECK(demux_find(d, 0x123457) == NULL);
	demux_free(d);
}

static void
demux_find__special_numbers(void)
{
	struct demux *d = demux_new();

	CHECK(demux_find(d, 0) == NULL);
	CHECK(demux_find(d, 1) == NULL);
	CHECK(demux_find(d, 0xffffff) == NULL);
	CHECK(demux_find(d, UINT32_MAX) == NULL);
	demux_free(d);
}

static struct wire_pkt
good_pkt(struct pair_side *s, enum wire_op op)
{
	struct wire_pkt pkt = {
		.opcode = (uint8_t)op, .info = &wire_op_info[op], .pkey = 0xffff,
		.dest_qpn = qp_num(s->q->qp),
	};

	memcpy(pkt.src_gid, s->q->path.dst_gid, 16);
	memcpy(pkt.dst_gid, s->q->path.src_gid, 16);
	return pkt;
}

static void
demux_rx__reasons(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 } });
	struct pair_side *s = &p->side[0];
	struct wire_pkt good = good_pkt(s, WIRE_SEND_ONLY), pkt = good;
	struct qp *qp = NULL;

	CHECK_EQ(demux_rx(s->demux, &pkt, &qp), DROP_NONE);
	CHECK(qp == s->q->qp);
	pkt.dest_qpn ^= 1;
	CHECK_EQ(demux_rx(s->demux, &pkt, &qp), DROP_QPN);
	for (uint32_t class = 1; class < 8; class++) {
		pkt = good;
		pkt.opcode |= (uint8_t)(class << 5);
		CHECK_EQ(demux_rx(s->demux, &pkt, &qp), DROP_QP_TYPE);
	}
	for (uint32_t i = 0; i < 16; i++) {
		pkt = good;
		pkt.src_gid[i] ^= 0x10;
		CHECK_EQ(demux_rx(s->demux, &pkt, &qp), DROP_ADDRESS);
		pkt = good;
		pkt.dst_gid[i] ^= 0x10;
		CHECK_EQ(demux_rx(s->demux, &pkt, &qp), DROP_ADDRESS);
	}
	pair_free(p);
}

static void
demux_rx__pkey(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 } });
	struct wire_pkt pkt = good_pkt(&p->side[0], WIRE_SEND_ONLY);
	struct qp *qp;

	/* ours is 0xffff: a full member may talk to a limited one too */
	for (uint32_t key = 0; key <= 0xffff; key++) {
		pkt.pkey = (uint16_t)key;
		CHECK_EQ(demux_rx(p->side[0].demux, &pkt, &qp),
			 (key & 0x7fff) == 0x7fff ? DROP_NONE : DROP_PKEY);
	}
	pair_free(p);
}

static void
demux_rx__states(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 } });
	struct pair_side *s = &p->side[0];
	struct wire_pkt req = good_pkt(s, WIRE_SEND_ONLY), resp = good_pkt(s, WIRE_ACKNOWLEDGE);
	struct qp_attr a = { .state = QPS_SQD };
	struct qp *qp;

	CHECK_EQ(demux_rx(s->demux, &resp, &qp), DROP_NONE);
	CHECK_EQ(qp_modify(s->q->qp, &s->x, QPM_STATE, &a), 0);
	CHECK_EQ(demux_rx(s->demux, &req, &qp), DROP_NONE);
	CHECK_EQ(demux_rx(s->demux, &resp, &qp), DROP_NONE);
	a.state = QPS_ERR;
	CHECK_EQ(qp_modify(s->q->qp, &s->x, QPM_STATE, &a), 0);
	CHECK_EQ(demux_rx(s->demux, &req, &qp), DROP_QP_STATE);
	CHECK_EQ(demux_rx(s->demux, &resp, &qp), DROP_QP_STATE);
	a.state = QPS_RESET;
	CHECK_EQ(qp_modify(s->q->qp, &s->x, QPM_STATE, &a), 0);
	CHECK_EQ(demux_rx(s->demux, &req, &qp), DROP_QP_STATE);
	pair_free(p);
}

static const struct check_case cases[] = {
	CHECK_CASE(demux_add__find_del),
	CHECK_CASE(demux_find__special_numbers),
	CHECK_CASE(demux_rx__reasons),
	CHECK_CASE(demux_rx__pkey),
	CHECK_CASE(demux_rx__states),
};

CHECK_MAIN(cases)

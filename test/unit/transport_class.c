/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which opcodes does a QP of each type take? All 256 of them, from its own peer and well formed, to every
 * type there is (A20); which are right is written down here a second time. The GSI QP is in engine_gsi.c.
 * Host and encoder are those of the packet scripts: a real transport in virtual time.
 */
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "check.h"
#include "script/host.h"

#define OURS_MTU 1024u

/* RC 0, UC 1, UD 3, XRC 5; a requester has no use for requests when another QP takes them, nor that one for
 * answers. */
static const struct type {
	const char *name;
	uint32_t type, class;
	bool requests, answers;
} types[] = {
	{ "RC", IBV_QPT_RC, 0, true, true },
	{ "UC", IBV_QPT_UC, 1, true, true },
	{ "UD", IBV_QPT_UD, 3, true, true },
	{ "XRC_INI", IBV_QPT_XRC_SEND, 5, false, true },
	{ "XRC_TGT", IBV_QPT_XRC_RECV, 5, true, false },
};

/* Section 1.A: bit n is operation n. */
#define RELIABLE 0xdfffffu
#define RC_ALONE 0x30000000u	/* FLUSH, ATOMIC_WRITE */
#define ANSWERS 0x07e000u	/* READ responses, ACKNOWLEDGE, ATOMIC_ACK */
static const uint32_t operations[8] = {
	[0] = RELIABLE | RC_ALONE, [1] = 0xfffu, [3] = 0x30u, [4] = 0x2u, [5] = RELIABLE,
};

static bool
exists(uint32_t opcode)
{
	return operations[opcode >> 5] >> (opcode & 31) & 1;
}

static bool
is_answer(uint32_t opcode)
{
	return ANSWERS >> (opcode & 31) & 1;
}

static bool
is_right(const struct type *t, uint32_t opcode)
{
	return exists(opcode) && opcode >> 5 == t->class && (is_answer(opcode) ? t->answers : t->requests);
}

/* A host with one QP of the type in RTS, which may receive and has sent what an answer could be for. */
struct world {
	const struct type *t;
	struct host h;
	struct host_qp *q;
	struct qp *qp;		/* whom the packets are for */
};

static struct world w;
static uint8_t payload[OURS_MTU];

static int
post(bool xrc)
{
	struct plx_sge sge = { .addr = w.h.mr[0].iova, .length = 64, .lkey = w.h.mr[0].key };
	struct plx_sq_wqe wqe = { .wr_id = 1, .opcode = IBV_WR_SEND, .num_sge = 1,
				  .flags = PLX_WQE_SIGNALED };
	int rc = 0;

	for (uint64_t i = 0; rc == 0 && i < 4; i++) {
		sge.length = 2 * OURS_MTU;
		rc = xrc ? host_srq_recv(w.q->srq, i, 1, &sge) : host_recv(&w.h, w.q, i, 1, &sge);
	}
	sge.length = 64;
	if (rc == 0 && w.t->type != IBV_QPT_UD)
		rc = host_post(&w.h, w.q, &wqe, &sge, NULL);
	host_settle(&w.h);
	host_forget(&w.h);
	return rc;
}

static int
start(const struct type *t)
{
	bool xrc = t->class == 5;
	struct mr desc = { .pd = 1, .iova = 0x200000, .length = 4096, .access = 0x10f };
	struct host_qp_want want = { .sq = 16, .rq = 16, .send_cqe = 64, .recv_cqe = 64, .pd = 1, .psn = 5,
				     .ip_mtu = 4200, .type = xrc ? 0 : t->type };

	want.attr = (struct qp_attr){ .path_mtu = IBV_MTU_1024, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
				      .min_rnr_timer = 12, .max_rd_atomic = 16, .max_dest_rd_atomic = 16,
				      .access_flags = 0x10f, .qkey = 0x11111111 };
	host_xrc = xrc;
	host_init(&w.h);
	w.t = t;
	host_mr_add(&w.h, "a", &desc);
	w.q = host_qp_add(&w.h, "q", &want);
	if (!w.q || host_qp_raise(&w.h, w.q, &want, IBV_QPS_RTS))
		return -1;
	w.qp = t->type == IBV_QPT_XRC_RECV ? w.q->tgt : w.q->qp;
	return post(xrc);
}

static void
bring(uint32_t opcode)
{
	static uint8_t frame[PKT_MAX];
	const struct pkt_op *op = pkt_op((uint8_t)opcode);
	struct pkt p = w.q->in;
	bool whole = (opcode & 31) == 0 || (opcode & 31) == 1 || (opcode & 31) == 6 || (opcode & 31) == 7 ||
		     (opcode & 31) == 13 || (opcode & 31) == 14;

	p.opcode = (uint8_t)opcode;
	p.dqpn = qp_num(w.qp);
	p.psn = is_answer(opcode) ? w.q->sq_base : w.q->rq_base;
	p.ackreq = !is_answer(opcode);
	p.syndrome = 0x1f;
	p.va = w.h.mr[0].iova;
	p.rkey = p.ieth = w.h.mr[0].key;
	p.len = whole ? 2 * OURS_MTU : 8;
	p.plt = 1;
	p.xrc_srqn = w.q->srq ? w.q->srq->number : 0;
	p.payload = payload;
	p.payload_len = op && !op->payload ? 0 : whole ? OURS_MTU : 8;
	host_rx(&w.h, frame, pkt_encode(&p, frame));
	host_settle(&w.h);
}

/* All that a packet may change, but for the counters. */
struct image {
	uint8_t qp[2][8192];
	struct plx_wq_ctl wq[3];
	struct plx_cq_ctl cq[2];
	struct plx_cqe ring[2][64];
	struct srq srq;
	uint32_t num_events;
};

static void
take_image(struct image *m)
{
	memset(m, 0, sizeof(*m));
	memcpy(m->qp[0], w.q->qp, qp_size());
	if (w.q->tgt)
		memcpy(m->qp[1], w.q->tgt, qp_size());
	m->wq[0] = w.q->sq_ctl;
	m->wq[1] = w.q->rq_ctl;
	m->cq[0] = w.q->send_cq.ctl;
	m->cq[1] = w.q->recv_cq.ctl;
	memcpy(m->ring[0], w.q->send_cq.ring, sizeof(m->ring[0]));
	memcpy(m->ring[1], w.q->recv_cq.ring, sizeof(m->ring[1]));
	if (w.q->srq) {
		m->wq[2] = w.q->srq->ctl;
		m->srq = w.q->srq->srq;
	}
}

/* Nothing came of it but the one count. */
static bool
is_silent(uint32_t opcode, enum drop_reason why)
{
	static struct image before, after;
	struct cnt_block cnt = w.h.cnt;

	cnt.drop[why]++;
	take_image(&before);
	bring(opcode);
	take_image(&after);
	return !memcmp(&before, &after, sizeof(before)) && !memcmp(&cnt, &w.h.cnt, sizeof(cnt)) &&
	       !host_has_news(&w.h) && !host_mem_check(&w.h) && list_empty(&w.h.x.run) &&
	       list_empty(&w.h.x.late) && !w.h.broken[0];
}

/* It came to the QP, and did something there. A message without its beginning is nothing to UC. */
static bool
is_taken(uint32_t opcode)
{
	static struct image before, after;

	take_image(&before);
	bring(opcode);
	take_image(&after);
	return (memcmp(&before, &after, sizeof(before)) || w.h.cnt.drop[DROP_PSN_GAP]) &&
	       !w.h.cnt.drop[DROP_QP_TYPE] && !w.h.cnt.drop[DROP_OPCODE] && !w.h.broken[0];
}

/* Whatever is not right leaves the QP as it was, all of them one after the other, also in the middle of a
 * message; then the QP still takes what is right. */
static unsigned int
wrong_ones(const struct type *t, bool inside)
{
	unsigned int bad = start(t) != 0;
	uint32_t last = t->class << 5 | (t->requests ? inside ? 2 : 4 : 17);

	if (inside) {
		bring(t->class << 5);
		w.q->rq_base++;
		memcpy(w.h.mr[0].shadow, w.h.mr[0].mem, w.h.mr[0].len);
		host_forget(&w.h);
	}
	for (uint32_t op = 0; op < 256; op++) {
		if (is_right(t, op) || is_silent(op, exists(op) ? DROP_QP_TYPE : DROP_OPCODE))
			continue;
		printf("%s, opcode 0x%02x: not dropped without a trace\n", t->name, op);
		bad++;
	}
	bring(last);
	if (!w.h.cqes[t->requests] || w.h.cqes[t->requests]->cqe.status || qp_state(w.qp) != IBV_QPS_RTS) {
		printf("%s: does not take what is right any more\n", t->name);
		bad++;
	}
	host_fini(&w.h);
	return bad;
}

static unsigned int
right_ones(const struct type *t)
{
	unsigned int bad = 0;

	for (uint32_t op = 0; op < 256; op++) {
		if (!is_right(t, op))
			continue;
		if (start(t) || !is_taken(op)) {
			printf("%s, opcode 0x%02x: not taken\n", t->name, op);
			bad++;
		}
		host_fini(&w.h);
	}
	return bad;
}

static void
qp_rx__every_opcode_every_type(void)
{
	CHECK(qp_size() <= sizeof(((struct image *)NULL)->qp[0]));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		CHECK_EQ(wrong_ones(&types[i], false), 0);
		CHECK_EQ(right_ones(&types[i]), 0);
	}
}

static void
qp_rx__every_opcode_inside_a_message(void)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].requests && types[i].type != IBV_QPT_UD)
			CHECK_EQ(wrong_ones(&types[i], true), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(qp_rx__every_opcode_every_type),
	CHECK_CASE(qp_rx__every_opcode_inside_a_message),
};
CHECK_MAIN(cases)

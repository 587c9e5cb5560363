/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of lib/transport/why.c: each code of FAULT_LIST is brought about, and the first error
 * completion and the sentence tell it.
 */
#include <errno.h>
#include <stdlib.h>

#include "check.h"
#include "sim/pair.h"
#include "transport/numbers.h"
#include "transport/status.h"

#define SECOND 1000000000ull
#define REMOTE (1u << 20)

static struct plx_sq_wqe
wr_of(struct pair *p, uint8_t opcode)
{
	return (struct plx_sq_wqe){
		.wr_id = 0x5e, .opcode = opcode, .flags = PLX_WQE_SIGNALED, .num_sge = 1,
		.rkey = p->side[1].mr->key, .remote_addr = (uintptr_t)p->side[1].mem + REMOTE,
	};
}

static void
send(struct pair *p, struct plx_sq_wqe w, struct plx_sge sge)
{
	pair_post_send(&p->side[0], &w, &sge);
	pair_run(p, p->now + SECOND);
}

/* A packet of the peer's to side 1, whose ePSN it has. */
static void
forge(struct pair *p, enum wire_op op, uint32_t payload, uint32_t len, uint64_t va)
{
	static const uint8_t bytes[8192];
	struct pair_side *b = &p->side[1];
	struct wire_pkt pkt = {
		.opcode = wire_opcode(WIRE_RC, op), .info = &wire_op_info[wire_opcode(WIRE_RC, op)],
		.psn = psn_make(p->conf.psn[0]), .payload = bytes, .payload_len = payload,
		.reth = { va, b->mr->key, len }, .atomic = { .va = va, .rkey = b->mr->key },
	};

	qp_rx(b->q->qp, &b->x, &pkt);
}

static bool
lose_all(struct pair *p, uint32_t from, const struct wire_pkt *pkt)
{
	(void)p;
	(void)from;
	(void)pkt;
	return false;
}

static bool
lose_second(struct pair *p, uint32_t from, const struct wire_pkt *pkt)
{
	return pkt->psn.v != p->conf.psn[0] + 1 || !from;
}

/* The response comes as the answer to something else. */
static bool
answer_wrongly(struct pair *p, uint32_t from, const struct wire_pkt *pkt)
{
	struct wire_pkt wrong = *pkt;

	if (!from)
		return true;
	wrong.payload_len++;
	qp_rx(p->side[0].q->qp, &p->side[0].x, &wrong);
	return false;
}

static void
sequence(struct pair *p)
{
	forge(p, WIRE_SEND_MIDDLE, 1024, 0, 0);
}

static void
qp_access(struct pair *p)
{
	struct qp_attr attr = { .access_flags = 0 };

	CHECK_EQ(qp_modify(p->side[1].q->qp, &p->side[1].x, QPM_ACCESS_FLAGS, &attr), 0);
	send(p, wr_of(p, WR_RDMA_WRITE), pair_sge(&p->side[0], 0, 8));
}

static void
depth(struct pair *p)
{
	uint64_t va = (uintptr_t)p->side[1].mem;

	for (uint32_t i = 0; i < 65 && qp_state(p->side[1].q->qp) != QPS_ERR; i++) {
		forge(p, WIRE_FETCH_ADD, 0, 0, va);
		p->conf.psn[0]++;
	}
}

static void
length(struct pair *p)
{
	forge(p, WIRE_WRITE_ONLY, 8, 9, (uintptr_t)p->side[1].mem);
}

static void
too_long(struct pair *p)
{
	forge(p, WIRE_READ_REQUEST, 0, (1u << 31) + 1, (uintptr_t)p->side[1].mem);
}

static void
misaligned(struct pair *p)
{
	forge(p, WIRE_CMP_SWAP, 0, 0, (uintptr_t)p->side[1].mem + 4);
}

static void
recv_short(struct pair *p)
{
	struct plx_sge sge = pair_sge(&p->side[1], 0, 9);

	pair_post_recv(&p->side[1], 0x77, &sge, 1);
	send(p, wr_of(p, WR_SEND), pair_sge(&p->side[0], 0, 10));
}

static void
rkey(struct pair *p)
{
	struct plx_sq_wqe w = wr_of(p, WR_RDMA_READ);

	w.rkey ^= 0x100;
	send(p, w, pair_sge(&p->side[0], 0, 8));
}

static void
key_guessed(struct pair *p)
{
	struct plx_sq_wqe w = wr_of(p, WR_RDMA_WRITE);

	w.rkey ^= 1;
	w.flags = 0;	/* more than the CQ has room for */
	for (uint32_t i = 0; i < 16; i++)
		send(p, w, pair_sge(&p->side[0], 0, 8));
}

static void
recv_sge(struct pair *p)
{
	struct plx_sge sge = pair_sge(&p->side[1], 0, 10);

	sge.lkey ^= 0x100;
	pair_post_recv(&p->side[1], 0x77, &sge, 1);
	send(p, wr_of(p, WR_SEND), pair_sge(&p->side[0], 0, 10));
}

static void
retry_exc(struct pair *p)
{
	p->filter = lose_all;
	send(p, wr_of(p, WR_FETCH_ADD), pair_sge(&p->side[0], 0, 8));
}

static bool
lose_second_request(struct pair *p, uint32_t from, const struct wire_pkt *pkt)
{
	return pkt->psn.v != p->conf.psn[0] + 1 || from;
}

static void
nak_then_nothing(struct pair *p)
{
	p->filter = lose_second_request;
	send(p, wr_of(p, WR_RDMA_WRITE), pair_sge(&p->side[0], 0, 4000));
}

static void
rnr_retry_exc(struct pair *p)
{
	send(p, wr_of(p, WR_SEND), pair_sge(&p->side[0], 0, 8));
}

static void
bad_resp(struct pair *p)
{
	p->filter = answer_wrongly;
	send(p, wr_of(p, WR_RDMA_READ), pair_sge(&p->side[0], 0, 8));
}

static void
send_sge(struct pair *p)
{
	struct plx_sge sge = pair_sge(&p->side[0], 0, 8);

	sge.lkey ^= 0x100;
	send(p, wr_of(p, WR_RDMA_WRITE), sge);
}

static void
send_op(struct pair *p)
{
	send(p, wr_of(p, 200), pair_sge(&p->side[0], 0, 8));
}

static void
send_length(struct pair *p)
{
	send(p, wr_of(p, WR_CMP_SWAP), pair_sge(&p->side[0], 0, 7));
}

static void
no_neighbour(struct pair *p)
{
	struct pair_side *a = &p->side[0];

	a->q->path.ready = false;
	qp_path_set(a->q->qp, &a->x, &a->q->path);
	send(p, wr_of(p, WR_RDMA_WRITE), pair_sge(a, 0, 8));
}

static void
asked_again(struct pair *p)
{
	p->filter = lose_second;
	send(p, wr_of(p, WR_RDMA_READ), pair_sge(&p->side[0], 0, 4000));
}

/* A handle of that number, but an older one. */
static void
no_ah(struct pair *p)
{
	struct plx_sq_wqe w = wr_of(p, WR_SEND);

	w.ud.ah = PAIR_AH;
	w.ud.ah_gen = 0;
	send(p, w, pair_sge(&p->side[0], 0, 8));
}

static void
bind_region(struct pair *p)
{
	send(p, wr_of(p, WR_BIND_MW), (struct plx_sge){ 0 });
}

static void
invalidate_nothing(struct pair *p)
{
	send(p, wr_of(p, WR_LOCAL_INV), (struct plx_sge){ 0 });
}

static void
flushed(struct pair *p)
{
	struct qp_attr attr = { .state = QPS_ERR };
	struct plx_sge sge = pair_sge(&p->side[0], 0, 8);

	pair_post_recv(&p->side[0], 1, &sge, 1);
	CHECK_EQ(qp_modify(p->side[0].q->qp, &p->side[0].x, QPM_STATE, &attr), 0);
}

/* The receive CQ has room for what is flushed. */
static void
cq_overflow(struct pair *p)
{
	struct plx_sge sge = pair_sge(&p->side[0], 0, 8);
	uint32_t room = p->conf.cq_size;

	pair_post_recv(&p->side[0], 1, &sge, 1);
	for (uint32_t i = 0; i <= room; i++)
		send(p, wr_of(p, WR_RDMA_WRITE), sge);
}

/* The side that tells it, and what the sentence says behind the fault's text. */
static const struct cause {
	enum fault fault;
	uint32_t side;
	void (*bring_about)(struct pair *p);
	const char *facts;
} causes[] = {
	{ FAULT_SEQUENCE, 1, sequence, ", PSN 100; NAK 0x61 (invalid request) sent [status 2, code 0x01]" },
	{ FAULT_QP_ACCESS, 1, qp_access,
	  ", PSN 100; NAK 0x61 (invalid request) sent [status 2, code 0x02]" },
	{ FAULT_DEPTH, 1, depth, ", PSN 104; NAK 0x61 (invalid request) sent [status 2, code 0x03]" },
	{ FAULT_LENGTH, 1, length, ", PSN 100; NAK 0x61 (invalid request) sent [status 2, code 0x04]" },
	{ FAULT_TOO_LONG, 1, too_long,
	  ", PSN 100; NAK 0x61 (invalid request) sent [status 2, code 0x05]" },
	{ FAULT_MISALIGNED, 1, misaligned,
	  ", PSN 100; NAK 0x61 (invalid request) sent [status 2, code 0x06]" },
	{ FAULT_RECV_SHORT, 1, recv_short,
	  "; receive wr_id 0x77, PSN 100; NAK 0x61 (invalid request) sent [status 1, code 0x07]" },
	{ FAULT_RKEY, 1, rkey, ", PSN 100; NAK 0x62 (remote access error) sent [status 8, code 0x08]" },
	{ FAULT_RECV_SGE, 1, recv_sge, "; receive wr_id 0x77, PSN 100; "
	  "NAK 0x63 (remote operational error) sent [status 4, code 0x09]" },
	{ FAULT_KEY_GUESSED, 1, key_guessed, ", PSN 115 [status 5, code 0x0a]" },
	{ FAULT_REM_INV_REQ, 0, recv_short, "; SEND wr_id 0x5e, PSN 100; "
	  "NAK 0x61 (invalid request) received [status 9, code 0x10]" },
	{ FAULT_REM_ACCESS, 0, rkey, "; RDMA READ wr_id 0x5e, PSN 100; "
	  "NAK 0x62 (remote access error) received [status 10, code 0x11]" },
	{ FAULT_REM_OP, 0, recv_sge, "; SEND wr_id 0x5e, PSN 100; "
	  "NAK 0x63 (remote operational error) received [status 11, code 0x12]" },
	{ FAULT_RETRY_EXC, 0, retry_exc, "; FETCH_ADD wr_id 0x5e, PSN 100; 2 of 2 retries used, "
	  "timeout 8 (1.048 ms each); no NAK received [status 12, code 0x13]" },
	{ FAULT_RETRY_EXC, 0, nak_then_nothing, "; RDMA WRITE wr_id 0x5e, PSN 101; 2 of 2 retries used, "
	  "timeout 8 (1.048 ms each); last NAK received 0x60 (sequence error), PSN 101 "
	  "[status 12, code 0x13]" },
	{ FAULT_RNR_RETRY_EXC, 0, rnr_retry_exc, "; SEND wr_id 0x5e, PSN 100; 1 of 1 RNR retries used; "
	  "NAK 0x21 (receiver not ready) received [status 13, code 0x14]" },
	{ FAULT_BAD_RESP, 0, bad_resp, "; RDMA READ wr_id 0x5e, PSN 100 [status 7, code 0x15]" },
	{ FAULT_SEND_SGE, 0, send_sge, "; RDMA WRITE wr_id 0x5e, PSN 100 [status 4, code 0x16]" },
	{ FAULT_SEND_OP, 0, send_op, "; send wr_id 0x5e, PSN 100 [status 2, code 0x17]" },
	{ FAULT_SEND_LENGTH, 0, send_length, "; CMP_SWAP wr_id 0x5e, PSN 100 [status 1, code 0x18]" },
	{ FAULT_NO_NEIGHBOUR, 0, no_neighbour, "; RDMA WRITE wr_id 0x5e, PSN 100; 2 of 2 retries used, "
	  "timeout 8 (1.048 ms each) [status 12, code 0x19]" },
	{ FAULT_ASKED_AGAIN, 0, asked_again, "; RDMA READ wr_id 0x5e, PSN 101; 2 of 2 retries used; "
	  "no NAK received [status 12, code 0x1a]" },
	{ FAULT_NO_AH, 0, no_ah, "; SEND wr_id 0x5e, PSN 100 [status 2, code 0x1b]" },
	{ FAULT_BIND, 0, bind_region, "; BIND_MW wr_id 0x5e, PSN 100 [status 6, code 0x1c]" },
	{ FAULT_LOCAL_INV, 0, invalidate_nothing, "; LOCAL_INV wr_id 0x5e, PSN 100 [status 2, code 0x1d]" },
	{ FAULT_FLUSHED, 0, flushed, " [status 5, code 0x30]" },
	{ FAULT_CQ_OVERFLOW, 0, cq_overflow, " [status 5, code 0x31]" },
};

/* Some have one type alone: where no NAK ends it, and where each WR has an address. */
static uint32_t
type_of(const struct cause *c)
{
	return c->fault == FAULT_KEY_GUESSED ? QPT_UC : c->fault == FAULT_NO_AH ? QPT_UD : QPT_RC;
}

static bool
ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), n = strlen(end);

	return len >= n && strcmp(text + len - n, end) == 0;
}

static void
sentence(const struct cause *c, const struct qp_why *why)
{
	char text[QP_WHY_TEXT], want[QP_WHY_TEXT];

	qp_why_text(why, text, sizeof(text));
	snprintf(want, sizeof(want), ": %s%s", fault_info[c->fault].text, c->facts);
	if (!ends_with(text, want))
		printf("is    %s\nnot  %s\n", text, want);
	CHECK(ends_with(text, want));
	CHECK(strncmp(text, type_of(c) == QPT_UC ? "UC QP 0x" : type_of(c) == QPT_UD ? "UD QP 0x" :
		      "RC QP 0x", 8) == 0);
	CHECK((strstr(text, " of 10.0.0.") != NULL) == (type_of(c) != QPT_UD));
	CHECK(strchr(text, '\n') == NULL);
}

/* In either of the two queues the first completion that is no success has the code. */
static void
first_error(const struct cause *c, struct pair_side *s, uint32_t want)
{
	uint32_t found = 0;

	for (uint32_t queue = 0; queue < 2; queue++) {
		struct plx_cqe e = { .status = WC_SUCCESS };

		while (pair_poll(s, queue, &e) && e.status == WC_SUCCESS)
			;
		if (e.status == WC_SUCCESS)
			continue;
		found++;
		CHECK_EQ(e.vendor_err, want);
	}
	CHECK(found || c->side);	/* a responder may have nothing posted */
}

static struct pair *
fail(const struct cause *c, struct why_box *box)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 100, 200 }, .retry_cnt = 2, .rnr_retry = 1,
						       .cq_size = 8, .type = type_of(c) });

	p->side[c->side].x.whys = box;
	c->bring_about(p);
	return p;
}

static void
why__each_cause(void)
{
	for (uint32_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		const struct cause *c = &causes[i];
		struct why_box box = { .num = 0 };
		struct pair *p = fail(c, &box);
		struct pair_side *s = &p->side[c->side];
		struct qp_why why;

		CHECK_EQ(qp_why(s->q->qp, &why), 0);
		CHECK_EQ(why.end.fault, c->fault);
		sentence(c, &why);
		first_error(c, s, qp_why_vendor_err(&why));
		CHECK_EQ(qp_why_vendor_err(&why) & 0xff, c->fault);
		CHECK_EQ(box.num, 1);
		CHECK_EQ(box.why[0].end.fault, c->fault);
		CHECK_EQ(box.why[0].end.wr_id, why.end.wr_id);
		pair_free(p);
	}
}

/* Codes are what people look up: none is 0, none is left out above. */
static void
why__codes(void)
{
	/* NO_SRQ wants a QP of another type: transport_xrc.c */
	bool seen[FAULT_COUNT] = { [FAULT_NONE] = true, [FAULT_NO_SRQ] = true };

	for (uint32_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
		seen[causes[i].fault] = true;
	for (uint32_t f = 0; f < FAULT_COUNT; f++)
		CHECK_EQ(seen[f], fault_info[f].name != NULL);
	CHECK_EQ(FAULT_NONE, 0);
	CHECK(FAULT_COUNT <= 256);
}

/* From the first cause to RESET, whatever else the program does. */
static void
why__first_cause_until_reset(void)
{
	struct why_box box = { .num = 0 };
	struct pair *p = fail(&(struct cause){ .side = 0, .bring_about = retry_exc }, &box);
	struct pair_side *a = &p->side[0];
	struct plx_sge sge = pair_sge(a, 0, 8);
	struct plx_sq_wqe w = wr_of(p, WR_SEND);
	struct qp_attr attr = { .state = QPS_ERR };
	struct qp_why why;

	CHECK_EQ(qp_modify(a->q->qp, &a->x, QPM_STATE, &attr), 0);
	pair_post_send(a, &w, &sge);
	CHECK_EQ(qp_why(a->q->qp, &why), 0);
	CHECK_EQ(why.end.fault, FAULT_RETRY_EXC);
	CHECK_EQ(box.num, 1);
	attr.state = QPS_RESET;
	CHECK_EQ(qp_modify(a->q->qp, &a->x, QPM_STATE, &attr), 0);
	CHECK_EQ(qp_why(a->q->qp, &why), -ENODATA);
	CHECK_EQ(qp_why(p->side[1].q->qp, &why), -ENODATA);
	pair_free(p);
}

/* A box that nobody empties counts. */
static void
why__full_box(void)
{
	struct why_box box = { .num = WHY_BOX };
	struct pair *p = fail(&(struct cause){ .side = 0, .bring_about = retry_exc }, &box);

	CHECK_EQ(box.num, WHY_BOX);
	CHECK_EQ(box.lost, 1);
	pair_free(p);
}

/* The longest facts there are, whatever the fault; and a buffer that is too short. */
static void
why__text_fits(void)
{
	struct qp_why why = {
		.end = { .retries = 255, .rnr_retries = 255, .opcode = WR_RDMA_WRITE_IMM, .has_send = true,
			 .nak = 0x63, .nak_psn = { 0xffffff }, .psn = { 0xffffff },
			 .wr_id = UINT64_MAX },
		.qpn = 0xffffff, .dest_qpn = 0xffffff, .type = QPT_XRC_INI, .timeout = 31,
		.retry_cnt = 255, .rnr_retry = 255,
	};
	char text[QP_WHY_TEXT + 1], little[20];

	memset(why.src_gid, 0xfd, 16);
	memset(why.dst_gid, 0xfd, 16);
	for (uint32_t f = 0; f < FAULT_COUNT; f++) {
		if (!fault_info[f].name)
			continue;
		why.end.fault = (uint8_t)f;
		qp_why_text(&why, text, sizeof(text));
		if (strlen(text) >= QP_WHY_TEXT)
			printf("%zu: %s\n", strlen(text), text);
		CHECK(strlen(text) < QP_WHY_TEXT);
		CHECK(ends_with(text, "]"));
		qp_why_text(&why, little, sizeof(little));
		CHECK_EQ(strlen(little), sizeof(little) - 1);
		CHECK(strncmp(text, little, sizeof(little) - 1) == 0);
	}
	qp_why_text(&why, little, 1);
	CHECK_EQ(little[0], 0);
	qp_why_text(&why, NULL, 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(why__each_cause),
	CHECK_CASE(why__codes),
	CHECK_CASE(why__first_cause_until_reset),
	CHECK_CASE(why__full_box),
	CHECK_CASE(why__text_fits),
};

CHECK_MAIN(cases)

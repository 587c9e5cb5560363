/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of lib/transport against a peer that lies in every field: packets of a live connection
 * are changed at random and given to the QP beside the real ones. Nothing may be written outside of
 * registered memory, nothing may hang, and every WR must end (architecture 7).
 */
#include <stdlib.h>

#include "check.h"
#include "sim/pair.h"
#include "transport/numbers.h"

#define SECOND 1000000000ull
#define ROUNDS 120u
#define WRS 24u

struct liar {
	uint64_t rng;
	uint32_t told;
	uint32_t one_in;	/* packets */
};

static uint32_t
pick(struct liar *l, uint32_t n)
{
	return (uint32_t)(pair_random(&l->rng) % n);
}

static void
change(struct liar *l, struct wire_pkt *pkt, struct pair_side *to)
{
	static const uint32_t lengths[] = { 0, 1, 8, 1023, 1024, 1025, 4096, 1u << 31, (1u << 31) + 1,
					    UINT32_MAX };

	switch (pick(l, 10)) {
	case 0:
		pkt->psn = psn_add(pkt->psn, pick(l, 7) - 3);
		break;
	case 1:
		pkt->psn = psn_make((uint32_t)pair_random(&l->rng));
		break;
	case 2:
		do
			pkt->opcode = (uint8_t)pick(l, 0x20);
		while (!wire_op_info[pkt->opcode].name);
		pkt->info = &wire_op_info[pkt->opcode];
		break;
	case 3:
		pkt->payload_len = pick(l, pkt->payload_len + 1);
		break;
	case 4:
		pkt->reth.len = lengths[pick(l, 10)];
		break;
	case 5:
		pkt->reth.va = (uintptr_t)to->mem + PAIR_MEM - pick(l, 4096);
		break;
	case 6:
		pkt->aeth.syndrome = (uint8_t)pair_random(&l->rng);
		break;
	case 7:
		pkt->atomic.va = (uintptr_t)to->mem + pick(l, PAIR_MEM + 16);
		break;
	case 8:
		pkt->feth.type = (uint8_t)pick(l, 16);
		pkt->feth.level = (uint8_t)pick(l, 4);
		break;
	default:
		pkt->ack_req = !pkt->ack_req;
		pkt->reth.rkey = pkt->atomic.rkey = to->mr->key;
		break;
	}
}

/* Now and then a changed copy arrives before the packet itself. */
static bool
lie(struct pair *p, uint32_t from, const struct wire_pkt *pkt)
{
	struct pair_side *to = &p->side[!from];
	struct liar *l = p->filter_arg;
	struct wire_pkt lied = *pkt;
	struct qp *qp;

	if (pick(l, l->one_in))
		return true;
	/* fields that the real packet does not have are read by the changed opcode */
	if (!(pkt->info->ext & WIRE_EXT_RETH)) {
		lied.reth.va = (uintptr_t)to->mem + pick(l, PAIR_MEM);
		lied.reth.len = pick(l, 5000);
		lied.reth.rkey = to->mr->key;
	}
	if (!(pkt->info->ext & WIRE_EXT_ATOMICETH)) {
		lied.atomic.va = (uintptr_t)to->mem + (pick(l, PAIR_MEM) & ~7u);
		lied.atomic.rkey = to->mr->key;
		lied.atomic.swap_add = lied.atomic.compare = 1;
	}
	if (!(pkt->info->ext & WIRE_EXT_FETH))
		lied.feth.type = 1;
	lied.imm = lied.inv_rkey = 0;
	lied.atomic_orig = 1;
	if (!(pkt->info->ext & WIRE_EXT_AETH))
		lied.aeth.syndrome = 0x1f;
	for (uint32_t n = 1 + pick(l, 3); n; n--)
		change(l, &lied, to);
	if (demux_rx(to->demux, &lied, &qp) == DROP_NONE) {
		qp_rx(qp, &to->x, &lied);
		l->told++;
	}
	return true;
}

static void
post_all(struct pair *p, struct liar *l)
{
	static const uint8_t opcodes[] = { WR_SEND, WR_SEND_IMM, WR_RDMA_WRITE, WR_RDMA_WRITE_IMM,
					   WR_RDMA_READ, WR_CMP_SWAP, WR_FETCH_ADD, WR_ATOMIC_WRITE,
					   WR_FLUSH };

	for (uint32_t i = 0; i < WRS; i++) {
		for (uint32_t s = 0; s < 2; s++) {
			struct pair_side *a = &p->side[s], *b = &p->side[!s];
			uint8_t opcode = opcodes[pick(l, 9)];
			uint32_t len = opcode >= WR_CMP_SWAP ? 8 : pick(l, 6000);
			struct plx_sge sge = pair_sge(a, pick(l, PAIR_MEM - 6000), len);
			struct plx_sq_wqe w = {
				.wr_id = i, .opcode = opcode, .flags = PLX_WQE_SIGNALED,
				.num_sge = opcode != WR_FLUSH, .length = len, .flush.type = 1,
				.rkey = b->mr->key,
				.remote_addr = (uintptr_t)b->mem + (pick(l, PAIR_MEM - 6000) & ~7u),
			};

			struct plx_sge recv = pair_sge(a, pick(l, PAIR_MEM - 6000), 6000);

			pair_post_recv(a, i, &recv, 1);
			pair_post_send(a, &w, &sge);
		}
	}
}

static bool
all_ended(struct pair *p)
{
	for (uint32_t s = 0; s < 2; s++) {
		struct plx_cqe e;
		uint64_t next = 0;

		while (pair_poll(&p->side[s], 0, &e))
			if (e.wr_id != next++)
				return false;
		if (next != WRS)
			return false;
		next = 0;
		while (pair_poll(&p->side[s], 1, &e))
			if (e.wr_id != next++)
				return false;
	}
	return true;
}

static void
hostile__lies_in_every_field(void)
{
	uint32_t told = 0, died = 0;

	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		struct liar l = { .rng = seed, .one_in = 5 + seed % 4 * 60 };
		struct pair *p = pair_new(&(struct pair_conf){
			.psn = { (uint32_t)seed * 77777, 0xfffff0 }, .retry_cnt = 3, .rnr_retry = 3,
			.timeout = 6, .seed = seed, .loss = 2000, .dup = 2000, .reorder = 2000 });
		bool ended;

		p->filter = lie;
		p->filter_arg = &l;
		post_all(p, &l);
		pair_run(p, p->now + 10 * SECOND);
		ended = all_ended(p);
		if (!ended)
			printf("seed %lu\n", (unsigned long)seed);
		CHECK(ended);
		CHECK(pair_red_zones_ok(p));
		told += l.told;
		died += qp_state(p->side[0].q->qp) == QPS_ERR;
		pair_free(p);
	}
	printf("%u lies, %u of %u connections ended\n", told, died, ROUNDS);
	/* lies that end the connection, and lies that do not */
	CHECK(told > 2 * ROUNDS && died > ROUNDS / 10 && died < ROUNDS);
}

struct answers {
	uint32_t acks, naks, others;
};

/* What side 1 has to send goes nowhere but here. */
static void
take_answers(struct pair_side *b, struct answers *a)
{
	struct outbox *ob = b->x.out;
	struct list_node *n;

	while ((n = list_pop(&b->x.run))) {
		ob->used = 0;
		if (qp_run(qp_of_run(n), &b->x, 65536))
			list_push(&b->x.run, n);
		for (uint32_t i = 0; i < ob->used; i++) {
			struct wire_pkt pkt;

			if (wire_parse(ob->slot[i].data, ob->slot[i].len, &pkt) != DROP_NONE ||
			    pkt.opcode != WIRE_ACKNOWLEDGE)
				a->others++;
			else if (pkt.aeth.syndrome == 0x60)
				a->naks++;
			else
				a->acks++;
		}
	}
}

static void
write_at(struct pair_side *b, struct psn psn, const uint8_t *bytes)
{
	struct wire_pkt pkt = {
		.opcode = WIRE_WRITE_ONLY, .info = &wire_op_info[WIRE_WRITE_ONLY], .psn = psn,
		.ack_req = true, .payload = bytes, .payload_len = 8,
		.reth = { (uintptr_t)b->mem, b->mr->key, 8 },
	};

	qp_rx(b->q[0].qp, &b->x, &pkt);
}

/* X7: a million PSNs that are not the expected one, the edges of the half among them: nothing is
 * executed, what is ahead gets one NAK in all, what is behind at most one ACK each. */
static void
hostile__any_psn(void)
{
	static const uint32_t edges[] = { 0x7fffff, 0x800000, 0xffffff, 1 };
	struct psn epsn = psn_make(0xfffffe);
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { epsn.v, 5 }, .retry_cnt = 7 });
	struct pair_side *b = &p->side[1];
	struct answers a = { 0 };
	uint32_t ahead = 0, behind = 0;
	uint64_t rng = 7;

	for (uint32_t i = 0; i < 1000000; i++) {
		uint32_t off = i < 4 ? edges[i] : (uint32_t)pair_random(&rng) & PSN_MASK;

		if (!off)
			continue;
		*(off < 0x800000 ? &ahead : &behind) += 1;
		write_at(b, psn_add(epsn, off), (const uint8_t *)"executed");
		take_answers(b, &a);
	}
	CHECK_EQ(b->mem[0], 0);
	CHECK_EQ(a.naks, 1);
	CHECK_EQ(a.others, 0);
	CHECK_EQ(a.acks, behind);
	CHECK_EQ(b->cnt.drop[DROP_PSN_AHEAD], ahead);
	CHECK_EQ(qp_state(b->q[0].qp), QPS_RTS);
	write_at(b, epsn, (const uint8_t *)"expected");
	CHECK_MEM(b->mem, "expected", 8);
	pair_free(p);
}

static const struct check_case cases[] = {
	CHECK_CASE(hostile__any_psn),
	CHECK_CASE(hostile__lies_in_every_field),
};

CHECK_MAIN(cases)

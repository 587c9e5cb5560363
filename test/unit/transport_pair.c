/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of lib/transport with two QPs in one memory and a virtual clock: every opcode at the
 * sizes where packets begin and end, at start PSNs where numbers wrap, over a wire that is clean and
 * over one that loses, doubles and reorders. Every byte and every CQE is looked at.
 */
#include "check.h"
#include "sim/pair.h"
#include "transport/numbers.h"

#define MS 1000000ull
#define SECOND (1000 * MS)
#define MTU 1024u

static const uint32_t psns[] = { 0, 0x7fffff, 0xfffffe };
static const uint32_t sizes[] = { 0, 1, MTU - 1, MTU, MTU + 1, 65537 };

struct op {
	const char *name;
	uint8_t opcode, wc;
};

static const struct op ops[] = {
	{ "SEND", WR_SEND, WC_SEND },
	{ "SEND_IMM", WR_SEND_IMM, WC_SEND },
	{ "WRITE", WR_RDMA_WRITE, WC_RDMA_WRITE },
	{ "WRITE_IMM", WR_RDMA_WRITE_IMM, WC_RDMA_WRITE },
	{ "READ", WR_RDMA_READ, WC_RDMA_READ },
	{ "CMP_SWAP", WR_CMP_SWAP, WC_CMP_SWAP },
	{ "FETCH_ADD", WR_FETCH_ADD, WC_FETCH_ADD },
};

static void
fill(uint8_t *at, uint32_t len, uint64_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		at[i] = (uint8_t)((i * 2654435761u + seed * 97) >> 13);
}

static bool
holds(const uint8_t *at, uint32_t len, uint64_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		if (at[i] != (uint8_t)((i * 2654435761u + seed * 97) >> 13))
			return false;
	return true;
}

static bool
takes_recv(uint8_t opcode)
{
	return opcode == WR_SEND || opcode == WR_SEND_IMM || opcode == WR_RDMA_WRITE_IMM;
}

static bool
is_atomic(uint8_t opcode)
{
	return opcode == WR_CMP_SWAP || opcode == WR_FETCH_ADD;
}

/* Where things lie: the sender's buffer at 0, the peer's at 1 MiB. */
#define LOCAL 0u
#define REMOTE (1u << 20)

static struct plx_sq_wqe
wr_of(struct pair *p, uint8_t opcode, uint64_t wr_id)
{
	return (struct plx_sq_wqe){
		.wr_id = wr_id, .opcode = opcode, .flags = PLX_WQE_SIGNALED, .num_sge = 1,
		.imm = 0x44332211, .rkey = p->side[1].mr->key,
		.remote_addr = (uintptr_t)p->side[1].mem + REMOTE,
	};
}

static bool
posted_recv_ok(struct pair *p, const struct op *op, uint32_t len)
{
	struct plx_cqe e;

	if (!takes_recv(op->opcode))
		return !pair_poll(&p->side[1], 1, &e);
	if (!pair_poll(&p->side[1], 1, &e) || e.status || e.wr_id != 900 || e.byte_len != len)
		return false;
	if (e.opcode != (op->opcode == WR_RDMA_WRITE_IMM ? WC_RECV_RDMA_WITH_IMM : WC_RECV))
		return false;
	if (op->opcode != WR_SEND && (e.wc_flags != WC_WITH_IMM || e.imm != 0x44332211))
		return false;
	return e.wq_head == 1 && e.queue == PLX_CQE_RQ && !pair_poll(&p->side[1], 1, &e);
}

/* One WR of an opcode, alone. */
static bool
one(struct pair *p, const struct op *op, uint32_t len)
{
	struct pair_side *a = &p->side[0], *b = &p->side[1];
	struct plx_sq_wqe w = wr_of(p, op->opcode, 42);
	struct plx_sge sge = pair_sge(a, LOCAL, len), recv = pair_sge(b, REMOTE, len);
	bool reads = op->opcode == WR_RDMA_READ;
	struct plx_cqe e;

	fill(a->mem + LOCAL, len, reads ? 1 : 2);
	fill(b->mem + REMOTE, len, reads ? 2 : 1);
	if (takes_recv(op->opcode))
		pair_post_recv(b, 900, &recv, len ? 1 : 0);
	if (!len)
		w.rkey = 0;
	pair_post_send(a, &w, &sge);
	pair_run(p, p->now + SECOND);
	if (!pair_poll(a, 0, &e) || e.status || e.wr_id != 42 || e.opcode != op->wc || e.wq_head != 1)
		return false;
	if (pair_poll(a, 0, &e) || !posted_recv_ok(p, op, len) || !pair_red_zones_ok(p))
		return false;
	return holds(a->mem + LOCAL, len, 2) && holds(b->mem + REMOTE, len, 2) &&
	       !a->mem[LOCAL + len] && !b->mem[REMOTE + len];
}

static bool
one_atomic(struct pair *p, const struct op *op, bool match)
{
	struct pair_side *a = &p->side[0], *b = &p->side[1];
	struct plx_sq_wqe w = wr_of(p, op->opcode, 42);
	struct plx_sge sge = pair_sge(a, LOCAL, 8);
	uint64_t *word = (uint64_t *)(void *)(b->mem + REMOTE);
	uint64_t before = UINT64_C(0x0102030405060708), after;
	struct plx_cqe e;

	*word = before;
	w.atomic.compare_add = op->opcode == WR_CMP_SWAP ? before + !match : 5;
	w.atomic.swap = 77;
	after = op->opcode == WR_FETCH_ADD ? before + 5 : match ? 77 : before;
	pair_post_send(a, &w, &sge);
	pair_run(p, p->now + SECOND);
	return pair_poll(a, 0, &e) && !e.status && e.opcode == op->wc && *word == after &&
	       *(uint64_t *)(void *)(a->mem + LOCAL) == before;
}

static void
pair__every_opcode_size_and_psn(void)
{
	for (uint32_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++) {
		for (uint32_t n = 0; n < 3; n++) {
			for (uint32_t z = 0; z < sizeof(sizes) / sizeof(sizes[0]); z++) {
				struct pair *p = pair_new(&(struct pair_conf){
					.psn = { psns[n], psns[2 - n] }, .ip6 = z & 1, .retry_cnt = 7 });
				bool ok = is_atomic(ops[o].opcode) ? one_atomic(p, &ops[o], z & 1) :
								     one(p, &ops[o], sizes[z]);

				if (!ok)
					printf("%s %u psn %x\n", ops[o].name, sizes[z], psns[n]);
				CHECK(ok);
				CHECK_EQ(cnt_read(&p->side[0].cnt.cnt[CNT_TX_RETRANS]), 0);
				pair_free(p);
			}
		}
	}
}

static void
pair__inline_and_many_sges(void)
{
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 5, 6 }, .max_sge = 32,
						       .max_inline = 512 });
	struct pair_side *a = &p->side[0], *b = &p->side[1];
	struct plx_sq_wqe w = wr_of(p, WR_RDMA_WRITE, 1);
	struct plx_sge sge[32];
	uint8_t data[512];
	struct plx_cqe e;

	fill(data, 512, 3);
	w.flags |= PLX_WQE_INLINE;
	w.num_sge = 0;
	w.length = 512;
	pair_post_send(a, &w, data);
	memset(data, 0, sizeof(data));
	pair_run(p, p->now + SECOND);
	CHECK(pair_poll(a, 0, &e) && !e.status);
	CHECK(holds(b->mem + REMOTE, 512, 3));

	fill(b->mem + REMOTE, 32 * 77, 4);
	for (uint32_t i = 0; i < 32; i++)
		sge[i] = pair_sge(a, 1000 + 200 * i, 77);
	w = wr_of(p, WR_RDMA_READ, 2);
	w.num_sge = 32;
	pair_post_send(a, &w, sge);
	pair_run(p, p->now + SECOND);
	CHECK(pair_poll(a, 0, &e) && !e.status);
	for (uint32_t i = 0; i < 32; i++) {
		CHECK_MEM(a->mem + 1000 + 200 * i, b->mem + REMOTE + 77 * i, 77);
		CHECK_EQ(a->mem[1000 + 200 * i + 77], 0);
	}
	pair_free(p);
}

/*
 * A stream of random WRs in both directions. Each WR has a stretch of its own in both memories, so
 * that at the end every byte can be told from its WR's number.
 */
#define STREAM 120u
#define STRETCH 8192u

struct stream {
	struct plx_sq_wqe w[STREAM];
	uint32_t len[STREAM];
	uint32_t signalled, recvs, adds;
};

static void
make_stream(struct pair *p, uint32_t side, struct stream *st, uint64_t *rng)
{
	struct pair_side *s = &p->side[side], *t = &p->side[!side];
	uint32_t half = side * (PAIR_MEM / 2);

	for (uint32_t i = 0; i < STREAM; i++) {
		uint32_t at = half + i * STRETCH, len;
		uint8_t opcode = ops[pair_random(rng) % 7].opcode;
		static const uint32_t edge[] = { 0, 1, 2, 1023, 1024, 1025, 2047, 2048, 2049, 4096, 7000 };

		len = is_atomic(opcode) ? 8 : edge[pair_random(rng) % 11];
		st->len[i] = len;
		st->w[i] = (struct plx_sq_wqe){
			.wr_id = i, .opcode = opcode, .num_sge = len ? 1 : 0, .imm = i,
			.rkey = t->mr->key, .remote_addr = (uintptr_t)t->mem + at,
			.atomic = { .compare_add = 1, .swap = 9 },
		};
		if (pair_random(rng) % 2 || i + 1 == STREAM)
			st->w[i].flags |= PLX_WQE_SIGNALED;
		if (pair_random(rng) % 8 == 0)
			st->w[i].flags |= PLX_WQE_FENCE;
		st->signalled += st->w[i].flags & PLX_WQE_SIGNALED ? 1 : 0;
		if (is_atomic(opcode)) {
			*(uint64_t *)(void *)(t->mem + at) = i;
		} else if (opcode == WR_RDMA_READ) {
			fill(t->mem + at, len, i + 1);
		} else {
			fill(s->mem + at, len, i + 1);
		}
		if (takes_recv(opcode)) {
			struct plx_sge r = pair_sge(t, at, len);

			pair_post_recv(t, i, &r, 1);
			st->recvs++;
		}
	}
}

static bool
stream_arrived(struct pair *p, uint32_t side, const struct stream *st)
{
	struct pair_side *s = &p->side[side], *t = &p->side[!side];
	uint32_t half = side * (PAIR_MEM / 2);

	for (uint32_t i = 0; i < STREAM; i++) {
		uint32_t at = half + i * STRETCH;
		uint64_t here = *(uint64_t *)(void *)(s->mem + at);
		uint64_t there = *(uint64_t *)(void *)(t->mem + at);

		switch (st->w[i].opcode) {
		case WR_FETCH_ADD:
			if (here != i || there != i + 1)
				return false;
			break;
		case WR_CMP_SWAP:
			if (here != i || there != (i == 1 ? 9 : i))
				return false;
			break;
		default:
			if (!holds(s->mem + at, st->len[i], i + 1) || !holds(t->mem + at, st->len[i], i + 1))
				return false;
			if (st->len[i] < STRETCH && (s->mem[at + st->len[i]] || t->mem[at + st->len[i]]))
				return false;
		}
	}
	return true;
}

/* Every signalled WR once and in order; every receive once and in order. */
static bool
cqes_ok(struct pair *p, uint32_t side, const struct stream *st)
{
	uint32_t next = 0;
	struct plx_cqe e;

	for (uint32_t n = 0; n < st->signalled; n++) {
		while (!(st->w[next].flags & PLX_WQE_SIGNALED))
			next++;
		if (!pair_poll(&p->side[side], 0, &e) || e.status || e.wr_id != next ||
		    e.wq_head != next + 1)
			return false;
		next++;
	}
	next = 0;
	for (uint32_t n = 0; n < st->recvs; n++) {
		while (!takes_recv(st->w[next].opcode))
			next++;
		if (!pair_poll(&p->side[!side], 1, &e) || e.status || e.wr_id != next ||
		    e.byte_len != st->len[next])
			return false;
		next++;
	}
	return !pair_poll(&p->side[side], 0, &e) && !pair_poll(&p->side[!side], 1, &e);
}

static bool
run_stream(const struct pair_conf *conf)
{
	static struct stream st[2];
	struct pair *p = pair_new(conf);
	uint64_t rng = conf->seed + 1;
	bool ok = true;

	memset(st, 0, sizeof(st));
	for (uint32_t side = 0; side < 2; side++)
		make_stream(p, side, &st[side], &rng);
	for (uint32_t i = 0; i < STREAM; i++) {
		for (uint32_t side = 0; side < 2; side++) {
			struct plx_sge sge = pair_sge(&p->side[side], side * (PAIR_MEM / 2) + i * STRETCH,
						      st[side].len[i]);

			pair_post_send(&p->side[side], &st[side].w[i], &sge);
		}
		if (i % 16 == 15)
			pair_run(p, p->now + pair_random(&rng) % 20000);
	}
	pair_run(p, p->now + 1000 * SECOND);
	for (uint32_t side = 0; side < 2 && ok; side++) {
		ok = cqes_ok(p, side, &st[side]) && stream_arrived(p, side, &st[side]) &&
		     qp_state(p->side[side].q->qp) == QPS_RTS;
	}
	ok = ok && pair_red_zones_ok(p);
	if (!ok)
		printf("seed %lu psn %x: %lu frames, %lu lost, %lu doubled, %lu delayed, states %u %u\n",
		       conf->seed, conf->psn[0], p->frames, p->wire->lost, p->wire->doubled, p->wire->delayed,
		       qp_state(p->side[0].q->qp), qp_state(p->side[1].q->qp));
	pair_free(p);
	return ok;
}

static void
pair__stream_clean(void)
{
	for (uint32_t n = 0; n < 3; n++)
		for (uint64_t seed = 0; seed < 10; seed++)
			CHECK(run_stream(&(struct pair_conf){
				.psn = { psns[n], psns[(n + 1) % 3] }, .seed = seed, .max_wr = 128,
				.retry_cnt = 7, .rnr_retry = 7, .max_inflight = seed & 1 ? 4 : 0 }));
}

static void
pair__stream_loss_dup_reorder(void)
{
	static const struct { uint32_t loss, dup, reorder; } wires[] = {
		{ 10000, 0, 0 }, { 0, 50000, 0 }, { 0, 0, 50000 }, { 30000, 30000, 30000 },
	};

	for (uint32_t k = 0; k < 4; k++)
		for (uint64_t seed = 0; seed < 30; seed++)
			CHECK(run_stream(&(struct pair_conf){
				.psn = { psns[seed % 3], psns[(seed + 1) % 3] }, .seed = seed * 4 + k,
				.max_wr = 128, .retry_cnt = 7, .rnr_retry = 7, .loss = wires[k].loss,
				.dup = wires[k].dup, .reorder = wires[k].reorder, .timeout = 6,
				.max_inflight = seed % 5 == 4 ? 8 : 0,
				.late = seed % 2 ? 600000 : 0 }));
}

static const struct check_case cases[] = {
	CHECK_CASE(pair__every_opcode_size_and_psn),
	CHECK_CASE(pair__inline_and_many_sges),
	CHECK_CASE(pair__stream_clean),
	CHECK_CASE(pair__stream_loss_dup_reorder),
};

CHECK_MAIN(cases)

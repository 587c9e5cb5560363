/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of lib/transport with a port that sends payloads from the program's memory, keeps the
 * frames for as long as the case wants, and reads the memory a last time when it gives them back. A
 * case that frees its memory as soon as the completion is there lets the sanitizer see a late read.
 */
#include <stdlib.h>

#include "check.h"
#include "sim/pair.h"
#include "transport/numbers.h"

#define SECOND UINT64_C(1000000000)
#define MTU 1024u
#define REMOTE (1u << 20)
#define MIN 512u		/* payloads that stay where they are */

static struct pair *
new_pair(bool keeps)
{
	struct pair *p = pair_new(&(struct pair_conf){
		.psn = { 0xfffffe, 5 }, .retry_cnt = 7, .rnr_retry = 7, .ext_min = MIN, .max_inline = 512 });

	p->gather.keeps = keeps;
	return p;
}

static void
fill(uint8_t *at, uint32_t len, uint64_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		at[i] = (uint8_t)((i * 2654435761u + seed * 97) >> 13);
}

static struct plx_sq_wqe
write_to(struct pair *p, uint64_t wr_id, uint32_t offset)
{
	return (struct plx_sq_wqe){
		.wr_id = wr_id, .opcode = WR_RDMA_WRITE, .flags = PLX_WQE_SIGNALED, .num_sge = 1,
		.rkey = p->side[1].mr->key, .remote_addr = (uintptr_t)p->side[1].mem + REMOTE + offset,
	};
}

/* WRITE number wr_id: from i * 8 KiB of this side's memory to the same of the peer's. */
static void
post_write(struct pair *p, uint64_t i, uint32_t len)
{
	struct plx_sq_wqe w = write_to(p, i, (uint32_t)i * 8192);
	struct plx_sge sge = pair_sge(&p->side[0], (uint32_t)i * 8192, len);

	fill(p->side[0].mem + i * 8192, len, i);
	pair_post_send(&p->side[0], &w, &sge);
}

static bool
completes(struct pair *p, uint64_t wr_id, uint32_t status)
{
	struct plx_cqe e;

	return pair_poll(&p->side[0], 0, &e) && e.wr_id == wr_id && e.status == status;
}

static bool
none_completes(struct pair *p)
{
	struct plx_cqe e;

	return !pair_poll(&p->side[0], 0, &e);
}

static bool
arrived(struct pair *p, uint64_t i, uint32_t len)
{
	return memcmp(p->side[0].mem + i * 8192, p->side[1].mem + REMOTE + i * 8192, len) == 0;
}

static uint32_t
ref_of(const struct pair *p, uint32_t wr, uint32_t nth)
{
	for (uint32_t i = 0; i < p->gather.num; i++)
		if (p->gather.ref[i].ext.wr == wr && nth-- == 0)
			return i;
	return GATHER_REFS;
}

static uint64_t
externals(const struct pair *p)
{
	return cnt_read(&p->side[0].cnt.cnt[CNT_TX_EXTERNAL]);
}

static int
modify(struct pair *p, uint32_t state)
{
	struct qp_attr a = { .state = state };

	return qp_modify(p->side[0].q[0].qp, &p->side[0].x, QPM_STATE, &a);
}

static void
external__content_of_every_size(void)
{
	static const uint32_t sizes[] = { MIN - 1, MIN, MTU - 1, MTU, MTU + 1, MTU + MIN, 8001, 8192 };
	static const uint8_t opcodes[] = { WR_SEND, WR_SEND_IMM, WR_RDMA_WRITE, WR_RDMA_WRITE_IMM };

	for (uint32_t o = 0; o < 4; o++) {
		for (uint32_t z = 0; z < 8; z++) {
			struct pair *p = new_pair(false);
			struct plx_sge recv = pair_sge(&p->side[1], REMOTE, 8192);
			struct plx_sge sge = pair_sge(&p->side[0], 3, sizes[z]);
			struct plx_sq_wqe w = write_to(p, 1, 0);
			uint32_t last = sizes[z] % MTU, whole = sizes[z] / MTU;

			w.opcode = opcodes[o];
			fill(p->side[0].mem + 3, sizes[z], z);
			pair_post_recv(&p->side[1], 9, &recv, 1);
			pair_post_send(&p->side[0], &w, &sge);
			pair_run(p, p->now + SECOND);
			CHECK(completes(p, 1, WC_SUCCESS));
			CHECK_MEM(p->side[0].mem + 3, p->side[1].mem + REMOTE, sizes[z]);
			CHECK_EQ(p->side[1].mem[REMOTE + sizes[z]], 0);
			CHECK_EQ(externals(p), whole + (last >= MIN ? 1 : 0));
			CHECK(pair_red_zones_ok(p));
			pair_free(p);
		}
	}
}

/* A packet whose payload lies in two pieces is copied; the others of its message are not. */
static void
external__pieces(void)
{
	struct pair *p = new_pair(false);
	struct plx_sge sge[3] = { pair_sge(&p->side[0], 0, 1500), pair_sge(&p->side[0], 9000, 0),
				  pair_sge(&p->side[0], 5000, 2000) };
	struct plx_sq_wqe w = write_to(p, 1, 0);

	w.num_sge = 3;
	fill(p->side[0].mem, 8192, 4);
	pair_post_send(&p->side[0], &w, sge);
	pair_run(p, p->now + SECOND);
	CHECK(completes(p, 1, WC_SUCCESS));
	CHECK_EQ(externals(p), 2);	/* [0,1024) and [2048,3072); not [1024,2048), nor the short rest */
	CHECK_MEM(p->side[0].mem, p->side[1].mem + REMOTE, 1500);
	CHECK_MEM(p->side[0].mem + 5000, p->side[1].mem + REMOTE + 1500, 2000);
	pair_free(p);
}

/* Inline data has a place that is written again; a READ response would be wrong for ever. */
static void
external__never_inline_nor_read(void)
{
	struct pair *p = new_pair(false);
	struct plx_sq_wqe w = write_to(p, 1, 0);
	struct plx_sge sge = pair_sge(&p->side[0], 0, 4096);
	uint8_t data[512];

	fill(data, sizeof(data), 2);
	w.flags |= PLX_WQE_INLINE;
	w.num_sge = 0;
	w.length = sizeof(data);
	pair_post_send(&p->side[0], &w, data);
	w = write_to(p, 2, 0);
	w.opcode = WR_RDMA_READ;
	pair_post_send(&p->side[0], &w, &sge);
	pair_run(p, p->now + SECOND);
	CHECK(completes(p, 1, WC_SUCCESS) && completes(p, 2, WC_SUCCESS));
	CHECK_MEM(data, p->side[0].mem, sizeof(data));
	CHECK_EQ(externals(p), 0);
	CHECK_EQ(cnt_read(&p->side[1].cnt.cnt[CNT_TX_EXTERNAL]), 0);
	pair_free(p);
}

/* Acknowledged, and yet not complete; given back last to first. */
static void
external__completions_wait_and_keep_their_order(void)
{
	struct pair *p = new_pair(true);
	struct pair_side *s = &p->side[0];

	for (uint64_t i = 0; i < 4; i++)
		post_write(p, i, i == 2 ? MIN - 1 : 2 * MTU);
	pair_run(p, p->now + SECOND);
	CHECK_EQ(p->gather.num, 6);
	CHECK(arrived(p, 0, 2 * MTU) && arrived(p, 3, 2 * MTU));
	CHECK(none_completes(p));
	CHECK_EQ(s->q[0].wq_ctl[0]->head, 0);	/* and their slots are not free */
	CHECK_EQ(s->x.held, 1);
	CHECK_EQ(qp_wake_at(s->q[0].qp), QP_NEVER);	/* but the peer has answered */
	CHECK(gather_back(&p->gather, ref_of(p, 3, 1)) && gather_back(&p->gather, ref_of(p, 3, 0)));
	CHECK(gather_back(&p->gather, ref_of(p, 1, 0)));
	CHECK(gather_back(&p->gather, ref_of(p, 0, 1)));
	CHECK(none_completes(p));
	CHECK(gather_back(&p->gather, ref_of(p, 0, 0)));
	CHECK(completes(p, 0, WC_SUCCESS));
	CHECK(none_completes(p));
	CHECK_EQ(s->q[0].wq_ctl[0]->head, 1);
	CHECK(gather_back(&p->gather, ref_of(p, 1, 0)));
	for (uint64_t i = 1; i < 4; i++)
		CHECK(completes(p, i, WC_SUCCESS));
	CHECK(none_completes(p));
	CHECK_EQ(s->q[0].wq_ctl[0]->head, 4);
	CHECK_EQ(s->x.held, 0);
	pair_free(p);
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
lose_first(struct pair *p, uint32_t from, const struct wire_pkt *pkt)
{
	bool *lost = p->filter_arg;
	bool keep = from == 1 || *lost || pkt->payload_len == 0;

	*lost |= !keep;
	return keep;
}

/* The first sending is lost and its frame kept by the port: the second alone completes nothing. */
static void
external__retransmission_with_the_old_frame_out(void)
{
	struct pair *p = new_pair(true);
	bool lost = false;

	p->filter = lose_first;
	p->filter_arg = &lost;
	post_write(p, 0, MTU);
	pair_run(p, p->now + SECOND);
	CHECK(lost);
	CHECK(cnt_read(&p->side[0].cnt.cnt[CNT_TX_RETRANS]) == 1);
	CHECK_EQ(p->gather.num, 2);
	CHECK(arrived(p, 0, MTU));
	CHECK(gather_back(&p->gather, 1));	/* the one that arrived */
	CHECK(none_completes(p));
	CHECK(gather_back(&p->gather, 0));
	CHECK(completes(p, 0, WC_SUCCESS));
	pair_free(p);
}

/* ERR: what succeeded says so, what did not is flushed, each when the port is done with it. */
static void
external__err_with_frames_out(void)
{
	struct pair *p = new_pair(true);

	post_write(p, 0, MTU);
	pair_run(p, p->now + SECOND);
	p->filter = lose_all;
	post_write(p, 1, MTU);
	post_write(p, 2, 8);
	pair_run(p, p->now + 1000);
	CHECK_EQ(p->gather.num, 2);
	CHECK_EQ((uint64_t)modify(p, QPS_ERR), 0);
	post_write(p, 3, MTU);
	CHECK(none_completes(p));
	CHECK(!qp_ext_wanted(p->side[0].q[0].qp, 1));
	CHECK(gather_back(&p->gather, 1));
	CHECK(none_completes(p));
	CHECK(gather_back(&p->gather, 0));
	CHECK(completes(p, 0, WC_SUCCESS));
	for (uint64_t i = 1; i < 4; i++)
		CHECK(completes(p, i, WC_WR_FLUSH_ERR));
	CHECK(none_completes(p));
	CHECK_EQ(p->side[0].x.held, 0);
	pair_free(p);
}

/* The peer refuses the second of three while the port keeps all. */
static void
external__a_fault_with_frames_out(void)
{
	struct pair *p = new_pair(true);
	struct plx_sge sge = pair_sge(&p->side[0], 0, MTU);
	struct plx_sq_wqe w = write_to(p, 1, 0);

	post_write(p, 0, MTU);
	w.rkey ^= 0x5500;
	pair_post_send(&p->side[0], &w, &sge);
	post_write(p, 2, MTU);
	pair_run(p, p->now + SECOND);
	CHECK_EQ(qp_state(p->side[0].q[0].qp), QPS_ERR);
	CHECK_EQ(p->gather.num, 3);
	CHECK(none_completes(p));
	while (p->gather.num)
		CHECK(gather_back(&p->gather, p->gather.num - 1));
	CHECK(completes(p, 0, WC_SUCCESS));
	CHECK(completes(p, 1, WC_REM_ACCESS_ERR));
	CHECK(completes(p, 2, WC_WR_FLUSH_ERR));
	CHECK(none_completes(p));
	pair_free(p);
}

/* RESET: nothing completes any more, and parts from before are nobody's. */
static void
external__reset_with_frames_out(void)
{
	struct pair *p = new_pair(true);

	post_write(p, 0, MTU);
	pair_run(p, p->now + SECOND);
	post_write(p, 1, MTU);
	CHECK_EQ(p->side[0].x.held, 1);
	CHECK_EQ((uint64_t)modify(p, QPS_RESET), 0);
	CHECK_EQ(p->side[0].x.held, 0);
	CHECK_EQ(p->side[0].q[0].wq_ctl[0]->head, 2);
	p->gather.num = 0;
	pair_run(p, p->now + SECOND);
	CHECK(none_completes(p));
	pair_free(p);
}

static void
external__destroy_with_frames_out(void)
{
	struct pair *p = new_pair(true);

	post_write(p, 0, MTU);
	pair_run(p, p->now + SECOND);
	CHECK_EQ(p->side[0].x.held, 1);
	qp_fini(p->side[0].q[0].qp, &p->side[0].x);
	CHECK_EQ(p->side[0].x.held, 0);
	CHECK_EQ(qp_init(p->side[0].q[0].qp, qp_conf(p->side[0].q[0].qp)), 0);
	pair_free(p);
}

/* SQD is drained when the program knows of all that was done before (E6). */
static void
external__drained_after_the_completions(void)
{
	struct pair *p = new_pair(true);
	struct qp_attr a = { .state = QPS_SQD, .en_sqd_async_notify = true };
	struct xport *x = &p->side[0].x;

	post_write(p, 0, MTU);
	pair_run(p, p->now + SECOND);
	CHECK_EQ(qp_modify(p->side[0].q[0].qp, x, QPM_STATE | QPM_EN_SQD_ASYNC_NOTIFY, &a), 0);
	CHECK_EQ(x->num_events, 0);
	CHECK(gather_back(&p->gather, 0));
	CHECK(completes(p, 0, WC_SUCCESS));
	CHECK_EQ(x->num_events, 1);
	pair_free(p);
}

/* A region that ends while the first of two packets is out: the WR fails, when that one is back. */
static void
external__deregistered_with_frames_out(void)
{
	struct pair *p = new_pair(true);
	struct pair_side *s = &p->side[0];
	struct mr d = { .pd = 1, .access = 15, .length = 8192, .base = s->mem, .iova = 4096 }, *mr;
	struct plx_sq_wqe w = write_to(p, 1, 0);
	struct plx_sge sge;

	CHECK_EQ(mr_add(s->mrs, &d, &mr), 0);
	sge = (struct plx_sge){ 4096, MTU, mr->key };
	p->filter = lose_all;
	pair_post_send(s, &w, &sge);
	pair_run(p, p->now + 1000);
	CHECK_EQ(p->gather.num, 1);
	CHECK_EQ(p->gather.ref[0].ext.key, mr->key);
	mr_unpublish(s->mrs, mr);
	pair_run(p, p->now + SECOND);
	CHECK_EQ(qp_state(s->q[0].qp), QPS_ERR);
	CHECK_EQ(p->gather.num, 1);
	CHECK(none_completes(p));
	CHECK(gather_back(&p->gather, 0));
	CHECK(completes(p, 1, WC_LOC_PROT_ERR));
	mr_release(s->mrs, mr);
	pair_free(p);
}

/*
 * A stream from buffers of their own, freed at the completion, over a bad wire and a port that gives
 * back what it keeps in any order. Every read of the port's is checked, and the last ones are late.
 */
#define STREAM 150u
struct buffer {
	uint8_t *mem;
	struct mr *mr;
	uint32_t len;
};

static void
stream_post(struct pair *p, struct buffer *b, uint64_t i)
{
	struct pair_side *s = &p->side[0];
	struct plx_sq_wqe w = write_to(p, i, (uint32_t)i * 8192);
	struct plx_sge sge;
	struct mr d = { .pd = 1, .access = 15 };

	b->mem = malloc(b->len);
	fill(b->mem, b->len, i);
	d.base = b->mem;
	d.iova = (uintptr_t)b->mem;
	d.length = b->len;
	mr_add(s->mrs, &d, &b->mr);
	sge = (struct plx_sge){ d.iova, b->len, b->mr->key };
	pair_post_send(s, &w, &sge);
}

static bool
stream_done(struct pair *p, struct buffer *b, uint64_t i)
{
	struct pair_side *s = &p->side[0];
	bool ok = memcmp(b->mem, p->side[1].mem + REMOTE + i * 8192, b->len) == 0;

	for (uint32_t r = 0; r < p->gather.num; r++)
		ok &= p->gather.ref[r].ext.key != b->mr->key;
	mr_unpublish(s->mrs, b->mr);
	mr_release(s->mrs, b->mr);
	free(b->mem);
	return ok;
}

static bool
stream(uint64_t seed)
{
	static struct buffer buf[STREAM];
	struct pair *p = pair_new(&(struct pair_conf){
		.psn = { 0xffff00, 1 }, .ext_min = MIN, .retry_cnt = 7, .rnr_retry = 7, .max_wr = 16,
		.timeout = 6, .seed = seed, .loss = 30000, .dup = 10000, .reorder = 30000 });
	uint64_t rng = seed, posted = 0, done = 0;
	bool ok = true;

	p->gather.keeps = true;
	while (ok && done < STREAM) {
		uint64_t until = p->now + pair_random(&rng) % 50000;
		struct plx_cqe e;

		for (; posted < STREAM && posted - done < 16; posted++) {
			buf[posted].len = 1 + (uint32_t)(pair_random(&rng) % 8192);
			stream_post(p, &buf[posted], posted);
		}
		pair_run(p, until);
		p->now = until;		/* nothing was due before */
		for (uint64_t n = pair_random(&rng) % 40; n && p->gather.num; n--)
			ok &= gather_back(&p->gather, (uint32_t)(pair_random(&rng) % p->gather.num));
		for (; ok && pair_poll(&p->side[0], 0, &e); done++)
			ok = e.wr_id == done && e.status == WC_SUCCESS &&
			     stream_done(p, &buf[done], done);
	}
	for (; done < posted; done++)
		free(buf[done].mem);
	if (!ok)
		printf("seed %lu\n", seed);
	pair_free(p);
	return ok;
}

static void
external__stream_over_a_bad_wire(void)
{
	for (uint64_t seed = 1; seed <= 20; seed++)
		CHECK(stream(seed));
}

static const struct check_case cases[] = {
	CHECK_CASE(external__content_of_every_size),
	CHECK_CASE(external__pieces),
	CHECK_CASE(external__never_inline_nor_read),
	CHECK_CASE(external__completions_wait_and_keep_their_order),
	CHECK_CASE(external__retransmission_with_the_old_frame_out),
	CHECK_CASE(external__err_with_frames_out),
	CHECK_CASE(external__a_fault_with_frames_out),
	CHECK_CASE(external__reset_with_frames_out),
	CHECK_CASE(external__destroy_with_frames_out),
	CHECK_CASE(external__drained_after_the_completions),
	CHECK_CASE(external__deregistered_with_frames_out),
	CHECK_CASE(external__stream_over_a_bad_wire),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/* Every operation between the two QPs of serve_fixture.h, each checked byte by byte. */
#ifndef UNIT_SERVE_TRAFFIC_H
#define UNIT_SERVE_TRAFFIC_H

#include "serve_fixture.h"

static uint64_t
word(size_t offset)
{
	uint64_t v;

	memcpy(&v, w.buf + offset, sizeof(v));
	return v;
}

static void
fill(size_t offset, size_t len, uint8_t seed)
{
	for (size_t i = 0; i < len; i++)
		w.buf[offset + i] = (uint8_t)(seed + i * 7);
}

static bool
same(size_t a, size_t b, size_t len)
{
	return memcmp(w.buf + a, w.buf + b, len) == 0;
}

static bool
done(uint8_t opcode)
{
	struct plx_cqe c;

	return poll(&c) && c.status == WC_SUCCESS && c.opcode == opcode;
}

static void
writes_and_reads(void)
{
	static const size_t lens[] = { 1, 63, 4096, 4097, 65536, 1048576 };

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		size_t len = lens[i];

		fill(0, len, (uint8_t)i);
		post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = len, .to = 2 << 20 });
		CHECK(done(WC_RDMA_WRITE));
		CHECK(same(0, 2 << 20, len));
		fill(2 << 20, len, (uint8_t)(i + 99));
		post_send(&w.b, &(struct send){ .opcode = WR_RDMA_READ, .len = len, .to = 2 << 20 });
		CHECK(done(WC_RDMA_READ));
		CHECK(same(0, 2 << 20, len));
	}
}

static void
sends(void)
{
	struct plx_cqe c, d;

	fill(0, 10000, 5);
	post_recv(&w.b, 1 << 20, 16384, 77);
	post_send(&w.a, &(struct send){ .opcode = WR_SEND_IMM, .len = 10000, .imm = 0x01020304 });
	CHECK(poll(&c));
	CHECK(poll(&d));
	if (c.queue == PLX_CQE_SQ) {	/* the loop may finish either first */
		struct plx_cqe t = c;

		c = d;
		d = t;
	}
	CHECK_EQ(c.opcode, WC_RECV);
	CHECK_EQ(c.status, WC_SUCCESS);
	CHECK_EQ(c.wr_id, 77);
	CHECK_EQ(c.byte_len, 10000);
	CHECK_EQ(c.imm, 0x01020304);
	CHECK_EQ(c.qp, w.b.m.qp);
	CHECK_EQ(c.qp_gen, w.b.m.qp_gen);
	CHECK_EQ(d.opcode, WC_SEND);
	CHECK_EQ(d.status, WC_SUCCESS);
	CHECK(same(0, 1 << 20, 10000));
}

static void
atomics(void)
{
	memset(w.buf, 0, 64);
	memset(w.buf + 4096, 0, 8);
	post_send(&w.a, &(struct send){ .opcode = WR_FETCH_ADD, .len = 8, .to = 4096, .compare_add = 5 });
	CHECK(done(WC_FETCH_ADD));
	CHECK_EQ(word(0), 0);
	CHECK_EQ(word(4096), 5);
	post_send(&w.a, &(struct send){ .opcode = WR_CMP_SWAP, .len = 8, .to = 4096, .compare_add = 5,
					.swap = 9 });
	CHECK(done(WC_CMP_SWAP));
	CHECK_EQ(word(0), 5);
	CHECK_EQ(word(4096), 9);
}

#endif

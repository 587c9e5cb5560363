/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of lib/transport with messages of 2^31 bytes, the longest there are: 2^23 packets at the
 * smallest path MTU, half of all PSNs (FC59). The memory of either end is a window of 2 MiB that is
 * mapped over and over, so that no more than that is needed; a page of it has its place in the window
 * for contents, and what lies behind the region stays as it was. Frames go from end to end at once.
 */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "sim/pair.h"
#include "transport/numbers.h"

#define LONGEST (1u << 31)
#define WINDOW (2u << 20)
#define BEHIND 4096u
/* of a READ that is asked for in one request: with a sanitizer 2^23 packets take minutes */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ONE_MTU 4096u
#define ONE_MTU_ENUM 5u
#else
#define ONE_MTU 256u
#define ONE_MTU_ENUM 1u
#endif

struct huge {
	uint8_t *at;		/* LONGEST bytes, then BEHIND that are nobody's */
	struct mr *mr;
};

static struct huge ends[2];
static uint64_t frames[2];	/* that each end sent */

static bool
map_window(struct huge *h, struct pair_side *s, uint8_t first)
{
	struct mr d = { .pd = 1, .access = 15, .length = LONGEST };
	int fd = memfd_create("window", 0);
	uint8_t *at = mmap(NULL, LONGEST + BEHIND, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (fd < 0 || at == MAP_FAILED || ftruncate(fd, WINDOW))
		return false;
	for (size_t off = 0; off < LONGEST; off += WINDOW)
		if (mmap(at + off, WINDOW, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0) == MAP_FAILED)
			return false;
	close(fd);
	for (size_t i = 0; i < WINDOW; i++)
		at[i] = (uint8_t)(first + i * 7 + (i >> 8));
	memset(at + LONGEST, 0xa5, BEHIND);
	h->at = d.base = at;
	d.iova = (uintptr_t)at;
	return mr_add(s->mrs, &d, &h->mr) == 0;
}

/* What one end has to send reaches the other in the same moment. */
static bool
run_side(struct pair_side *s, struct pair_side *to)
{
	struct outbox *ob = s->x.out;
	struct list_node *n = list_pop(&s->x.run);
	bool more;

	if (!n)
		return false;
	ob->used = 0;
	more = qp_run(qp_of_run(n), &s->x, 65536);
	for (uint32_t i = 0; i < ob->used; i++) {
		struct wire_pkt pkt;

		frames[s->index]++;
		if (wire_parse(ob->slot[i].data, ob->slot[i].len, &pkt) == DROP_NONE)
			qp_rx(to->q[0].qp, &to->x, &pkt);
	}
	if (more)
		list_push(&s->x.run, n);
	return true;
}

static struct pair *
open_pair(uint32_t type, uint32_t mtu)
{
	struct pair *p = pair_new(&(struct pair_conf){ .type = type, .psn = { 0xfffffe, 0x7fffff },
						       .mtu = mtu, .retry_cnt = 7, .rnr_retry = 7 });

	frames[0] = frames[1] = 0;
	if (p && map_window(&ends[0], &p->side[0], 1) && map_window(&ends[1], &p->side[1], 100))
		return p;
	abort();
}

static void
close_pair(struct pair *p)
{
	for (int i = 0; i < 2; i++)
		munmap(ends[i].at, LONGEST + BEHIND);
	pair_free(p);
}

/* Both windows are alike afterwards, and nothing was written behind them. */
static bool
arrived(void)
{
	for (uint32_t i = 0; i < BEHIND; i++)
		if (ends[0].at[LONGEST + i] != 0xa5 || ends[1].at[LONGEST + i] != 0xa5)
			return false;
	return memcmp(ends[0].at, ends[1].at, WINDOW) == 0;
}

static void
message(uint32_t type, uint8_t opcode, uint32_t mtu, struct plx_cqe *sent, struct plx_cqe *received)
{
	struct pair *p = open_pair(type, mtu);
	struct plx_sge from = { (uintptr_t)ends[0].at, LONGEST, ends[0].mr->key };
	struct plx_sge to = { (uintptr_t)ends[1].at, LONGEST, ends[1].mr->key };
	struct plx_sq_wqe w = {
		.wr_id = 5, .opcode = opcode, .flags = PLX_WQE_SIGNALED, .num_sge = 1, .length = LONGEST,
		.rkey = ends[1].mr->key, .remote_addr = (uintptr_t)ends[1].at,
	};

	memset(sent, 0xff, sizeof(*sent));
	memset(received, 0xff, sizeof(*received));
	pair_post_recv(&p->side[1], 6, &to, 1);
	pair_post_send(&p->side[0], &w, &from);
	while (run_side(&p->side[0], &p->side[1]) | run_side(&p->side[1], &p->side[0]))
		;
	pair_poll(&p->side[0], 0, sent);
	pair_poll(&p->side[1], 1, received);
	CHECK_EQ(qp_state(p->side[0].q[0].qp), QPS_RTS);
	CHECK(arrived());
	close_pair(p);
}

/* 2^19 packets. */
static void
huge__send(void)
{
	struct plx_cqe s, r;

	message(QPT_RC, WR_SEND, 5, &s, &r);
	CHECK(s.wr_id == 5 && s.status == WC_SUCCESS && s.byte_len == LONGEST);
	CHECK(r.wr_id == 6 && r.status == WC_SUCCESS && r.byte_len == LONGEST);
	CHECK_EQ(frames[0], LONGEST / 4096);
}

static void
huge__write_imm(void)
{
	struct plx_cqe s, r;

	message(QPT_RC, WR_RDMA_WRITE_IMM, 5, &s, &r);
	CHECK(s.wr_id == 5 && s.status == WC_SUCCESS);
	CHECK(r.wr_id == 6 && r.status == WC_SUCCESS && r.byte_len == LONGEST);
	CHECK_EQ(frames[0], LONGEST / 4096);
}

/* 2^23 packets: the first and the one behind the last are half of all PSNs apart. */
static void
huge__write_at_256(void)
{
	struct plx_cqe s, r;

	message(QPT_RC, WR_RDMA_WRITE, 1, &s, &r);
	CHECK(s.wr_id == 5 && s.status == WC_SUCCESS);
	CHECK_EQ(frames[0], LONGEST / 256);
}

static void
huge__read_at_256(void)
{
	struct plx_cqe s, r;

	message(QPT_RC, WR_RDMA_READ, 1, &s, &r);
	CHECK(s.wr_id == 5 && s.status == WC_SUCCESS && s.byte_len == LONGEST);
	CHECK_EQ(frames[1], LONGEST / 256);
}

/* Nobody acknowledges: what is sent is done, and what comes is whole. */
static void
huge__uc_send(void)
{
	struct plx_cqe s, r;

	message(QPT_UC, WR_SEND, 5, &s, &r);
	CHECK(s.wr_id == 5 && s.status == WC_SUCCESS && s.byte_len == LONGEST);
	CHECK(r.wr_id == 6 && r.status == WC_SUCCESS && r.byte_len == LONGEST);
	CHECK_EQ(frames[0], LONGEST / 4096);
	CHECK_EQ(frames[1], 0);
}

static void
huge__uc_write_imm_at_256(void)
{
	struct plx_cqe s, r;

	message(QPT_UC, WR_RDMA_WRITE_IMM, 1, &s, &r);
	CHECK(s.wr_id == 5 && s.status == WC_SUCCESS);
	CHECK(r.wr_id == 6 && r.status == WC_SUCCESS && r.byte_len == LONGEST);
	CHECK_EQ(frames[0], LONGEST / 256);
}

static void
uc_write_first(struct pair_side *b, uint32_t psn, uint32_t len)
{
	static const uint8_t data[4096];
	struct wire_pkt pkt = {
		.opcode = 0x20 | WIRE_WRITE_FIRST, .info = &wire_op_info[WIRE_WRITE_FIRST],
		.psn = psn_make(psn),
		.reth = { (uintptr_t)ends[1].at, ends[1].mr->key, len }, .payload = data, .payload_len = 4096,
	};

	qp_rx(b->q[0].qp, &b->x, &pkt);
}

/* One byte more is no message: the sender sends nothing, the receiver takes nothing of it (B30, C18). */
static void
huge__uc_one_byte_more(void)
{
	struct pair *p = open_pair(QPT_UC, 5);
	struct pair_side *a = &p->side[0], *b = &p->side[1];
	struct plx_sge from[2] = { { (uintptr_t)ends[0].at, LONGEST, ends[0].mr->key },
				   { (uintptr_t)ends[0].at, 1, ends[0].mr->key } };
	struct plx_sq_wqe w = { .wr_id = 5, .opcode = WR_SEND, .num_sge = 2 };
	struct plx_cqe e = { 0 };

	pair_post_send(a, &w, from);
	while (run_side(a, b))
		;
	CHECK(pair_poll(a, 0, &e));
	CHECK(e.wr_id == 5 && e.status == WC_LOC_LEN_ERR);
	CHECK_EQ(qp_state(a->q[0].qp), QPS_SQE);
	CHECK_EQ(frames[0], 0);
	uc_write_first(b, 1, LONGEST + 1u);
	CHECK_EQ(ends[1].at[0], 100);
	CHECK_EQ(cnt_read(&b->cnt.drop[DROP_MSG_LENGTH]), 1);
	uc_write_first(b, 2, LONGEST);
	CHECK_EQ(ends[1].at[0], 0);
	CHECK_EQ(cnt_read(&b->cnt.drop[DROP_MSG_LENGTH]), 1);
	CHECK_EQ(qp_state(b->q[0].qp), QPS_RTS);
	close_pair(p);
}

static void
read_request(struct pair_side *b, struct psn psn, uint32_t at, uint32_t len)
{
	struct wire_pkt pkt = {
		.opcode = WIRE_READ_REQUEST, .info = &wire_op_info[WIRE_READ_REQUEST], .psn = psn,
		.reth = { (uintptr_t)ends[1].at + at, ends[1].mr->key, len },
	};

	qp_rx(b->q[0].qp, &b->x, &pkt);
}

/* The answer of one end alone; gives how many frames, and the PSN of the last. */
static uint64_t
answer(struct pair_side *s, struct psn *last)
{
	struct outbox *ob = s->x.out;
	struct list_node *n;
	uint64_t count = 0;

	while ((n = list_pop(&s->x.run))) {
		bool more;

		ob->used = 0;
		more = qp_run(qp_of_run(n), &s->x, 65536);
		for (uint32_t i = 0; i < ob->used; i++, count++) {
			struct wire_pkt pkt;

			if (wire_parse(ob->slot[i].data, ob->slot[i].len, &pkt) == DROP_NONE)
				*last = pkt.psn;
		}
		if (more)
			list_push(&s->x.run, n);
	}
	return count;
}

/* A peer asks for all of it in one request: its PSNs are half of all there are, and when it asks again
 * for the beginning and for the end it is a duplicate still (C5, A19). */
static void
huge__read_in_one_request(void)
{
	struct pair *p = open_pair(QPT_RC, ONE_MTU_ENUM);
	struct pair_side *b = &p->side[1];
	struct psn first = psn_make(0xfffffe), last = first;

	read_request(b, first, 0, LONGEST);
	CHECK_EQ(answer(b, &last), LONGEST / ONE_MTU);
	CHECK_EQ(last.v, psn_add(first, LONGEST / ONE_MTU - 1).v);
	read_request(b, first, 0, LONGEST - 1u);
	CHECK_EQ(answer(b, &last), 0);		/* another range: dropped (C6) */
	read_request(b, psn_add(first, LONGEST / ONE_MTU - 1), LONGEST - ONE_MTU, ONE_MTU);
	CHECK_EQ(answer(b, &last), 1);
	CHECK_EQ(last.v, psn_add(first, LONGEST / ONE_MTU - 1).v);
	CHECK_EQ(qp_state(b->q[0].qp), QPS_RTS);
	read_request(b, psn_add(first, LONGEST / ONE_MTU), 0, LONGEST + 1u);
	CHECK_EQ(answer(b, &last), 1);		/* C18: NAK 0x61 */
	CHECK_EQ(qp_state(b->q[0].qp), QPS_ERR);
	close_pair(p);
}

/* A region of 6 GiB of which some pages are touched: 64 bits of address and of offset, at both ends, as SGE
 * and as remote address, and around the 4 GiB where 32 bits would end. */
#define VAST (UINT64_C(6) << 30)

static uint8_t *
map_vast(struct pair_side *s, struct mr **mr)
{
	struct mr d = { .pd = 1, .access = 15, .length = VAST };

	d.base = mmap(NULL, VAST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	d.iova = (uintptr_t)d.base;
	if (d.base == MAP_FAILED || mr_add(s->mrs, &d, mr))
		abort();
	return d.base;
}

static void
huge__five_gib_into_a_region(void)
{
	static const uint64_t offsets[] = { UINT64_C(5) << 30, (UINT64_C(4) << 30) - 4000, VAST - 8000 };
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .mtu = 3, .retry_cnt = 7 });
	struct pair_side *a = &p->side[0], *b = &p->side[1];
	struct mr *from, *to;
	uint8_t *src = map_vast(a, &from), *dst = map_vast(b, &to);

	for (uint32_t i = 0; i < 6; i++) {
		uint64_t at = offsets[i % 3];
		bool read = i >= 3;
		struct plx_sge sge = { (uintptr_t)src + at, 8000, from->key };
		struct plx_sq_wqe w = { .wr_id = i, .opcode = read ? WR_RDMA_READ : WR_RDMA_WRITE,
					.flags = PLX_WQE_SIGNALED, .num_sge = 1, .length = 8000,
					.rkey = to->key, .remote_addr = (uintptr_t)dst + at };
		struct plx_cqe e = { 0 };

		memset((read ? dst : src) + at, 0x30 + (int)i, 8000);
		pair_post_send(a, &w, &sge);
		while (run_side(a, b) | run_side(b, a))
			;
		CHECK(pair_poll(a, 0, &e));
		CHECK(e.wr_id == i && e.status == WC_SUCCESS);
		CHECK_EQ(src[at], 0x30 + i);
		CHECK_MEM(src + at, dst + at, 8000);
		CHECK_EQ(dst[at & UINT32_MAX], at >> 32 ? 0 : 0x30 + i);
	}
	munmap(src, VAST);
	munmap(dst, VAST);
	pair_free(p);
}

/* The rest takes minutes: for TEST_MATRIX=long, or by name. */
static const struct check_case quick[] = {
	CHECK_CASE(huge__send),
#if ONE_MTU == 256u
	CHECK_CASE(huge__uc_send),
#endif
	CHECK_CASE(huge__uc_one_byte_more),
	CHECK_CASE(huge__five_gib_into_a_region),
	CHECK_CASE(huge__read_in_one_request),
};

static const struct check_case all[] = {
	CHECK_CASE(huge__send),
	CHECK_CASE(huge__write_imm),
	CHECK_CASE(huge__write_at_256),
	CHECK_CASE(huge__read_at_256),
	CHECK_CASE(huge__uc_send),
	CHECK_CASE(huge__uc_write_imm_at_256),
	CHECK_CASE(huge__uc_one_byte_more),
	CHECK_CASE(huge__five_gib_into_a_region),
	CHECK_CASE(huge__read_in_one_request),
};

int
main(int argc, char **argv)
{
	const char *matrix = getenv("TEST_MATRIX");

	if (argc > 1 || (matrix && !strcmp(matrix, "long")))
		return check_main(all, sizeof(all) / sizeof(all[0]), argc, argv);
	return check_main(quick, sizeof(quick) / sizeof(quick[0]), argc, argv);
}

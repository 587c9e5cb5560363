/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * On-demand regions under the whole stack: they work as others do, and where their pages went, or may not be
 * touched any more, a request ends in an error of its QP and never in a signal. Every access, from both ends,
 * by region and by window.
 */
#include <sys/mman.h>

#include "serve_region.h"

#define P ((size_t)4096)
#define LEN (16 * P)
#define WHOLE (ALL_ACCESS | IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND)

static const enum ibv_wr_opcode peer_ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
					       IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_WRITE };
#define PEER_OPS (sizeof(peer_ops) / sizeof(peer_ops[0]))

static uint8_t *mem;

/* By a peer, of as many bytes as the operation has. */
static int
by_peer(enum ibv_wr_opcode op, const void *at, uint32_t len, uint32_t rkey)
{
	uint32_t n = op == IBV_WR_RDMA_WRITE || op == IBV_WR_RDMA_READ ? len : 8;

	return run(op, (uintptr_t)v.buf, n, v.mr->lkey, (uintptr_t)at, rkey);
}

/* SEND, WRITE and READ with that memory as their own, and a receive into it; all must end so. */
static void
by_owner(const void *at, uint32_t len, uint32_t lkey, int reading, int writing)
{
	struct ibv_sge sge = { (uintptr_t)at, len, lkey };

	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)at, len, lkey, (uintptr_t)v.buf, v.mr->rkey), reading);
	again();
	CHECK_EQ(run(IBV_WR_RDMA_READ, (uintptr_t)at, len, lkey, (uintptr_t)v.buf, v.mr->rkey), writing);
	again();
	CHECK_EQ(run(IBV_WR_ATOMIC_FETCH_AND_ADD, (uintptr_t)at, 8, lkey, (uintptr_t)v.buf, v.mr->rkey),
		 writing);
	again();
	CHECK_EQ(receive(&sge, 1, len), writing);
	again();
}

static struct ibv_mr *
open_odp(void)
{
	struct ibv_mr *mr;

	open_verbs("inline", 64, 16);
	mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(mem != MAP_FAILED);
	mr = ibv_reg_mr(v.pd, mem, LEN, WHOLE);
	MUST(mr);
	return mr;
}

static void
close_odp(struct ibv_mr *mr)
{
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(mem, LEN);
	CHECK_EQ(close_verbs(), 0);
}

static void
odp__works_as_any_region(void)
{
	struct ibv_mr *mr = open_odp();
	uint64_t *word = (uint64_t *)(void *)(mem + P);

	for (uint32_t i = 0; i < LEN; i++)
		v.buf[i] = (uint8_t)(i * 7 + i / 256);
	CHECK_EQ(by_peer(IBV_WR_RDMA_WRITE, mem + 3, LEN - 3, mr->rkey), IBV_WC_SUCCESS);
	CHECK_MEM(mem + 3, v.buf, LEN - 3);
	memset(v.buf, 0, LEN);
	CHECK_EQ(by_peer(IBV_WR_RDMA_READ, mem, LEN, mr->rkey), IBV_WC_SUCCESS);
	CHECK_MEM(v.buf, mem, LEN);
	*word = 41;
	CHECK_EQ(by_peer(IBV_WR_ATOMIC_FETCH_AND_ADD, word, 8, mr->rkey), IBV_WC_SUCCESS);
	CHECK(*word == 42 && *(uint64_t *)(void *)v.buf == 41);
	memcpy(v.buf, "a word", 7);
	CHECK_EQ(by_peer(IBV_WR_ATOMIC_WRITE, word, 8, mr->rkey), IBV_WC_SUCCESS);
	CHECK_MEM(word, v.buf, 8);
	by_owner(mem + 1, LEN - 1, mr->lkey, IBV_WC_SUCCESS, IBV_WC_SUCCESS);
	/* its last byte, and the one behind */
	CHECK_EQ(by_peer(IBV_WR_RDMA_WRITE, mem + LEN - 1, 1, mr->rkey), IBV_WC_SUCCESS);
	CHECK_EQ(by_peer(IBV_WR_RDMA_WRITE, mem + LEN - 1, 2, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	again();
	CHECK_EQ(by_peer(IBV_WR_RDMA_READ, mem - 1, 2, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	again();
	CHECK_EQ(by_peer(IBV_WR_ATOMIC_FETCH_AND_ADD, mem + LEN, 8, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	again();
	close_odp(mr);
}

/* All of it gone, or from the middle of a message on. */
static void
odp__pages_that_went(void)
{
	struct ibv_mr *mr = open_odp();

	MUST(munmap(mem + 8 * P, 8 * P) == 0);
	for (size_t i = 0; i < PEER_OPS; i++) {
		CHECK_EQ(by_peer(peer_ops[i], mem + 9 * P, 64, mr->rkey), IBV_WC_REM_ACCESS_ERR);
		again();
		CHECK_EQ(by_peer(peer_ops[i], mem, 64, mr->rkey), IBV_WC_SUCCESS);
	}
	CHECK_EQ(by_peer(IBV_WR_RDMA_WRITE, mem, LEN, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	again();
	CHECK_EQ(by_peer(IBV_WR_RDMA_READ, mem + 100, LEN - 100, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	again();
	by_owner(mem + 9 * P, 64, mr->lkey, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR);
	by_owner(mem + 8 * P - 4, 5000, mr->lkey, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR);
	/* what is mapped there since is the region's */
	MUST(mmap(mem + 8 * P, 8 * P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		  0) == mem + 8 * P);
	CHECK_EQ(by_peer(IBV_WR_RDMA_WRITE, mem, LEN, mr->rkey), IBV_WC_SUCCESS);
	CHECK_MEM(mem, v.buf, LEN);
	close_odp(mr);
}

static void
odp__pages_that_may_not_be_written(void)
{
	struct ibv_mr *mr = open_odp();

	MUST(mprotect(mem, LEN, PROT_READ) == 0);
	for (size_t i = 0; i < PEER_OPS; i++) {
		CHECK_EQ(by_peer(peer_ops[i], mem, 64, mr->rkey),
			 peer_ops[i] == IBV_WR_RDMA_READ ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR);
		again();
	}
	by_owner(mem, 64, mr->lkey, IBV_WC_SUCCESS, IBV_WC_LOC_PROT_ERR);
	MUST(mprotect(mem, LEN, PROT_NONE) == 0);
	for (size_t i = 0; i < PEER_OPS; i++) {
		CHECK_EQ(by_peer(peer_ops[i], mem, 64, mr->rkey), IBV_WC_REM_ACCESS_ERR);
		again();
	}
	by_owner(mem, 64, mr->lkey, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR);
	close_odp(mr);
}

/* What would be SIGBUS. */
static void
odp__behind_the_end_of_a_file(void)
{
	int fd = memfd_create("odp", MFD_CLOEXEC);
	struct ibv_mr *mr = open_odp();

	MUST(fd >= 0 && ftruncate(fd, (off_t)LEN) == 0);
	MUST(mmap(mem, LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == mem);
	CHECK_EQ(by_peer(IBV_WR_RDMA_WRITE, mem, LEN, mr->rkey), IBV_WC_SUCCESS);
	MUST(ftruncate(fd, 0) == 0);
	for (size_t i = 0; i < PEER_OPS; i++) {
		CHECK_EQ(by_peer(peer_ops[i], mem, 64, mr->rkey), IBV_WC_REM_ACCESS_ERR);
		again();
	}
	by_owner(mem, 64, mr->lkey, IBV_WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR);
	close(fd);
	close_odp(mr);
}

static int
bind(struct ibv_mw *mw, struct ibv_mr *mr)
{
	struct ibv_mw_bind how = { .send_flags = IBV_SEND_SIGNALED, .bind_info = {
		.mr = mr, .addr = (uintptr_t)mem + P, .length = 2 * P,
		.mw_access_flags = ALL_ACCESS & ~IBV_ACCESS_LOCAL_WRITE } };
	struct ibv_wc wc = { 0 };

	MUST(ibv_bind_mw(v.b, mw, &how) == 0);
	return poll_one(v.cq, &wc) ? (int)wc.status : -1;
}

/* A QP that fails lets its windows go: none may be held then. */
static void
odp__by_a_window(void)
{
	struct ibv_mr *mr = open_odp();
	struct ibv_mw *mw = ibv_alloc_mw(v.pd, IBV_MW_TYPE_1);

	MUST(mw);
	CHECK_EQ(bind(mw, mr), IBV_WC_SUCCESS);
	for (size_t i = 0; i < PEER_OPS; i++) {
		CHECK_EQ(by_peer(peer_ops[i], mem + P, 64, mw->rkey), IBV_WC_SUCCESS);
		CHECK_EQ(by_peer(peer_ops[i], mem + 3 * P, 64, mw->rkey), IBV_WC_REM_ACCESS_ERR);
		again();
	}
	MUST(munmap(mem + 2 * P, P) == 0);
	for (size_t i = 0; i < PEER_OPS; i++) {
		CHECK_EQ(by_peer(peer_ops[i], mem + 2 * P, 64, mw->rkey), IBV_WC_REM_ACCESS_ERR);
		again();
		CHECK_EQ(by_peer(peer_ops[i], mem + P, 64, mw->rkey), IBV_WC_SUCCESS);
	}
	CHECK_EQ(bind(mw, mr), IBV_WC_SUCCESS);	/* it is not held */
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	close_odp(mr);
}

/* A region becomes one of on-demand memory, and again one that is not. */
static void
odp__rereg(void)
{
	struct ibv_mr *mr = open_odp();

	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, ALL_ACCESS), 0);
	CHECK_EQ(by_peer(IBV_WR_RDMA_WRITE, mem, LEN, mr->rkey), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, WHOLE), 0);
	MUST(munmap(mem + P, P) == 0);
	CHECK_EQ(by_peer(IBV_WR_RDMA_WRITE, mem, LEN, mr->rkey), IBV_WC_REM_ACCESS_ERR);
	again();
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, mem + 2 * P, 4 * P, 0), 0);
	CHECK_EQ(by_peer(IBV_WR_RDMA_WRITE, mem + 2 * P, (uint32_t)(4 * P), mr->rkey), IBV_WC_SUCCESS);
	MUST(munmap(mem + 3 * P, P) == 0);
	CHECK_EQ(by_peer(IBV_WR_RDMA_WRITE, mem + 2 * P, (uint32_t)(4 * P), mr->rkey), IBV_WC_REM_ACCESS_ERR);
	again();
	close_odp(mr);
}

static const struct check_case cases[] = {
	CHECK_CASE(odp__works_as_any_region),
	CHECK_CASE(odp__pages_that_went),
	CHECK_CASE(odp__pages_that_may_not_be_written),
	CHECK_CASE(odp__behind_the_end_of_a_file),
	CHECK_CASE(odp__by_a_window),
	CHECK_CASE(odp__rereg),
};

CHECK_MAIN(cases)

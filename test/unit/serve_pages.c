/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib/serve/pages.c: rights and ends of every mapping in a range count, not of its first and last page alone,
 * whether the kernel is asked for a mapping or its list is read; and what that means for registering.
 */
#include <sys/mman.h>

#include "serve/pages.h"
#include "serve_region.h"

#define P ((size_t)4096)
#define N 16		/* pages of a range */

static uint8_t *
pages(int prot, int fd)
{
	uint8_t *at = mmap(NULL, N * P, prot, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	MUST(at != MAP_FAILED);
	return at;
}

/* In both ways, which must agree. */
static int
checked(const uint8_t *at, size_t length, bool write)
{
	int rc = pages_check_so((uintptr_t)at, length, write, true);

	return rc == pages_check_so((uintptr_t)at, length, write, false) &&
	       rc == pages_check((uintptr_t)at, length, write) ? rc : 1;
}

static void
pages_check__every_mapping(void)
{
	uint8_t *at = pages(PROT_READ | PROT_WRITE, -1);

	CHECK_EQ(checked(at, N * P, true), 0);
	CHECK_EQ(checked(at, 1, true), 0);
	for (size_t i = 0; i < N; i++) {
		MUST(mprotect(at + i * P, P, PROT_READ) == 0);
		CHECK_EQ(checked(at, N * P, true), -EFAULT);
		CHECK_EQ(checked(at, N * P, false), 0);
		CHECK_EQ(checked(at + i * P + 1, P - 2, true), -EFAULT);
		/* what lies before and behind is not asked for */
		CHECK(!i || checked(at, i * P, true) == 0);
		CHECK(i + 1 == N || checked(at + (i + 1) * P, (N - 1 - i) * P, true) == 0);
		MUST(mprotect(at + i * P, P, PROT_NONE) == 0);
		CHECK_EQ(checked(at, N * P, false), -EFAULT);
		MUST(mprotect(at + i * P, P, PROT_READ | PROT_WRITE) == 0);
	}
	MUST(mprotect(at + 3 * P, P, PROT_READ) == 0 && mprotect(at + 9 * P, 2 * P, PROT_READ) == 0);
	CHECK_EQ(checked(at + 7, N * P - 7, false), 0);
	MUST(munmap(at + 12 * P, P) == 0);
	CHECK_EQ(checked(at, N * P, false), -EFAULT);
	CHECK_EQ(checked(at + 13 * P, 3 * P, true), 0);
	munmap(at, N * P);
}

/* The end of a file in the middle of the range is a signal for whoever touches what is behind. */
static void
pages_check__behind_the_end_of_a_file(void)
{
	int fd = memfd_create("pages", MFD_CLOEXEC);
	uint8_t *at = pages(PROT_READ | PROT_WRITE, -1);

	MUST(fd >= 0 && ftruncate(fd, (off_t)(4 * P)) == 0);
	MUST(mmap(at + 4 * P, 4 * P, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) == at + 4 * P);
	CHECK_EQ(checked(at, N * P, true), 0);
	MUST(ftruncate(fd, (off_t)(3 * P)) == 0);
	CHECK_EQ(checked(at, N * P, true), -EFAULT);
	CHECK_EQ(checked(at, N * P, false), -EFAULT);
	CHECK_EQ(checked(at, 7 * P, true), 0);
	MUST(mmap(at + 4 * P, 3 * P, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == at + 4 * P);
	CHECK_EQ(checked(at, 7 * P, false), 0);
	CHECK_EQ(checked(at, 7 * P, true), -EFAULT);
	munmap(at, N * P);
	close(fd);
}

/* A list of mappings that fills many reads; names of every length in it. */
static void
pages_check__thousands_of_mappings(void)
{
	const size_t n = 5000;
	uint8_t *at = mmap(NULL, n * P, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(at != MAP_FAILED);
	for (size_t i = 1; i < n; i += 2)
		MUST(mprotect(at + i * P, P, PROT_READ) == 0);
	CHECK_EQ(checked(at, n * P, false), 0);
	CHECK_EQ(checked(at, n * P, true), -EFAULT);
	MUST(mprotect(at + (n - 2) * P, P, PROT_NONE) == 0);
	CHECK_EQ(checked(at, n * P, false), -EFAULT);
	munmap(at, n * P);
}

static int
try_reg(uint8_t *at, size_t length, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(v.pd, at, length, access);

	return mr ? ibv_dereg_mr(mr) : errno;
}

/* The whole of it: what cannot be touched in the middle is refused, and a region is not moved there. */
static void
reg_mr__refuses_what_a_peer_could_not_touch(void)
{
	const int ro = IBV_ACCESS_REMOTE_READ, odp = IBV_ACCESS_ON_DEMAND;
	uint8_t *at;
	struct ibv_mr *mr;

	open_verbs("inline", 64, 16);
	at = pages(PROT_READ | PROT_WRITE, -1);
	mr = ibv_reg_mr(v.pd, at, N * P, ALL_ACCESS);
	MUST(mr && mprotect(at + 5 * P, P, PROT_READ) == 0);
	CHECK_EQ(try_reg(at, N * P, ALL_ACCESS), EFAULT);
	CHECK_EQ(try_reg(at, N * P, IBV_ACCESS_LOCAL_WRITE), EFAULT);
	CHECK_EQ(try_reg(at, N * P, ALL_ACCESS | odp), EFAULT);
	CHECK_EQ(try_reg(at, N * P, ro) | try_reg(at, N * P, 0) | try_reg(at, N * P, ro | odp), 0);
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, at + P, 8 * P, 0),
		 IBV_REREG_MR_ERR_INPUT);
	CHECK_EQ(errno, EFAULT);
	/* it is what it was */
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)v.buf, 64, v.mr->lkey, (uintptr_t)at, mr->rkey),
		 IBV_WC_SUCCESS);
	MUST(mprotect(at + 5 * P, P, PROT_NONE) == 0);
	CHECK_EQ(try_reg(at, N * P, ro), EFAULT);
	CHECK_EQ(try_reg(at, N * P, 0), EFAULT);
	MUST(mprotect(at + 5 * P, P, PROT_READ | PROT_WRITE) == 0);
	CHECK_EQ(try_reg(at, N * P, ALL_ACCESS), 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, N * P);
	CHECK_EQ(close_verbs(), 0);
}

/* Read-only memory, of the program's text and of a file, is a peer's to read. */
static void
reg_mr__read_only_memory(void)
{
	static const uint8_t text[64] = "what cannot be written can still be read by a peer";
	struct ibv_mr *mr;

	open_verbs("inline", 64, 16);
	mr = ibv_reg_mr(v.pd, (void *)(uintptr_t)text, sizeof(text), IBV_ACCESS_REMOTE_READ);
	MUST(mr);
	CHECK_EQ(run(IBV_WR_RDMA_READ, (uintptr_t)v.buf, sizeof(text), v.mr->lkey, (uintptr_t)text, mr->rkey),
		 IBV_WC_SUCCESS);
	CHECK_MEM(v.buf, text, sizeof(text));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(try_reg((uint8_t *)(uintptr_t)text, sizeof(text), ALL_ACCESS), EFAULT);
	CHECK_EQ(close_verbs(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(pages_check__every_mapping),
	CHECK_CASE(pages_check__behind_the_end_of_a_file),
	CHECK_CASE(pages_check__thousands_of_mappings),
	CHECK_CASE(reg_mr__refuses_what_a_peer_could_not_touch),
	CHECK_CASE(reg_mr__read_only_memory),
};

CHECK_MAIN(cases)

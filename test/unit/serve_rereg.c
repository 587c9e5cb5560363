/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions that are changed, with the whole stack under them: what peers and WRs reach afterwards, what is as
 * it was when a change is refused, what a region holds; and which on-demand regions may be advised of.
 */
#include <sys/mman.h>

#include "serve_region.h"

#define TRANSLATION IBV_REREG_MR_CHANGE_TRANSLATION
#define PD IBV_REREG_MR_CHANGE_PD
#define ACCESS IBV_REREG_MR_CHANGE_ACCESS
#define LEN 4096u

static struct ibv_mr *mr;
static uint8_t *one, *two;		/* places of a region */

static void
open_region(void)
{
	open_verbs("inline", 64, 16);
	one = v.buf + 65536;
	two = v.buf + 131072;
	mr = ibv_reg_mr(v.pd, one, LEN, ALL_ACCESS);
	MUST(mr);
}

static void
close_region(void)
{
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(close_verbs(), 0);
}

static int
op(enum ibv_wr_opcode what, const uint8_t *at, uint32_t rkey)
{
	return run(what, (uintptr_t)v.buf, 8, v.mr->lkey, (uintptr_t)at, rkey);
}

/* Refused, and both ends are new. */
static bool
denied(enum ibv_wr_opcode what, const uint8_t *at, uint32_t rkey)
{
	int status = op(what, at, rkey);

	again();
	return status == IBV_WC_REM_ACCESS_ERR;
}

/* A peer reads and writes the region at that place, and a WR too. */
static bool
whole(const uint8_t *at)
{
	return mr->addr == at && op(IBV_WR_RDMA_WRITE, at, mr->rkey) == IBV_WC_SUCCESS &&
	       op(IBV_WR_RDMA_READ, at + mr->length - 8, mr->rkey) == IBV_WC_SUCCESS &&
	       run(IBV_WR_RDMA_WRITE, (uintptr_t)at, 8, mr->lkey, (uintptr_t)v.buf + 512, v.mr->rkey) ==
	       IBV_WC_SUCCESS;
}

static void
rereg__access(void)
{
	uint32_t key;

	open_region();
	key = mr->rkey;
	CHECK_EQ(ibv_rereg_mr(mr, ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ), 0);
	CHECK(mr->rkey == key && mr->lkey == key && mr->addr == one && mr->length == LEN);
	CHECK_EQ(op(IBV_WR_RDMA_READ, one, key), IBV_WC_SUCCESS);
	CHECK(denied(IBV_WR_RDMA_WRITE, one, key));
	CHECK(denied(IBV_WR_ATOMIC_FETCH_AND_ADD, one, key));
	CHECK_EQ(ibv_rereg_mr(mr, ACCESS, NULL, NULL, 0, ALL_ACCESS), 0);
	CHECK_EQ(op(IBV_WR_ATOMIC_FETCH_AND_ADD, one, key), IBV_WC_SUCCESS);
	CHECK(whole(one));
	close_region();
}

static void
rereg__domain(void)
{
	struct ibv_pd *other;
	uint32_t key;

	open_region();
	other = ibv_alloc_pd(v.ctx);
	key = mr->rkey;
	CHECK_EQ(ibv_rereg_mr(mr, PD, other, NULL, 0, 0), 0);
	CHECK(mr->rkey == key && mr->pd == other);
	CHECK(denied(IBV_WR_RDMA_WRITE, one, key));
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)one, 8, key, (uintptr_t)v.buf, v.mr->rkey),
		 IBV_WC_LOC_PROT_ERR);
	again();
	CHECK_EQ(ibv_dealloc_pd(other), EBUSY);
	CHECK_EQ(ibv_rereg_mr(mr, PD, v.pd, NULL, 0, 0), 0);
	CHECK_EQ(ibv_dealloc_pd(other), 0);
	CHECK(whole(one));
	close_region();
}

/* Who has the old key reaches neither place by it (C13). */
static void
rereg__place(void)
{
	uint32_t key;

	open_region();
	key = mr->rkey;
	CHECK_EQ(ibv_rereg_mr(mr, TRANSLATION, NULL, two, 2 * LEN, 0), 0);
	CHECK(mr->rkey != key && mr->rkey >> 8 == key >> 8 && mr->lkey == mr->rkey && mr->length == 2 * LEN);
	CHECK(denied(IBV_WR_RDMA_WRITE, one, key));
	CHECK(denied(IBV_WR_RDMA_WRITE, two, key));
	CHECK(denied(IBV_WR_RDMA_WRITE, one, mr->rkey));
	CHECK(whole(two));
	memset(two, 0x5a, 16);
	memset(one, 0x33, 16);
	CHECK_EQ(op(IBV_WR_RDMA_READ, two, mr->rkey), IBV_WC_SUCCESS);
	CHECK_EQ(v.buf[0], 0x5a);
	close_region();
}

static void
rereg__all_at_once(void)
{
	struct ibv_pd *other;

	open_region();
	other = ibv_alloc_pd(v.ctx);
	CHECK_EQ(ibv_rereg_mr(mr, TRANSLATION | PD | ACCESS, other, two, LEN, IBV_ACCESS_REMOTE_READ), 0);
	CHECK(denied(IBV_WR_RDMA_READ, two, mr->rkey));
	CHECK_EQ(ibv_rereg_mr(mr, PD, v.pd, NULL, 0, 0), 0);
	CHECK_EQ(op(IBV_WR_RDMA_READ, two, mr->rkey), IBV_WC_SUCCESS);
	CHECK(denied(IBV_WR_RDMA_WRITE, two, mr->rkey));
	CHECK_EQ(ibv_rereg_mr(mr, TRANSLATION | ACCESS, NULL, one, LEN, ALL_ACCESS | IBV_ACCESS_ZERO_BASED),
		 0);
	CHECK_EQ(op(IBV_WR_RDMA_WRITE, NULL, mr->rkey), IBV_WC_SUCCESS);
	CHECK_EQ(op(IBV_WR_RDMA_WRITE, (uint8_t *)(uintptr_t)(LEN - 8), mr->rkey), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dealloc_pd(other), 0);
	close_region();
}

/* A receive that waits with the old key and place. */
static void
rereg__what_was_posted_with_the_old_key(void)
{
	struct ibv_sge sge;

	open_region();
	sge = (struct ibv_sge){ (uintptr_t)one, 64, mr->lkey };
	CHECK_EQ(receive(&sge, 1, 64), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_rereg_mr(mr, TRANSLATION, NULL, two, LEN, 0), 0);
	CHECK_EQ(receive(&sge, 1, 64), IBV_WC_LOC_PROT_ERR);
	again();
	close_region();
}

/* F23: every refusal, and the region is of as much use as before. */
static void
rereg__failure_changes_nothing(void)
{
	struct ibv_context *other = NULL;
	struct ibv_pd *foreign;
	void *readonly = mmap(NULL, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr before;

	open_region();
	other = open_ctx();
	foreign = ibv_alloc_pd(other);
	before = *mr;
	for (uint32_t i = 0; i < 9; i++) {
		int rc = 0, want = EINVAL;

		errno = 0;
		switch (i) {
		case 0: rc = ibv_rereg_mr(mr, 0, NULL, NULL, 0, 0); break;
		case 1: rc = ibv_rereg_mr(mr, 8, NULL, NULL, 0, 0); break;
		case 2: rc = ibv_rereg_mr(mr, PD, foreign, NULL, 0, 0); break;
		case 3: rc = ibv_rereg_mr(mr, ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE); break;
		case 4: rc = ibv_rereg_mr(mr, ACCESS | PD, foreign, NULL, 0, 0); break;
		case 5: rc = ibv_rereg_mr(mr, TRANSLATION, NULL, two, 0, 0); break;
		case 6: rc = ibv_rereg_mr(mr, TRANSLATION, NULL, two, SIZE_MAX, 0); break;
		case 7: rc = ibv_rereg_mr(mr, TRANSLATION, NULL, readonly, LEN, 0); want = EFAULT; break;
		default: rc = ibv_rereg_mr(mr, ACCESS, NULL, NULL, 0, 1 << 18);
		}
		CHECK_EQ(rc, IBV_REREG_MR_ERR_INPUT);
		CHECK_EQ(errno, want);
		CHECK(memcmp(&before, mr, sizeof(before)) == 0);
		CHECK(whole(one));
	}
	CHECK_EQ(ibv_dealloc_pd(foreign), 0);
	CHECK_EQ(ibv_close_device(other), 0);
	munmap(readonly, LEN);
	close_region();
}

/* What is read-only memory cannot become writable; what cannot move says so. */
static void
rereg__kinds(void)
{
	struct ibv_alloc_dm_attr attr = { .length = LEN };
	void *readonly = mmap(NULL, LEN, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *r, *d;
	struct ibv_dm *dm;

	open_region();
	r = ibv_reg_mr(v.pd, readonly, LEN, IBV_ACCESS_REMOTE_READ);
	dm = ibv_alloc_dm(v.ctx, &attr);
	MUST(r && dm);
	CHECK_EQ(ibv_rereg_mr(r, ACCESS, NULL, NULL, 0, ALL_ACCESS), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQ(errno, EFAULT);
	CHECK_EQ(op(IBV_WR_RDMA_READ, readonly, r->rkey), IBV_WC_SUCCESS);
	d = ibv_reg_dm_mr(v.pd, dm, 0, LEN, IBV_ACCESS_ZERO_BASED);
	MUST(d);
	CHECK_EQ(ibv_rereg_mr(d, TRANSLATION, NULL, two, LEN, 0), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQ(errno, EINVAL);
	CHECK(denied(IBV_WR_RDMA_WRITE, NULL, d->rkey));
	CHECK_EQ(ibv_rereg_mr(d, ACCESS, NULL, NULL, 0, ALL_ACCESS), 0);
	CHECK_EQ(op(IBV_WR_RDMA_WRITE, NULL, d->rkey), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(d), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(ibv_dereg_mr(r), 0);
	munmap(readonly, LEN);
	close_region();
}

static int
advise(enum ibv_advise_mr_advice advice, struct ibv_mr *of, uint64_t addr, uint32_t length)
{
	struct ibv_sge sge = { addr, length, of->lkey };

	return ibv_advise_mr(v.pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

static bool
present(void *at)
{
	unsigned char in = 0;

	return mincore(at, 4096, &in) == 0 && (in & 1);
}

static void
advise_mr__errno_of_each(void)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND;
	uint8_t *at = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *odp, *ro, *all, *far, gone;
	struct ibv_mw *mw;
	struct ibv_pd *other;

	open_region();
	other = ibv_alloc_pd(v.ctx);
	odp = ibv_reg_mr_iova2(v.pd, at, 4 * 4096, 0x10000, (unsigned int)access);
	ro = ibv_reg_mr(v.pd, at, 4096, IBV_ACCESS_ON_DEMAND);
	all = ibv_reg_mr(v.pd, NULL, SIZE_MAX, access);
	far = ibv_reg_mr(other, at, 4096, access);
	MUST(odp && ro && all && far);
#define ADVISE(advice, ...) advise(IBV_ADVISE_MR_ADVICE_##advice, __VA_ARGS__)
	CHECK_EQ(ADVISE(PREFETCH_NO_FAULT, odp, 0x10000, 4 * 4096), 0);
	CHECK(!present(at + 4096) && !present(at + 8192));
	CHECK_EQ(ADVISE(PREFETCH_WRITE, odp, 0x11fff, 2), 0);
	CHECK(present(at + 4096) && present(at + 8192));
	CHECK_EQ(ADVISE(PREFETCH, odp, 0x10000, 4 * 4096), 0);
	CHECK_EQ(ADVISE(PREFETCH, all, (uintptr_t)at, 4 * 4096), 0);
	CHECK_EQ(ADVISE(PREFETCH, odp, 0x10000, 4 * 4096 + 1), EFAULT);
	CHECK_EQ(ADVISE(PREFETCH, odp, 0xffff, 1), EFAULT);
	CHECK_EQ(ADVISE(PREFETCH, mr, (uintptr_t)one, 8), EINVAL);	/* not on demand */
	CHECK_EQ(ADVISE(PREFETCH_WRITE, ro, (uintptr_t)at, 8), EPERM);
	CHECK_EQ(ADVISE(PREFETCH, far, (uintptr_t)at, 8), EPERM);
	gone = *ro;
	CHECK_EQ(ibv_dereg_mr(ro), 0);
	CHECK_EQ(ADVISE(PREFETCH, &gone, (uintptr_t)at, 8), ENOENT);
	mw = ibv_alloc_mw(v.pd, IBV_MW_TYPE_2);
	MUST(mw);
	gone.lkey = mw->rkey;
	CHECK_EQ(ADVISE(PREFETCH, &gone, (uintptr_t)at, 8), EINVAL);
	gone.lkey = ibv_inc_rkey(mw->rkey);
	CHECK_EQ(ADVISE(PREFETCH, &gone, (uintptr_t)at, 8), EINVAL);
	CHECK_EQ(ibv_dealloc_mw(mw), 0);
	CHECK_EQ(ADVISE(PREFETCH, &gone, (uintptr_t)at, 8), ENOENT);
	MUST(mprotect(at, 4096, PROT_READ) == 0);
	CHECK_EQ(ADVISE(PREFETCH, odp, 0x10000, 8192), 0);
	CHECK_EQ(ADVISE(PREFETCH_WRITE, odp, 0x11000, 4096), 0);
	CHECK_EQ(ADVISE(PREFETCH_WRITE, odp, 0x10000, 8192), EFAULT);
	MUST(mprotect(at, 4096, PROT_NONE) == 0);
	CHECK_EQ(ADVISE(PREFETCH, all, (uintptr_t)at, 8), EFAULT);
	CHECK_EQ(ADVISE(PREFETCH, odp, 0x10800, 4096), EFAULT);
	MUST(mprotect(at, 4096, PROT_READ | PROT_WRITE) == 0);
	munmap(at + 8192, 4096);
	CHECK_EQ(ADVISE(PREFETCH, odp, 0x10000, 4 * 4096), EFAULT);
	CHECK_EQ(ADVISE(PREFETCH, all, (uintptr_t)at + 8192, 8), EFAULT);
#undef ADVISE
	CHECK_EQ(ibv_dereg_mr(odp) | ibv_dereg_mr(all) | ibv_dereg_mr(far), 0);
	CHECK_EQ(ibv_dealloc_pd(other), 0);
	munmap(at, 8192);
	munmap(at + 3 * 4096, 4096);
	close_region();
}

static const struct check_case cases[] = {
	CHECK_CASE(rereg__access),
	CHECK_CASE(rereg__domain),
	CHECK_CASE(rereg__place),
	CHECK_CASE(rereg__all_at_once),
	CHECK_CASE(rereg__what_was_posted_with_the_old_key),
	CHECK_CASE(rereg__failure_changes_nothing),
	CHECK_CASE(rereg__kinds),
	CHECK_CASE(advise_mr__errno_of_each),
};

CHECK_MAIN(cases)

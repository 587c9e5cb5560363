/* SPDX-License-Identifier: BSD-3-Clause */
/* Unit tests of lib/verbs/rereg.c, advise.c, dm.c and dmabuf.c: what a stack is asked, and what it is not. */
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "verbs_world.h"

#define ALL (IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS)
#define RW (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

static uint8_t page[2][4096];

static void
rereg_mr__keeps_the_structure_current(void)
{
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	pd = ibv_alloc_pd(w.ctx);
	mr = ibv_reg_mr(w.pd, page[0], 4096, RW);
	CHECK(pd && mr);
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE), 0);
	CHECK(mr->pd == w.pd && mr->addr == page[0] && mr->length == 4096 && mr->lkey == 0xabcd00);
	CHECK_EQ(mock.last_rereg.access, IBV_ACCESS_LOCAL_WRITE);
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, page[1], 100, 0), 0);
	CHECK(mr->pd == w.pd && mr->addr == page[1] && mr->length == 100);
	CHECK(mr->lkey == 0xabcd01 && mr->rkey == 0xabcd01);
	CHECK_EQ(mock.last_rereg.iova, (uintptr_t)page[1]);
	CHECK_EQ(ibv_rereg_mr(mr, ALL, pd, page[0], 8, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_RELAXED_ORDERING),
		 0);
	CHECK(mr->pd == pd && mr->addr == page[0] && mr->length == 8);
	CHECK(mock.last_rereg.iova == 0 && mock.last_rereg.access == IBV_ACCESS_ZERO_BASED);
	/* how it is named is not changed by its access alone, and stays so in another place */
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0), 0);
	CHECK_EQ(mock.last_rereg.access, IBV_ACCESS_ZERO_BASED);
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, page[1], 8, 0), 0);
	CHECK_EQ(mock.last_rereg.iova, 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	world_close(&w);
}

/* errno of a call that must be refused before the stack is asked, or by it; 0: it was not */
static int
refused(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr before = *mr;
	int rc;

	errno = 0;
	rc = ibv_rereg_mr(mr, flags, pd, addr, length, access);
	if (rc != (errno == EIO ? IBV_REREG_MR_ERR_CMD : IBV_REREG_MR_ERR_INPUT) ||
	    memcmp(&before, mr, sizeof(before)))
		return 0;
	return errno;
}

/* F23 */
static void
rereg_mr__failure_leaves_the_structure(void)
{
	char *hole = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;
	struct world w;

	munmap(hole, 4096);
	world_open(&w, (struct world_conf){ 0 });
	mr = ibv_reg_mr(w.pd, page[0], 4096, RW);
	CHECK(mr);
	CHECK_EQ(refused(mr, 0, NULL, NULL, 0, 0), EINVAL);
	CHECK_EQ(refused(mr, 8, NULL, NULL, 0, 0), EINVAL);
	CHECK_EQ(refused(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0), EINVAL);
	CHECK_EQ(refused(mr, IBV_REREG_MR_CHANGE_PD, w.pd, NULL, 0, RW), EINVAL);
	CHECK_EQ(refused(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, NULL, 8, 0), EINVAL);
	CHECK_EQ(refused(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, page[1], 0, 0), EINVAL);
	CHECK_EQ(refused(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, hole, 8, 0), EFAULT);
	CHECK_EQ(refused(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_ACCESS, NULL, page[1], 8,
			 IBV_ACCESS_REMOTE_WRITE), EINVAL);
	mock.fail_type = CTL_REREG_MR;
	mock.fail_err = -ENOMEM;
	CHECK_EQ(refused(mr, ALL, w.pd, page[1], 8, RW), ENOMEM);
	mock.fail_err = -EIO;
	CHECK_EQ(refused(mr, ALL, w.pd, page[1], 8, RW), EIO);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	world_close(&w);
}

static void
advise_mr__touches_what_it_may(void)
{
	uint8_t *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_sge sge[2] = { { (uintptr_t)page[0], 4096, 1 }, { (uintptr_t)two + 100, 4096, 2 } };
	unsigned char in[2] = { 0 };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
#define ADVISE(advice, flags, n) ibv_advise_mr(w.pd, IBV_ADVISE_MR_ADVICE_##advice, flags, sge, n)
	CHECK_EQ(ADVISE(PREFETCH_NO_FAULT, 0, 2), 0);
	CHECK_EQ(mincore(two, 8192, in), 0);
	CHECK(!(in[0] & 1) && !(in[1] & 1));
	CHECK(mock.last_advise.lkey == 2 && mock.last_advise.length == 4096 && !mock.last_advise.write);
	CHECK_EQ(ADVISE(PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, 2), 0);
	CHECK(mock.last_advise.write);
	CHECK_EQ(ADVISE(PREFETCH, 0, 2), 0);
	CHECK_EQ(ADVISE(PREFETCH, 2, 2), EINVAL);
	CHECK_EQ(ADVISE(PREFETCH, 0, 0), EINVAL);
	CHECK_EQ(ibv_advise_mr(w.pd, (enum ibv_advise_mr_advice)77, 0, sge, 2), EOPNOTSUPP);
	mock.fail_type = CTL_ADVISE_MR;
	mock.fail_err = -ENOENT;
	CHECK_EQ(ADVISE(PREFETCH, 0, 2), ENOENT);
	munmap(two + 4096, 4096);
	CHECK_EQ(ADVISE(PREFETCH, 0, 2), EFAULT);
#undef ADVISE
	munmap(two, 4096);
	world_close(&w);
}

static void
dm__copies_words_within(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 100, .log_align_req = 6 };
	uint32_t out[25], in[25] = { 0 };
	struct ibv_dm *dm;
	struct world w;

	for (uint32_t i = 0; i < 25; i++)
		out[i] = i * 77 + 1;
	world_open(&w, (struct world_conf){ 0 });
	dm = ibv_alloc_dm(w.ctx, &attr);
	CHECK(dm && dm->context == w.ctx && dm->handle == 4 && dm->comp_mask == IBV_DM_MASK_HANDLE);
	CHECK(mock.last_dm.length == 100 && mock.last_dm.log2_align == 6);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 0, out, 100), 0);
	CHECK_EQ(ibv_memcpy_from_dm(in, dm, 4, 96), 0);
	CHECK_MEM(in, out + 1, 96);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 96, out, 4), 0);
	CHECK(mock.dm[24] == 1 && mock.dm[25] == 0);
	CHECK_EQ(dm->memcpy_to_dm(dm, 100, out, 0), 0);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 3, out, 4), EINVAL);
	CHECK_EQ(ibv_memcpy_from_dm(in, dm, 4, 3), EINVAL);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 104, out, 4), EFAULT);
	CHECK_EQ(dm->memcpy_from_dm(in, dm, 0, 104), EFAULT);
	CHECK_EQ(ibv_memcpy_from_dm(in, dm, UINT64_MAX - 3, 8), EFAULT);
	CHECK_EQ(ibv_free_dm(dm), 0);
	attr.comp_mask = 1;
	CHECK(!ibv_alloc_dm(w.ctx, &attr) && errno == EINVAL);
	attr = (struct ibv_alloc_dm_attr){ .length = 4096 };
	CHECK(!ibv_alloc_dm(w.ctx, &attr) && errno == ENOMEM);
	world_close(&w);
}

static int
child_checks(struct ibv_context *ctx, struct ibv_dm *old)
{
	struct ibv_alloc_dm_attr attr = { .length = sizeof(mock.dm), .log_align_req = 12 };
	struct ibv_device_attr_ex dev;
	uint32_t word = 5, back = 7;
	struct ibv_dm *dm;

	if (ibv_query_device_ex(ctx, NULL, &dev) || dev.max_dm_size != sizeof(mock.dm))
		return 5;
	/* what the parent has is not there */
	if (ibv_memcpy_to_dm(old, 0, &word, 4) != EIO || ibv_memcpy_from_dm(&word, old, 0, 4) != EIO ||
	    ibv_free_dm(old) != EIO)
		return 1;
	dm = ibv_alloc_dm(ctx, &attr);
	if (!dm || ibv_memcpy_from_dm(&back, dm, 8, 4) || back || ibv_memcpy_to_dm(dm, 8, &word, 4) ||
	    ibv_memcpy_from_dm(&back, dm, 8, 4) || back != word)
		return 2;
	if (ibv_free_dm(dm))
		return 3;
	attr.length++;
	return ibv_alloc_dm(ctx, &attr) || errno != ENOMEM ? 4 : 0;
}

static void
dm__a_child_has_its_own(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm;
	struct world w;
	int status;
	pid_t pid;

	world_open(&w, (struct world_conf){ 0 });
	dm = ibv_alloc_dm(w.ctx, &attr);
	CHECK(dm);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(child_checks(w.ctx, dm));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	world_close(&w);
}

/* What the stack is told of each kind of region. */
static void
reg_mr__kinds(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	mr = ibv_alloc_null_mr(w.pd);
	CHECK(mr && !mr->addr && mr->length == SIZE_MAX && mock.last_mr.kind == CTL_NULL);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(w.pd, NULL, SIZE_MAX, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND);
	CHECK(mr && !mr->addr && mr->length == SIZE_MAX && mock.last_mr.kind == CTL_IMPLICIT);
	CHECK(!mock.last_mr.addr && !mock.last_mr.length && !mock.last_mr.iova);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	/* it cannot be named by other addresses */
	for (uint64_t iova = 1; iova < 1u << 20; iova *= 7) {
		errno = 0;
		CHECK(!ibv_reg_mr_iova(w.pd, NULL, SIZE_MAX, iova,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND) && errno == EINVAL);
	}
	mr = ibv_reg_mr(w.pd, page[0], 64, IBV_ACCESS_ZERO_BASED);
	CHECK(mr && mr->addr == page[0] && mock.last_mr.kind == CTL_MEMORY && mock.last_mr.iova == 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	dm = ibv_alloc_dm(w.ctx, &attr);
	CHECK(dm);
	mr = ibv_reg_dm_mr(w.pd, dm, 4, 60, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_LOCAL_WRITE);
	CHECK(mr && !mr->addr && mr->length == 60 && mock.last_mr.kind == CTL_DEVICE);
	CHECK(mock.last_mr.dm == 4 && mock.last_mr.addr == 4 && mock.last_mr.iova == 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK(!ibv_reg_dm_mr(w.pd, dm, 0, 4,
	      IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND) && errno == EINVAL);
	CHECK_EQ(ibv_free_dm(dm), 0);
	world_close(&w);
}

/* Nothing stays open or mapped after a refusal: ASan and the fd tell. */
static void
reg_dmabuf_mr__refusals(void)
{
	int fd = memfd_create("plain", MFD_CLOEXEC), next = dup(fd);
	struct world w;

	CHECK(fd >= 0 && ftruncate(fd, 8192) == 0);
	close(next);
	world_open(&w, (struct world_conf){ 0 });
#define DMABUF(...) (ibv_reg_dmabuf_mr(w.pd, __VA_ARGS__) ? 0 : errno)
	CHECK_EQ(DMABUF(0, 4096, 0, fd, RW), EINVAL);	/* it is none */
	CHECK_EQ(DMABUF(0, 4096, 0, -1, RW), EBADF);
	CHECK_EQ(DMABUF(0, 4096, 0, fd, IBV_ACCESS_ON_DEMAND), EINVAL);
	CHECK_EQ(DMABUF(0, 4096, 0, fd, IBV_ACCESS_ZERO_BASED), EINVAL);
	CHECK_EQ(DMABUF(1, 4096, 2, fd, RW), EINVAL);
#undef DMABUF
	world_close(&w);
	CHECK_EQ(dup(fd), next);
	close(next);
	close(fd);
}

static const struct check_case cases[] = {
	CHECK_CASE(rereg_mr__keeps_the_structure_current),
	CHECK_CASE(rereg_mr__failure_leaves_the_structure),
	CHECK_CASE(advise_mr__touches_what_it_may),
	CHECK_CASE(dm__copies_words_within),
	CHECK_CASE(dm__a_child_has_its_own),
	CHECK_CASE(reg_mr__kinds),
	CHECK_CASE(reg_dmabuf_mr__refusals),
};

CHECK_MAIN(cases)

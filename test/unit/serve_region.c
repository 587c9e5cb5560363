/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kinds of regions under the whole stack: named by 0, of no memory, of all memory, of device memory, of more
 * than 4 GiB. What a peer or a WR reaches by them, and what they refuse.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "serve_region.h"

#define RW (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static void
fill(void *at, uint32_t len, uint8_t seed)
{
	for (uint32_t i = 0; i < len; i++)
		((uint8_t *)at)[i] = (uint8_t)(seed + i * 3);
}

/* A region whose first byte is named `name`: by peers, and by WRs of its owner. */
static void
named_by(struct ibv_mr *mr, uint8_t *at, uint64_t name)
{
	struct ibv_sge sge = { name + 10, 100, mr->lkey };
	uint8_t *from = v.buf + 4096;

	fill(from, 100, (uint8_t)name);
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)from, 100, v.mr->lkey, name + 5, mr->rkey),
		 IBV_WC_SUCCESS);
	CHECK_MEM(at + 5, from, 100);
	CHECK_EQ(run(IBV_WR_RDMA_READ, (uintptr_t)from + 200, 100, v.mr->lkey, name + 5, mr->rkey),
		 IBV_WC_SUCCESS);
	CHECK_MEM(from + 200, from, 100);
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, name + 5, 100, mr->lkey, (uintptr_t)from + 400, v.mr->rkey),
		 IBV_WC_SUCCESS);
	CHECK_MEM(from + 400, from, 100);
	fill(v.buf, 100, 9);
	CHECK_EQ(receive(&sge, 1, 100), IBV_WC_SUCCESS);
	CHECK_MEM(at + 10, v.buf, 100);
	/* its last byte, and the one behind */
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)from, 1, v.mr->lkey, name + mr->length - 1, mr->rkey),
		 IBV_WC_SUCCESS);
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)from, 2, v.mr->lkey, name + mr->length - 1, mr->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	again();
}

static void
region__zero_based(void)
{
	struct ibv_mr *mr;
	uint8_t *at;

	open_verbs("inline", 64, 16);
	at = v.buf + 8192 + 24;
	mr = ibv_reg_mr(v.pd, at, 1000, RW | IBV_ACCESS_ZERO_BASED);
	MUST(mr && mr->addr == at);
	named_by(mr, at, 0);
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)v.buf, 8, v.mr->lkey, (uintptr_t)at, mr->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	again();
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr_iova2(v.pd, at, 1000, 0, RW);
	MUST(mr);
	named_by(mr, at, 0);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr_iova(v.pd, at, 1000, UINT64_MAX - 999, RW);
	MUST(mr);
	named_by(mr, at, UINT64_MAX - 999);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(close_verbs(), 0);
}

static void
null_mr__zeros_out_and_nothing_in(void)
{
	struct ibv_sge sge[3];
	struct ibv_mr *null;
	uint8_t zeros[3000] = { 0 };

	open_verbs("inline", 64, 16);
	longer_lists();
	null = ibv_alloc_null_mr(v.pd);
	MUST(null);
	fill(v.buf, 8000, 1);
	memset(v.buf + 20000, 0xee, 8000);
	sge[0] = (struct ibv_sge){ (uintptr_t)v.buf, 1000, v.mr->lkey };
	sge[1] = (struct ibv_sge){ 77, 3000, null->lkey };
	sge[2] = (struct ibv_sge){ (uintptr_t)v.buf + 1000, 1000, v.mr->lkey };
	CHECK_EQ(run_list(IBV_WR_RDMA_WRITE, sge, 3, (uintptr_t)v.buf + 20000, v.mr->rkey), IBV_WC_SUCCESS);
	CHECK_MEM(v.buf + 20000, v.buf, 1000);
	CHECK_MEM(v.buf + 21000, zeros, 3000);
	CHECK_MEM(v.buf + 24000, v.buf + 1000, 1000);
	CHECK_EQ(v.buf[25000], 0xee);
	/* of a READ and of a SEND, what falls into it is gone and the rest in its place */
	fill(v.buf + 40000, 5000, 7);
	CHECK_EQ(run_list(IBV_WR_RDMA_READ, sge, 3, (uintptr_t)v.buf + 40000, v.mr->rkey), IBV_WC_SUCCESS);
	CHECK_MEM(v.buf, v.buf + 40000, 1000);
	CHECK_MEM(v.buf + 1000, v.buf + 44000, 1000);
	fill(v.buf, 5000, 3);
	sge[0].addr = (uintptr_t)v.buf + 60000;
	sge[1].addr = UINT64_MAX;
	sge[2].addr = (uintptr_t)v.buf + 61000;
	CHECK_EQ(receive(sge, 3, 5000), IBV_WC_SUCCESS);
	CHECK_MEM(v.buf + 60000, v.buf, 1000);
	CHECK_MEM(v.buf + 61000, v.buf + 4000, 1000);
	/* nothing for peers, and nothing to change */
	CHECK_EQ(run(IBV_WR_RDMA_READ, (uintptr_t)v.buf, 8, v.mr->lkey, 0, null->lkey),
		 IBV_WC_REM_ACCESS_ERR);
	again();
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)v.buf, 8, v.mr->lkey, 0, null->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_rereg_mr(null, IBV_REREG_MR_CHANGE_PD, v.pd, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(ibv_dereg_mr(null), 0);
	CHECK_EQ(close_verbs(), 0);
}

/* Whatever is mapped, also since; and where nothing is, an error on that QP and no signal. */
static void
implicit_mr__error_where_nothing_is_mapped(void)
{
	const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND;
	uint8_t here[64], *later;
	struct ibv_sge sge;
	struct ibv_mr *all;

	open_verbs("inline", 64, 16);
	all = ibv_reg_mr(v.pd, NULL, SIZE_MAX, access);
	MUST(all);
	later = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fill(here, 64, 5);
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)here, 64, all->lkey, (uintptr_t)v.buf + 100, v.mr->rkey),
		 IBV_WC_SUCCESS);
	CHECK_MEM(v.buf + 100, here, 64);
	fill(v.buf, 6000, 11);
	sge = (struct ibv_sge){ (uintptr_t)later + 100, 6000, all->lkey };
	CHECK_EQ(receive(&sge, 1, 6000), IBV_WC_SUCCESS);
	CHECK_MEM(later + 100, v.buf, 6000);
	CHECK_EQ(run(IBV_WR_RDMA_READ, (uintptr_t)later, 2000, all->lkey, (uintptr_t)v.buf, v.mr->rkey),
		 IBV_WC_SUCCESS);
	CHECK_MEM(later, v.buf, 2000);
	munmap(later + 4096, 4096);
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)later + 4000, 200, all->lkey, (uintptr_t)v.buf,
		 v.mr->rkey),
		 IBV_WC_LOC_PROT_ERR);
	again();
	CHECK_EQ(run(IBV_WR_RDMA_READ, (uintptr_t)later + 4000, 200, all->lkey, (uintptr_t)v.buf, v.mr->rkey),
		 IBV_WC_LOC_PROT_ERR);
	again();
	CHECK_EQ(receive(&sge, 1, 6000), IBV_WC_LOC_PROT_ERR);
	again();
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, UINT64_MAX - 3, 4, all->lkey, (uintptr_t)v.buf, v.mr->rkey),
		 IBV_WC_LOC_PROT_ERR);
	again();
	/* a peer has no right to it, and cannot be given one */
	CHECK_EQ(run(IBV_WR_RDMA_READ, (uintptr_t)v.buf, 8, v.mr->lkey, (uintptr_t)later, all->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_rereg_mr(all, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
		 access | IBV_ACCESS_REMOTE_READ),
		 IBV_REREG_MR_ERR_INPUT);
	CHECK_EQ(errno, EOPNOTSUPP);
	CHECK_EQ(ibv_dereg_mr(all), 0);
	munmap(later, 4096);
	CHECK_EQ(close_verbs(), 0);
}

/* The same memory through a region, by word copies, and by peers. */
static void
dm__is_a_zero_based_region(void)
{
	struct ibv_alloc_dm_attr attr = { .length = 10000, .log_align_req = 6 };
	uint8_t zeros[64] = { 0 };
	uint64_t word = 0;
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	open_verbs("inline", 64, 16);
	dm = ibv_alloc_dm(v.ctx, &attr);
	MUST(dm);
	mr = ibv_reg_dm_mr(v.pd, dm, 4096, 5000, RW | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED);
	MUST(mr);
	fill(v.buf, 5000, 77);
	CHECK_EQ(ibv_memcpy_from_dm(v.buf + 9000, dm, 0, 64), 0);
	CHECK_MEM(v.buf + 9000, zeros, 64);
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)v.buf, 5000, v.mr->lkey, 0, mr->rkey), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_memcpy_from_dm(v.buf + 9000, dm, 4096, 5000), 0);
	CHECK_MEM(v.buf + 9000, v.buf, 5000);
	CHECK_EQ(ibv_memcpy_from_dm(v.buf + 9000, dm, 4092, 4), 0);
	CHECK_MEM(v.buf + 9000, zeros, 4);
	CHECK_EQ(run(IBV_WR_RDMA_READ, 1000, 500, mr->lkey, (uintptr_t)v.buf, v.mr->rkey), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_memcpy_from_dm(v.buf + 9000, dm, 5096, 500), 0);
	CHECK_MEM(v.buf + 9000, v.buf, 500);
	CHECK_EQ(ibv_memcpy_to_dm(dm, 4096 + 8, &word, 8), 0);
	CHECK_EQ(run(IBV_WR_ATOMIC_FETCH_AND_ADD, (uintptr_t)v.buf, 8, v.mr->lkey, 8, mr->rkey),
		 IBV_WC_SUCCESS);
	CHECK_EQ(ibv_memcpy_from_dm(&word, dm, 4096 + 8, 8), 0);
	CHECK_EQ(word, 1);
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)v.buf, 1, v.mr->lkey, 5000, mr->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_free_dm(dm), EBUSY);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_free_dm(dm), 0);
	CHECK_EQ(close_verbs(), 0);
}

/* errno of taking so much; 0: *out has it */
static int
take(uint64_t length, uint32_t align, struct ibv_dm **out)
{
	struct ibv_alloc_dm_attr attr = { .length = length, .log_align_req = align };

	*out = ibv_alloc_dm(v.ctx, &attr);
	return *out ? 0 : errno;
}

static int
reg_dm(struct ibv_dm *dm, uint64_t offset, size_t length, unsigned int access)
{
	struct ibv_mr *mr = ibv_reg_dm_mr(v.pd, dm, offset, length, access);

	return mr ? ibv_dereg_mr(mr) : errno;
}

/* As much as the device says, which is there again afterwards; and back with a context that is closed. */
static void
dm__limits(void)
{
	const unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED;
	struct ibv_device_attr_ex attr;
	struct ibv_context *ours;
	struct ibv_dm *a, *b;

	open_verbs("inline", 64, 16);
	ours = v.ctx;
	CHECK_EQ(ibv_query_device_ex(v.ctx, NULL, &attr), 0);
	CHECK_EQ(attr.max_dm_size, 16u << 20);
	CHECK_EQ(take(0, 0, &a), EINVAL);
	CHECK_EQ(take(64, 13, &a), EINVAL);
	CHECK_EQ(take(attr.max_dm_size + 1, 0, &a), ENOMEM);
	CHECK_EQ(take(UINT64_MAX, 0, &a), ENOMEM);
	CHECK_EQ(take(attr.max_dm_size - 100, 12, &a), 0);
	CHECK_EQ(take(101, 0, &b), ENOMEM);
	CHECK_EQ(take(100, 0, &b), 0);
	CHECK_EQ(reg_dm(b, 0, 100, access), 0);
	CHECK_EQ(reg_dm(b, 99, 1, access), 0);
	CHECK_EQ(reg_dm(b, 0, 101, access), EINVAL);
	CHECK_EQ(reg_dm(b, 100, 1, access), EINVAL);
	CHECK_EQ(reg_dm(b, UINT64_MAX, 2, access), EINVAL);
	CHECK_EQ(reg_dm(b, 0, 0, access), 0);		/* of no bytes, as on hardware */
	CHECK_EQ(reg_dm(b, 0, 100, IBV_ACCESS_LOCAL_WRITE), EINVAL);
	CHECK_EQ(reg_dm(b, 0, 100, IBV_ACCESS_ZERO_BASED | IBV_ACCESS_REMOTE_WRITE), EINVAL);
	CHECK_EQ(ibv_free_dm(a), 0);
	CHECK_EQ(ibv_free_dm(b), 0);
	v.ctx = open_ctx();
	CHECK_EQ(take(attr.max_dm_size, 0, &a), 0);
	CHECK_EQ(ibv_close_device(v.ctx), 0);	/* takes it along */
	free(a);
	v.ctx = ours;
	CHECK_EQ(take(attr.max_dm_size, 0, &a), 0);
	CHECK_EQ(ibv_free_dm(a), 0);
	CHECK_EQ(close_verbs(), 0);
}

static void
query_device_ex__what_is_on_demand(void)
{
	const uint32_t rc = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE |
			    IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
	struct ibv_device_attr_ex attr;

	open_verbs("inline", 64, 16);
	CHECK_EQ(ibv_query_device_ex(v.ctx, NULL, &attr), 0);
	CHECK_EQ(attr.odp_caps.general_caps, IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT);
	CHECK_EQ(attr.odp_caps.per_transport_caps.rc_odp_caps, rc);
	CHECK_EQ(attr.odp_caps.per_transport_caps.uc_odp_caps,
		 IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_WRITE);
	CHECK_EQ(attr.odp_caps.per_transport_caps.ud_odp_caps,
		 IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV);
	CHECK_EQ(attr.xrc_odp_caps, rc & ~(uint32_t)IBV_ODP_SUPPORT_RECV);
	CHECK_EQ(close_verbs(), 0);
}

#define VAST (UINT64_C(5) << 30)

/* 5 GiB without memory until it is used: offsets beyond 4 GiB at both ends, and the range as precise. */
static void
region__five_gib(void)
{
	static const uint64_t offsets[] = { (UINT64_C(4) << 30) - 4000, (UINT64_C(4) << 30) + 12345,
					    VAST - 8000 };
	uint8_t *at = mmap(NULL, VAST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);
	struct ibv_device_attr attr;
	struct ibv_mr *mr;

	if (at == MAP_FAILED) {
		printf("no 5 GiB of address space here\n");
		return;
	}
	open_verbs("inline", 64, 16);
	CHECK_EQ(ibv_query_device(v.ctx, &attr), 0);
	CHECK(attr.max_mr_size >= VAST);
	mr = ibv_reg_mr(v.pd, at, VAST, RW | IBV_ACCESS_ZERO_BASED);
	MUST(mr && mr->length == VAST);
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t off = offsets[i];

		fill(v.buf, 8000, (uint8_t)(i + 1));
		CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)v.buf, 8000, v.mr->lkey, off, mr->rkey),
			 IBV_WC_SUCCESS);
		CHECK_MEM(at + off, v.buf, 8000);
		CHECK_EQ(at[(uint32_t)off], off >> 32 ? 0 : v.buf[0]);	/* not where 32 bits lead */
		CHECK_EQ(run(IBV_WR_RDMA_READ, (uintptr_t)v.buf + 20000, 8000, v.mr->lkey, off, mr->rkey),
			 IBV_WC_SUCCESS);
		CHECK_MEM(v.buf + 20000, v.buf, 8000);
		CHECK_EQ(run(IBV_WR_RDMA_WRITE, off, 8000, mr->lkey, (uintptr_t)v.buf + 40000, v.mr->rkey),
			 IBV_WC_SUCCESS);
		CHECK_MEM(v.buf + 40000, v.buf, 8000);
	}
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)v.buf, 8001, v.mr->lkey, VAST - 8000, mr->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	again();
	CHECK_EQ(run(IBV_WR_RDMA_READ, (uintptr_t)v.buf, 1, v.mr->lkey, VAST, mr->rkey),
		 IBV_WC_REM_ACCESS_ERR);
	again();
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, VAST - 1, 2, mr->lkey, (uintptr_t)v.buf, v.mr->rkey),
		 IBV_WC_LOC_PROT_ERR);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(at, VAST);
	CHECK_EQ(close_verbs(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(region__zero_based),
	CHECK_CASE(null_mr__zeros_out_and_nothing_in),
	CHECK_CASE(implicit_mr__error_where_nothing_is_mapped),
	CHECK_CASE(dm__is_a_zero_based_region),
	CHECK_CASE(dm__limits),
	CHECK_CASE(query_device_ex__what_is_on_demand),
	CHECK_CASE(region__five_gib),
};

CHECK_MAIN(cases)

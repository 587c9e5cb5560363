/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls about kinds of memory that are not a program's own, and about pages that are. */
#include <unistd.h>

#include "api.h"

#define NEED(x) \
	do { \
		if (!(x)) \
			return SKIP; \
	} while (0)
#define ROOM(kind) NEED(api.num[kind] < MAX_LIVE)

/* There is none here: whatever it is, it is refused. */
int
call_reg_dmabuf_mr(void)
{
	struct ibv_pd *pd = pick_any(PD);
	int fd = one_in(2) ? api.ctx->async_fd : (int)rnd_word();
	uint64_t at = rnd64() >> below(64);

	NEED(pd);
	api.wrong = true;
	return made(MR, plx_reg_dmabuf_mr(pd, at, any_len(), one_in(4) ? rnd64() : at, fd,
					  (int)any_access()));
}

int
call_alloc_null_mr(void)
{
	struct ibv_pd *pd = pick_any(PD);

	ROOM(MR);
	NEED(pd);
	return made(MR, plx_alloc_null_mr(pd));
}

/* Within the buffer, or nowhere: what it populates must not be the guard around it. */
int
call_advise_mr(void)
{
	struct ibv_pd *pd = pick_any(PD);
	struct ibv_mr *mr = pick(MR);
	struct ibv_sge sge[2];

	NEED(pd);
	for (uint32_t i = 0; i < 2; i++)
		sge[i] = (struct ibv_sge){ one_in(8) ? rnd64() : (uintptr_t)any_addr(),
					   one_in(8) ? rnd_word() : below(API_BUF_LEN),
					   mr && !one_in(4) ? mr->lkey : rnd_word() };
	return plx_advise_mr(pd, (enum ibv_advise_mr_advice)(one_in(8) ? rnd_word() : below(3)),
			     one_in(8) ? rnd_word() : below(2), one_in(16) ? NULL : sge, below(3));
}

int
call_alloc_dm(void)
{
	struct ibv_alloc_dm_attr attr = {
		.length = one_in(4) ? any_len() : below(100000),
		.log_align_req = one_in(8) ? rnd_word() : below(13),
		.comp_mask = one_in(8) ? rnd_word() : 0,
	};

	ROOM(DM);
	return made(DM, plx_alloc_dm(api.ctx, &attr));
}

int
call_free_dm(void)
{
	struct ibv_dm *dm = pick_any(DM);

	NEED(dm);
	return ended(DM, dm, plx_free_dm(dm));
}

/* No control call: the structure is what it believes. */
int
call_copy_dm(void)
{
	uint64_t at = one_in(8) ? rnd64() : below(100000);
	struct ibv_dm *dm = pick(DM);
	size_t len = below(API_BUF_LEN);

	NEED(dm);
	if (!one_in(4)) {
		at &= ~UINT64_C(3);
		len &= ~(size_t)3;
	}
	return one_in(2) ? plx_memcpy_to_dm(dm, at, api.buf, len) : plx_memcpy_from_dm(api.buf, dm, at, len);
}

int
call_reg_dm_mr(void)
{
	struct ibv_dm *dm = pick_any(DM);
	struct ibv_pd *pd = pick_any(PD);
	uint64_t at = one_in(8) ? rnd64() : below(100000);

	ROOM(MR);
	NEED(pd);
	NEED(dm);
	return made(MR, plx_reg_dm_mr(pd, dm, at, one_in(4) ? any_len() : below(100000),
				      any_access() | (one_in(4) ? 0 : (unsigned int)IBV_ACCESS_ZERO_BASED)));
}

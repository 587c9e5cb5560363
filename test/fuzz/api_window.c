/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls about memory windows, and what a bind says. */
#include "api.h"

#define NEED(x) \
	do { \
		if (!(x)) \
			return SKIP; \
	} while (0)

int
call_alloc_mw(void)
{
	struct ibv_pd *pd = pick_any(PD);
	unsigned int type = one_in(8) ? rnd_word() : 1 + below(2);

	NEED(pd && api.num[MW] < MAX_LIVE);
	if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2)
		api.wrong = true;
	return made(MW, plx_alloc_mw(pd, (enum ibv_mw_type)type));
}

int
call_dealloc_mw(void)
{
	struct ibv_mw *mw = pick_any(MW);

	NEED(mw);
	return ended(MW, mw, plx_dealloc_mw(mw));
}

/* Of a living region, mostly, and of the rights that there are. */
void
rnd_bind_info(struct ibv_mw_bind_info *info)
{
	struct ibv_mr *mr = one_in(12) ? other_object(MR) : one_in(12) ? NULL : pick(MR);

	*info = (struct ibv_mw_bind_info){
		.mr = mr,
		.addr = one_in(8) ? rnd64() : mr ? (uintptr_t)mr->addr + below(64) : 0,
		.length = one_in(8) ? rnd64() : one_in(4) ? 0 : below(5000),
		.mw_access_flags = one_in(8) ? rnd_word() : below(8) << 1,
	};
}

int
call_bind_mw(void)
{
	struct ibv_mw_bind bind = { .wr_id = rnd64(),
				    .send_flags = one_in(8) ? rnd_word() : IBV_SEND_SIGNALED };
	struct ibv_mw *mw = pick(MW);
	struct ibv_qp *qp = pick(QP);

	NEED(mw && qp);
	rnd_bind_info(&bind.bind_info);
	return plx_bind_mw(qp, mw, &bind);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches of the work request builder: any work request with any setters, or with none, or with two. */
#include "api.h"

#define MAX_BATCH 5

/* Lengths may be anything where data is only named, and must be true where it is copied. */
static struct ibv_sge
rnd_sge(void)
{
	struct ibv_mr *mr = pick(MR);

	return (struct ibv_sge){ (uintptr_t)api.buf + below(API_BUF_LEN / 2),
				 one_in(16) ? rnd_word() : below(600), mr ? mr->lkey : rnd_word() };
}

static void
one_request(struct ibv_qp_ex *ex)
{
	struct ibv_mr *mr = pick(MR);
	struct ibv_mw *mw = one_in(8) ? NULL : pick(MW);
	uint32_t key = mr && !one_in(8) ? mr->rkey : rnd_word();
	uint64_t addr = one_in(16) ? rnd64() : (uintptr_t)api.buf + below(API_BUF_LEN) / 8 * 8;
	struct ibv_mw_bind_info bind = { .mr = mr, .addr = addr, .length = any_len(),
					 .mw_access_flags = any_access() };

	ex->wr_id = rnd64();
	ex->wr_flags = one_in(8) ? rnd_word() : IBV_SEND_SIGNALED;
	switch (below(12)) {
	case 0:
		plx_wr_send(ex);
		break;
	case 1:
		plx_wr_send_imm(ex, key);
		break;
	case 2:
		plx_wr_send_inv(ex, key);
		break;
	case 3:
		plx_wr_rdma_write(ex, key, addr);
		break;
	case 4:
		plx_wr_rdma_write_imm(ex, key, addr, key);
		break;
	case 5:
		plx_wr_rdma_read(ex, key, addr);
		break;
	case 6:
		plx_wr_atomic_cmp_swp(ex, key, addr, rnd64(), rnd64());
		break;
	case 7:
		plx_wr_atomic_fetch_add(ex, key, addr, rnd64());
		break;
	case 8:
		plx_wr_local_inv(ex, one_in(2) ? rnd_word() : key);
		break;
	case 9:
		plx_wr_bind_mw(ex, mw, mw && !one_in(8) ? mw->rkey ^ below(256) : key, &bind);
		break;
	case 10:
		plx_wr_flush(ex, key, addr, any_len(), (uint8_t)rnd_word(), (uint8_t)rnd_word());
		break;
	default:
		plx_wr_atomic_write(ex, key, addr, api.buf);
		break;
	}
}

static void
one_setter(struct ibv_qp_ex *ex)
{
	struct ibv_data_buf data[4];
	struct ibv_sge sge[40];

	for (int i = 0; i < 40; i++)
		sge[i] = rnd_sge();
	for (int i = 0; i < 4; i++)
		data[i] = (struct ibv_data_buf){ api.buf + below(API_BUF_LEN / 2), below(200) };
	switch (below(4)) {
	case 0:
		plx_wr_set_sge(ex, sge[0].lkey, sge[0].addr, sge[0].length);
		break;
	case 1:
		plx_wr_set_sge_list(ex, one_in(8) ? below(40) : below(3), sge);
		break;
	case 2:
		plx_wr_set_inline_data(ex, api.buf, one_in(8) ? below(API_BUF_LEN) : below(64));
		break;
	default:
		plx_wr_set_inline_data_list(ex, below(5), data);
		break;
	}
}

/* What the type needs, mostly. */
static void
one_way(struct ibv_qp_ex *ex)
{
	struct ibv_srq *srq = pick(SRQ);
	uint32_t number;

	if (ex->qp_base.qp_type == IBV_QPT_UD ? !one_in(8) : one_in(16))
		plx_wr_set_ud_addr(ex, one_in(16) ? NULL : pick(AH), ex->qp_base.qp_num, below(2));
	if (ex->qp_base.qp_type == IBV_QPT_XRC_SEND ? !one_in(8) : one_in(16))
		plx_wr_set_xrc_srqn(ex, srq && !plx_get_srq_num(srq, &number) ? number : rnd_word());
}

int
call_build(void)
{
	struct ibv_qp_ex *ex = NULL;

	for (unsigned int i = 0; !ex && i < api.num[QP]; i++)
		ex = plx_qp_to_qp_ex(pick(QP));
	if (!ex)
		return SKIP;
	plx_wr_start(ex);
	for (uint32_t n = below(MAX_BATCH); n > 0; n--) {
		one_request(ex);
		for (uint32_t setters = one_in(8) ? below(3) : 1; setters > 0; setters--)
			one_setter(ex);
		one_way(ex);
	}
	if (!one_in(8))
		return plx_wr_complete(ex);
	plx_wr_abort(ex);
	return 0;
}

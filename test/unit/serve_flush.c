/* SPDX-License-Identifier: BSD-3-Clause */
/* ATOMIC_WRITE and FLUSH between two QPs of a whole stack, by the verbs. */
#include <string.h>

#include "serve_verbs.h"

#define WORD (BUF_LEN / 2 + 64)

static uint64_t
word_at(size_t offset)
{
	return __atomic_load_n((uint64_t *)(void *)(v.buf + offset), __ATOMIC_ACQUIRE);
}

static enum ibv_wc_status
atomic_write(struct ibv_qp *qp, uint64_t value, size_t to, uint32_t rkey, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)v.buf, 8, v.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = value, .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_ATOMIC_WRITE,
				  .send_flags = IBV_SEND_SIGNALED | flags }, *bad;
	struct ibv_wc wc = { 0 };

	memcpy(v.buf, &value, 8);
	wr.wr.rdma.remote_addr = (uintptr_t)v.buf + to;
	wr.wr.rdma.rkey = rkey;
	MUST(ibv_post_send(qp, &wr, &bad) == 0 && poll_one(v.cq, &wc) && wc.wr_id == value);
	MUST(wc.status || (wc.opcode == IBV_WC_ATOMIC_WRITE && wc.byte_len == 8));
	return wc.status;
}

static void
atomic_write__lands_as_a_word(void)
{
	open_verbs("inline", 64, 16);
	CHECK_EQ(atomic_write(v.a, 0x1122334455667788, WORD, v.mr->rkey, 0), IBV_WC_SUCCESS);
	CHECK_EQ(word_at(WORD), 0x1122334455667788);
	CHECK_EQ(atomic_write(v.b, 0x99, WORD + 8, v.mr->rkey, IBV_SEND_INLINE), IBV_WC_SUCCESS);
	CHECK_EQ(word_at(WORD + 8), 0x99);
	CHECK_EQ(word_at(WORD), 0x1122334455667788);
	CHECK_EQ(close_verbs(), 0);
}

static void
atomic_write__refused_by_the_peer(void)
{
	open_verbs("inline", 64, 16);
	CHECK_EQ(atomic_write(v.a, 5, WORD + 4, v.mr->rkey, 0), IBV_WC_REM_INV_REQ_ERR);
	CHECK_EQ(word_at(WORD), 0);
	CHECK_EQ(state_of(v.a), IBV_QPS_ERR);
	CHECK_EQ(close_verbs(), 0);
	open_verbs("inline", 64, 16);
	CHECK_EQ(atomic_write(v.a, 5, WORD, v.mr->rkey ^ 1, 0), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(word_at(WORD), 0);
	CHECK_EQ(close_verbs(), 0);
}

static void
query_device__says_so(void)
{
	struct ibv_device_attr_ex attr;

	open_verbs("inline", 64, 16);
	CHECK_EQ(ibv_query_device_ex(v.ctx, NULL, &attr), 0);
	CHECK(attr.device_cap_flags_ex & PLX_DEVICE_FLUSH_GLOBAL);
	CHECK(attr.device_cap_flags_ex & PLX_DEVICE_ATOMIC_WRITE);
	CHECK(!(attr.device_cap_flags_ex & PLX_DEVICE_FLUSH_PERSISTENT));
	CHECK_EQ(close_verbs(), 0);
}

static struct ibv_qp *
new_flusher(void)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = v.cq, .recv_cq = v.cq, .qp_type = IBV_QPT_RC, .cap = { 16, 16, 2, 2, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .pd = v.pd,
		.send_ops_flags = PLX_QP_EX_WITH_FLUSH | IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_ATOMIC_WRITE,
	};

	return ibv_create_qp_ex(v.ctx, &init);
}

/* A flusher and its peer, which has the right or has it not. */
static struct ibv_qp_ex *
open_flusher(unsigned int right, struct ibv_mr **mr)
{
	struct ibv_qp_attr attr = { .qp_access_flags = ALL_ACCESS | right };

	open_verbs("inline", 64, 16);
	MUST(ibv_destroy_qp(v.a) == 0 && ibv_destroy_qp(v.b) == 0);
	v.a = new_flusher();
	v.b = new_qp(v.cq, 16, 0);
	connect_pair(v.a, v.b);
	MUST(ibv_modify_qp(v.b, &attr, IBV_QP_ACCESS_FLAGS) == 0);
	*mr = ibv_reg_mr(v.pd, v.buf + BUF_LEN / 2, 4096, ALL_ACCESS | PLX_ACCESS_FLUSH_GLOBAL);
	MUST(*mr);
	return ibv_qp_to_qp_ex(v.a);
}

static void
flush__after_a_write_and_before_a_word(void)
{
	static const uint8_t opcodes[] = { IBV_WC_RDMA_WRITE, PLX_WC_FLUSH, PLX_WC_FLUSH,
					   IBV_WC_ATOMIC_WRITE };
	uint64_t there, value = 0x77;
	struct ibv_mr *mr;
	struct ibv_qp_ex *ex = open_flusher(PLX_ACCESS_FLUSH_GLOBAL, &mr);
	struct ibv_wc wc;

	there = (uintptr_t)mr->addr;
	memset(v.buf, 0x5a, 1000);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_start(ex);
	ibv_wr_rdma_write(ex, mr->rkey, there);
	ibv_wr_set_sge(ex, v.mr->lkey, (uintptr_t)v.buf, 1000);
	plx_wr_flush(ex, mr->rkey, there, 1000, PLX_FLUSH_GLOBAL, PLX_FLUSH_RANGE);
	/* as a program does that was compiled with a later rdma-core */
	((struct plx_qp *)ex)->v.later.wr_flush(ex, mr->rkey, 0, 0, PLX_FLUSH_GLOBAL, PLX_FLUSH_MR);
	ibv_wr_atomic_write(ex, mr->rkey, there + 1024, &value);
	CHECK_EQ(ibv_wr_complete(ex), 0);
	for (unsigned int i = 0; i < 4; i++)
		CHECK(poll_one(v.cq, &wc) && !wc.status && wc.opcode == opcodes[i]);
	CHECK_EQ(word_at(BUF_LEN / 2 + 1024), 0x77);
	CHECK(!memcmp(mr->addr, v.buf, 1000));
	MUST(ibv_dereg_mr(mr) == 0);
	CHECK_EQ(close_verbs(), 0);
}

/* The QP's right, then the region's; nobody has what persistence needs. */
static void
flush__refused_by_the_peer(void)
{
	static const struct {
		unsigned int right;
		bool plain;		/* a region without the right */
		uint8_t type;
		enum ibv_wc_status status;
	} rows[] = {
		{ 0, false, PLX_FLUSH_GLOBAL, IBV_WC_REM_INV_REQ_ERR },
		{ PLX_ACCESS_FLUSH_GLOBAL, true, PLX_FLUSH_GLOBAL, IBV_WC_REM_ACCESS_ERR },
		{ PLX_ACCESS_FLUSH_GLOBAL, false, PLX_FLUSH_PERSISTENT, IBV_WC_REM_INV_REQ_ERR },
		{ PLX_ACCESS_FLUSH_PERSISTENT, false, PLX_FLUSH_PERSISTENT, IBV_WC_REM_ACCESS_ERR },
	};

	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_mr *mr;
		struct ibv_qp_ex *ex = open_flusher(rows[i].right, &mr);
		struct ibv_wc wc = { 0 };

		ibv_wr_start(ex);
		plx_wr_flush(ex, rows[i].plain ? v.mr->rkey : mr->rkey, (uintptr_t)mr->addr, 8, rows[i].type,
			     PLX_FLUSH_RANGE);
		CHECK_EQ(ibv_wr_complete(ex), 0);
		CHECK(poll_one(v.cq, &wc));
		CHECK_EQ(wc.status, rows[i].status);
		MUST(ibv_dereg_mr(mr) == 0);
		CHECK_EQ(close_verbs(), 0);
	}
}

/* What no FLUSH is, and where there is none. */
static void
flush__refused_at_the_post(void)
{
	static const struct {
		size_t len;
		uint8_t type, level;
		int err;
	} rows[] = {
		{ 8, 0, 0, EINVAL }, { 8, 4, 0, EINVAL }, { 8, 1, 2, EINVAL }, { 1ul << 31, 1, 0, 0 },
		{ (1ul << 31) + 1, 1, 0, EINVAL }, { 1ul << 32, 1, 0, EINVAL },
	};
	struct ibv_mr *mr;
	struct ibv_qp_ex *ex = open_flusher(PLX_ACCESS_FLUSH_GLOBAL, &mr);
	struct ibv_qp_init_attr_ex init = {
		.send_cq = v.cq, .recv_cq = v.cq, .qp_type = IBV_QPT_UC, .cap = { 16, 16, 2, 2, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .pd = v.pd,
		.send_ops_flags = PLX_QP_EX_WITH_FLUSH,
	};
	struct ibv_send_wr wr = { .opcode = (enum ibv_wr_opcode)PLX_WR_FLUSH }, *bad;

	CHECK(!ibv_create_qp_ex(v.ctx, &init) && errno == EOPNOTSUPP);
	CHECK_EQ(ibv_post_send(v.a, &wr, &bad), EINVAL);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ibv_wr_start(ex);
		plx_wr_flush(ex, mr->rkey, (uintptr_t)mr->addr, rows[i].len, rows[i].type, rows[i].level);
		if (rows[i].err)
			CHECK_EQ(ibv_wr_complete(ex), rows[i].err);
		else
			ibv_wr_abort(ex);
	}
	MUST(ibv_dereg_mr(mr) == 0);
	CHECK_EQ(close_verbs(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(atomic_write__lands_as_a_word),
	CHECK_CASE(atomic_write__refused_by_the_peer),
	CHECK_CASE(query_device__says_so),
	CHECK_CASE(flush__after_a_write_and_before_a_word),
	CHECK_CASE(flush__refused_by_the_peer),
	CHECK_CASE(flush__refused_at_the_post),
};

CHECK_MAIN(cases)

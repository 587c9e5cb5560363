/* SPDX-License-Identifier: BSD-3-Clause */
/* ATOMIC_WRITE between two QPs of a whole stack, by the verbs. */
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

static const struct check_case cases[] = {
	CHECK_CASE(atomic_write__lands_as_a_word),
	CHECK_CASE(atomic_write__refused_by_the_peer),
};

CHECK_MAIN(cases)

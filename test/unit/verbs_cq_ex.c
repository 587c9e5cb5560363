/* SPDX-License-Identifier: BSD-3-Clause */
/* From ring slot to what is read of it in place: include/pollux/cq_ex_inline.h. */
#include "verbs_cq_ex.h"

/* The CQ of the world is `cq` from now on, and its QP completes on it. */
static void
swap_cq(struct world *w, struct ibv_cq_ex *cq)
{
	if (ibv_destroy_qp(w->qp) || ibv_destroy_cq(w->cq))
		abort();
	w->cq = ibv_cq_ex_to_cq(cq);
	w->qp = world_qp(w, &(struct world_conf){ 0 });
	world_state(w, IBV_QPS_RTS);
}

/* What a poller sees of a CQE, by the inline functions or by the table. */
struct seen {
	uint64_t wr_id, ts;
	uint32_t status, opcode, vendor_err, byte_len, imm, inv, qp_num, src_qp, wc_flags, zero;
};

static struct seen
see_inline(struct ibv_cq_ex *cq)
{
	struct ibv_wc_tm_info tm = { 1, 1 };

	ibv_wc_read_tm_info(cq, &tm);
	return (struct seen){
		.wr_id = cq->wr_id, .ts = ibv_wc_read_completion_ts(cq), .status = cq->status,
		.opcode = ibv_wc_read_opcode(cq), .vendor_err = ibv_wc_read_vendor_err(cq),
		.byte_len = ibv_wc_read_byte_len(cq), .imm = ibv_wc_read_imm_data(cq),
		.inv = ibv_wc_read_invalidated_rkey(cq), .qp_num = ibv_wc_read_qp_num(cq),
		.src_qp = ibv_wc_read_src_qp(cq), .wc_flags = ibv_wc_read_wc_flags(cq),
		.zero = ibv_wc_read_slid(cq) | ibv_wc_read_sl(cq) | ibv_wc_read_dlid_path_bits(cq) |
			ibv_wc_read_cvlan(cq) | ibv_wc_read_flow_tag(cq) | tm.priv | (uint32_t)tm.tag,
	};
}

static struct seen
see_table(struct ibv_cq_ex *cq)
{
	struct ibv_wc_tm_info tm = { 1, 1 };

	cq->read_tm_info(cq, &tm);
	return (struct seen){
		.wr_id = cq->wr_id, .ts = cq->read_completion_ts(cq), .status = cq->status,
		.opcode = cq->read_opcode(cq), .vendor_err = cq->read_vendor_err(cq),
		.byte_len = cq->read_byte_len(cq), .imm = cq->read_imm_data(cq), .inv = cq->read_imm_data(cq),
		.qp_num = cq->read_qp_num(cq), .src_qp = cq->read_src_qp(cq),
		.wc_flags = cq->read_wc_flags(cq),
		.zero = cq->read_slid(cq) | cq->read_sl(cq) | cq->read_dlid_path_bits(cq) |
			cq->read_cvlan(cq) | cq->read_flow_tag(cq) | tm.priv | (uint32_t)tm.tag,
	};
}

static void
check_seen(struct seen s, const struct plx_cqe *c)
{
	CHECK_EQ(s.wr_id, c->wr_id);
	CHECK_EQ(s.ts, c->timestamp);
	CHECK_EQ(s.status, c->status);
	CHECK_EQ(s.opcode, c->opcode);
	CHECK_EQ(s.vendor_err, c->vendor_err);
	CHECK_EQ(s.byte_len, c->byte_len);
	CHECK_EQ(s.imm, c->imm);
	CHECK_EQ(s.inv, c->imm);
	CHECK_EQ(s.qp_num, c->qp_num);
	CHECK_EQ(s.src_qp, c->src_qp);
	CHECK_EQ(s.wc_flags, c->wc_flags);
	CHECK_EQ(s.zero, 0);
}

static const struct plx_cqe kinds[] = {
	{ .wr_id = 1, .opcode = IBV_WC_SEND, .byte_len = 10, .qp_num = 0xabcdef },
	{ .wr_id = 2, .opcode = IBV_WC_RDMA_WRITE, .qp_num = 1 },
	{ .wr_id = 3, .opcode = IBV_WC_RDMA_READ, .byte_len = 1u << 31 },
	{ .wr_id = 4, .opcode = IBV_WC_COMP_SWAP, .byte_len = 8 },
	{ .wr_id = 5, .opcode = IBV_WC_FETCH_ADD, .byte_len = 8 },
	{ .wr_id = 6, .opcode = IBV_WC_RECV, .byte_len = 7, .queue = PLX_CQE_RQ },
	{ .wr_id = 7, .opcode = IBV_WC_RECV, .imm = 0x01020304, .wc_flags = IBV_WC_WITH_IMM,
	  .queue = PLX_CQE_RQ },
	{ .wr_id = 8, .opcode = IBV_WC_RECV_RDMA_WITH_IMM, .imm = 0xffffffff, .wc_flags = IBV_WC_WITH_IMM,
	  .queue = PLX_CQE_RQ },
	{ .wr_id = 9, .opcode = IBV_WC_RECV, .imm = 0xdeadbe01, .wc_flags = IBV_WC_WITH_INV,
	  .queue = PLX_CQE_RQ },
	{ .wr_id = 10, .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_GRH, .src_qp = 0x123456, .byte_len = 44,
	  .queue = PLX_CQE_RQ },
	{ .wr_id = 11, .opcode = IBV_WC_LOCAL_INV },
	{ .wr_id = 12, .opcode = IBV_WC_BIND_MW },
	{ .wr_id = UINT64_MAX, .status = IBV_WC_RETRY_EXC_ERR, .vendor_err = 0x1f, .qp_num = 5 },
	{ .wr_id = 14, .status = IBV_WC_WR_FLUSH_ERR, .opcode = IBV_WC_RECV, .vendor_err = 0x6208,
	  .queue = PLX_CQE_RQ, .timestamp = UINT64_MAX },
};
#define NUM_KINDS (sizeof(kinds) / sizeof(kinds[0]))

static void
wc_read__every_kind_of_completion(void)
{
	struct ibv_cq_ex *cq;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	cq = new_cq(&w, NUM_KINDS, 0);
	CHECK(cq->cq_context == &w && cq->cqe >= (int)NUM_KINDS);
	for (int by_table = 0; by_table < 2; by_table++) {
		for (size_t i = 0; i < NUM_KINDS; i++) {
			struct plx_cqe c = kinds[i];

			c.qp_gen = 0xdead;
			c.timestamp += i;
			mock_push(cq->handle, &c);
		}
		CHECK_EQ(by_table ? cq->start_poll(cq, &none) : ibv_start_poll(cq, &none), 0);
		for (size_t i = 0; i < NUM_KINDS; i++) {
			struct plx_cqe c = kinds[i];

			c.timestamp += i;
			check_seen(by_table ? see_table(cq) : see_inline(cq), &c);
			CHECK_EQ(by_table ? cq->next_poll(cq) : ibv_next_poll(cq),
				 i + 1 == NUM_KINDS ? ENOENT : 0);
		}
		if (by_table)
			cq->end_poll(cq);
		else
			ibv_end_poll(cq);
	}
	CHECK_EQ(mock.cq[cq->handle].ctl->head, 2 * NUM_KINDS);
	free_cq(cq);
	world_close(&w);
}

/* FC57: one at a time, many laps; an empty start needs no end. */
static void
start_poll__one_at_a_time(void)
{
	struct ibv_cq_ex *cq;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	cq = new_cq(&w, 3, 0);
	for (uint64_t n = 0; n < 1000000; n++) {
		mock_complete(cq->handle, 0, PLX_CQE_SQ, n, 0);
		if (ibv_start_poll(cq, &none) || cq->wr_id != n || cq->status || ibv_next_poll(cq) != ENOENT)
			break;
		ibv_end_poll(cq);
		if (ibv_start_poll(cq, &none) != ENOENT)
			break;
	}
	CHECK_EQ(cq->wr_id, 999999);
	CHECK_EQ(mock.cq[cq->handle].ctl->head, 1000000);
	free_cq(cq);
	world_close(&w);
}

/* As many laps with all that fits, ended in the middle, and the plain poll between. */
static void
start_poll__laps_in_pieces(void)
{
	uint64_t next = 0, pushed = 0;
	struct ibv_cq_ex *cq;
	struct ibv_wc wc = { 0 };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	cq = new_cq(&w, 8, 0);
	while (next < 3000) {
		while (pushed - next < 8)
			mock_complete(cq->handle, 0, PLX_CQE_SQ, pushed++, 0);
		for (int turn = 0; turn < 3 && ibv_start_poll(cq, NULL) == 0; turn++) {
			for (int i = 0; i < turn; i++) {
				CHECK_EQ(cq->wr_id, next++);
				CHECK_EQ(ibv_next_poll(cq), 0);
			}
			CHECK_EQ(cq->wr_id, next++);
			ibv_end_poll(cq);
		}
		CHECK_EQ(ibv_poll_cq(ibv_cq_ex_to_cq(cq), 1, &wc), 1);
		CHECK_EQ(wc.wr_id, next++);
	}
	free_cq(cq);
	world_close(&w);
}

/* A next that finds nothing may be asked again, and the end gives nothing back twice. */
static void
next_poll__again_after_none(void)
{
	struct ibv_cq_ex *cq;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	cq = new_cq(&w, 8, 0);
	mock_complete(cq->handle, 0, PLX_CQE_SQ, 1, 0);
	CHECK_EQ(ibv_start_poll(cq, &none), 0);
	CHECK_EQ(ibv_next_poll(cq), ENOENT);
	CHECK_EQ(ibv_next_poll(cq), ENOENT);
	CHECK_EQ(mock.cq[cq->handle].ctl->head, 1);
	mock_complete(cq->handle, 0, PLX_CQE_SQ, 2, 0);
	CHECK_EQ(ibv_next_poll(cq), 0);
	CHECK_EQ(cq->wr_id, 2);
	CHECK_EQ(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	CHECK_EQ(mock.cq[cq->handle].ctl->head, 2);
	free_cq(cq);
	world_close(&w);
}

static int
post_one(struct world *w)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;

	return ibv_post_send(w->qp, &wr, &bad);
}

/* Programs post for what they look at, before they look at the next. */
static void
start_poll__slots_are_free_at_once(void)
{
	struct ibv_cq_ex *cq;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	cq = new_cq(&w, 16, 0);
	swap_cq(&w, cq);
	while (post_one(&w) == 0)
		;
	for (uint32_t n = 1; n <= 16; n++)
		mock_complete(cq->handle, w.qp->handle, PLX_CQE_SQ, n, n);
	CHECK_EQ(ibv_start_poll(cq, &none), 0);
	CHECK_EQ(post_one(&w), 0);
	CHECK_EQ(post_one(&w), ENOMEM);
	/* and what was posted for it has room in the CQ, while it is still looked at */
	CHECK((1u << mock.cq[cq->handle].log2_size) > 16);
	mock_complete(cq->handle, w.qp->handle, PLX_CQE_SQ, 17, 17);
	CHECK_EQ(cq->wr_id, 1);
	for (uint64_t n = 2; n <= 17; n++) {
		CHECK_EQ(ibv_next_poll(cq), 0);
		CHECK_EQ(cq->wr_id, n);
	}
	ibv_end_poll(cq);
	world_close(&w);
}

static void
start_poll__old_completions_free_nothing(void)
{
	struct ibv_cq_ex *cq;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	cq = new_cq(&w, 16, 0);
	swap_cq(&w, cq);
	mock_complete(cq->handle, w.qp->handle, PLX_CQE_SQ, 42, 16);
	mock_push(cq->handle, &(struct plx_cqe){ .qp = UINT32_MAX, .wq_head = 5 });
	CHECK_EQ(ibv_destroy_qp(w.qp), 0);
	w.qp = world_qp(&w, &(struct world_conf){ 0 });
	world_state(&w, IBV_QPS_RTS);
	while (post_one(&w) == 0)
		;
	CHECK_EQ(ibv_start_poll(cq, &none), 0);
	CHECK_EQ(ibv_next_poll(cq), 0);
	CHECK_EQ(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
	CHECK_EQ(post_one(&w), ENOMEM);
	world_close(&w);
}

/* From start to end nobody else has the CQ; an error keeps no lock. */
static void
start_poll__lock(void)
{
	struct ibv_cq_ex *cq;
	struct world w;

	for (uint32_t single = 0; single < 2; single++) {
		struct ibv_poll_cq_attr later = { .comp_mask = 1 };
		uint32_t *lock;

		world_open(&w, (struct world_conf){ 0 });
		cq = new_cq(&w, 4, single ? IBV_CREATE_CQ_ATTR_SINGLE_THREADED : 0);
		lock = &__plx_cq_of(ibv_cq_ex_to_cq(cq))->lock;
		CHECK_EQ(ibv_start_poll(cq, &none), ENOENT);
		CHECK_EQ(*lock, 0);
		mock_complete(cq->handle, 0, PLX_CQE_SQ, 1, 0);
		CHECK_EQ(ibv_start_poll(cq, &later), EINVAL);
		CHECK_EQ(*lock, 0);
		CHECK_EQ(ibv_start_poll(cq, &none), 0);
		CHECK_EQ(*lock, !single);
		CHECK_EQ(ibv_next_poll(cq), ENOENT);
		CHECK_EQ(*lock, !single);
		ibv_end_poll(cq);
		CHECK_EQ(*lock, 0);
		free_cq(cq);
		world_close(&w);
	}
}

static uint32_t driven_cq;

static void
complete_one(unsigned int how)
{
	if (how == CTL_DRIVE_POLL)
		mock_complete(driven_cq, 0, PLX_CQE_SQ, 9, 0);
}

static void
start_poll__drives_once_when_empty(void)
{
	struct ibv_cq_ex *cq;
	struct world w;

	world_open(&w, (struct world_conf){ .can_drive = true });
	cq = new_cq(&w, 4, 0);
	CHECK_EQ(ibv_start_poll(cq, &none), ENOENT);
	CHECK_EQ(mock.drives[CTL_DRIVE_POLL], 1);
	driven_cq = cq->handle;
	mock.on_drive = complete_one;
	CHECK_EQ(ibv_start_poll(cq, &none), 0);
	CHECK_EQ(cq->wr_id, 9);
	CHECK_EQ(mock.drives[CTL_DRIVE_POLL], 2);
	CHECK_EQ(ibv_next_poll(cq), ENOENT);
	CHECK_EQ(mock.drives[CTL_DRIVE_POLL], 2);
	ibv_end_poll(cq);
	mock.on_drive = NULL;
	free_cq(cq);
	world_close(&w);
}

static const struct check_case cases[] = {
	CHECK_CASE(wc_read__every_kind_of_completion),
	CHECK_CASE(start_poll__one_at_a_time),
	CHECK_CASE(start_poll__laps_in_pieces),
	CHECK_CASE(next_poll__again_after_none),
	CHECK_CASE(start_poll__slots_are_free_at_once),
	CHECK_CASE(start_poll__old_completions_free_nothing),
	CHECK_CASE(start_poll__lock),
	CHECK_CASE(start_poll__drives_once_when_empty),
};
CHECK_MAIN(cases)

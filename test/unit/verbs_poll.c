/* SPDX-License-Identifier: BSD-3-Clause */
/* From ring slot to work completion: include/pollux/poll_inline.h, and who is driven. */
#include "check.h"
#include "verbs_world.h"

static void
post(struct world *w, int n, unsigned int flags)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = flags }, *bad;

	while (n--) {
		if (ibv_post_send(w->qp, &wr, &bad))
			abort();
	}
}

static int
room(struct world *w)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	return ibv_post_send(w->qp, &wr, &bad);
}

static void
poll_cq__copies_every_field(void)
{
	struct plx_cqe cqe = {
		.wr_id = 1, .byte_len = 2, .imm = 3, .qp_num = 4, .src_qp = 5, .vendor_err = 6,
		.status = IBV_WC_LOC_LEN_ERR, .opcode = IBV_WC_RECV_RDMA_WITH_IMM,
		.wc_flags = IBV_WC_WITH_IMM, .queue = PLX_CQE_RQ, .qp = 0, .qp_gen = 0xdead,
	};
	struct ibv_wc wc = { 0 };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	memset(&wc, 0xff, sizeof(wc));
	mock_push(w.cq->handle, &cqe);
	CHECK_EQ(ibv_poll_cq(w.cq, 1, &wc), 1);
	CHECK_EQ(wc.wr_id, 1);
	CHECK_EQ(wc.byte_len, 2);
	CHECK_EQ(wc.imm_data, 3);
	CHECK_EQ(wc.qp_num, 4);
	CHECK_EQ(wc.src_qp, 5);
	CHECK_EQ(wc.vendor_err, 6);
	CHECK_EQ(wc.status, IBV_WC_LOC_LEN_ERR);
	CHECK_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK_EQ(wc.wc_flags, IBV_WC_WITH_IMM);
	CHECK_EQ(wc.pkey_index | wc.slid | wc.sl | wc.dlid_path_bits, 0);
	CHECK_EQ(mock.cq[w.cq->handle].ctl->head, 1);
	world_close(&w);
}

static void
poll_cq__many_laps_in_pieces(void)
{
	uint64_t next = 0, pushed = 0;
	struct ibv_wc wc[3];
	struct world w;
	int n;

	world_open(&w, (struct world_conf){ .cqe = 8 });
	CHECK_EQ(ibv_poll_cq(w.cq, 3, wc), 0);
	while (next < 1000) {
		while (pushed - next < 8)
			mock_complete(w.cq->handle, 0, PLX_CQE_SQ, pushed++, 0);
		do {
			n = ibv_poll_cq(w.cq, 3, wc);
			for (int i = 0; i < n; i++)
				CHECK_EQ(wc[i].wr_id, next++);
		} while (n);
		CHECK_EQ(next, pushed);
	}
	world_close(&w);
}

/* FC51: unsignalled WQEs are free once a later signalled one was polled, and not before */
static void
poll_cq__retires_unsignalled(void)
{
	struct ibv_wc wc = { 0 };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	for (uint32_t round = 1; round <= 1000; round++) {
		post(&w, 15, 0);
		post(&w, 1, IBV_SEND_SIGNALED);
		CHECK_EQ(room(&w), ENOMEM);
		mock_complete(w.cq->handle, w.qp->handle, PLX_CQE_SQ, round, round * 16);
		CHECK_EQ(room(&w), ENOMEM);
		CHECK_EQ(ibv_poll_cq(w.cq, 1, &wc), 1);
		while (mock_take_bell())
			;
	}
	world_close(&w);
}

static void
poll_cq__each_queue_retires_its_own(void)
{
	struct ibv_recv_wr rwr = { .wr_id = 1 }, *bad;
	struct ibv_wc wc = { 0 };
	struct world w;

	world_open(&w, (struct world_conf){ .send_wr = 2, .recv_wr = 2 });
	post(&w, 2, IBV_SEND_SIGNALED);
	CHECK_EQ(ibv_post_recv(w.qp, &rwr, &bad), 0);
	CHECK_EQ(ibv_post_recv(w.qp, &rwr, &bad), 0);
	mock_complete(w.cq->handle, w.qp->handle, PLX_CQE_RQ, 1, 1);
	CHECK_EQ(ibv_poll_cq(w.cq, 1, &wc), 1);
	CHECK_EQ(room(&w), ENOMEM);
	CHECK_EQ(ibv_post_recv(w.qp, &rwr, &bad), 0);
	CHECK_EQ(ibv_post_recv(w.qp, &rwr, &bad), ENOMEM);
	world_close(&w);
}

/* a CQE of a QP that is gone must not free the slots of the one that has its handle */
static void
poll_cq__generation_mismatch_retires_nothing(void)
{
	uint32_t handle, gen;
	struct ibv_wc wc = { 0 };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	handle = w.qp->handle;
	gen = mock.qp[handle].gen;
	post(&w, 1, IBV_SEND_SIGNALED);
	mock_complete(w.cq->handle, handle, PLX_CQE_SQ, 42, 16);
	CHECK_EQ(ibv_destroy_qp(w.qp), 0);
	w.qp = world_qp(&w, &(struct world_conf){ 0 });
	CHECK_EQ(w.qp->handle, handle);
	CHECK(mock.qp[handle].gen != gen);
	world_state(&w, IBV_QPS_RTS);
	post(&w, 16, IBV_SEND_SIGNALED);
	CHECK_EQ(ibv_poll_cq(w.cq, 1, &wc), 1);
	CHECK_EQ(wc.wr_id, 42);
	CHECK_EQ(room(&w), ENOMEM);
	world_close(&w);
}

static void
poll_cq__handle_out_of_the_table(void)
{
	struct plx_cqe cqe = { .qp = UINT32_MAX, .wq_head = 5 };
	struct ibv_wc wc = { 0 };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	mock_push(w.cq->handle, &cqe);
	CHECK_EQ(ibv_poll_cq(w.cq, 1, &wc), 1);
	world_close(&w);
}

/* E5: RESET frees all slots, and a CQE from before does not take them back */
static void
poll_cq__old_completion_after_reset(void)
{
	struct ibv_wc wc = { 0 };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	post(&w, 16, IBV_SEND_SIGNALED);
	mock_complete(w.cq->handle, w.qp->handle, PLX_CQE_SQ, 1, 3);
	world_state(&w, IBV_QPS_RESET);
	world_state(&w, IBV_QPS_RTS);
	CHECK_EQ(ibv_poll_cq(w.cq, 1, &wc), 1);
	post(&w, 16, IBV_SEND_SIGNALED);
	CHECK_EQ(room(&w), ENOMEM);
	world_close(&w);
}

/* A CQE of that status, of the world's QP or of one that is not there. */
static void
push_of(struct world *w, bool ours, uint64_t wr_id, enum ibv_wc_status status)
{
	struct plx_cqe cqe = { .wr_id = wr_id, .status = (uint8_t)status, .qp = ours ? w->qp->handle : 9,
			       .qp_gen = mock.qp[w->qp->handle].gen };

	mock_push(w->cq->handle, &cqe);
}

/* E5: RESET takes its failures from the CQ, wherever the ring's end is, and leaves all else in order. */
static void
poll_cq__no_failure_from_before_reset(void)
{
	struct ibv_wc wc[8];
	struct world w;

	for (uint32_t at = 0; at < 8; at++) {
		world_open(&w, (struct world_conf){ .cqe = 4 });
		for (uint32_t i = 0; i < at; i++) {
			push_of(&w, true, 99, IBV_WC_SUCCESS);
			CHECK_EQ(ibv_poll_cq(w.cq, 1, wc), 1);
		}
		push_of(&w, true, 1, IBV_WC_SUCCESS);
		push_of(&w, true, 2, IBV_WC_LOC_PROT_ERR);
		push_of(&w, false, 3, IBV_WC_WR_FLUSH_ERR);
		push_of(&w, true, 4, IBV_WC_WR_FLUSH_ERR);
		world_state(&w, IBV_QPS_RESET);
		CHECK_EQ(__plx_cq_of(w.cq)->ctl->head, at + 2);
		push_of(&w, true, 5, IBV_WC_WR_FLUSH_ERR);	/* of its next life */
		push_of(&w, false, 6, IBV_WC_SUCCESS);
		CHECK_EQ(ibv_poll_cq(w.cq, 8, wc), 4);
		CHECK(wc[0].wr_id == 1 && wc[1].wr_id == 3 && wc[2].wr_id == 5 && wc[3].wr_id == 6);
		world_state(&w, IBV_QPS_RESET);			/* and nothing to take */
		push_of(&w, true, 7, IBV_WC_SUCCESS);
		CHECK_EQ(ibv_poll_cq(w.cq, 8, wc), 1);
		world_close(&w);
	}
}

/* Behind work that is not acknowledged the core may wait for more; the head is the core's word. */
static void
post_send__says_when_earlier_work_is_outstanding(void)
{
	struct world w;

	world_open(&w, (struct world_conf){ .can_drive = true });
	post(&w, 1, 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_POST], 1);
	post(&w, 1, 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_POST], 1);
	CHECK_EQ(mock.drives[CTL_DRIVE_MORE], 1);
	__plx_qp_of(w.qp)->sq.ctl->head = 2;
	post(&w, 1, 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_POST], 2);
	world_close(&w);
}

static void
complete_one(unsigned int how)
{
	if (how == CTL_DRIVE_POLL)
		mock_complete(0, 0, PLX_CQE_SQ, 9, 0);
}

static void
poll_cq__drives_once_when_empty(void)
{
	struct ibv_wc wc = { 0 };
	struct world w;

	world_open(&w, (struct world_conf){ .can_drive = true });
	CHECK_EQ(ibv_poll_cq(w.cq, 1, &wc), 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_POLL], 1);
	mock.on_drive = complete_one;
	CHECK_EQ(ibv_poll_cq(w.cq, 1, &wc), 1);
	CHECK_EQ(wc.wr_id, 9);
	CHECK_EQ(mock.drives[CTL_DRIVE_POLL], 2);
	mock.on_drive = NULL;
	mock_complete(w.cq->handle, 0, PLX_CQE_SQ, 10, 0);
	CHECK_EQ(ibv_poll_cq(w.cq, 1, &wc), 1);
	CHECK_EQ(mock.drives[CTL_DRIVE_POLL], 2);
	world_close(&w);
}

static void
poll_cq__no_driving_beside_a_dedicated_core(void)
{
	struct ibv_wc wc = { 0 };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_poll_cq(w.cq, 1, &wc), 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_POLL], 0);
	world_close(&w);
}

/* FC56 */
static void
req_notify__arm_only_grows(void)
{
	uint32_t *arm;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	arm = &mock.cq[w.cq->handle].ctl->arm;
	CHECK_EQ(ibv_req_notify_cq(w.cq, 1), 0);
	CHECK_EQ(*arm, PLX_CQ_ARM_SOLICITED);
	CHECK_EQ(ibv_req_notify_cq(w.cq, 0), 0);
	CHECK_EQ(*arm, PLX_CQ_ARM_ANY);
	CHECK_EQ(ibv_req_notify_cq(w.cq, 1), 0);
	CHECK_EQ(*arm, PLX_CQ_ARM_ANY);
	world_close(&w);
}

static const struct check_case cases[] = {
	CHECK_CASE(poll_cq__copies_every_field),
	CHECK_CASE(poll_cq__many_laps_in_pieces),
	CHECK_CASE(poll_cq__retires_unsignalled),
	CHECK_CASE(poll_cq__each_queue_retires_its_own),
	CHECK_CASE(poll_cq__generation_mismatch_retires_nothing),
	CHECK_CASE(poll_cq__handle_out_of_the_table),
	CHECK_CASE(poll_cq__old_completion_after_reset),
	CHECK_CASE(poll_cq__no_failure_from_before_reset),
	CHECK_CASE(post_send__says_when_earlier_work_is_outstanding),
	CHECK_CASE(poll_cq__drives_once_when_empty),
	CHECK_CASE(poll_cq__no_driving_beside_a_dedicated_core),
	CHECK_CASE(req_notify__arm_only_grows),
};
CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/* From work request to ring slot: include/pollux/verbs_inline.h. */
#include "check.h"
#include "verbs_world.h"

static struct ibv_sge sges[PLX_MAX_SGE + 1];
static char buf[1024];

/* A chain of n SENDs of one SGE. */
static struct ibv_send_wr *
chain(struct ibv_send_wr *wr, int n)
{
	memset(wr, 0, sizeof(*wr) * (size_t)n);
	sges[0] = (struct ibv_sge){ (uintptr_t)buf, 8, 0x11 };
	for (int i = 0; i < n; i++) {
		wr[i].wr_id = 100 + (uint64_t)i;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
		wr[i].sg_list = sges;
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].send_flags = IBV_SEND_SIGNALED;
	}
	return wr;
}

static void
post_send__fills_every_field(void)
{
	struct ibv_send_wr wr, *bad = NULL;
	const struct plx_sq_wqe *wqe;
	const struct plx_sge *sge;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	chain(&wr, 1);
	sges[1] = (struct ibv_sge){ (uintptr_t)buf + 100, 30, 0x22 };
	wr.num_sge = 2;
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.imm_data = htobe32(0x11223344);
	wr.send_flags = IBV_SEND_FENCE | IBV_SEND_SOLICITED | IBV_SEND_IP_CSUM;
	wr.wr.rdma.remote_addr = 0x1122334455667788ull;
	wr.wr.rdma.rkey = 0x99;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	wqe = mock_sq_wqe(w.qp->handle, 0);
	sge = (const struct plx_sge *)(wqe + 1);
	CHECK_EQ(wqe->wr_id, 100);
	CHECK_EQ(wqe->opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
	CHECK_EQ(wqe->flags, PLX_WQE_FENCE | PLX_WQE_SOLICITED);
	CHECK_EQ(wqe->num_sge, 2);
	CHECK_EQ(wqe->length, 38);
	CHECK_EQ(wqe->imm, htobe32(0x11223344));
	CHECK_EQ(wqe->remote_addr, 0x1122334455667788ull);
	CHECK_EQ(wqe->rkey, 0x99);
	CHECK_EQ(sge[1].addr, (uintptr_t)buf + 100);
	CHECK_EQ(sge[1].length, 30);
	CHECK_EQ(sge[1].lkey, 0x22);
	CHECK_EQ(mock.qp[w.qp->handle].sq.ctl->tail, 1);
	world_close(&w);
}

static void
post_send__atomic_operands(void)
{
	struct ibv_send_wr wr, *bad = NULL;
	const struct plx_sq_wqe *wqe;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	chain(&wr, 1);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr.wr.atomic.remote_addr = 0x8000;
	wr.wr.atomic.rkey = 0x77;
	wr.wr.atomic.compare_add = 5;
	wr.wr.atomic.swap = 6;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	wqe = mock_sq_wqe(w.qp->handle, 0);
	CHECK_EQ(wqe->remote_addr, 0x8000);
	CHECK_EQ(wqe->rkey, 0x77);
	CHECK_EQ(wqe->atomic.compare_add, 5);
	CHECK_EQ(wqe->atomic.swap, 6);
	world_close(&w);
}

/* In host order, where the immediate stands of other opcodes. */
static void
post_send__key_to_invalidate(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND_WITH_INV, IBV_WR_LOCAL_INV };
	struct ibv_send_wr wr, *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	for (uint32_t i = 0; i < 2; i++) {
		chain(&wr, 1)->opcode = ops[i];
		wr.invalidate_rkey = 0x11223344;
		CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
		CHECK_EQ(mock_sq_wqe(w.qp->handle, i)->opcode, ops[i]);
		CHECK_EQ(mock_sq_wqe(w.qp->handle, i)->imm, 0x11223344);
	}
	world_close(&w);
}

/* FC51 */
static void
post_send__full_ring_posts_what_fits(void)
{
	struct ibv_send_wr wr[20], *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_post_send(w.qp, chain(wr, 20), &bad), ENOMEM);
	CHECK(bad == &wr[16]);
	CHECK_EQ(mock.qp[w.qp->handle].sq.ctl->tail, 16);
	CHECK_EQ(ibv_post_send(w.qp, chain(wr, 1), &bad), ENOMEM);
	CHECK(bad == &wr[0]);
	world_close(&w);
}

static void
post_send__limit_is_the_cap_not_the_ring(void)
{
	struct ibv_send_wr wr[20], *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ .send_wr = 9 });
	CHECK_EQ(mock.qp[w.qp->handle].sq.log2_size, 4);
	CHECK_EQ(ibv_post_send(w.qp, chain(wr, 20), &bad), ENOMEM);
	CHECK(bad == &wr[9]);
	world_close(&w);
}

static void
post_send__one_doorbell_for_a_chain(void)
{
	struct ibv_send_wr wr[8], *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_post_send(w.qp, chain(wr, 8), &bad), 0);
	CHECK_EQ(mock.bell->tail, 1);
	CHECK_EQ(mock_take_bell(), plx_bell_entry(w.qp->handle, PLX_BELL_SQ));
	CHECK_EQ(mock_take_bell(), 0);
	world_close(&w);
}

static void
post_send__no_second_doorbell_while_one_stands(void)
{
	struct ibv_send_wr wr[2], *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_post_send(w.qp, chain(wr, 2), &bad), 0);
	CHECK_EQ(ibv_post_send(w.qp, chain(wr, 2), &bad), 0);
	CHECK_EQ(mock.bell->tail, 1);
	CHECK(mock_take_bell() != 0);
	CHECK_EQ(ibv_post_send(w.qp, chain(wr, 2), &bad), 0);
	CHECK_EQ(mock.bell->tail, 2);
	world_close(&w);
}

static void
post_send__nothing_posted_rings_nothing(void)
{
	struct ibv_send_wr wr, *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ .can_drive = true });
	chain(&wr, 1)->num_sge = 5;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	CHECK_EQ(mock.bell->tail, 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_POST], 0);
	world_close(&w);
}

static void
post_send__wakes_a_core_that_sleeps(void)
{
	struct ibv_send_wr wr[2], *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_post_send(w.qp, chain(wr, 1), &bad), 0);
	CHECK_EQ(mock.wakes, 0);
	CHECK(mock_take_bell() != 0);
	mock.bell->asleep = 1;
	CHECK_EQ(ibv_post_send(w.qp, chain(wr, 2), &bad), 0);
	CHECK_EQ(mock.wakes, 1);
	world_close(&w);
}

static void
take_all_bells(unsigned int how)
{
	(void)how;
	while (mock_take_bell())
		;
}

static void
post_send__drives_once_and_wakes_only_when_the_bell_stands(void)
{
	struct ibv_send_wr wr[3], *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ .can_drive = true });
	mock.bell->asleep = 1;
	mock.on_drive = take_all_bells;
	CHECK_EQ(ibv_post_send(w.qp, chain(wr, 3), &bad), 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_POST], 1);
	CHECK_EQ(mock.drives[CTL_DRIVE_POLL], 0);
	CHECK_EQ(mock.wakes, 0);
	/* another thread has the core and has looked at the bells already */
	mock.on_drive = NULL;
	CHECK_EQ(ibv_post_send(w.qp, chain(wr, 3), &bad), 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_MORE], 1);
	CHECK_EQ(mock.wakes, 1);
	world_close(&w);
}

static void
post_send__inline_is_copied(void)
{
	struct ibv_send_wr wr, *bad = NULL;
	const struct plx_sq_wqe *wqe;
	struct world w;

	world_open(&w, (struct world_conf){ .inline_data = 64 });
	chain(&wr, 1);
	memset(buf, 'a', 30);
	memset(buf + 30, 'b', 34);
	sges[0] = (struct ibv_sge){ (uintptr_t)buf, 30, 0xbad };
	sges[1] = (struct ibv_sge){ (uintptr_t)buf + 30, 34, 0xbad };
	wr.num_sge = 2;
	wr.send_flags = IBV_SEND_INLINE;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	memset(buf, 'x', 64);
	wqe = mock_sq_wqe(w.qp->handle, 0);
	CHECK_EQ(wqe->flags, PLX_WQE_INLINE);
	CHECK_EQ(wqe->num_sge, 0);
	CHECK_EQ(wqe->length, 64);
	CHECK_MEM((const char *)(wqe + 1) + 29, "abb", 3);
	/* one byte more than was granted */
	sges[1].length = 35;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), EINVAL);
	CHECK(bad == &wr);
	world_close(&w);
}

static void
post_send__inline_is_for_sends_and_writes(void)
{
	struct ibv_send_wr wr, *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ .inline_data = 64 });
	chain(&wr, 1);
	wr.send_flags = IBV_SEND_INLINE;
	wr.opcode = IBV_WR_RDMA_READ;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_RDMA_WRITE;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	world_close(&w);
}

static void
post_send__thirty_two_sges(void)
{
	struct ibv_send_wr wr, *bad = NULL;
	const struct plx_sge *sge;
	struct world w;

	world_open(&w, (struct world_conf){ .sge = PLX_MAX_SGE });
	chain(&wr, 1);
	for (uint32_t i = 0; i <= PLX_MAX_SGE; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)buf + i, i, 0x100 + i };
	wr.num_sge = PLX_MAX_SGE;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	CHECK_EQ(mock_sq_wqe(w.qp->handle, 0)->length, 31 * 32 / 2);
	sge = (const struct plx_sge *)(mock_sq_wqe(w.qp->handle, 0) + 1);
	CHECK_EQ(sge[31].lkey, 0x100 + 31);
	wr.num_sge++;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), EINVAL);
	wr.num_sge = -1;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), EINVAL);
	wr.num_sge = 0;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	CHECK_EQ(mock_sq_wqe(w.qp->handle, 1)->length, 0);
	world_close(&w);
}

static void
post_send__sig_all_signals(void)
{
	struct ibv_send_wr wr, *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ .sig_all = 1 });
	chain(&wr, 1)->send_flags = 0;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	CHECK_EQ(mock_sq_wqe(w.qp->handle, 0)->flags, PLX_WQE_SIGNALED);
	world_close(&w);
}

/* E4, FC52: from RTS on, ERR too (FC36) */
static void
post_send__state(void)
{
	static const struct {
		enum ibv_qp_state state;
		int err;
	} table[] = {
		{ IBV_QPS_RESET, EINVAL }, { IBV_QPS_INIT, EINVAL }, { IBV_QPS_RTR, EINVAL },
		{ IBV_QPS_RTS, 0 }, { IBV_QPS_SQD, 0 }, { IBV_QPS_SQE, 0 }, { IBV_QPS_ERR, 0 },
	};
	struct ibv_send_wr wr, *bad;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		bad = NULL;
		world_state(&w, table[i].state);
		CHECK_EQ(ibv_post_send(w.qp, chain(&wr, 1), &bad), table[i].err);
		CHECK((bad == &wr) == (table[i].err != 0));
	}
	world_close(&w);
}

static void
post_send__opcodes_of_rc(void)
{
	static const enum ibv_wr_opcode yes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD,
		IBV_WR_LOCAL_INV, IBV_WR_SEND_WITH_INV,
	};
	/* a BIND_MW of nothing: verbs_mw.c has those of something */
	static const enum ibv_wr_opcode no[] = {
		IBV_WR_BIND_MW, IBV_WR_TSO, IBV_WR_DRIVER1, (enum ibv_wr_opcode)PLX_WR_FLUSH,
		(enum ibv_wr_opcode)32, (enum ibv_wr_opcode)255,
	};
	struct ibv_send_wr wr, *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		chain(&wr, 1)->opcode = yes[i];
		CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		chain(&wr, 1)->opcode = no[i];
		CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), EINVAL);
	}
	world_close(&w);
}

static void
post_send__no_reads_with_max_rd_atomic_0(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .max_rd_atomic = 0 };
	struct ibv_send_wr wr, *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_modify_qp(w.qp, &attr, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC), 0);
	chain(&wr, 1)->opcode = IBV_WR_RDMA_READ;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), EINVAL);
	chain(&wr, 1)->opcode = IBV_WR_RDMA_WRITE;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	world_state(&w, IBV_QPS_ERR);
	chain(&wr, 1)->opcode = IBV_WR_RDMA_READ;
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	world_close(&w);
}

static void
post_recv__fills_slots_without_a_bell(void)
{
	struct ibv_recv_wr wr[2] = { { .wr_id = 7, .next = &wr[1], .sg_list = sges, .num_sge = 2 },
				     { .wr_id = 8 } };
	struct ibv_recv_wr *bad = NULL;
	const struct plx_rq_wqe *wqe;
	const struct plx_sge *sge;
	struct world w;

	world_open(&w, (struct world_conf){ .can_drive = true });
	sges[0] = (struct ibv_sge){ 0x1000, 10, 0x1 };
	sges[1] = (struct ibv_sge){ 0x2000, 20, 0x2 };
	CHECK_EQ(ibv_post_recv(w.qp, wr, &bad), 0);
	wqe = mock_rq_wqe(w.qp->handle, 0);
	sge = (const struct plx_sge *)(wqe + 1);
	CHECK_EQ(wqe->wr_id, 7);
	CHECK_EQ(wqe->num_sge, 2);
	CHECK_EQ(sge[1].addr, 0x2000);
	CHECK_EQ(sge[1].length, 20);
	CHECK_EQ(sge[1].lkey, 0x2);
	CHECK_EQ(mock_rq_wqe(w.qp->handle, 1)->wr_id, 8);
	CHECK_EQ(mock_rq_wqe(w.qp->handle, 1)->num_sge, 0);
	CHECK_EQ(mock.qp[w.qp->handle].rq.ctl->tail, 2);
	CHECK_EQ(mock.bell->tail, 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_POST], 0);
	world_close(&w);
}

static void
post_recv__rings_where_the_core_asked(void)
{
	struct ibv_recv_wr wr = { .wr_id = 7 }, *bad = NULL;
	struct world w;

	world_open(&w, (struct world_conf){ .can_drive = true });
	mock.qp[w.qp->handle].rq.ctl->bell_wanted = 1;
	CHECK_EQ(ibv_post_recv(w.qp, &wr, &bad), 0);
	CHECK_EQ(mock_take_bell(), plx_bell_entry(w.qp->handle, PLX_BELL_RQ));
	CHECK_EQ(mock.drives[CTL_DRIVE_POST], 1);
	world_close(&w);
}

static void
post_recv__refusals(void)
{
	struct ibv_recv_wr wr[20], *bad = NULL;
	struct world w;

	memset(wr, 0, sizeof(wr));
	for (int i = 0; i < 19; i++)
		wr[i].next = &wr[i + 1];
	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_post_recv(w.qp, wr, &bad), ENOMEM);
	CHECK(bad == &wr[16]);
	world_state(&w, IBV_QPS_RESET);
	CHECK_EQ(ibv_post_recv(w.qp, &wr[19], &bad), EINVAL);
	CHECK(bad == &wr[19]);
	world_state(&w, IBV_QPS_INIT);
	CHECK_EQ(ibv_post_recv(w.qp, &wr[19], &bad), 0);
	wr[19].num_sge = 5;
	CHECK_EQ(ibv_post_recv(w.qp, &wr[19], &bad), EINVAL);
	world_close(&w);
}

static const struct check_case cases[] = {
	CHECK_CASE(post_send__fills_every_field),
	CHECK_CASE(post_send__atomic_operands),
	CHECK_CASE(post_send__key_to_invalidate),
	CHECK_CASE(post_send__full_ring_posts_what_fits),
	CHECK_CASE(post_send__limit_is_the_cap_not_the_ring),
	CHECK_CASE(post_send__one_doorbell_for_a_chain),
	CHECK_CASE(post_send__no_second_doorbell_while_one_stands),
	CHECK_CASE(post_send__nothing_posted_rings_nothing),
	CHECK_CASE(post_send__wakes_a_core_that_sleeps),
	CHECK_CASE(post_send__drives_once_and_wakes_only_when_the_bell_stands),
	CHECK_CASE(post_send__inline_is_copied),
	CHECK_CASE(post_send__inline_is_for_sends_and_writes),
	CHECK_CASE(post_send__thirty_two_sges),
	CHECK_CASE(post_send__sig_all_signals),
	CHECK_CASE(post_send__state),
	CHECK_CASE(post_send__opcodes_of_rc),
	CHECK_CASE(post_send__no_reads_with_max_rd_atomic_0),
	CHECK_CASE(post_recv__fills_slots_without_a_bell),
	CHECK_CASE(post_recv__rings_where_the_core_asked),
	CHECK_CASE(post_recv__refusals),
};
CHECK_MAIN(cases)

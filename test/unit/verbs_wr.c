/* SPDX-License-Identifier: BSD-3-Clause */
/* The work request builder, inline and through a QP's table: include/pollux/wr_inline.h, lib/verbs/ffi.c. */
#include "verbs_built.h"

static void
check_wqe(const struct plx_sq_wqe *wqe, enum ibv_qp_type type, enum op op)
{
	const struct plx_sge *sge = (const struct plx_sge *)(wqe + 1);

	CHECK_EQ(wqe->wr_id, 40u + op);
	CHECK_EQ(wqe->opcode, opcode_of[op]);
	CHECK_EQ(wqe->flags, PLX_WQE_FENCE | PLX_WQE_SOLICITED);
	if (op == OP_SEND_IMM || op == OP_WRITE_IMM)
		CHECK_EQ(wqe->imm, IMM);
	if (op == OP_SEND_INV || op == OP_LOCAL_INV)
		CHECK_EQ(wqe->imm, KEY);
	if (op >= OP_WRITE && op <= OP_FETCH_ADD)
		CHECK(wqe->rkey == RKEY && wqe->remote_addr == REMOTE);
	if (op == OP_CMP_SWP || op == OP_FETCH_ADD)
		CHECK(wqe->atomic.compare_add == 5 && wqe->atomic.swap == (op == OP_CMP_SWP ? 6 : 0));
	CHECK_EQ(wqe->num_sge, op == OP_LOCAL_INV ? 0 : 1);
	CHECK_EQ(wqe->length, op == OP_LOCAL_INV ? 0 : 30);
	if (op != OP_LOCAL_INV)
		CHECK(sge->addr == (uintptr_t)buf && sge->length == 30 && sge->lkey == 0x33);
	if (type == IBV_QPT_UD)
		CHECK(wqe->ud.ah == 5 && wqe->ud.ah_gen == 77 && wqe->ud.qpn == 0x123456 &&
		      wqe->ud.qkey == 0x11111111);
	if (type == IBV_QPT_XRC_SEND && op != OP_LOCAL_INV)
		CHECK_EQ(wqe->xrc_srqn, 0x777);
}

/* What a type has is posted, what it has not is refused, whichever way it is called. */
static void
wr__operations_of_each_type(void)
{
	static void (*const ways[])(struct ibv_qp_ex *, enum op) = { call_inline, call_table };
	struct built b;

	for (size_t t = 0; t < 2 * NUM_TYPES; t++) {
		enum ibv_qp_type type = types[t / 2];
		uint32_t posted = 0;

		built_open(&b, type);
		b.ex->wr_flags = IBV_SEND_FENCE | IBV_SEND_SOLICITED | IBV_SEND_IP_CSUM | IBV_SEND_INLINE;
		for (int op = 0; op < OP_COUNT; op++) {
			bool has = ops_of(type) & bit_of[op];
			struct plx_wq *sq = &__plx_qp_of(b.qp)->sq;

			b.ex->wr_id = 40u + (unsigned int)op;
			ibv_wr_start(b.ex);
			CHECK_EQ(sq->lock, 1);
			ways[t % 2](b.ex, (enum op)op);
			furnish(&b, (enum op)op);
			CHECK_EQ(tail_of(&b), posted);
			CHECK_EQ(ibv_wr_complete(b.ex), has ? 0 : EINVAL);
			CHECK_EQ(sq->lock, 0);
			if (has)
				check_wqe(wqe_at(&b, posted++), type, (enum op)op);
			CHECK_EQ(tail_of(&b), posted);
			sq->head = posted;	/* as if all were done */
		}
		built_close(&b);
	}
}

/* What was not asked for is not built, though the type has it. */
static void
wr__only_what_was_asked_for(void)
{
	struct built b;

	for (int asked = 0; asked < OP_COUNT; asked++) {
		built_open_ops(&b, IBV_QPT_RC, bit_of[asked]);
		for (int op = 0; op < OP_COUNT; op++) {
			ibv_wr_start(b.ex);
			call_inline(b.ex, (enum op)op);
			CHECK_EQ(ibv_wr_complete(b.ex), op == asked ? 0 : EINVAL);
		}
		built_close(&b);
	}
}

/* One bell and one turn of the core for all of them; then as after any post. */
static void
wr_complete__one_doorbell_for_a_batch(void)
{
	struct built b;

	built_open(&b, IBV_QPT_RC);
	mock_take_bell();
	ibv_wr_start(b.ex);
	for (unsigned int i = 0; i < 5; i++)
		write_one(&b, i);
	CHECK_EQ(mock.bell->tail, 0);
	CHECK_EQ(ibv_wr_complete(b.ex), 0);
	CHECK_EQ(mock.bell->tail, 1);
	CHECK_EQ(mock.drives[CTL_DRIVE_POST], 1);
	CHECK_EQ(tail_of(&b), 5);
	for (uint32_t i = 0; i < 5; i++)
		CHECK_EQ(wqe_at(&b, i)->wr_id, i);
	ibv_wr_start(b.ex);
	write_one(&b, 5);
	CHECK_EQ(ibv_wr_complete(b.ex), 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_MORE], 1);
	/* an empty batch rings nothing */
	ibv_wr_start(b.ex);
	CHECK_EQ(ibv_wr_complete(b.ex), 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_POST] + mock.drives[CTL_DRIVE_MORE], 2);
	built_close(&b);
}

static void
wr_abort__nothing_is_posted(void)
{
	struct ibv_send_wr wr = { .wr_id = 9, .opcode = IBV_WR_SEND }, *bad;
	struct built b;

	built_open(&b, IBV_QPT_RC);
	ibv_wr_start(b.ex);
	write_one(&b, 1);
	write_one(&b, 2);
	ibv_wr_abort(b.ex);
	CHECK_EQ(tail_of(&b), 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_POST], 0);
	/* after an error too, and the next batch begins anew */
	ibv_wr_start(b.ex);
	ibv_wr_set_sge(b.ex, 0, 0, 0);
	ibv_wr_abort(b.ex);
	ibv_wr_start(b.ex);
	write_one(&b, 3);
	CHECK_EQ(ibv_wr_complete(b.ex), 0);
	CHECK_EQ(wqe_at(&b, 0)->wr_id, 3);
	/* post_send() goes on behind it */
	CHECK_EQ(ibv_post_send(b.qp, &wr, &bad), 0);
	CHECK_EQ(wqe_at(&b, 1)->wr_id, 9);
	CHECK_EQ(tail_of(&b), 2);
	built_close(&b);
}

static void
wr__inline_data(void)
{
	struct ibv_data_buf list[3] = { { buf, 10 }, { NULL, 0 }, { buf + 100, 54 } };
	const struct plx_sq_wqe *wqe;
	struct built b;

	built_open(&b, IBV_QPT_RC);
	memset(buf, 'a', 100);
	memset(buf + 100, 'b', 100);
	ibv_wr_start(b.ex);
	b.ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(b.ex);
	ibv_wr_set_inline_data(b.ex, buf, 64);
	ibv_wr_rdma_write_imm(b.ex, RKEY, REMOTE, IMM);
	ibv_wr_set_inline_data_list(b.ex, 3, list);
	ibv_wr_rdma_write(b.ex, RKEY, REMOTE);
	ibv_wr_set_inline_data(b.ex, NULL, 0);
	memset(buf, 'x', 200);
	CHECK_EQ(ibv_wr_complete(b.ex), 0);
	wqe = wqe_at(&b, 0);
	CHECK_EQ(wqe->flags, PLX_WQE_INLINE | PLX_WQE_SIGNALED);
	CHECK_EQ(wqe->num_sge, 0);
	CHECK_EQ(wqe->length, 64);
	CHECK_MEM((const char *)(wqe + 1) + 60, "aaaa", 4);
	wqe = wqe_at(&b, 1);
	CHECK_EQ(wqe->length, 64);
	CHECK_MEM((const char *)(wqe + 1) + 9, "abb", 3);
	CHECK_EQ(wqe_at(&b, 2)->length, 0);
	CHECK_EQ(wqe_at(&b, 2)->flags, PLX_WQE_INLINE | PLX_WQE_SIGNALED);
	list[2].length = 55;
	ibv_wr_start(b.ex);
	ibv_wr_send(b.ex);
	ibv_wr_set_inline_data_list(b.ex, 3, list);
	CHECK_EQ(ibv_wr_complete(b.ex), EINVAL);
	list[2].length = SIZE_MAX - 5;
	ibv_wr_start(b.ex);
	ibv_wr_send(b.ex);
	ibv_wr_set_inline_data_list(b.ex, 3, list);
	CHECK_EQ(ibv_wr_complete(b.ex), EINVAL);
	built_close(&b);
}

/* FC50, FC59: the list's total counts, in more than 32 bits. */
static void
wr__lists(void)
{
	struct ibv_sge list[3] = { { 0x1000, 1u << 31, 1 }, { 0x2000, 0, 2 }, { 0x3000, 7, 3 } };
	const struct plx_sge *sge;
	struct built b;

	built_open(&b, IBV_QPT_RC);
	ibv_wr_start(b.ex);
	ibv_wr_rdma_write(b.ex, RKEY, REMOTE);
	ibv_wr_set_sge_list(b.ex, 2, list);
	ibv_wr_rdma_read(b.ex, RKEY, REMOTE);
	ibv_wr_set_sge_list(b.ex, 0, NULL);
	CHECK_EQ(ibv_wr_complete(b.ex), 0);
	sge = (const struct plx_sge *)(wqe_at(&b, 0) + 1);
	CHECK_EQ(wqe_at(&b, 0)->length, 1u << 31);
	CHECK_EQ(wqe_at(&b, 0)->num_sge, 2);
	CHECK(sge[1].addr == 0x2000 && sge[1].length == 0 && sge[1].lkey == 2);
	CHECK_EQ(wqe_at(&b, 1)->num_sge, 0);
	for (int i = 0; i < 4; i++) {
		ibv_wr_start(b.ex);
		ibv_wr_rdma_write(b.ex, RKEY, REMOTE);
		if (i == 0)
			ibv_wr_set_sge_list(b.ex, 3, list);		/* granted: 2 */
		if (i == 1)
			ibv_wr_set_sge_list(b.ex, SIZE_MAX, list);
		list[1].length = i == 2 ? 1 : 1u << 31;			/* 2^31 + 1, 2^32 */
		if (i >= 2)
			ibv_wr_set_sge_list(b.ex, 2, list);
		CHECK_EQ(ibv_wr_complete(b.ex), EINVAL);
	}
	ibv_wr_start(b.ex);
	ibv_wr_rdma_write(b.ex, RKEY, REMOTE);
	ibv_wr_set_sge(b.ex, 0, 0, (1u << 31) + 1);
	CHECK_EQ(ibv_wr_complete(b.ex), EINVAL);
	CHECK_EQ(tail_of(&b), 2);
	built_close(&b);
}

static void
wr__sig_all_signals(void)
{
	struct built b;
	struct ibv_qp *qp;
	struct ibv_qp_ex *ex;

	built_open(&b, IBV_QPT_RC);
	qp = make(&b.w, IBV_QPT_RC, OPS_RC, 1);
	CHECK(qp != NULL);
	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++)
		to_state(qp, (enum ibv_qp_state)state);
	ex = ibv_qp_to_qp_ex(qp);
	ibv_wr_start(ex);
	ibv_wr_send(ex);
	CHECK_EQ(ibv_wr_complete(ex), 0);
	CHECK_EQ(mock_sq_wqe(qp->handle, 0)->flags, PLX_WQE_SIGNALED);
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	built_close(&b);
}

/* E5, and it ends: the thread that resets has the queue's lock itself. */
static void
wr__reset_forgets_the_open_batch(void)
{
	struct built b;

	built_open(&b, IBV_QPT_RC);
	for (int again = 0; again < 3; again++) {	/* completed in RESET, completed in RTS, aborted */
		ibv_wr_start(b.ex);
		ibv_wr_send(b.ex);
		CHECK_EQ(ibv_wr_complete(b.ex), 0);
		ibv_wr_start(b.ex);
		ibv_wr_send(b.ex);
		to_state(b.qp, IBV_QPS_RESET);
		for (int state = IBV_QPS_INIT; again && state <= IBV_QPS_RTS; state++)
			to_state(b.qp, (enum ibv_qp_state)state);
		ibv_wr_send(b.ex);
		if (again < 2)
			CHECK_EQ(ibv_wr_complete(b.ex), EINVAL);
		else
			ibv_wr_abort(b.ex);
		for (int state = IBV_QPS_INIT; !again && state <= IBV_QPS_RTS; state++)
			to_state(b.qp, (enum ibv_qp_state)state);
		CHECK_EQ(tail_of(&b), again + 1);
	}
	/* all slots are free, and the lock is */
	ibv_wr_start(b.ex);
	for (int i = 0; i < 8; i++)
		ibv_wr_send(b.ex);
	CHECK_EQ(ibv_wr_complete(b.ex), 0);
	CHECK_EQ(tail_of(&b), 3 + 8);
	built_close(&b);
}

struct other {
	struct built *b;
	int opened, ended;	/* atomic */
	int result;
};

static void *
batch_of_another(void *arg)
{
	struct other *o = arg;

	ibv_wr_start(o->b->ex);
	ibv_wr_send(o->b->ex);
	__atomic_store_n(&o->opened, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&o->b->qp->state, __ATOMIC_RELAXED) != IBV_QPS_RESET)
		sched_yield();
	for (int i = 0; i < 1000; i++)
		sched_yield();
	__atomic_store_n(&o->ended, 1, __ATOMIC_RELAXED);
	o->result = ibv_wr_complete(o->b->ex);
	return NULL;
}

/* Another thread's batch is waited for, as its posts are. */
static void
wr__reset_waits_for_the_batch_of_another(void)
{
	struct other o = { 0 };
	pthread_t thread;
	struct built b;

	built_open(&b, IBV_QPT_RC);
	o.b = &b;
	CHECK_EQ(pthread_create(&thread, NULL, batch_of_another, &o), 0);
	while (!__atomic_load_n(&o.opened, __ATOMIC_ACQUIRE))
		sched_yield();
	to_state(b.qp, IBV_QPS_RESET);
	CHECK(__atomic_load_n(&o.ended, __ATOMIC_RELAXED));
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(o.result, EINVAL);
	CHECK_EQ(tail_of(&b), 0);
	built_close(&b);
}

static const struct check_case cases[] = {
	CHECK_CASE(wr__operations_of_each_type),
	CHECK_CASE(wr__only_what_was_asked_for),
	CHECK_CASE(wr_complete__one_doorbell_for_a_batch),
	CHECK_CASE(wr_abort__nothing_is_posted),
	CHECK_CASE(wr__inline_data),
	CHECK_CASE(wr__lists),
	CHECK_CASE(wr__sig_all_signals),
	CHECK_CASE(wr__reset_forgets_the_open_batch),
	CHECK_CASE(wr__reset_waits_for_the_batch_of_another),
};
CHECK_MAIN(cases)

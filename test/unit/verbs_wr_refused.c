/* SPDX-License-Identifier: BSD-3-Clause */
/* What the work request builder and ibv_create_qp_ex() refuse: wr_inline.h, lib/verbs/qp_ex.c. */
#include "verbs_built.h"

static void
create_qp_ex__operations_of_each_type(void)
{
	static const uint64_t never[] = { IBV_QP_EX_WITH_TSO, 1ull << 13, 1ull << 40 };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	for (size_t t = 0; t < NUM_TYPES; t++) {
		for (int op = 0; op < OP_COUNT; op++) {
			bool has = ops_of(types[t]) & bit_of[op];
			struct ibv_qp *qp = make(&w, types[t], bit_of[op], 0);

			CHECK_EQ(qp != NULL, has);
			CHECK_EQ(errno, has ? 0 : EOPNOTSUPP);
			if (qp)
				CHECK_EQ(ibv_destroy_qp(qp), 0);
		}
		for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
			CHECK(!make(&w, types[t], IBV_QP_EX_WITH_SEND | never[i], 0));
			CHECK_EQ(errno, EOPNOTSUPP);
		}
	}
	world_close(&w);
}

static void
create_qp_ex__refuses(void)
{
	static const uint32_t absent[] = { IBV_QP_INIT_ATTR_MAX_TSO_HEADER, IBV_QP_INIT_ATTR_IND_TABLE,
					   IBV_QP_INIT_ATTR_RX_HASH, 1u << 30 };
	static const uint32_t flags[] = {
		IBV_QP_CREATE_BLOCK_SELF_MCAST_LB, IBV_QP_CREATE_SCATTER_FCS, IBV_QP_CREATE_CVLAN_STRIPPING,
		IBV_QP_CREATE_SOURCE_QPN, IBV_QP_CREATE_PCI_WRITE_END_PADDING, 1u << 30,
	};
	struct ibv_qp_init_attr_ex init;
	struct ibv_qp *qp;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	init = (struct ibv_qp_init_attr_ex){ .send_cq = w.cq, .recv_cq = w.cq, .qp_type = IBV_QPT_UD,
					     .pd = w.pd, .cap = { 1, 1, 1, 1, 0 } };
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		init.comp_mask = IBV_QP_INIT_ATTR_PD | absent[i];
		errno = 0;
		CHECK(!ibv_create_qp_ex(w.ctx, &init));
		CHECK_EQ(errno, EOPNOTSUPP);
	}
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		init.create_flags = flags[i];
		errno = 0;
		CHECK(!ibv_create_qp_ex(w.ctx, &init));
		CHECK_EQ(errno, EOPNOTSUPP);
	}
	/* what is not announced is not looked at, and then there is no builder */
	init.create_flags = 0;
	init.send_ops_flags = ~0ull;
	qp = ibv_create_qp_ex(w.ctx, &init);
	CHECK(qp && !ibv_qp_to_qp_ex(qp));
	CHECK(!ibv_qp_to_qp_ex(w.qp));
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	/* no operation at all is one that can be promised */
	qp = make(&w, IBV_QPT_RC, 0, 0);
	CHECK(qp && ibv_qp_to_qp_ex(qp));
	CHECK_EQ(ibv_destroy_qp(qp), 0);
	world_close(&w);
}

/* An unmodified program calls through any of them unseen. */
static void
qp_ex__no_pointer_is_null(void)
{
	struct built b;

	for (size_t t = 0; t < NUM_TYPES; t++) {
		built_open_ops(&b, types[t], IBV_QP_EX_WITH_SEND);
		for (size_t at = offsetof(struct ibv_qp_ex, wr_atomic_cmp_swp);
		     at < sizeof(struct ibv_qp_ex); at += sizeof(void *)) {
			void *p;

			memcpy(&p, (char *)b.ex + at, sizeof(p));
			CHECK(p != NULL);
		}
		ibv_wr_start(b.ex);
		b.ex->wr_send_tso(b.ex, buf, 40, 100);
		CHECK_EQ(ibv_wr_complete(b.ex), EOPNOTSUPP);
		built_close(&b);
	}
}

/* The man page: the entire posting is aborted. The first error counts, and later calls write nothing. */
static void
wr_complete__an_error_drops_the_batch(void)
{
	struct built b;

	built_open(&b, IBV_QPT_RC);
	ibv_wr_start(b.ex);
	write_one(&b, 1);
	ibv_wr_send(b.ex);
	ibv_wr_set_inline_data(b.ex, buf, 65);		/* granted: 64 */
	for (unsigned int i = 0; i < 20; i++)
		write_one(&b, 100);
	CHECK_EQ(ibv_wr_complete(b.ex), EINVAL);	/* not ENOMEM */
	CHECK_EQ(tail_of(&b), 0);
	CHECK_EQ(mock.drives[CTL_DRIVE_POST], 0);
	CHECK(wqe_at(&b, 2)->wr_id != 100);
	built_close(&b);
}

/* FC51: all or nothing. */
static void
wr_complete__a_full_queue(void)
{
	struct built b;

	built_open(&b, IBV_QPT_RC);
	ibv_wr_start(b.ex);
	for (unsigned int i = 0; i < 9; i++)
		write_one(&b, i);
	CHECK_EQ(ibv_wr_complete(b.ex), ENOMEM);
	CHECK_EQ(tail_of(&b), 0);
	ibv_wr_start(b.ex);
	for (unsigned int i = 0; i < 8; i++)
		write_one(&b, 50 + i);
	CHECK_EQ(ibv_wr_complete(b.ex), 0);
	CHECK_EQ(tail_of(&b), 8);
	ibv_wr_start(b.ex);
	write_one(&b, 99);
	CHECK_EQ(ibv_wr_complete(b.ex), ENOMEM);
	CHECK_EQ(wqe_at(&b, 0)->wr_id, 50);		/* a slot that is not free is not touched */
	__plx_qp_of(b.qp)->sq.head = 3;
	ibv_wr_start(b.ex);
	for (unsigned int i = 0; i < 3; i++)
		write_one(&b, 60 + i);
	CHECK_EQ(ibv_wr_complete(b.ex), 0);
	CHECK_EQ(wqe_at(&b, 0)->wr_id, 60);
	CHECK_EQ(wqe_at(&b, 3)->wr_id, 53);
	built_close(&b);
}

/* Each mistake in a batch of its own, with a good work request in front of it. */
static void
refused(struct built *b, void (*mistake)(struct built *b))
{
	uint32_t tail = tail_of(b);

	ibv_wr_start(b->ex);
	ibv_wr_send(b->ex);
	furnish(b, OP_SEND);
	mistake(b);
	CHECK_EQ(ibv_wr_complete(b->ex), EINVAL);
	CHECK_EQ(tail_of(b), tail);
}

static void
data_twice(struct built *b)
{
	ibv_wr_set_sge(b->ex, 1, 2, 3);		/* furnished already */
}

static void
data_of_both_kinds(struct built *b)
{
	ibv_wr_send(b->ex);
	ibv_wr_set_inline_data(b->ex, buf, 3);
	ibv_wr_set_sge(b->ex, 1, 2, 3);
}

static void
data_of_local_inv(struct built *b)
{
	ibv_wr_local_inv(b->ex, KEY);
	ibv_wr_set_sge(b->ex, 1, 2, 3);
}

static void
inline_read(struct built *b)
{
	ibv_wr_rdma_read(b->ex, RKEY, REMOTE);
	ibv_wr_set_inline_data(b->ex, buf, 8);
}

static void
inline_atomic(struct built *b)
{
	ibv_wr_atomic_fetch_add(b->ex, RKEY, REMOTE, 1);
	ibv_wr_set_inline_data(b->ex, buf, 8);
}

static void
address_of_connected(struct built *b)
{
	ibv_wr_set_ud_addr(b->ex, b->ah, 1, 2);
}

static void
srqn_of_connected(struct built *b)
{
	ibv_wr_set_xrc_srqn(b->ex, 1);
}

static void
no_address_at_the_end(struct built *b)
{
	ibv_wr_send(b->ex);
	ibv_wr_set_sge(b->ex, 1, 2, 3);
}

static void
no_address_in_the_middle(struct built *b)
{
	ibv_wr_send(b->ex);
	ibv_wr_set_sge(b->ex, 1, 2, 3);
	ibv_wr_send(b->ex);
	furnish(b, OP_SEND);
}

static void
no_handle(struct built *b)
{
	ibv_wr_send(b->ex);
	ibv_wr_set_ud_addr(b->ex, NULL, 1, 2);
}

static void
handle_of_another_pd(struct built *b)
{
	struct ibv_pd other = { .handle = 99 };

	ibv_wr_send(b->ex);
	b->ah->pd = &other;
	ibv_wr_set_ud_addr(b->ex, b->ah, 1, 2);
	b->ah->pd = b->w.pd;
}

/* B30: the mock's port has an MTU of 1024. */
static void
beyond_the_mtu(struct built *b)
{
	struct ibv_sge two[2] = { { 1, 1000, 2 }, { 3, 25, 4 } };

	ibv_wr_send(b->ex);
	ibv_wr_set_ud_addr(b->ex, b->ah, 1, 2);
	ibv_wr_set_sge_list(b->ex, 2, two);
}

static void
wr__what_it_refuses(void)
{
	static void (*const of_rc[])(struct built *) = {
		data_twice, data_of_both_kinds, data_of_local_inv, inline_read, inline_atomic,
		address_of_connected, srqn_of_connected,
	};
	static void (*const of_ud[])(struct built *) = {
		data_twice, no_address_at_the_end, no_address_in_the_middle, no_handle, handle_of_another_pd,
		beyond_the_mtu, srqn_of_connected,
	};
	static void (*const of_xrc[])(struct built *) = {
		data_twice, data_of_local_inv, no_address_at_the_end, no_address_in_the_middle,
		address_of_connected,
	};
	struct built b;

	built_open(&b, IBV_QPT_RC);
	for (size_t i = 0; i < sizeof(of_rc) / sizeof(of_rc[0]); i++)
		refused(&b, of_rc[i]);
	built_close(&b);
	built_open(&b, IBV_QPT_UD);
	for (size_t i = 0; i < sizeof(of_ud) / sizeof(of_ud[0]); i++)
		refused(&b, of_ud[i]);
	ibv_wr_start(b.ex);
	ibv_wr_send(b.ex);
	ibv_wr_set_sge(b.ex, 1, 2, 1024);
	ibv_wr_set_ud_addr(b.ex, b.ah, 1, 2);
	CHECK_EQ(ibv_wr_complete(b.ex), 0);
	built_close(&b);
	built_open(&b, IBV_QPT_XRC_SEND);
	for (size_t i = 0; i < sizeof(of_xrc) / sizeof(of_xrc[0]); i++)
		refused(&b, of_xrc[i]);
	built_close(&b);
}

/* E4, FC52, FC36: as post_send(), said by wr_complete(). */
static void
wr_complete__state(void)
{
	static const int err[] = {
		[IBV_QPS_RESET] = EINVAL, [IBV_QPS_INIT] = EINVAL, [IBV_QPS_RTR] = EINVAL, [IBV_QPS_RTS] = 0,
		[IBV_QPS_SQD] = 0, [IBV_QPS_SQE] = 0, [IBV_QPS_ERR] = 0,
	};
	struct built b;

	built_open(&b, IBV_QPT_RC);
	for (int state = IBV_QPS_RESET; state <= IBV_QPS_ERR; state++) {
		to_state(b.qp, (enum ibv_qp_state)state);
		ibv_wr_start(b.ex);
		write_one(&b, 1);
		CHECK_EQ(ibv_wr_complete(b.ex), err[state]);
	}
	/* it goes before what else is wrong, as there */
	to_state(b.qp, IBV_QPS_RESET);
	ibv_wr_start(b.ex);
	for (int i = 0; i < 20; i++)
		write_one(&b, 1);
	CHECK_EQ(ibv_wr_complete(b.ex), EINVAL);
	built_close(&b);
}

static void
wr__no_reads_with_max_rd_atomic_0(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .max_rd_atomic = 0 };
	static const enum op ops[] = { OP_READ, OP_CMP_SWP, OP_FETCH_ADD };
	struct built b;

	built_open(&b, IBV_QPT_RC);
	CHECK_EQ(ibv_modify_qp(b.qp, &attr, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC), 0);
	for (int i = 0; i < 6; i++) {
		if (i == 3)
			to_state(b.qp, IBV_QPS_ERR);	/* where it is only flushed */
		ibv_wr_start(b.ex);
		call_inline(b.ex, ops[i % 3]);
		CHECK_EQ(ibv_wr_complete(b.ex), i < 3 ? EINVAL : 0);
	}
	built_close(&b);
}

/* In no forked child: and nobody waits there for a lock that its thread took with it. */
static void
wr__in_a_forked_child(void)
{
	struct built b;

	built_open(&b, IBV_QPT_RC);
	__plx_context_of(b.w.ctx)->refuse = EIO;
	__plx_qp_of(b.qp)->sq.lock = 1;
	ibv_wr_start(b.ex);
	write_one(&b, 1);
	ibv_wr_abort(b.ex);
	ibv_wr_start(b.ex);
	write_one(&b, 1);
	CHECK_EQ(ibv_wr_complete(b.ex), EIO);
	__plx_context_of(b.w.ctx)->refuse = 0;
	__plx_qp_of(b.qp)->sq.lock = 0;
	CHECK_EQ(tail_of(&b), 0);
	built_close(&b);
}

static void
query_qp_data_in_order__promises_nothing(void)
{
	struct built b;

	for (size_t t = 0; t < NUM_TYPES; t++) {
		built_open(&b, types[t]);
		for (int op = IBV_WR_RDMA_WRITE; op <= IBV_WR_RDMA_READ; op++)
			for (uint32_t flags = 0; flags < 3; flags++)
				CHECK_EQ(ibv_query_qp_data_in_order(b.qp, (enum ibv_wr_opcode)op, flags), 0);
		built_close(&b);
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(create_qp_ex__operations_of_each_type),
	CHECK_CASE(create_qp_ex__refuses),
	CHECK_CASE(qp_ex__no_pointer_is_null),
	CHECK_CASE(wr_complete__an_error_drops_the_batch),
	CHECK_CASE(wr_complete__a_full_queue),
	CHECK_CASE(wr__what_it_refuses),
	CHECK_CASE(wr_complete__state),
	CHECK_CASE(wr__no_reads_with_max_rd_atomic_0),
	CHECK_CASE(wr__in_a_forked_child),
	CHECK_CASE(query_qp_data_in_order__promises_nothing),
};
CHECK_MAIN(cases)

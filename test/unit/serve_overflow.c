/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A completion queue that overflows, through a whole stack, for receives of every type, from queues of
 * their own and from a shared one (D-6, FC53): CQ_ERR once, both queue pairs that complete on it end with
 * QP_FATAL, what was there stays; queue pairs with another CQ, and the shared queue, go on.
 */
#include "serve_verbs.h"

#define ROOM 4
#define RECEIVES 16u
#define QKEY 0x1234567u
#define EVENT_MS 10000

struct scene {
	enum ibv_qp_type type;
	struct ibv_cq *small;
	struct ibv_srq *srq;		/* NULL: they have their own */
	struct ibv_ah *ah;
	struct ibv_qp *from[2], *to[2];	/* only from[0] to to[0] is there traffic */
};

static struct ibv_qp *
create(const struct scene *s, struct ibv_cq *recv_cq)
{
	struct ibv_qp_init_attr init = { .send_cq = v.cq, .recv_cq = recv_cq, .srq = s->srq,
					 .qp_type = s->type, .cap = { 16, RECEIVES, 2, 2, 64 } };
	struct ibv_qp *qp = ibv_create_qp(v.pd, &init);

	MUST(qp);
	return qp;
}

static int
raise_to(struct ibv_qp *qp, struct ibv_qp_attr *attr, enum ibv_qp_state state, int mask)
{
	attr->qp_state = state;
	return ibv_modify_qp(qp, attr, IBV_QP_STATE | mask);
}

static void
connect_to(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = { .port_num = 1, .qkey = QKEY, .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = peer,
				    .ah_attr = { .is_global = 1, .port_num = 1,
						 .grh = { .sgid_index = 1, .dgid = v.gid } } };
	const int path = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	bool ud = qp->qp_type == IBV_QPT_UD;

	if (qp->qp_type == IBV_QPT_RC) {
		MUST(to_init(qp) == 0 && to_rtr(qp, peer) == 0 && to_rts(qp) == 0);
		return;
	}
	MUST(raise_to(qp, &attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		      (ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS)) == 0);
	MUST(raise_to(qp, &attr, IBV_QPS_RTR, ud ? 0 : path) == 0);
	MUST(raise_to(qp, &attr, IBV_QPS_RTS, IBV_QP_SQ_PSN) == 0);
}

static void
post_one(struct scene *s, struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)v.buf + BUF_LEN / 4 + 256 * wr_id, 64, v.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	MUST((s->srq ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad)) == 0);
}

static void
open_scene(struct scene *s, const char *cores, enum ibv_qp_type type, bool shared)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = RECEIVES, .max_sge = 1 } };
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1 } };

	open_verbs(cores, 256, 16);
	*s = (struct scene){ .type = type };
	s->small = ibv_create_cq(v.ctx, ROOM, NULL, NULL, 0);
	s->srq = shared ? ibv_create_srq(v.pd, &srq) : NULL;
	ah.grh.dgid = v.gid;
	s->ah = ibv_create_ah(v.pd, &ah);
	MUST(s->small && s->ah && !shared == !s->srq);
	for (int i = 0; i < 2; i++) {
		s->from[i] = create(s, v.cq);
		s->to[i] = create(s, s->small);
		connect_to(s->from[i], s->to[i]->qp_num);
		connect_to(s->to[i], s->from[i]->qp_num);
	}
	for (uint64_t i = 0; i < RECEIVES; i++)
		post_one(s, s->to[0], i);
}

static void
close_scene(struct scene *s)
{
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(ibv_destroy_qp(s->from[i]), 0);
		CHECK_EQ(ibv_destroy_qp(s->to[i]), 0);
	}
	CHECK_EQ(ibv_destroy_ah(s->ah), 0);
	CHECK_EQ(s->srq ? ibv_destroy_srq(s->srq) : 0, 0);
	CHECK_EQ(ibv_destroy_cq(s->small), 0);
	CHECK_EQ(close_verbs(), 0);
}

static void
send_one(const struct scene *s, struct ibv_qp *from, const struct ibv_qp *to)
{
	struct ibv_sge sge = { (uintptr_t)v.buf, 8, v.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	if (s->type == IBV_QPT_UD) {
		wr.wr.ud.ah = s->ah;
		wr.wr.ud.remote_qpn = to->qp_num;
		wr.wr.ud.remote_qkey = QKEY;
	}
	CHECK_EQ(ibv_post_send(from, &wr, &bad), 0);
}

/* The next completion on v.cq of this queue, with success; those of others are passed over. */
static bool
succeeds(const struct ibv_qp *qp, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = { 0 };

	while (poll_one(v.cq, &wc))
		if (wc.qp_num == qp->qp_num && (wc.status || wc.opcode == opcode))
			return wc.status == IBV_WC_SUCCESS;
	return false;
}

/* CQ_ERR, of either QP QP_FATAL and with a shared queue the last-WQE event; each once, nothing else. */
static void
check_events(const struct scene *s)
{
	uint32_t cq_err = 0, fatal[2] = { 0 }, last[2] = { 0 }, all = s->srq ? 5 : 3;
	struct ibv_async_event e;

	for (uint32_t i = 0; i < all; i++) {
		CHECK(next_event(&e, EVENT_MS));
		cq_err += e.event_type == IBV_EVENT_CQ_ERR && e.element.cq == s->small;
		for (int k = 0; k < 2; k++) {
			fatal[k] += e.event_type == IBV_EVENT_QP_FATAL && e.element.qp == s->to[k];
			last[k] += e.event_type == IBV_EVENT_QP_LAST_WQE_REACHED && e.element.qp == s->to[k];
		}
		ibv_ack_async_event(&e);
	}
	CHECK_EQ(cq_err, 1);
	CHECK(fatal[0] == 1 && fatal[1] == 1);
	CHECK(last[0] == !!s->srq && last[1] == !!s->srq);
	CHECK(!next_event(&e, 20));
	CHECK_EQ(state_of(s->to[0]), IBV_QPS_ERR);
	CHECK_EQ(state_of(s->to[1]), IBV_QPS_ERR);
}

/* What was in the CQ, in order, and no more. */
static void
check_small(const struct scene *s)
{
	struct ibv_wc wc = { 0 };

	for (uint64_t i = 0; i < ROOM; i++) {
		CHECK_EQ(ibv_poll_cq(s->small, 1, &wc), 1);
		CHECK_EQ(wc.wr_id, i);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		CHECK_EQ(wc.qp_num, s->to[0]->qp_num);
	}
	CHECK_EQ(ibv_poll_cq(s->small, 1, &wc), 0);
}

/* A pair of the same type that completes on the other CQ, and takes from the same shared queue. */
static void
check_others(struct scene *s)
{
	struct ibv_qp *from = create(s, v.cq), *to = create(s, v.cq);

	connect_to(from, to->qp_num);
	connect_to(to, from->qp_num);
	if (!s->srq)
		post_one(s, to, 0);
	send_one(s, from, to);
	CHECK(succeeds(to, IBV_WC_RECV));
	CHECK_EQ(post_write(v.a, 1), 0);
	CHECK(succeeds(v.a, IBV_WC_RDMA_WRITE));
	CHECK_EQ(state_of(s->from[1]), IBV_QPS_RTS);
	CHECK_EQ(ibv_destroy_qp(from), 0);
	CHECK_EQ(ibv_destroy_qp(to), 0);
}

static void
overflow(const char *cores, enum ibv_qp_type type, bool shared)
{
	struct scene s;

	open_scene(&s, cores, type, shared);
	for (int i = 0; i < ROOM + 2; i++)
		send_one(&s, s.from[0], s.to[0]);
	check_events(&s);
	check_small(&s);
	check_others(&s);
	close_scene(&s);
}

#define OVERFLOW(name, type, shared) \
	static void \
	overflow__##name(void) \
	{ \
		overflow("inline", type, shared); \
		overflow("0,1", type, shared); \
	}

OVERFLOW(rc, IBV_QPT_RC, false)
OVERFLOW(uc, IBV_QPT_UC, false)
OVERFLOW(ud, IBV_QPT_UD, false)
OVERFLOW(rc_shared_queue, IBV_QPT_RC, true)
OVERFLOW(uc_shared_queue, IBV_QPT_UC, true)
OVERFLOW(ud_shared_queue, IBV_QPT_UD, true)

static const struct check_case cases[] = {
	CHECK_CASE(overflow__rc),
	CHECK_CASE(overflow__uc),
	CHECK_CASE(overflow__ud),
	CHECK_CASE(overflow__rc_shared_queue),
	CHECK_CASE(overflow__uc_shared_queue),
	CHECK_CASE(overflow__ud_shared_queue),
};
CHECK_MAIN(cases)

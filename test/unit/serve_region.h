/* SPDX-License-Identifier: BSD-3-Clause */
/* One operation between the two QPs of serve_verbs.h, by any key and address; a new pair after an error. */
#ifndef UNIT_SERVE_REGION_H
#define UNIT_SERVE_REGION_H

#include "serve_verbs.h"

/* `n` SGEs; remote address and rkey of all that have one; status of the completion, or -1. */
static inline int
run_list(enum ibv_wr_opcode op, struct ibv_sge *sge, int n, uint64_t remote, uint32_t rkey)
{
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = n, .opcode = op,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc = { 0 };

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	MUST(ibv_post_send(v.a, &wr, &bad) == 0);
	return poll_one(v.cq, &wc) ? (int)wc.status : -1;
}

static inline int
run(enum ibv_wr_opcode op, uint64_t local, uint32_t len, uint32_t lkey, uint64_t remote, uint32_t rkey)
{
	struct ibv_sge sge = { local, len, lkey };

	return run_list(op, &sge, 1, remote, rkey);
}

/* A SEND from v.buf to a receive with these SGEs; status of the receive. The other end's is taken too. */
static inline int
receive(struct ibv_sge *sge, int n, uint32_t len)
{
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = sge, .num_sge = n }, *bad;
	struct ibv_sge from = { (uintptr_t)v.buf, len, v.mr->lkey };
	struct ibv_send_wr swr = { .sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND,
				   .send_flags = IBV_SEND_SIGNALED }, *sbad;
	struct ibv_wc wc[2];

	MUST(ibv_post_recv(v.b, &wr, &bad) == 0 && ibv_post_send(v.a, &swr, &sbad) == 0);
	MUST(poll_one(v.cq, &wc[0]) && poll_one(v.cq, &wc[1]));
	return (int)wc[wc[1].wr_id == 1].status;
}

/* Both ends anew, after an error. */
static inline void
again(void)
{
	struct ibv_wc wc;

	MUST(ibv_destroy_qp(v.a) == 0 && ibv_destroy_qp(v.b) == 0);
	while (ibv_poll_cq(v.cq, 1, &wc) > 0)
		;
	v.a = new_qp(v.cq, 16, 0);
	v.b = new_qp(v.cq, 16, 0);
	connect_pair(v.a, v.b);
}

/* The same with a list of three SGEs. */
static inline void
longer_lists(void)
{
	struct ibv_qp_init_attr init = { .send_cq = v.cq, .recv_cq = v.cq, .qp_type = IBV_QPT_RC,
					 .cap = { 16, 16, 4, 4, 64 } };

	MUST(ibv_destroy_qp(v.a) == 0 && ibv_destroy_qp(v.b) == 0);
	v.a = ibv_create_qp(v.pd, &init);
	v.b = ibv_create_qp(v.pd, &init);
	connect_pair(v.a, v.b);
}

#endif

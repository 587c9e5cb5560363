/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole stack on a loop port under the verbs themselves, in one program: a context with a PD, a
 * registered buffer, a channel and CQ, and QPs that are connected to each other. What fails in here
 * ends the program: it is not what is tested.
 */
#ifndef UNIT_SERVE_VERBS_H
#define UNIT_SERVE_VERBS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <pollux/verbs.h>

#include "serve/conf.h"
#include "serve/stack.h"

#include "check.h"

#define BUF_LEN (1u << 20)
#define ALL_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
		    IBV_ACCESS_REMOTE_ATOMIC)

struct verbs_world {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq;
	uint8_t *buf;
	struct ibv_mr *mr;
	struct ibv_qp *a, *b;
	union ibv_gid gid;
};

static struct verbs_world v;

#define MUST(cond) \
	do { \
		if (!(cond)) { \
			printf("%s:%d: cannot go on: %s (errno %d)\n", __FILE__, __LINE__, #cond, errno); \
			exit(1); \
		} \
	} while (0)

static inline uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static inline struct ibv_context *
open_ctx(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;

	MUST(ctx);
	ibv_free_device_list(list);
	return ctx;
}

static inline struct ibv_qp *
new_qp(struct ibv_cq *cq, uint32_t wr, int sig_all)
{
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
					 .sq_sig_all = sig_all, .cap = { wr, wr, 2, 2, 64 } };

	return ibv_create_qp(v.pd, &init);
}

static inline int
to_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = ALL_ACCESS };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

static inline int
to_rtr(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = peer, .max_dest_rd_atomic = 4, .min_rnr_timer = 1 };

	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.sgid_index = 1;
	attr.ah_attr.grh.dgid = v.gid;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

/* A long timeout: threads that spin may be more than there are CPUs. */
static uint8_t ack_timeout = 18;

static inline int
to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .timeout = ack_timeout, .retry_cnt = 7,
				    .rnr_retry = 7, .max_rd_atomic = 4 };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static inline int
to_err(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

static inline enum ibv_qp_state
state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	MUST(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0);
	return attr.qp_state;
}

static inline void
connect_pair(struct ibv_qp *a, struct ibv_qp *b)
{
	MUST(a && b && to_init(a) == 0 && to_init(b) == 0);
	MUST(to_rtr(a, b->qp_num) == 0 && to_rtr(b, a->qp_num) == 0);
	MUST(to_rts(a) == 0 && to_rts(b) == 0);
}

/* `cqe` of the CQ, `wr` of each queue of the pair. `impair`: how bad its wire is, or NULL. */
static inline void
open_verbs_on(const char *cores, const char *impair, int cqe, uint32_t wr)
{
	const struct setting_text t = { .port = "loop", .ip = "10.11.0.1/24", .cores = cores,
					.impair = impair };
	char why[256] = "";

	MUST(stack_start(&t, false, 0, why, sizeof(why)) == 0);
	memset(&v, 0, sizeof(v));
	v.ctx = open_ctx();
	v.pd = ibv_alloc_pd(v.ctx);
	v.ch = ibv_create_comp_channel(v.ctx);
	v.cq = ibv_create_cq(v.ctx, cqe, &v, v.ch, 0);
	v.buf = aligned_alloc(4096, BUF_LEN);
	MUST(v.pd && v.ch && v.cq && v.buf && ibv_query_gid(v.ctx, 1, 1, &v.gid) == 0);
	memset(v.buf, 0, BUF_LEN);
	v.mr = ibv_reg_mr(v.pd, v.buf, BUF_LEN, ALL_ACCESS);
	MUST(v.mr);
	v.a = new_qp(v.cq, wr, 0);
	v.b = new_qp(v.cq, wr, 0);
	connect_pair(v.a, v.b);
}

static inline void
open_verbs(const char *cores, int cqe, uint32_t wr)
{
	open_verbs_on(cores, NULL, cqe, wr);
}

/* Everything in the order that is right must end well. 0, or which of them did not. */
static inline int
close_verbs(void)
{
	int bad = 0;

	bad |= (v.a && ibv_destroy_qp(v.a)) << 0 | (v.b && ibv_destroy_qp(v.b)) << 1;
	bad |= (v.cq && ibv_destroy_cq(v.cq)) << 2 | (ibv_destroy_comp_channel(v.ch) != 0) << 3;
	bad |= (ibv_dereg_mr(v.mr) != 0) << 4 | (ibv_dealloc_pd(v.pd) != 0) << 5;
	bad |= (ibv_close_device(v.ctx) != 0) << 6;
	free(v.buf);
	return bad | (stack_stop() != 0) << 7;
}

static inline int
post(struct ibv_qp *qp, enum ibv_wr_opcode op, uint64_t wr_id, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)v.buf, 8, v.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1, .opcode = op,
				  .send_flags = flags }, *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)v.buf + BUF_LEN / 2;
	wr.wr.rdma.rkey = v.mr->rkey;
	return ibv_post_send(qp, &wr, &bad);
}

static inline int
post_write(struct ibv_qp *qp, uint64_t wr_id)
{
	return post(qp, IBV_WR_RDMA_WRITE, wr_id, IBV_SEND_SIGNALED);
}

static inline int
post_recv(struct ibv_qp *qp, uint64_t wr_id)
{
	struct ibv_sge sge = { (uintptr_t)v.buf + BUF_LEN / 4, 64, v.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

/* One completion within 20 s. */
static inline bool
poll_one(struct ibv_cq *cq, struct ibv_wc *wc)
{
	uint64_t end = now_ms() + 20000;
	int n;

	do
		n = ibv_poll_cq(cq, 1, wc);
	while (n == 0 && now_ms() < end);
	return n == 1;
}

static inline bool
readable(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

/* The next asynchronous event within `ms`; false when there is none. */
static inline bool
next_event(struct ibv_async_event *e, int ms)
{
	return readable(v.ctx->async_fd, ms) && ibv_get_async_event(v.ctx, e) == 0;
}

#endif

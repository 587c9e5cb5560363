/* SPDX-License-Identifier: BSD-3-Clause */
/* Who talks to whom? Queue pairs; control verbs, on application threads. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/verbs_priv.h"

#define OP(name) (1u << IBV_WR_##name)
#define LOCAL (OP(LOCAL_INV) | OP(BIND_MW))	/* without a packet */
#define RELIABLE (OP(SEND) | OP(SEND_WITH_IMM) | OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM) | OP(RDMA_READ) | \
		  OP(ATOMIC_CMP_AND_SWP) | OP(ATOMIC_FETCH_AND_ADD) | OP(SEND_WITH_INV) | LOCAL)

/* What may be posted on a QP of each type; a type that is not here is not in this version. */
static const struct {
	enum ibv_qp_type type;
	uint32_t opcodes;
} types[] = {
	{ IBV_QPT_RC, RELIABLE | OP(ATOMIC_WRITE) },
	{ IBV_QPT_UC, OP(SEND) | OP(SEND_WITH_IMM) | OP(RDMA_WRITE) | OP(RDMA_WRITE_WITH_IMM) | LOCAL },
	{ IBV_QPT_UD, OP(SEND) | OP(SEND_WITH_IMM) },
	{ IBV_QPT_XRC_SEND, RELIABLE },
};

uint32_t
verbs_type_opcodes(enum ibv_qp_type type)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (types[i].type == type)
			return types[i].opcodes;
	}
	return 0;
}

/* Under ctx->lock. */
struct verbs_qp *
verbs_qp_find(struct verbs_ctx *ctx, uint32_t handle, uint32_t gen)
{
	struct plx_qp *qp = handle < ctx->pub.qp_table_size ? ctx->pub.qp_table[handle] : NULL;

	return qp && qp->gen == gen ? (struct verbs_qp *)qp : NULL;
}

int
verbs_qp_publish(struct verbs_ctx *ctx, struct verbs_qp *qp)
{
	uint32_t handle = qp->pub.v.qp.handle;

	if (handle >= ctx->pub.qp_table_size)
		return -ENOMEM;
	pthread_mutex_lock(&ctx->lock);
	__atomic_store_n(&ctx->pub.qp_table[handle], &qp->pub, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ctx->lock);
	return 0;
}

static void
qp_wait_poller(struct ibv_cq *cq)
{
	if (!cq)
		return;
	__plx_lock(&verbs_cq_of(cq)->pub.lock);
	__plx_unlock(&verbs_cq_of(cq)->pub.lock);
}

/* Afterwards no poller knows the QP. Its handle may be a younger QP's already. */
static void
qp_unpublish(struct verbs_ctx *ctx, struct verbs_qp *qp)
{
	struct ibv_qp *q = &qp->pub.v.qp;

	pthread_mutex_lock(&ctx->lock);
	if (q->handle < ctx->pub.qp_table_size && ctx->pub.qp_table[q->handle] == &qp->pub)
		__atomic_store_n(&ctx->pub.qp_table[q->handle], NULL, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&ctx->lock);
	qp_wait_poller(q->send_cq);
	qp_wait_poller(q->recv_cq);
}

/* Nothing is asked of what a QP does not have, and what is said of it does not count (FC66, FC63). */

static bool
receives(const struct ibv_qp_init_attr *init)
{
	return init->qp_type != IBV_QPT_XRC_SEND;
}

static bool
has_rq(const struct ibv_qp_init_attr *init)
{
	return receives(init) && !init->srq;
}

static int
init_check(struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	const struct ctl_query_device *limits = &verbs_ctx_of(pd->context)->limits;
	const struct ibv_qp_cap *cap = &init->cap;

	if (init->qp_type == IBV_QPT_XRC_RECV)	/* it has no PD: plx_create_qp_ex() makes it */
		return -EINVAL;
	if (!verbs_type_opcodes(init->qp_type))
		return -EOPNOTSUPP;
	if (!init->send_cq || init->send_cq->context != pd->context)
		return -EINVAL;
	if (receives(init) && (!init->recv_cq || init->recv_cq->context != pd->context))
		return -EINVAL;
	if (receives(init) && init->srq && init->srq->context != pd->context)
		return -EINVAL;
	if (cap->max_send_wr > limits->max_qp_wr || cap->max_send_sge > limits->max_sge ||
	    cap->max_inline_data > limits->max_inline_data)
		return -EINVAL;
	if (has_rq(init) && (cap->max_recv_wr > limits->max_qp_wr || cap->max_recv_sge > limits->max_sge))
		return -EINVAL;
	return 0;
}

static int
wq_map(struct verbs_ctx *ctx, struct plx_wq *wq, const struct ctl_wq *from)
{
	wq->ctl = ctx->backend->map(ctx->client.handle, &from->ctl);
	wq->slots = ctx->backend->map(ctx->client.handle, &from->slots);
	if (!wq->ctl || from->log2_size > 31 || (!wq->slots && wq->max_wr))
		return -ENOMEM;
	wq->mask = (1u << from->log2_size) - 1;
	wq->stride = from->stride;
	return 0;
}

/* The slots must hold what was granted: the inline layer relies on it. */
static bool
wq_fits(const struct verbs_qp *qp)
{
	const struct plx_wq *sq = &qp->pub.sq, *rq = &qp->pub.rq;

	return (!sq->max_wr || (sq->max_wr <= sq->mask + 1 &&
				sq->stride >= plx_sq_stride(sq->max_sge, sq->max_inline))) &&
	       (!rq->max_wr || (rq->max_wr <= rq->mask + 1 &&
				rq->stride >= plx_rq_stride(rq->max_sge)));
}

static int
qp_map(struct verbs_ctx *ctx, struct verbs_qp *qp, const struct ctl_create_qp *msg)
{
	struct plx_qp *pub = &qp->pub;
	int err;

	pub->sq.max_wr = msg->cap.max_send_wr;
	pub->sq.max_sge = msg->cap.max_send_sge;
	pub->sq.max_inline = msg->cap.max_inline_data;
	pub->rq.max_wr = msg->cap.max_recv_wr;
	pub->rq.max_sge = msg->cap.max_recv_sge;
	if (msg->core >= ctx->pub.num_cores)
		return -EIO;
	pub->core = &ctx->pub.core[msg->core];
	pub->gen = msg->qp_gen;
	err = wq_map(ctx, &pub->sq, &msg->sq);
	if (!err)
		err = wq_map(ctx, &pub->rq, &msg->rq);
	if (!err && !wq_fits(qp))
		err = -EIO;
	return err;
}

struct verbs_qp *
verbs_qp_new(struct ibv_pd *pd)
{
	bool theirs;
	struct verbs_qp *qp = verbs_pd_new(pd, sizeof(*qp), _Alignof(struct verbs_qp), PLX_RESOURCE_QP,
					   &theirs);

	if (!qp)
		return NULL;
	qp->pub.v.qp.pd = pd;
	qp->theirs = theirs;
	qp->pub.sq.single = qp->pub.rq.single = verbs_pd_single(pd);
	return qp;
}

static void
qp_memory_free(struct verbs_qp *qp)
{
	verbs_pd_free(qp->pub.v.qp.pd, qp, PLX_RESOURCE_QP, qp->theirs);
}

void
verbs_qp_fill(struct verbs_qp *qp, struct ibv_context *context, const struct ibv_qp_init_attr *init)
{
	uint32_t ops = verbs_type_opcodes(init->qp_type);
	struct ibv_qp *q = &qp->pub.v.qp;

	q->context = context;
	q->qp_context = init->qp_context;
	q->send_cq = init->send_cq;
	q->recv_cq = receives(init) ? init->recv_cq : NULL;
	q->srq = receives(init) ? init->srq : NULL;
	q->state = IBV_QPS_RESET;
	q->qp_type = init->qp_type;
	pthread_mutex_init(&q->mutex, NULL);
	pthread_cond_init(&q->cond, NULL);
	qp->pub.local_opcodes = ops & LOCAL;
	if (init->qp_type == IBV_QPT_UD)
		qp->pub.dgram_opcodes = ops;
	else if (init->qp_type == IBV_QPT_XRC_SEND)
		qp->pub.xrc_opcodes = ops & ~LOCAL;
	else
		qp->pub.opcodes = ops & ~LOCAL;
	qp->pub.msg_max = 1u << 31;
	qp->pub.sig_all = init->sq_sig_all != 0;
	qp->init = *init;
	qp->init.cap = (struct ibv_qp_cap){ 0 };
}

/* What the stack granted. */
static void
qp_granted(struct verbs_qp *qp, const struct ctl_create_qp *msg)
{
	struct ibv_qp *q = &qp->pub.v.qp;

	q->handle = msg->qp;
	q->qp_num = msg->qp_num;
	qp->init.cap = (struct ibv_qp_cap){
		.max_send_wr = msg->cap.max_send_wr,
		.max_recv_wr = msg->cap.max_recv_wr,
		.max_send_sge = msg->cap.max_send_sge,
		.max_recv_sge = msg->cap.max_recv_sge,
		.max_inline_data = msg->cap.max_inline_data,
	};
}

void
verbs_qp_free(struct verbs_qp *qp)
{
	pthread_cond_destroy(&qp->pub.v.qp.cond);
	pthread_mutex_destroy(&qp->pub.v.qp.mutex);
	qp_memory_free(qp);
}

/* An empty poll of its CQs must drive the QP's core too. */
static void
qp_join_cqs(struct verbs_ctx *ctx, const struct verbs_qp *qp, uint32_t core)
{
	const struct ibv_qp *q = &qp->pub.v.qp;

	if (!ctx->pub.core[core].drive)
		return;
	__atomic_fetch_or(&verbs_cq_of(q->send_cq)->pub.cores, 1ull << core, __ATOMIC_RELAXED);
	if (q->recv_cq)
		__atomic_fetch_or(&verbs_cq_of(q->recv_cq)->pub.cores, 1ull << core, __ATOMIC_RELAXED);
}

/* B30: a datagram is one packet. */
static int
qp_ask_mtu(struct ibv_pd *pd, struct verbs_qp *qp)
{
	struct ctl_query_port p = { .port = 1 };
	int err = verbs_call(pd->context, CTL_QUERY_PORT, &p);

	qp->pub.msg_max = 128u << p.active_mtu;	/* enum ibv_mtu: 1 is 256 bytes */
	return err;
}

static int
qp_create(struct ibv_pd *pd, const struct ibv_qp_init_attr *init, struct verbs_qp **out)
{
	struct verbs_ctx *ctx = verbs_ctx_of(pd->context);
	struct ctl_create_qp msg = {
		.pd = pd->handle,
		.type = init->qp_type,
		.send_cq = init->send_cq->handle,
		.recv_cq = receives(init) ? init->recv_cq->handle : 0,
		.srq = receives(init) && init->srq ? init->srq->handle + 1 : 0,
		.cap = { init->cap.max_send_wr, has_rq(init) ? init->cap.max_recv_wr : 0,
			 init->cap.max_send_sge, has_rq(init) ? init->cap.max_recv_sge : 0,
			 init->cap.max_inline_data },
	};
	struct verbs_qp *qp = verbs_qp_new(pd);
	struct ctl_destroy_qp undo;
	int err;

	if (!qp)
		return -ENOMEM;
	err = verbs_call(pd->context, CTL_CREATE_QP, &msg);
	if (err) {
		qp_memory_free(qp);
		return err;
	}
	verbs_qp_fill(qp, pd->context, init);
	qp_granted(qp, &msg);
	err = qp_map(ctx, qp, &msg);
	if (!err && qp->pub.dgram_opcodes)
		err = qp_ask_mtu(pd, qp);
	if (!err)
		err = verbs_qp_publish(ctx, qp);
	if (err) {
		undo = (struct ctl_destroy_qp){ .qp = msg.qp };
		verbs_call(pd->context, CTL_DESTROY_QP, &undo);
		verbs_qp_free(qp);
		return err;
	}
	qp_join_cqs(ctx, qp, msg.core);
	*out = qp;
	return 0;
}

struct ibv_qp *
plx_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct verbs_qp *qp;
	int err = init_check(pd, init);

	if (!err)
		err = qp_create(pd, init, &qp);
	if (err) {
		errno = -err;
		return NULL;
	}
	init->cap = qp->init.cap;
	return &qp->pub.v.qp;
}

/* E5: RESET forgets all that was posted, so every slot is free; and what failed. */
static void
wq_empty(const struct plx_qp *qp, struct plx_wq *wq, struct ibv_cq *cq, bool locked)
{
	uint32_t *poll_lock;

	if (!cq)
		return;
	poll_lock = &verbs_cq_of(cq)->pub.lock;
	if (!locked)
		__plx_lock(&wq->lock);
	__plx_lock(poll_lock);
	__atomic_store_n(&wq->head, wq->tail, __ATOMIC_RELEASE);
	__plx_unlock(poll_lock);
	if (!locked)
		__plx_unlock(&wq->lock);
	verbs_cq_forget(cq, qp);
}

/* A batch that this very thread has open, and with it the lock of the queue, is forgotten too. */
static bool
batch_forget(struct plx_qp *qp)
{
	if (__atomic_load_n(&qp->build.owner, __ATOMIC_RELAXED) != __plx_wr_self())
		return false;
	__plx_wr_fail(qp, EINVAL);
	return true;
}

int
plx_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask)
{
	struct verbs_qp *qp = verbs_qp_of(ibqp);
	struct ctl_modify_qp msg = { .qp = ibqp->handle, .mask = (uint32_t)attr_mask };
	int err;

	verbs_attr_to_ctl(attr, &msg.attr);
	err = verbs_call(ibqp->context, CTL_MODIFY_QP, &msg);
	if (err)
		return -err;
	if (attr_mask & IBV_QP_MAX_QP_RD_ATOMIC)
		qp->pub.max_rd_atomic = attr->max_rd_atomic;
	__atomic_store_n(&ibqp->state, (enum ibv_qp_state)msg.state, __ATOMIC_RELAXED);
	if (msg.state == IBV_QPS_RESET) {
		qp->pub.max_rd_atomic = 0;
		wq_empty(&qp->pub, &qp->pub.sq, ibqp->send_cq, batch_forget(&qp->pub));
		wq_empty(&qp->pub, &qp->pub.rq, ibqp->recv_cq, false);
	}
	return 0;
}

int
plx_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int attr_mask,
	     struct ibv_qp_init_attr *init_attr)
{
	struct ctl_query_qp msg = { .qp = ibqp->handle };
	int err = verbs_call(ibqp->context, CTL_QUERY_QP, &msg);

	if (err)
		return -err;
	verbs_attr_from_ctl(&msg.attr, attr);
	if (attr_mask & IBV_QP_STATE) /* it may have gone to ERR by itself (E3) */
		__atomic_store_n(&ibqp->state, attr->qp_state, __ATOMIC_RELAXED);
	if (init_attr)
		*init_attr = verbs_qp_of(ibqp)->init;
	return 0;
}

int
plx_explain_qp(struct ibv_qp *qp, uint32_t *vendor_err, char *text, size_t len)
{
	struct ctl_explain_qp msg = { .qp = qp->handle };
	int err = verbs_call(qp->context, CTL_EXPLAIN_QP, &msg);

	if (err)
		return -err;
	if (vendor_err)
		*vendor_err = msg.vendor_err;
	if (len)
		snprintf(text, len, "%s", msg.text);
	return 0;
}

/* D-5. The count of what was delivered cannot grow any more. */
static void
qp_wait_acks(struct verbs_qp *qp)
{
	struct ibv_qp *q = &qp->pub.v.qp;

	pthread_mutex_lock(&q->mutex);
	while ((int32_t)(qp->async_delivered - q->events_completed) > 0)
		pthread_cond_wait(&q->cond, &q->mutex);
	pthread_mutex_unlock(&q->mutex);
}

int
plx_destroy_qp(struct ibv_qp *ibqp)
{
	struct verbs_ctx *ctx = verbs_ctx_of(ibqp->context);
	struct verbs_qp *qp = verbs_qp_of(ibqp);
	struct ctl_destroy_qp msg = { .qp = ibqp->handle };
	int err = verbs_call(ibqp->context, CTL_DESTROY_QP, &msg);

	if (err)
		return -err;
	qp_unpublish(ctx, qp);
	verbs_evq_purge(&ctx->async);
	qp_wait_acks(qp);
	verbs_qp_free(qp);
	return 0;
}

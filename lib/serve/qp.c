/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs: made, asked, freed. What changes their state is in qp_modify.c. Control threads,
 * under the stack's lock.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "serve/object.h"
#include "serve/qp.h"
#include "transport/numbers.h"

/* What the client holds itself: the QP, or a handle of an XRC target. */
static struct qpair *
handle_get(struct client *cl, uint32_t handle)
{
	struct qpair *q = table_get(&cl->stack->qps, handle);

	return q && q->client == cl ? q : NULL;
}

struct qpair *
qp_get(struct client *cl, uint32_t handle)
{
	struct qpair *q = handle_get(cl, handle);

	return q && q->target ? q->target : q;
}

/* Of a QP on an SRQ nothing is asked of its own receive queue (FC63). */
static int
check_cap(struct ctl_create_qp *m)
{
	struct ctl_qp_cap *cap = &m->cap;

	if (m->srq || !qp_type_receives(m->type))
		cap->max_recv_wr = cap->max_recv_sge = 0;
	if (cap->max_send_wr > PLX_MAX_WR || cap->max_recv_wr > PLX_MAX_WR ||
	    cap->max_send_sge > PLX_MAX_SGE || cap->max_recv_sge > PLX_MAX_SGE ||
	    cap->max_inline_data > PLX_MAX_INLINE)
		return -EINVAL;
	return 0;
}

static int
check_create(const struct ctl_create_qp *m)
{
	if (!qp_type_exists(m->type))
		return qp_type_known(m->type) ? -EOPNOTSUPP : -EINVAL;
	if (m->create_flags)
		return -EOPNOTSUPP;
	return 0;
}

/* What the rings have room for anyhow is granted. */
static void
round_cap(struct ctl_qp_cap *cap)
{
	uint32_t body = plx_sq_stride(cap->max_send_sge, cap->max_inline_data) -
			(uint32_t)sizeof(struct plx_sq_wqe);

	if (cap->max_send_wr)
		cap->max_send_wr = 1u << rings_log2(cap->max_send_wr);
	if (cap->max_recv_wr)
		cap->max_recv_wr = 1u << rings_log2(cap->max_recv_wr);
	if (cap->max_inline_data)
		cap->max_inline_data = body < PLX_MAX_INLINE ? body : PLX_MAX_INLINE;
}

/* One block: both control words, then the slots of both queues. */
int
qp_rings(struct qpair *q, struct ctl_create_qp *m, struct qp_conf *conf)
{
	const struct ctl_qp_cap *cap = &m->cap;
	const size_t ctl = sizeof(struct plx_wq_ctl);
	uint32_t sq_log2 = rings_log2(cap->max_send_wr), rq_log2 = rings_log2(cap->max_recv_wr);
	uint32_t sq_stride = plx_sq_stride(cap->max_send_sge, cap->max_inline_data);
	uint32_t rq_stride = plx_rq_stride(cap->max_recv_sge);
	size_t sq_len = (size_t)sq_stride << sq_log2, rq_len = (size_t)rq_stride << rq_log2;
	char *at;
	int rc = rings_new(&q->rings, 2 * ctl + sq_len + rq_len);

	if (rc < 0)
		return rc;
	at = q->rings.at;
	conf->sq = (struct wq_conf){ .ctl = (void *)at, .slots = (void *)(at + 2 * ctl),
		.log2_size = sq_log2, .stride = sq_stride, .max_wr = cap->max_send_wr,
		.max_sge = cap->max_send_sge };
	conf->rq = (struct wq_conf){ .ctl = (void *)(at + ctl),
		.slots = (void *)(at + 2 * ctl + sq_len), .log2_size = rq_log2, .stride = rq_stride,
		.max_wr = cap->max_recv_wr, .max_sge = cap->max_recv_sge };
	m->sq = (struct ctl_wq){ sq_log2, sq_stride, rings_seg(conf->sq.ctl, ctl),
				 rings_seg(conf->sq.slots, sq_len) };
	m->rq = (struct ctl_wq){ rq_log2, rq_stride, rings_seg(conf->rq.ctl, ctl),
				 rings_seg(conf->rq.slots, rq_len) };
	return 0;
}

/* The memory of a QP, both halves of the stack. NULL without. */
struct qpair *
qp_alloc(void)
{
	const size_t size = (qp_size() + 63) & ~(size_t)63;
	struct qpair *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->e.qp = aligned_alloc(64, size);
	if (!q->e.qp) {
		free(q);
		return NULL;
	}
	memset(q->e.qp, 0, size);
	list_init(&q->mcasts);
	return q;
}

void
qp_memory_free(struct qpair *q)
{
	rings_free(&q->rings);
	free(q->e.qp);
	free(q);
}

static int
join(struct core *c, void *arg)
{
	struct qpair *q = arg;
	int rc = core_qp_add(c, &q->e);

	if (rc == 0 && q->client)
		core_qp_hear(c, &q->e, &q->ear);
	return rc;
}

/* It could not join, and what it allocated goes. */
static int
stay_out(struct core *c, void *arg)
{
	struct qpair *q = arg;

	qp_fini(q->e.qp, core_xport(c));
	return 0;
}

/* Random numbers without repetition until all have been out: with one core a QPN rests for 2^24
 * creations. The low bits name the core. */
static uint32_t
next_qpn(struct stack *s, uint32_t core)
{
	uint32_t bits = eng_qpn_bits(eng_num_cores(s->eng));
	uint32_t n = __atomic_fetch_add(&s->num_created[core], 1, __ATOMIC_RELAXED);

	return perm_apply(&s->qpns, n & (0xffffff >> bits)) << bits | core;
}

int
qp_number_and_join(struct stack *s, struct qpair *q, struct qp_conf *conf)
{
	for (uint32_t tries = 0; tries < 2 * MAX_QP; tries++) {
		int rc;

		conf->qpn = next_qpn(s, core_index(q->core));
		if (conf->qpn <= 1 || conf->qpn == 0xffffff)
			continue;	/* SMI, GSI, multicast (A18) */
		rc = qp_init(q->e.qp, conf);
		if (rc < 0)
			return rc;
		rc = eng_call(q->core, join, q);
		if (rc == 0)
			return 0;
		eng_call(q->core, stay_out, q);
		memset(q->e.qp, 0, qp_size());
		if (rc != -EEXIST)
			return rc;
	}
	return -ENOMEM;
}

static void
hold(struct qpair *q, struct client *cl, struct pd *pd, struct cqueue *scq, struct cqueue *rcq,
     struct squeue *srq)
{
	q->client = cl;
	q->pd = pd;
	q->send_cq = scq;
	q->recv_cq = rcq;
	q->srq = srq;
	q->core = eng_core(cl->stack->eng, home_place(cl->stack, scq, rcq ? rcq : scq));
	q->ear.client = &cl->seat[core_index(q->core)].on;
	pd->users++;
	scq->users++;
	if (rcq)
		rcq->users++;
	if (srq)
		srq->users++;
	list_push(&cl->qps, &q->node);
}

static void
let_go(struct qpair *q)
{
	list_del(&q->node);
	q->pd->users--;
	q->send_cq->users--;
	if (q->recv_cq)
		q->recv_cq->users--;
	if (q->srq)
		q->srq->users--;
	qp_memory_free(q);
}

/* It joined no core, but may have had a handle, for which a client may ring. */
static void
undo(struct qpair *q)
{
	struct stack *s = q->client->stack;

	if (table_get(&s->qps, q->handle) == q) {
		table_del(&s->qps, q->handle);
		eng_quiet(s->eng);
	}
	let_go(q);
}

struct qp_conf
qp_conf_of(struct stack *s, const struct ctl_create_qp *m)
{
	return (struct qp_conf){
		.type = m->type,
		.max_inline = m->cap.max_inline_data,
		.port_ip_mtu = eng_port(s->eng)->ip_mtu,
		.dev_max_rd_atomic = MAX_RD_ATOMIC,
		.dev_max_dest_rd_atomic = MAX_RD_ATOMIC,
	};
}

static int
furnish(struct qpair *q, struct ctl_create_qp *m)
{
	struct stack *s = q->client->stack;
	struct qp_conf conf = qp_conf_of(s, m);
	int rc = home_join(q->send_cq, q->core, &conf.send_cq);

	conf.pd = q->pd->handle;
	conf.srq = q->srq ? &q->srq->e.srq : NULL;
	if (rc == 0 && q->recv_cq)
		rc = home_join(q->recv_cq, q->core, &conf.recv_cq);
	if (rc == 0)
		rc = table_add(&s->qps, q, &q->handle, &q->gen);
	if (rc == 0)
		rc = qp_rings(q, m, &conf);
	if (rc < 0)
		return rc;
	conf.handle = q->ear.handle = q->handle;
	conf.gen = q->ear.gen = q->gen;
	rc = qp_number_and_join(s, q, &conf);
	q->cap = m->cap;
	m->qp = q->handle;
	m->qp_gen = q->gen;
	m->qp_num = conf.qpn;
	m->core = core_index(q->core);
	return rc;
}

int
serve_create_qp(struct client *cl, struct ctl_create_qp *m)
{
	struct pd *pd = pd_get(cl, m->pd);
	struct cqueue *scq = cq_get(cl, m->send_cq), *rcq = cq_get(cl, m->recv_cq);
	struct squeue *srq = m->srq ? srq_get(cl, m->srq - 1) : NULL;
	bool receives = qp_type_receives(m->type);
	struct qpair *q;
	int rc = check_create(m);

	if (rc == 0 && m->type == QPT_XRC_TGT)
		return target_create(cl, m);
	if (srq && srq->open)
		srq = NULL;	/* it is a domain's: peers name it, and no QP has it */
	/* what is not received needs no CQ and takes no SRQ (FC66) */
	if (rc == 0 && (!pd || !scq || (receives ? !rcq || (m->srq && !srq) : m->srq != 0)))
		rc = -EINVAL;
	if (rc == 0)
		rc = check_cap(m);
	if (rc < 0)
		return rc;
	q = qp_alloc();
	if (!q)
		return -ENOMEM;
	round_cap(&m->cap);
	hold(q, cl, pd, scq, receives ? rcq : NULL, srq);
	rc = furnish(q, m);
	if (rc < 0)
		undo(q);
	return rc;
}

/* On the QP's core: a bell finds it no more. */
static void
gone(void *arg)
{
	struct qpair *q = arg;

	table_del(&q->client->stack->qps, q->handle);
}

void
qp_free(struct qpair *q)
{
	struct stack *s = q->client->stack;

	if (q->target) {
		target_close(q);
		return;
	}
	mcast_leave_all(q);
	eng_qp_del(&q->e, gone, q);
	memory_is_back(s, eng_wait_qps(s->eng));
	let_go(q);
}

int
serve_destroy_qp(struct client *cl, struct ctl_destroy_qp *m)
{
	struct qpair *q = handle_get(cl, m->qp);

	if (!q)
		return -EINVAL;
	if (!list_empty(&q->mcasts))
		return -EBUSY;	/* FC17, and the specification's o10-2.2.3 */
	qp_free(q);
	return 0;
}

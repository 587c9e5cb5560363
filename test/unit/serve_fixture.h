/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole stack on a loop port, used through the table that libpollux would call: a client with a PD,
 * a buffer, a CQ with its channel, and two QPs that are connected to each other.
 */
#ifndef UNIT_SERVE_FIXTURE_H
#define UNIT_SERVE_FIXTURE_H

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ctl/backend.h"
#include "serve/object.h"
#include "serve/stack.h"
#include "transport/numbers.h"
#include <pollux/abi/cqe.h>
#include <pollux/abi/event.h>
#include <pollux/abi/wqe.h>

#include "check.h"

#define BUF_LEN (4u << 20)
#define ALL_ACCESS 15u		/* local write, remote write, read and atomic */

static const struct ctl_backend *local;

/* What libpollux has: the stack registers itself here. */
int
__plx_backend_register(const struct ctl_backend *backend)
{
	local = backend;
	return 0;
}

struct end {			/* a QP, the application's half */
	struct ctl_create_qp m;
	uint32_t sq_tail, rq_tail;
};

struct world {
	struct ctl_client cl;
	uint32_t pd;
	struct ctl_channel ch;
	struct ctl_create_cq cq;
	uint32_t cq_head;
	uint8_t *buf;
	struct ctl_reg_mr mr;
	struct end a, b;
	bool behind;			/* posts are to queues with work that is not acknowledged */
	uint8_t gid[16];
};

static struct world w;

static void *
at(const struct ctl_seg *seg)
{
	return local->map(w.cl.handle, seg);
}

static int
call(enum ctl_msg_type type, void *msg)
{
	return local->call(w.cl.handle, type, msg);
}

static int
start_stack(const char *cores)
{
	const struct setting_text t = { .port = "loop", .ip = "10.11.0.1/24", .cores = cores };
	char why[256] = "";
	int rc;

	if (stack_running()) {	/* a case that failed left it */
		if (w.cl.handle)
			local->close(&w.cl);
		(void)stack_stop();
	}
	w.cl.handle = NULL;
	rc = stack_start(&t, false, 0, why, sizeof(why));

	if (rc < 0)
		printf("start: %d %s\n", rc, why);
	return rc;
}

static int
reg(uint32_t access)
{
	w.mr = (struct ctl_reg_mr){ .pd = w.pd, .access = access, .addr = (uintptr_t)w.buf,
				    .length = BUF_LEN, .iova = (uintptr_t)w.buf };
	return call(CTL_REG_MR, &w.mr);
}

static int
new_qp_on(struct end *e, uint32_t cq, uint32_t max_wr)
{
	memset(e, 0, sizeof(*e));
	e->m = (struct ctl_create_qp){ .pd = w.pd, .type = QPT_RC, .send_cq = cq, .recv_cq = cq,
				       .cap = { max_wr, max_wr, 4, 4, 64 } };
	return call(CTL_CREATE_QP, &e->m);
}

static int
new_qp(struct end *e)
{
	return new_qp_on(e, w.cq.cq, 256);
}

static int
modify(struct end *e, uint32_t mask, struct ctl_qp_attr attr)
{
	struct ctl_modify_qp m = { .qp = e->m.qp, .mask = mask, .attr = attr };

	return call(CTL_MODIFY_QP, &m);
}

static int
to_init(struct end *e)
{
	return modify(e, QPM_STATE | QPM_PKEY_INDEX | QPM_PORT | QPM_ACCESS_FLAGS,
		      (struct ctl_qp_attr){ .qp_state = QPS_INIT, .port_num = 1,
					    .qp_access_flags = ALL_ACCESS });
}

#define RTR_MASK (QPM_STATE | QPM_AV | QPM_PATH_MTU | QPM_DEST_QPN | QPM_RQ_PSN | \
		  QPM_MAX_DEST_RD_ATOMIC | QPM_MIN_RNR_TIMER)

static struct ctl_qp_attr
rtr_attr(uint32_t peer)
{
	struct ctl_qp_attr attr = { .qp_state = QPS_RTR, .path_mtu = 5, .dest_qp_num = peer,
				    .max_dest_rd_atomic = 16, .min_rnr_timer = 1,
				    .ah = { .is_global = 1, .port_num = 1, .sgid_index = 1 } };

	memcpy(attr.ah.dgid, w.gid, 16);
	return attr;
}

static uint8_t ack_timeout = 17;	/* 4.096 us * 2^17: a tool may slow all of it down; 17 ms where frames
					 * are lost */

static int
to_rts(struct end *e)
{
	return modify(e, QPM_STATE | QPM_TIMEOUT | QPM_RETRY_CNT | QPM_RNR_RETRY | QPM_SQ_PSN |
		      QPM_MAX_QP_RD_ATOMIC,
		      (struct ctl_qp_attr){ .qp_state = QPS_RTS, .timeout = ack_timeout, .retry_cnt = 7,
					    .rnr_retry = 7, .max_rd_atomic = 16 });
}

static int
connect_to(struct end *e, uint32_t peer)
{
	int rc = to_init(e);

	if (rc == 0)
		rc = modify(e, RTR_MASK, rtr_attr(peer));
	return rc ? rc : to_rts(e);
}

static int
new_pair(void)
{
	int rc = new_qp(&w.a);

	if (rc == 0)
		rc = new_qp(&w.b);
	if (rc == 0)
		rc = connect_to(&w.a, w.b.m.qp_num);
	return rc ? rc : connect_to(&w.b, w.a.m.qp_num);
}

static int
open_client(void)
{
	struct ctl_query_gid gid = { .port = 1, .index = 1 };
	struct ctl_pd pd = { 0 };
	int rc;

	memset(&w, 0, sizeof(w));
	rc = local->open(0, CTL_ABI_VERSION, &w.cl);
	if (rc == 0)
		rc = call(CTL_QUERY_GID, &gid);
	memcpy(w.gid, gid.gid, 16);
	if (rc == 0)
		rc = call(CTL_ALLOC_PD, &pd);
	w.pd = pd.pd;
	if (rc == 0)
		rc = call(CTL_CREATE_CHANNEL, &w.ch);
	w.cq = (struct ctl_create_cq){ .cqe = 1024, .channel = w.ch.channel };
	if (rc == 0)
		rc = call(CTL_CREATE_CQ, &w.cq);
	w.buf = aligned_alloc(4096, BUF_LEN);
	memset(w.buf, 0, BUF_LEN);
	return rc ? rc : reg(ALL_ACCESS);
}

__attribute__((unused)) static int
start_world(const char *cores)
{
	int rc = start_stack(cores);

	if (rc == 0)
		rc = open_client();
	return rc ? rc : new_pair();
}

/* Closes with everything still there. */
static int
end_world(void)
{
	local->close(&w.cl);
	w.cl.handle = NULL;
	close(w.ch.fd);
	free(w.buf);
	return stack_stop();
}

static void
drive(enum ctl_drive how)
{
	if (w.cl.core[0].drive)
		w.cl.core[0].drive(w.cl.core[0].drive_arg, how);
}

static void
ring(struct end *e, struct plx_wq_ctl *ctl, uint32_t tail, enum plx_bell_kind kind)
{
	const struct ctl_core *core = &w.cl.core[e->m.core];
	int asleep = plx_bell_publish(core->bell, ctl, tail, e->m.qp, kind);

	if (core->drive)
		drive(w.behind && kind == PLX_BELL_SQ ? CTL_DRIVE_MORE : CTL_DRIVE_POST);
	else if (asleep)
		core->wake(core->drive_arg);
}

struct send {
	uint8_t opcode, flags;
	uint32_t imm;
	size_t from, len, to;		/* offsets in the buffer */
	uint64_t compare_add, swap;
	uint64_t wr_id;
	uint32_t srqn;			/* XRC */
};

/* Signalled. */
__attribute__((unused)) static void
post_send(struct end *e, const struct send *s)
{
	uint32_t slot = e->sq_tail & ((1u << e->m.sq.log2_size) - 1);
	struct plx_sq_wqe *q = (void *)((char *)at(&e->m.sq.slots) + (size_t)slot * e->m.sq.stride);
	struct plx_sge *sge = (void *)(q + 1);

	*q = (struct plx_sq_wqe){ .wr_id = s->wr_id, .opcode = s->opcode,
		.flags = PLX_WQE_SIGNALED | s->flags, .num_sge = 1, .length = (uint32_t)s->len,
		.imm = s->imm, .rkey = w.mr.rkey, .remote_addr = (uintptr_t)w.buf + s->to,
		.xrc_srqn = s->srqn };
	if (s->opcode == WR_CMP_SWAP || s->opcode == WR_FETCH_ADD) {
		q->atomic.compare_add = s->compare_add;
		q->atomic.swap = s->swap;
	}
	*sge = (struct plx_sge){ (uintptr_t)w.buf + s->from, (uint32_t)s->len, w.mr.lkey };
	ring(e, at(&e->m.sq.ctl), ++e->sq_tail, PLX_BELL_SQ);
}

__attribute__((unused)) static void
post_recv(struct end *e, size_t to, size_t len, uint64_t wr_id)
{
	uint32_t slot = e->rq_tail & ((1u << e->m.rq.log2_size) - 1);
	struct plx_rq_wqe *q = (void *)((char *)at(&e->m.rq.slots) + (size_t)slot * e->m.rq.stride);
	struct plx_sge *sge = (void *)(q + 1);
	struct plx_wq_ctl *ctl = at(&e->m.rq.ctl);

	*q = (struct plx_rq_wqe){ .wr_id = wr_id, .num_sge = 1 };
	*sge = (struct plx_sge){ (uintptr_t)w.buf + to, (uint32_t)len, w.mr.lkey };
	__atomic_store_n(&ctl->tail, ++e->rq_tail, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&ctl->bell_wanted, __ATOMIC_RELAXED))
		ring(e, ctl, e->rq_tail, PLX_BELL_RQ);
}

/* The next CQE, without driving anything. False: there is none. */
static bool
peek(struct plx_cqe *out)
{
	struct plx_cqe *c = (struct plx_cqe *)at(&w.cq.ring) + (w.cq_head & ((1u << w.cq.log2_size) - 1));
	struct plx_cq_ctl *ctl = at(&w.cq.ctl);

	if (__atomic_load_n(&c->phase, __ATOMIC_ACQUIRE) != plx_cqe_phase(w.cq_head, w.cq.log2_size))
		return false;
	*out = *c;
	__atomic_store_n(&ctl->head, ++w.cq_head, __ATOMIC_RELEASE);
	return true;
}

static uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* The next CQE within 10 s. */
__attribute__((unused)) static bool
poll(struct plx_cqe *out)
{
	uint64_t end = now_ms() + 10000;

	while (!peek(out)) {
		drive(CTL_DRIVE_POLL);
		if (now_ms() > end)
			return false;
	}
	return true;
}

__attribute__((unused)) static void
arm(enum plx_cq_arm how)
{
	struct plx_cq_ctl *ctl = at(&w.cq.ctl);

	__atomic_store_n(&ctl->arm, (uint32_t)how, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Within `ms`, while nobody drives. */
__attribute__((unused)) static bool
readable(int fd, int ms)
{
	uint8_t byte;

	for (uint64_t end = now_ms() + (uint64_t)ms; now_ms() <= end; usleep(1000))
		if (recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) > 0)
			return true;
	return false;
}

#endif

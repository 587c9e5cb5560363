/* SPDX-License-Identifier: BSD-3-Clause */
/* For tests of shared receive queues on the fixture's stack: the application's half of one. */
#ifndef UNIT_SERVE_SHARED_H
#define UNIT_SERVE_SHARED_H

#include "serve_fixture.h"

struct shared {			/* the application's half */
	struct ctl_create_srq m;
	struct ctl_wq wq;
	uint32_t tail, max_wr;
};

static int
new_srq(struct shared *s, uint32_t max_wr)
{
	memset(s, 0, sizeof(*s));
	s->m = (struct ctl_create_srq){ .pd = w.pd, .max_wr = max_wr, .max_sge = 2 };
	if (call(CTL_CREATE_SRQ, &s->m))
		return -1;
	s->wq = s->m.wq;
	s->max_wr = s->m.max_wr;
	return 0;
}

__attribute__((unused)) static int
destroy_srq(const struct shared *s)
{
	struct ctl_destroy_srq m = { .srq = s->m.srq };

	return call(CTL_DESTROY_SRQ, &m);
}

/* False: full. */
static bool
post_shared(struct shared *s, size_t to, size_t len, uint64_t wr_id)
{
	struct plx_wq_ctl *ctl = at(&s->wq.ctl);
	uint32_t slot = s->tail & ((1u << s->wq.log2_size) - 1);
	struct plx_rq_wqe *q = (void *)((char *)at(&s->wq.slots) + (size_t)slot * s->wq.stride);
	struct plx_sge *sge = (void *)(q + 1);

	if (s->tail - __atomic_load_n(&ctl->head, __ATOMIC_ACQUIRE) >= s->max_wr)
		return false;
	*q = (struct plx_rq_wqe){ .wr_id = wr_id, .num_sge = 1 };
	*sge = (struct plx_sge){ (uintptr_t)w.buf + to, (uint32_t)len, w.mr.lkey };
	__atomic_store_n(&ctl->tail, ++s->tail, __ATOMIC_RELEASE);
	return true;
}

static int
new_qp_with(struct end *e, const struct shared *s)
{
	memset(e, 0, sizeof(*e));
	e->m = (struct ctl_create_qp){ .pd = w.pd, .type = QPT_RC, .send_cq = w.cq.cq,
		.recv_cq = w.cq.cq, .srq = s->m.srq + 1, .cap = { 256, 1u << 31, 4, 1u << 31, 64 } };
	return call(CTL_CREATE_QP, &e->m);
}

__attribute__((unused)) static int
modify_srq(struct shared *s, uint32_t mask, uint32_t max_wr, uint32_t limit)
{
	struct ctl_modify_srq m = { .srq = s->m.srq, .mask = mask, .max_wr = max_wr, .limit = limit };
	int rc = call(CTL_MODIFY_SRQ, &m);

	if (rc == 0 && (mask & 1)) {
		s->wq = m.wq;
		s->max_wr = m.max_wr;
	}
	return rc;
}

__attribute__((unused)) static uint32_t
limit_of(const struct shared *s)
{
	struct ctl_query_srq m = { .srq = s->m.srq };

	return call(CTL_QUERY_SRQ, &m) ? UINT32_MAX : m.limit;
}

/* The next event within 10 s. */
__attribute__((unused)) static bool
event(struct plx_async_event *ev)
{
	for (uint64_t end = now_ms() + 10000; now_ms() < end; usleep(100)) {
		drive(CTL_DRIVE_POLL);
		if (recv(w.cl.async_fd, ev, sizeof(*ev), MSG_DONTWAIT) == (ssize_t)sizeof(*ev))
			return true;
	}
	return false;
}

__attribute__((unused)) static bool
quiet(void)
{
	struct plx_async_event ev;

	for (int i = 0; i < 20; i++, usleep(500))
		drive(CTL_DRIVE_POLL);
	return recv(w.cl.async_fd, &ev, sizeof(ev), MSG_DONTWAIT) < 0;
}

static int
start(const char *cores)
{
	int rc = start_stack(cores);

	ack_timeout = 17;	/* who waits for a CPU is not dead */
	return rc ? rc : open_client();
}

static int
pair_with(struct shared *s)
{
	int rc = new_qp(&w.a);

	if (rc == 0)
		rc = new_qp_with(&w.b, s);
	if (rc == 0)
		rc = connect_to(&w.a, w.b.m.qp_num);
	return rc ? rc : connect_to(&w.b, w.a.m.qp_num);
}

__attribute__((unused)) static int
to_err(struct end *e)
{
	return modify(e, QPM_STATE, (struct ctl_qp_attr){ .qp_state = QPS_ERR });
}

#endif

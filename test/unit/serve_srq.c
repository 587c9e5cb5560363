/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared receive queues of a whole stack: objects, limits, sizes, events. */
#include "serve_shared.h"

static void
serve_create_srq__objects(void)
{
	struct ctl_query_device dev;
	struct ctl_pd pd = { 0 };
	struct ctl_query_srq q;
	struct shared s, bad;
	struct end e;

	CHECK_EQ(start(NULL), 0);
	CHECK_EQ(call(CTL_QUERY_DEVICE, &dev), 0);
	CHECK_EQ(dev.max_srq, 65536);
	CHECK_EQ(dev.max_srq_wr, PLX_MAX_WR);
	CHECK_EQ(dev.max_srq_sge, PLX_MAX_SGE);
	CHECK_EQ(call(CTL_ALLOC_PD, &pd), 0);
	s.m = (struct ctl_create_srq){ .pd = pd.pd, .max_wr = 0, .max_sge = 1 };
	CHECK_EQ(-call(CTL_CREATE_SRQ, &s.m), EINVAL);
	s.m = (struct ctl_create_srq){ .pd = pd.pd, .max_wr = PLX_MAX_WR + 1, .max_sge = 1 };
	CHECK_EQ(-call(CTL_CREATE_SRQ, &s.m), EINVAL);
	s.m = (struct ctl_create_srq){ .pd = pd.pd, .max_wr = 1, .max_sge = PLX_MAX_SGE + 1 };
	CHECK_EQ(-call(CTL_CREATE_SRQ, &s.m), EINVAL);
	s.m = (struct ctl_create_srq){ .pd = pd.pd + 7, .max_wr = 1, .max_sge = 1 };
	CHECK_EQ(-call(CTL_CREATE_SRQ, &s.m), EINVAL);
	s.m = (struct ctl_create_srq){ .pd = pd.pd, .type = 2, .max_wr = 1, .max_sge = 1 };
	CHECK_EQ(-call(CTL_CREATE_SRQ, &s.m), EOPNOTSUPP);
	s.m = (struct ctl_create_srq){ .pd = pd.pd, .max_wr = PLX_MAX_WR, .max_sge = PLX_MAX_SGE };
	CHECK_EQ(call(CTL_CREATE_SRQ, &s.m), 0);
	CHECK_EQ(s.m.max_wr, PLX_MAX_WR);
	CHECK_EQ(-call(CTL_DEALLOC_PD, &pd), EBUSY);
	CHECK_EQ(new_qp_with(&e, &s), 0);
	CHECK_EQ(e.m.cap.max_recv_wr, 0);
	CHECK_EQ(e.m.cap.max_recv_sge, 0);
	CHECK_EQ(-destroy_srq(&s), EBUSY);
	bad = s;
	bad.m.srq += 9;
	CHECK_EQ(-new_qp_with(&w.a, &bad), EINVAL);
	CHECK_EQ(-destroy_srq(&bad), EINVAL);
	q = (struct ctl_query_srq){ .srq = s.m.srq };
	CHECK_EQ(call(CTL_QUERY_SRQ, &q), 0);
	CHECK(q.max_wr == PLX_MAX_WR && q.max_sge == PLX_MAX_SGE && q.limit == 0);
	CHECK_EQ(call(CTL_DESTROY_QP, &(struct ctl_destroy_qp){ .qp = e.m.qp }), 0);
	CHECK_EQ(destroy_srq(&s), 0);
	CHECK_EQ(-destroy_srq(&s), EINVAL);
	CHECK_EQ(call(CTL_DEALLOC_PD, &pd), 0);
	CHECK_EQ(end_world(), 0);
}

/* Twice: what the first lot held is there again. */
static void
serve_create_srq__ten_thousand(void)
{
	static struct shared s[10000];

	CHECK_EQ(start(NULL), 0);
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 10000; i++)
			CHECK_EQ(new_srq(&s[i], 1), 0);
		for (uint32_t i = 0; i < 10000; i++)
			CHECK_EQ(destroy_srq(&s[i]), 0);
	}
	for (uint32_t i = 0; i < 100; i++)	/* these go with their client */
		CHECK_EQ(new_srq(&s[i], 1), 0);
	CHECK_EQ(end_world(), 0);
}

/* Sends and takes both completions of it. The receive's, or 0 and `ok` false. */
static bool
one_message(uint64_t *wr_id)
{
	bool sent = false, came = false;
	struct plx_cqe c;

	post_send(&w.a, &(struct send){ .opcode = WR_SEND, .len = 64 });
	while (!sent || !came) {
		if (!poll(&c) || c.status != WC_SUCCESS)
			return false;
		if (c.queue == PLX_CQE_SQ) {
			sent = true;
			continue;
		}
		came = c.qp_num == w.b.m.qp_num && c.byte_len == 64;
		*wr_id = c.wr_id;
	}
	return true;
}

/* F12, FC63 */
static void
serve_modify_srq__limit_event(void)
{
	struct plx_async_event ev;
	struct shared s;
	uint64_t id;

	CHECK_EQ(start(NULL), 0);
	CHECK_EQ(new_srq(&s, 16), 0);
	CHECK_EQ(pair_with(&s), 0);
	for (uint64_t i = 0; i < 10; i++)
		CHECK(post_shared(&s, 4096 * (i + 1), 64, i));
	CHECK_EQ(-modify_srq(&s, 2, 0, 17), EINVAL);
	CHECK_EQ(-modify_srq(&s, 4, 0, 8), EINVAL);
	CHECK_EQ(modify_srq(&s, 2, 0, 8), 0);
	CHECK_EQ(limit_of(&s), 8);
	for (uint64_t i = 0; i < 2; i++)
		CHECK(one_message(&id) && id == i);
	CHECK(!readable(w.cl.async_fd, 5));
	CHECK(one_message(&id) && id == 2);
	/* it was taken from RTR, too */
	do
		CHECK(event(&ev));
	while (ev.subject == PLX_EVENT_QP);
	CHECK(ev.type == EV_SRQ_LIMIT_REACHED && ev.subject == PLX_EVENT_SRQ);
	CHECK(ev.handle == s.m.srq && ev.gen == s.m.srq_gen);
	CHECK_EQ(limit_of(&s), 0);
	CHECK(one_message(&id) && id == 3);
	CHECK(quiet());
	/* below it already: at once */
	CHECK_EQ(modify_srq(&s, 2, 0, 7), 0);
	CHECK(event(&ev) && ev.type == EV_SRQ_LIMIT_REACHED);
	CHECK_EQ(limit_of(&s), 0);
	CHECK_EQ(end_world(), 0);
}

/* No event is lost while the application does not read them. */
static void
eng_srq_raise__while_nobody_reads(void)
{
	const uint32_t many = 2000;
	struct plx_async_event ev;
	struct shared s;

	CHECK_EQ(start(NULL), 0);
	CHECK_EQ(new_srq(&s, 16), 0);
	for (uint32_t i = 0; i < many; i++)
		CHECK_EQ(modify_srq(&s, 2, 0, 1), 0);
	for (uint32_t i = 0; i < many; i++)
		CHECK(event(&ev) && ev.type == EV_SRQ_LIMIT_REACHED && ev.handle == s.m.srq);
	CHECK(quiet());
	/* and none of one that is gone comes after it */
	for (uint32_t i = 0; i < many; i++)
		CHECK_EQ(modify_srq(&s, 2, 0, 1), 0);
	CHECK_EQ(destroy_srq(&s), 0);
	while (recv(w.cl.async_fd, &ev, sizeof(ev), MSG_DONTWAIT) > 0)
		;
	CHECK(quiet());
	CHECK_EQ(end_world(), 0);
}

static void
serve_modify_srq__resize(void)
{
	uint64_t id, posted = 0, came = 0;
	struct shared s;

	CHECK_EQ(start(NULL), 0);
	CHECK_EQ(new_srq(&s, 8), 0);
	CHECK_EQ(pair_with(&s), 0);
	while (post_shared(&s, 4096 * (posted % 16 + 1), 64, posted))
		posted++;
	CHECK_EQ(posted, 8);
	CHECK_EQ(-modify_srq(&s, 1, 7, 0), EINVAL);
	CHECK_EQ(-modify_srq(&s, 1, 0, 0), EINVAL);
	CHECK_EQ(-modify_srq(&s, 1, PLX_MAX_WR + 1, 0), EINVAL);
	CHECK_EQ(-modify_srq(&s, 3, 8, 9), EINVAL);
	/* both at once: the old limit does not count, the new one does */
	CHECK_EQ(modify_srq(&s, 2, 0, 8), 0);
	CHECK_EQ(modify_srq(&s, 1, 33, 0), 0);
	CHECK_EQ(modify_srq(&s, 2, 0, 8), 0);
	CHECK_EQ(-modify_srq(&s, 3, 8, 9), EINVAL);
	CHECK_EQ(limit_of(&s), 8);
	CHECK_EQ(s.max_wr, 64);
	CHECK_EQ(modify_srq(&s, 3, 8, 0), 0);
	CHECK_EQ(limit_of(&s), 0);
	CHECK_EQ(s.max_wr, 8);
	CHECK_EQ(modify_srq(&s, 1, 33, 0), 0);
	CHECK_EQ(s.max_wr, 64);
	while (post_shared(&s, 4096 * (posted % 16 + 1), 64, posted))
		posted++;
	CHECK_EQ(posted, 64);
	while (posted - came > 3)
		CHECK(one_message(&id) && id == came++);
	CHECK_EQ(modify_srq(&s, 3, 3, 2), 0);
	CHECK_EQ(s.max_wr, 4);
	CHECK_EQ(-modify_srq(&s, 1, 1, 0), EINVAL);
	CHECK(post_shared(&s, 4096, 64, posted++));
	CHECK(!post_shared(&s, 4096, 64, posted));
	while (came < posted)
		CHECK(one_message(&id) && id == came++);
	CHECK_EQ(end_world(), 0);
}

/* A client that says it has posted more than there is room for. */
static void
srq_take__a_lie_is_told(void)
{
	struct plx_async_event ev;
	struct plx_wq_ctl *ctl;
	struct shared s;

	CHECK_EQ(start(NULL), 0);
	CHECK_EQ(new_srq(&s, 8), 0);
	CHECK_EQ(pair_with(&s), 0);
	ctl = at(&s.wq.ctl);
	__atomic_store_n(&ctl->tail, 1000, __ATOMIC_RELEASE);
	post_send(&w.a, &(struct send){ .opcode = WR_SEND, .len = 64 });
	do
		CHECK(event(&ev));
	while (ev.subject == PLX_EVENT_QP);
	CHECK(ev.type == EV_SRQ_ERR && ev.subject == PLX_EVENT_SRQ && ev.handle == s.m.srq);
	CHECK_EQ(end_world(), 0);
}

/* E8, FC64: one event, of the QP with the shared queue alone; the queue serves others as before. */
static void
status_flush__last_wqe_of_a_shared_queue(void)
{
	struct plx_async_event ev;
	struct shared s;
	struct end third;
	uint64_t id;

	CHECK_EQ(start(NULL), 0);
	CHECK_EQ(new_srq(&s, 8), 0);
	CHECK_EQ(pair_with(&s), 0);
	CHECK_EQ(new_qp_with(&third, &s), 0);
	for (uint64_t i = 0; i < 4; i++)
		CHECK(post_shared(&s, 4096 * (i + 1), 64, i));
	CHECK_EQ(to_init(&third), 0);
	CHECK_EQ(to_err(&third), 0);
	CHECK(event(&ev));
	CHECK(ev.type == EV_QP_LAST_WQE_REACHED && ev.subject == PLX_EVENT_QP);
	CHECK(ev.handle == third.m.qp && ev.gen == third.m.qp_gen);
	CHECK_EQ(to_err(&third), 0);
	CHECK(one_message(&id) && id == 0);
	CHECK(quiet());
	CHECK_EQ(to_err(&w.a), 0);
	CHECK(quiet());
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(serve_create_srq__objects),
	CHECK_CASE(serve_create_srq__ten_thousand),
	CHECK_CASE(serve_modify_srq__limit_event),
	CHECK_CASE(eng_srq_raise__while_nobody_reads),
	CHECK_CASE(serve_modify_srq__resize),
	CHECK_CASE(srq_take__a_lie_is_told),
	CHECK_CASE(status_flush__last_wqe_of_a_shared_queue),
};

CHECK_MAIN(cases)

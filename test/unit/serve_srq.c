/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared receive queues of a whole stack: objects, limits, events, and QPs of one and of two cores that
 * take from one. Threads meet where there are two: also run under TSan.
 */
#include "serve_fixture.h"

#define TWO_CORES "0,1"

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

static int
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

static int
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

static uint32_t
limit_of(const struct shared *s)
{
	struct ctl_query_srq m = { .srq = s->m.srq };

	return call(CTL_QUERY_SRQ, &m) ? UINT32_MAX : m.limit;
}

/* The next event within 10 s. */
static bool
event(struct plx_async_event *ev)
{
	for (uint64_t end = now_ms() + 10000; now_ms() < end; usleep(100)) {
		drive(CTL_DRIVE_POLL);
		if (recv(w.cl.async_fd, ev, sizeof(*ev), MSG_DONTWAIT) == (ssize_t)sizeof(*ev))
			return true;
	}
	return false;
}

static bool
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

#define QPS 8u
#define EACH 2000u
static struct end from[QPS], to[QPS];

static int
connect_many(const struct shared *s)
{
	int rc = 0;

	for (uint32_t i = 0; i < QPS && rc == 0; i++)
		rc = new_qp(&from[i]);
	for (uint32_t i = 0; i < QPS && rc == 0; i++)
		rc = new_qp_with(&to[i], s);
	/* the receivers of one core with the senders of both */
	for (uint32_t i = 0; i < QPS && rc == 0; i++)
		rc = connect_to(&from[i], to[i ^ 1].m.qp_num);
	for (uint32_t i = 0; i < QPS && rc == 0; i++)
		rc = connect_to(&to[i], from[i ^ 1].m.qp_num);
	return rc;
}

static uint32_t
index_of(const struct end *e, uint32_t qp)
{
	uint32_t i = 0;

	while (i < QPS && e[i].m.qp != qp)
		i++;
	return i;
}

/* QPs of two cores take from one queue: each WQE once, no message lost, each into the buffer of its
 * own WQE. */
static void
srq_take__two_cores(void)
{
	static uint32_t sent[QPS], done[QPS], came[QPS];
	static uint8_t used[QPS * EACH + 64];
	uint32_t total = 0, posted = 0, cores = 0;
	struct plx_cqe c;
	struct shared s;

	CHECK_EQ(start(TWO_CORES), 0);
	CHECK_EQ(new_srq(&s, 64), 0);
	CHECK_EQ(connect_many(&s), 0);
	for (uint32_t i = 0; i < QPS; i++)
		cores |= 1u << to[i].m.core;
	CHECK_EQ(cores, 3);
	while (total < 2 * QPS * EACH) {
		while (posted < QPS * EACH && post_shared(&s, (1 << 20) + 64 * (posted % 64), 64, posted))
			posted++;
		for (uint32_t i = 0; i < QPS; i++)
			while (sent[i] < EACH && sent[i] - done[i] < 50) {
				post_send(&from[i], &(struct send){ .opcode = WR_SEND, .len = 64 });
				sent[i]++;
			}
		CHECK(poll(&c));
		CHECK_EQ(c.status, WC_SUCCESS);
		total++;
		if (c.queue == PLX_CQE_SQ) {
			CHECK(index_of(from, c.qp) < QPS);
			done[index_of(from, c.qp)]++;
			continue;
		}
		CHECK(c.wr_id < QPS * EACH);
		CHECK_EQ(used[c.wr_id]++, 0);
		CHECK(index_of(to, c.qp) < QPS);
		CHECK_EQ(c.qp_num, to[index_of(to, c.qp)].m.qp_num);
		came[index_of(to, c.qp)]++;
	}
	for (uint32_t i = 0; i < QPS; i++)
		CHECK(done[i] == EACH && came[i] == EACH);
	CHECK_EQ(end_world(), 0);
}

static int
to_err(struct end *e)
{
	return modify(e, QPM_STATE, (struct ctl_qp_attr){ .qp_state = QPS_ERR });
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

static int
destroy_qp(const struct end *e)
{
	return call(CTL_DESTROY_QP, &(struct ctl_destroy_qp){ .qp = e->m.qp });
}

/* Completions of w.b that are there now. */
static uint32_t
of_b(void)
{
	struct plx_cqe c;
	uint32_t n = 0;

	while (peek(&c))
		n += c.qp == w.b.m.qp && c.queue == PLX_CQE_RQ;
	return n;
}

/* The receiver, on another core than its CQ, goes to ERR among messages. */
static void
err_among_messages(struct shared *s)
{
	struct plx_async_event ev;
	uint32_t before;

	CHECK_EQ(pair_with(s), 0);
	CHECK_EQ(w.a.m.core, 0);
	CHECK_EQ(w.b.m.core, 1);
	while (post_shared(s, 1 << 20, 4096, 0))
		;
	for (uint32_t i = 0; i < 200; i++)
		post_send(&w.a, &(struct send){ .opcode = WR_SEND, .len = 2048 });
	CHECK_EQ(to_err(&w.b), 0);
	do
		CHECK(event(&ev));
	while (ev.type != EV_QP_LAST_WQE_REACHED);
	CHECK_EQ(ev.handle, w.b.m.qp);
	of_b();
	usleep(2000);
	before = of_b();
	CHECK_EQ(before, 0);
	CHECK_EQ(destroy_qp(&w.b), 0);
	CHECK_EQ(destroy_qp(&w.a), 0);
}

/* E8: who has the event finds all completions of its QP in the CQ. */
static void
core_feed_last__after_what_is_in_the_feed(void)
{
	struct shared s;

	CHECK_EQ(start(TWO_CORES), 0);
	CHECK_EQ(new_srq(&s, 256), 0);
	for (int i = 0; i < 50 && !check_failed; i++)
		err_among_messages(&s);
	CHECK(!check_failed);
	CHECK_EQ(end_world(), 0);
}

/* ... and nothing of it is left when its QP goes at once. */
static void
core_feed_last__qp_destroyed_meanwhile(void)
{
	struct shared s;

	CHECK_EQ(start(TWO_CORES), 0);
	CHECK_EQ(new_srq(&s, 256), 0);
	for (int i = 0; i < 200; i++) {
		CHECK_EQ(pair_with(&s), 0);
		CHECK_EQ(to_err(&w.b), 0);
		CHECK_EQ(modify(&w.b, QPM_STATE, (struct ctl_qp_attr){ .qp_state = QPS_RESET }), 0);
		CHECK_EQ(to_init(&w.b), 0);
		CHECK_EQ(to_err(&w.b), 0);
		CHECK_EQ(destroy_qp(&w.b), 0);
		CHECK_EQ(destroy_qp(&w.a), 0);
	}
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(serve_create_srq__objects),
	CHECK_CASE(serve_create_srq__ten_thousand),
	CHECK_CASE(serve_modify_srq__limit_event),
	CHECK_CASE(eng_srq_raise__while_nobody_reads),
	CHECK_CASE(serve_modify_srq__resize),
	CHECK_CASE(srq_take__a_lie_is_told),
	CHECK_CASE(srq_take__two_cores),
	CHECK_CASE(status_flush__last_wqe_of_a_shared_queue),
	CHECK_CASE(core_feed_last__after_what_is_in_the_feed),
	CHECK_CASE(core_feed_last__qp_destroyed_meanwhile),
};

CHECK_MAIN(cases)

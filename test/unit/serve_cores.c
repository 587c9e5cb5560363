/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stack with two cores of their own threads: who goes where, and that traffic, events, ends and
 * destruction are the same across cores as on one. Threads meet everywhere here: also run under TSan.
 */
#include <pthread.h>

#include <pollux/stack.h>

#include "serve_fixture.h"
#include "serve_traffic.h"

#define CORES "0,1"
#define FAR 1u			/* the core that does not serve the port */

/* A CQ of that vector in place of the fixture's; 0 or -errno. */
static int
use_cq(uint32_t cqe, uint32_t vector)
{
	w.cq = (struct ctl_create_cq){ .cqe = cqe, .channel = w.ch.channel, .comp_vector = vector };
	w.cq_head = 0;
	return call(CTL_CREATE_CQ, &w.cq);
}

/* A QP of that core on the fixture's CQ. QPs of vector 0 go to the core with fewest; those that the
 * engine puts elsewhere stay there, as the weight that sends the next one where it belongs. */
static int
new_qp_at(struct end *e, uint32_t core, uint32_t max_wr)
{
	int rc = new_qp_on(e, w.cq.cq, max_wr);

	if (rc == 0 && e->m.core != core)
		rc = new_qp_on(e, w.cq.cq, max_wr);
	return rc == 0 && e->m.core != core ? -EDOM : rc;
}

static int
start_cores(void)
{
	int rc = start_stack(CORES);

	return rc ? rc : open_client();
}

/* w.a and w.b, connected to each other, on these cores. */
static int
pair_at(uint32_t a, uint32_t b)
{
	int rc = new_qp_at(&w.a, a, 256);

	if (rc == 0)
		rc = new_qp_at(&w.b, b, 256);
	if (rc == 0)
		rc = connect_to(&w.a, w.b.m.qp_num);
	return rc ? rc : connect_to(&w.b, w.a.m.qp_num);
}

static void
eng_place__by_vector_then_by_load(void)
{
	struct ctl_query_device dev;
	struct end e;
	uint32_t at[2] = { 0 };

	CHECK_EQ(start_cores(), 0);
	CHECK_EQ(w.cl.num_cores, 2);
	CHECK_EQ(call(CTL_QUERY_DEVICE, &dev), 0);
	CHECK_EQ(dev.num_comp_vectors, 2);
	CHECK_EQ(-use_cq(16, 2), EINVAL);
	CHECK_EQ(use_cq(16, 1), 0);
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(new_qp(&e), 0);
		CHECK_EQ(e.m.core, 1);
		CHECK_EQ(e.m.qp_num & 1, 1);
	}
	CHECK_EQ(use_cq(16, 0), 0);
	for (int i = 0; i < 8; i++) {	/* 4 are on the other core already */
		CHECK_EQ(new_qp(&e), 0);
		CHECK_EQ(e.m.qp_num & 1, e.m.core);
		CHECK(i >= 4 || e.m.core == 0);
		at[e.m.core]++;
	}
	CHECK_EQ(at[0], 6);
	CHECK_EQ(at[1], 2);
	CHECK_EQ(end_world(), 0);
}

/* The name of a CPU that is not there, and nothing left that would stand in the way of a second try. */
static void
eng_start__on_a_cpu_that_is_not_there(void)
{
	const struct setting_text t = { .port = "loop", .cores = "0,1000" };
	char why[256] = "";

	CHECK(stack_start(&t, false, 0, why, sizeof(why)) < 0);
	CHECK(strstr(why, "CPU 1000"));
	CHECK_EQ(start_cores(), 0);
	CHECK_EQ(end_world(), 0);
}

static void *
reactor(void *arg)
{
	uint32_t core = *(uint32_t *)arg;
	bool good = plx_core_poll(core) == 0;

	for (int i = 0; i < 5 && good; i++)
		good = new_qp(&w.a) == 0 && w.a.m.core == core;
	return good ? arg : NULL;
}

static void
eng_place__where_the_thread_drives(void)
{
	void *result;
	pthread_t t;

	CHECK_EQ(start_cores(), 0);
	for (uint32_t core = 0; core < 2; core++) {
		pthread_create(&t, NULL, reactor, &core);
		pthread_join(t, &result);
		CHECK(result == &core);
	}
	CHECK_EQ(-plx_core_poll(2), ENODEV);
	CHECK_EQ(end_world(), 0);
}

static void
operations(uint32_t a, uint32_t b)
{
	CHECK_EQ(start_cores(), 0);
	CHECK_EQ(pair_at(a, b), 0);
	writes_and_reads();
	sends();
	atomics();
	CHECK_EQ(end_world(), 0);
}

static void
local_call__operations_on_both_cores(void)
{
	operations(0, 1);
	operations(1, 0);
	operations(1, 1);
}

#define QPS 8u
#define EACH 3000u
static struct end many[QPS];
static uint32_t posted[QPS], next[QPS];

/* Two ends each connected to the other: some pairs on one core, some on two. */
static int
connect_many(void)
{
	int rc = 0;

	for (uint32_t i = 0; i < QPS && rc == 0; i++)
		rc = new_qp(&many[i]);
	for (uint32_t i = 0; i < QPS && rc == 0; i++)
		rc = connect_to(&many[i], many[i ^ (i < 4 ? 1 : 2)].m.qp_num);
	return rc;
}

static void
cq_push__two_cores_each_once_in_order(void)
{
	uint32_t at[2] = { 0 }, total = 0;
	struct plx_cqe c;

	CHECK_EQ(start_cores(), 0);
	CHECK_EQ(connect_many(), 0);
	memset(posted, 0, sizeof(posted));
	memset(next, 0, sizeof(next));
	for (uint32_t i = 0; i < QPS; i++)
		at[many[i].m.core]++;
	CHECK_EQ(at[0], at[1]);
	while (total < QPS * EACH) {
		for (uint32_t i = 0; i < QPS; i++)
			while (posted[i] < EACH && posted[i] - next[i] < 100)
				post_send(&many[i], &(struct send){ .opcode = WR_RDMA_WRITE, .len = 64,
					.to = (1 << 20) + 64 * i, .wr_id = (uint64_t)i << 32 | posted[i]++ });
		CHECK(poll(&c));
		CHECK_EQ(c.status, WC_SUCCESS);
		CHECK(c.wr_id >> 32 < QPS);
		CHECK_EQ(c.qp, many[c.wr_id >> 32].m.qp);
		CHECK_EQ((uint32_t)c.wr_id, next[c.wr_id >> 32]++);
		total++;
	}
	usleep(10000);
	CHECK(!peek(&c));
	CHECK_EQ(end_world(), 0);
}

/* How many places of the CQ's feed from afar were free again, ever. */
static uint32_t
feed_head(void)
{
	struct cqueue *q = table_get(&stack_running()->cqs, w.cq.cq);

	return __atomic_load_n(&q->e.feeds->at.cq.ctl->head, __ATOMIC_ACQUIRE);
}

/* More at once than one note brings. Whoever sees a completion may post anew: its place is free. */
static void
feed__a_thousand_flushed_at_once(void)
{
	struct plx_cqe c;
	struct end e;

	CHECK_EQ(start_cores(), 0);
	CHECK_EQ(use_cq(2048, 0), 0);
	CHECK_EQ(new_qp_at(&w.a, 0, 16), 0);	/* so the CQ lives there */
	CHECK_EQ(new_qp_at(&e, FAR, 1024), 0);
	CHECK_EQ(to_init(&e), 0);
	for (uint32_t i = 0; i < 1024; i++)
		post_recv(&e, 0, 64, i);
	CHECK_EQ(modify(&e, QPM_STATE, (struct ctl_qp_attr){ .qp_state = QPS_ERR }), 0);
	for (uint32_t i = 0; i < 1024; i++) {
		CHECK(poll(&c));
		CHECK(feed_head() > i);
		CHECK_EQ(c.status, WC_WR_FLUSH_ERR);
		CHECK_EQ(c.wr_id, i);
	}
	CHECK_EQ(end_world(), 0);
}

static void
feed__event_when_the_cq_is_armed(void)
{
	struct plx_cq_event ev;
	struct plx_cqe c;

	CHECK_EQ(start_cores(), 0);
	CHECK_EQ(pair_at(0, FAR), 0);
	for (int turn = 0; turn < 50; turn++) {
		arm(PLX_CQ_ARM_ANY);
		post_send(&w.b, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
		CHECK(readable(w.ch.fd, 5000));
		CHECK_EQ(recv(w.ch.fd, &ev, sizeof(ev), 0), sizeof(ev));
		CHECK_EQ(ev.cq, w.cq.cq);
		CHECK(poll(&c));
		CHECK_EQ(c.qp, w.b.m.qp);
	}
	CHECK(!readable(w.ch.fd, 5));
	CHECK_EQ(end_world(), 0);
}

static uint32_t
state_of(const struct end *e)
{
	struct ctl_query_qp m = { .qp = e->m.qp };

	return call(CTL_QUERY_QP, &m) ? UINT32_MAX : m.attr.qp_state;
}

static bool
ends(const struct end *e)
{
	for (int ms = 0; ms < 5000 && state_of(e) != QPS_ERR; ms++)
		usleep(1000);
	return state_of(e) == QPS_ERR;
}

/* D-6 across cores: whoever made it overflow, the QPs of both cores end, and the CQ says so once. */
static void
overflow(uint32_t from)
{
	struct plx_async_event ev;
	struct end *e = from == FAR ? &w.b : &w.a;
	uint32_t cq_errors = 0, fatal = 0;

	CHECK_EQ(start_cores(), 0);
	CHECK_EQ(use_cq(16, 0), 0);
	CHECK_EQ(pair_at(0, FAR), 0);
	for (int i = 0; i < 40; i++)
		post_send(e, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
	CHECK(ends(&w.a));
	CHECK(ends(&w.b));
	/* the last one has come when there is none for a while after the third */
	while (readable(w.cl.async_fd, cq_errors + fatal < 3 ? 5000 : 20) &&
	       recv(w.cl.async_fd, &ev, sizeof(ev), MSG_DONTWAIT) == sizeof(ev)) {
		cq_errors += ev.subject == PLX_EVENT_CQ;
		fatal += ev.subject == PLX_EVENT_QP;
	}
	CHECK_EQ(cq_errors, 1);
	CHECK_EQ(fatal, 2);
	CHECK_EQ(end_world(), 0);
}

static void
feed__overflow_at_home(void)
{
	overflow(0);
}

static void
feed__overflow_from_afar(void)
{
	overflow(FAR);
}

/* Both cores are asleep; a doorbell wakes one, what it sends the other, and the way back again. */
static void
idle__handed_over_to_a_sleeping_core(void)
{
	struct plx_cqe c;

	CHECK_EQ(start_cores(), 0);
	CHECK_EQ(pair_at(0, FAR), 0);
	for (int turn = 0; turn < 20; turn++) {
		struct end *e = turn & 1 ? &w.a : &w.b;

		for (uint32_t core = 0; core < 2; core++)
			for (int ms = 0; ms < 2000 && !__atomic_load_n(&w.cl.core[core].bell->asleep,
								      __ATOMIC_RELAXED); ms++)
				usleep(1000);
		post_send(e, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
		CHECK(poll(&c));
		CHECK_EQ(c.status, WC_SUCCESS);
	}
	CHECK_EQ(end_world(), 0);
}

static void
serve_destroy__busy_on_two_cores(void)
{
	struct ctl_destroy_cq cq;
	struct ctl_destroy_qp m;

	CHECK_EQ(start_cores(), 0);
	for (int turn = 0; turn < 30; turn++) {
		CHECK_EQ(use_cq(1024, 0), 0);
		CHECK_EQ(new_pair(), 0);
		CHECK(w.a.m.core != w.b.m.core);
		for (int i = 0; i < 16; i++) {
			post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 4096,
							.to = 1 << 20 });
			post_send(&w.b, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 4096,
							.to = 2 << 20 });
		}
		usleep(turn * 20);
		m.qp = turn & 1 ? w.a.m.qp : w.b.m.qp;
		CHECK_EQ(call(CTL_DESTROY_QP, &m), 0);
		m.qp = turn & 1 ? w.b.m.qp : w.a.m.qp;
		CHECK_EQ(call(CTL_DESTROY_QP, &m), 0);
		cq.cq = w.cq.cq;
		CHECK_EQ(call(CTL_DESTROY_CQ, &cq), 0);
	}
	CHECK_EQ(end_world(), 0);
}

/* The QP that writes and the one that is written to are each on the core that does not make the call. */
static void
serve_dereg_mr__quiet_on_every_core(void)
{
	struct ctl_dereg_mr m;
	struct plx_cqe c;

	CHECK_EQ(start_cores(), 0);
	CHECK_EQ(pair_at(0, FAR), 0);
	for (int turn = 0; turn < 2; turn++)
		for (int i = 0; i < 4; i++)
			post_send(turn ? &w.b : &w.a, &(struct send){ .opcode = WR_RDMA_WRITE,
				.len = 1 << 20, .to = (size_t)(2 + turn) << 20 });
	m.mr = w.mr.mr;
	CHECK_EQ(call(CTL_DEREG_MR, &m), 0);
	memset(w.buf + (2 << 20), 0x5a, 2 << 20);
	for (int i = 0; i < 8; i++)
		CHECK(poll(&c));
	for (size_t i = 2 << 20; i < 4 << 20; i++)
		CHECK(w.buf[i] == 0x5a);
	CHECK_EQ(end_world(), 0);
}

/* One too many takes nothing away from the others. */
static void
serve_create_qp__when_there_are_as_many_as_can_be(void)
{
	struct ctl_query_qp m = { 0 };
	struct end e;

	CHECK_EQ(start_cores(), 0);
	CHECK_EQ(new_pair(), 0);
	CHECK_EQ(w.a.m.qp, 0);
	stack_running()->qps.max = 2;
	CHECK_EQ(-new_qp(&e), ENOMEM);
	CHECK_EQ(call(CTL_QUERY_QP, &m), 0);
	writes_and_reads();
	CHECK_EQ(end_world(), 0);
}

static bool ringing;

/* What a client may write: any handle into any core's ring. */
static void *
ring_anything(void *arg)
{
	static struct plx_wq_ctl wq;

	(void)arg;
	for (uint32_t i = 0; __atomic_load_n(&ringing, __ATOMIC_RELAXED); i++) {
		__atomic_store_n(&wq.bell, 0, __ATOMIC_RELAXED);
		plx_bell_publish(w.cl.core[i & 1].bell, &wq, i, i / 2 % 4, PLX_BELL_SQ);
		if (i % 64 == 0)
			usleep(10);
	}
	return NULL;
}

static void
core_submit__bells_of_other_cores_qps(void)
{
	struct ctl_destroy_qp m;
	pthread_t t;

	CHECK_EQ(start_cores(), 0);
	__atomic_store_n(&ringing, true, __ATOMIC_RELAXED);
	pthread_create(&t, NULL, ring_anything, NULL);
	for (int turn = 0; turn < 200; turn++) {
		CHECK_EQ(new_qp(&w.a), 0);
		CHECK_EQ(new_qp(&w.b), 0);
		m.qp = w.a.m.qp;
		CHECK_EQ(call(CTL_DESTROY_QP, &m), 0);
		m.qp = w.b.m.qp;
		CHECK_EQ(call(CTL_DESTROY_QP, &m), 0);
	}
	__atomic_store_n(&ringing, false, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	CHECK_EQ(end_world(), 0);
}

static void *
create_and_destroy(void *arg)
{
	bool good = true;

	for (int i = 0; i < 100 && good; i++) {
		struct end e;
		struct ctl_destroy_qp m;

		good = new_qp(&e) == 0 && connect_to(&e, 77) == 0;
		m.qp = e.m.qp;
		good = good && call(CTL_DESTROY_QP, &m) == 0;
	}
	return good ? arg : NULL;
}

/* Control calls of several threads beside traffic and a reactor that drives both cores. */
static void
local_call__from_many_threads(void)
{
	pthread_t t[2];
	void *result;
	struct plx_cqe c;

	CHECK_EQ(start_cores(), 0);
	CHECK_EQ(pair_at(0, FAR), 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, create_and_destroy, &w);
	for (int i = 0; i < 1000; i++) {
		post_send(i & 1 ? &w.a : &w.b, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 5000,
							       .to = 2 << 20 });
		plx_core_poll((uint32_t)i & 1);
		CHECK(poll(&c));
		CHECK_EQ(c.status, WC_SUCCESS);
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(t[i], &result);
		CHECK(result == &w);
	}
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(eng_place__by_vector_then_by_load),
	CHECK_CASE(eng_start__on_a_cpu_that_is_not_there),
	CHECK_CASE(eng_place__where_the_thread_drives),
	CHECK_CASE(local_call__operations_on_both_cores),
	CHECK_CASE(cq_push__two_cores_each_once_in_order),
	CHECK_CASE(feed__a_thousand_flushed_at_once),
	CHECK_CASE(feed__event_when_the_cq_is_armed),
	CHECK_CASE(feed__overflow_at_home),
	CHECK_CASE(feed__overflow_from_afar),
	CHECK_CASE(idle__handed_over_to_a_sleeping_core),
	CHECK_CASE(serve_destroy__busy_on_two_cores),
	CHECK_CASE(serve_dereg_mr__quiet_on_every_core),
	CHECK_CASE(serve_create_qp__when_there_are_as_many_as_can_be),
	CHECK_CASE(core_submit__bells_of_other_cores_qps),
	CHECK_CASE(local_call__from_many_threads),
};
CHECK_MAIN(cases)

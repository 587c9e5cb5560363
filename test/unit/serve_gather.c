/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A whole stack on a port that sends payloads from the program's memory and keeps it for long: no
 * completion, no answered destroy, RESET or dereg while the port may still read. Buffers are freed as
 * soon as they may be, so that the sanitizer sees a port that reads too late.
 */
#include "engine/core.h"
#include "lazy_port.h"
#include "serve_fixture.h"

#define LEN 65536u
#define PACKETS (LEN / 4096)
#define TO (2u << 20)

struct buffer {
	uint8_t *mem;
	struct ctl_reg_mr mr;
};

static uint64_t
external(void)
{
	const struct cnt_block *b = core_counters(eng_core(stack_running()->eng, 0));

	return cnt_read(&b->cnt[CNT_TX_EXTERNAL]);
}

static int
not_to_ourselves(struct core *c, void *arg)
{
	struct qp_attr attr;

	qp_query(arg, &attr);
	attr.path.way = OUT_WIRE;
	qp_path_set(arg, core_xport(c), &attr.path);
	return 0;
}

/* Frames to ourselves are copied; these shall look as if they went to somebody else. */
static void
turn_away(struct end *e)
{
	struct stack *s = stack_running();
	struct qpair *q = table_get(&s->qps, e->m.qp);

	eng_call(eng_core(s->eng, 0), not_to_ourselves, q->e.qp);
}

static int
start(enum lazy_how how, bool takes, uint32_t lose)
{
	int rc;

	lazy_set(LAZY_AT_ONCE, true, 0);
	lazy.chains = lazy.spoilt = lazy.asked = 0;	/* there is no port now */
	ack_timeout = lose ? 12 : 17;
	rc = start_world("inline");
	if (rc < 0)
		return rc;
	turn_away(&w.a);
	turn_away(&w.b);
	lazy_set(how, takes, lose);
	return 0;
}

static bool
new_buffer(struct buffer *b, uint8_t seed)
{
	b->mem = malloc(LEN);
	for (uint32_t i = 0; i < LEN; i++)
		b->mem[i] = (uint8_t)(seed + i * 13 + (i >> 8));
	b->mr = (struct ctl_reg_mr){ .pd = w.pd, .access = ALL_ACCESS, .addr = (uintptr_t)b->mem,
				     .length = LEN, .iova = (uintptr_t)b->mem };
	return call(CTL_REG_MR, &b->mr) == 0;
}

static int
dereg(struct buffer *b)
{
	struct ctl_dereg_mr m = { .mr = b->mr.mr };

	return call(CTL_DEREG_MR, &m);
}

static void
post_from(struct end *e, const struct buffer *b, uint64_t wr_id)
{
	uint32_t slot = e->sq_tail & ((1u << e->m.sq.log2_size) - 1);
	struct plx_sq_wqe *q = (void *)((char *)at(&e->m.sq.slots) + (size_t)slot * e->m.sq.stride);
	struct plx_sge *sge = (void *)(q + 1);

	*q = (struct plx_sq_wqe){ .wr_id = wr_id, .opcode = WR_RDMA_WRITE, .flags = PLX_WQE_SIGNALED,
		.num_sge = 1, .rkey = w.mr.rkey, .remote_addr = (uintptr_t)w.buf + TO };
	*sge = (struct plx_sge){ b->mr.iova, LEN, b->mr.lkey };
	ring(e, at(&e->m.sq.ctl), ++e->sq_tail, PLX_BELL_SQ);
}

/* On the core, which writes the peer's memory. */
static int
is_there(struct core *c, void *arg)
{
	const struct buffer *b = arg;

	(void)c;
	return memcmp(w.buf + TO, b->mem, LEN) == 0;
}

/* All that is on its way arrives. */
static void
calm_down(void)
{
	for (int i = 0; i < 1000; i++)
		drive(CTL_DRIVE_POLL);
}

/* Drives until the peer has it all, and some more. */
static bool
arrives(struct buffer *b)
{
	uint64_t end = now_ms() + 10000;

	while (!eng_call(eng_core(stack_running()->eng, 0), is_there, b)) {
		drive(CTL_DRIVE_POLL);
		if (now_ms() > end)
			return false;
	}
	calm_down();
	return true;
}

static uint64_t
chains(void)
{
	return lazy_read(&lazy.chains);
}

/* The background thread may hold the core when a post rings: then it sends, a little later. */
static bool
soon(uint64_t (*counts)(void))
{
	uint64_t end = now_ms() + 10000;

	while (!counts())
		if (now_ms() > end)
			return false;
	return true;
}

static bool
completes(uint64_t wr_id, uint32_t status)
{
	struct plx_cqe c;

	if (!poll(&c)) {
		printf("work request %" PRIu64 " does not complete\n", wr_id);
		return false;
	}
	if (c.wr_id == wr_id && c.status == status)
		return true;
	printf("work request %" PRIu64 " completes with status %u\n", (uint64_t)c.wr_id, c.status);
	return false;
}

/* One after the other; each buffer is gone when it may be. */
static void
stream(enum lazy_how how, uint32_t lose, uint32_t count)
{
	struct buffer b;

	CHECK_EQ(start(how, true, lose), 0);
	for (uint32_t i = 0; i < count; i++) {
		CHECK(new_buffer(&b, (uint8_t)i));
		post_from(&w.a, &b, i);
		CHECK(completes(i, WC_SUCCESS));
		CHECK_MEM(w.buf + TO, b.mem, LEN);
		CHECK_EQ(lazy_holds(), 0);
		CHECK_EQ(dereg(&b), 0);
		free(b.mem);
	}
	CHECK(external() >= count * PACKETS);
	CHECK_EQ(lazy_read(&lazy.chains), external());
	CHECK_EQ(lazy_read(&lazy.spoilt), 0);
	CHECK_EQ(end_world(), 0);
}

static void
gather__port_that_is_done_at_once(void)
{
	stream(LAZY_AT_ONCE, 0, 200);
}

static void
gather__port_that_must_be_asked(void)
{
	stream(LAZY_WHEN_ASKED, 0, 100);
}

static void
gather__port_that_must_be_asked_and_loses(void)
{
	stream(LAZY_WHEN_ASKED, 11, 60);
}

/* The peer has answered; the program does not hear of it before the port is done. */
static void
gather__completion_waits_for_the_port(void)
{
	struct buffer b;
	struct plx_cqe c;

	CHECK_EQ(start(LAZY_BY_HAND, true, 0), 0);
	CHECK(new_buffer(&b, 1));
	post_from(&w.a, &b, 7);
	CHECK(arrives(&b));
	CHECK(!peek(&c));
	CHECK(lazy_holds() >= PACKETS);
	lazy_let_all_go();
	CHECK(completes(7, WC_SUCCESS));
	free(b.mem);
	CHECK_EQ(lazy_holds(), 0);
	CHECK_EQ(end_world(), 0);
}

/* More frames than there are tickets for: the others are copied. */
static void
gather__port_that_keeps_too_many(void)
{
	const uint64_t count = 2 * GATHER_TICKETS / PACKETS;
	uint64_t end = now_ms() + 10000;
	struct buffer b;

	CHECK_EQ(start(LAZY_BY_HAND, true, 0), 0);
	CHECK(new_buffer(&b, 3));
	for (uint64_t i = 0; i < count; i++)
		post_from(&w.a, &b, i);
	while (external() < GATHER_TICKETS && now_ms() < end)
		drive(CTL_DRIVE_POLL);
	for (int i = 0; i < 100; i++)
		drive(CTL_DRIVE_POLL);
	CHECK_EQ(external(), GATHER_TICKETS);
	lazy_set(LAZY_WHEN_ASKED, true, 0);
	for (uint64_t i = 0; i < count; i++)
		CHECK(completes(i, WC_SUCCESS));
	free(b.mem);
	CHECK_EQ(end_world(), 0);
}

static int
destroy(struct end *e)
{
	struct ctl_destroy_qp m = { .qp = e->m.qp };

	return call(CTL_DESTROY_QP, &m);
}

static int
to_reset(struct end *e)
{
	return modify(e, QPM_STATE, (struct ctl_qp_attr){ .qp_state = QPS_RESET });
}

static void
answered_when_the_port_is_done(int (*ends)(struct end *e))
{
	struct buffer b;
	struct plx_cqe c;

	CHECK_EQ(start(LAZY_WHEN_ASKED, true, 3), 0);	/* it loses some: the WR never completes */
	CHECK(new_buffer(&b, 2));
	for (uint64_t i = 0; i < 5; i++)
		post_from(&w.a, &b, i);
	CHECK(soon(chains));
	CHECK_EQ((uint64_t)ends(&w.a), 0);
	memset(b.mem, 0xee, LEN);		/* the program has it back */
	free(b.mem);
	lazy_let_all_go();
	CHECK_EQ(lazy_read(&lazy.spoilt), 0);
	while (peek(&c))
		CHECK_EQ(c.status, WC_SUCCESS);	/* those that were done before */
	CHECK_EQ(end_world(), 0);
}

static void
gather__destroy(void)
{
	answered_when_the_port_is_done(destroy);
}

static void
gather__reset(void)
{
	answered_when_the_port_is_done(to_reset);
}

/* And the QP may be used again. */
static void
gather__reset_and_again(void)
{
	struct buffer b;

	CHECK_EQ(start(LAZY_WHEN_ASKED, true, 0), 0);
	CHECK(new_buffer(&b, 2));
	post_from(&w.a, &b, 1);
	CHECK(completes(1, WC_SUCCESS));
	post_from(&w.a, &b, 2);
	CHECK_EQ(to_reset(&w.a), 0);
	CHECK_EQ(to_reset(&w.b), 0);
	calm_down();	/* the PSNs begin anew: an old ACK would count */
	w.a.sq_tail = ((struct plx_wq_ctl *)at(&w.a.m.sq.ctl))->tail;
	CHECK_EQ(connect_to(&w.a, w.b.m.qp_num), 0);
	CHECK_EQ(connect_to(&w.b, w.a.m.qp_num), 0);
	turn_away(&w.a);
	for (uint64_t i = 10; i < 20; i++)
		post_from(&w.a, &b, i);
	for (uint64_t i = 10; i < 20; i++)
		CHECK(completes(i, WC_SUCCESS));
	free(b.mem);
	CHECK_EQ(end_world(), 0);
}

static void
gather__dereg(void)
{
	struct buffer b;

	CHECK_EQ(start(LAZY_WHEN_ASKED, true, 2), 0);
	CHECK(new_buffer(&b, 2));
	post_from(&w.a, &b, 1);
	CHECK(soon(chains));
	CHECK_EQ(dereg(&b), 0);
	memset(b.mem, 0xee, LEN);
	free(b.mem);
	CHECK(completes(1, WC_LOC_PROT_ERR));	/* what was lost cannot be sent again */
	CHECK_EQ(lazy_read(&lazy.spoilt), 0);
	CHECK_EQ(end_world(), 0);
}

/* The same while the port's ring is full: what it has not taken it will not see. */
static void
gather__dereg_with_a_full_port(void)
{
	struct buffer b;

	CHECK_EQ(start(LAZY_BY_HAND, false, 0), 0);
	CHECK(new_buffer(&b, 2));
	post_from(&w.a, &b, 1);
	CHECK(soon(external));
	CHECK_EQ(dereg(&b), 0);
	free(b.mem);
	lazy_set(LAZY_AT_ONCE, true, 0);
	CHECK(completes(1, WC_LOC_PROT_ERR));
	CHECK_EQ(end_world(), 0);
}

static void
gather__err_with_a_full_port(void)
{
	struct buffer b;

	CHECK_EQ(start(LAZY_BY_HAND, false, 0), 0);
	CHECK(new_buffer(&b, 2));
	for (uint64_t i = 0; i < 3; i++)
		post_from(&w.a, &b, i);
	CHECK(soon(external));
	CHECK_EQ(modify(&w.a, QPM_STATE, (struct ctl_qp_attr){ .qp_state = QPS_ERR }), 0);
	for (uint64_t i = 0; i < 3; i++)
		CHECK(completes(i, WC_WR_FLUSH_ERR));
	free(b.mem);
	lazy_set(LAZY_AT_ONCE, true, 0);
	CHECK_EQ(lazy_read(&lazy.chains), 0);
	CHECK_EQ(end_world(), 0);
}

/* A port that never gives back holds up nobody for ever, and is said once. */
static void
gather__port_that_gives_nothing_back(void)
{
	struct buffer b;

	CHECK_EQ(start(LAZY_BY_HAND, true, 0), 0);
	CHECK(new_buffer(&b, 5));
	post_from(&w.a, &b, 1);
	CHECK(arrives(&b));
	CHECK_EQ(destroy(&w.a), 0);
	CHECK(stack_running()->said_memory);
	CHECK(lazy_holds() > 0);
	stack_running()->said_memory = false;
	CHECK_EQ(dereg(&b), 0);
	CHECK(!stack_running()->said_memory);	/* who waits in vain says so: this one did not wait */
	CHECK_EQ(end_world(), 0);		/* the port lets go when it is closed */
	free(b.mem);
}

static uint32_t letting_go;

static void *
let_go_forever(void *arg)
{
	(void)arg;
	while (__atomic_load_n(&letting_go, __ATOMIC_RELAXED)) {
		lazy_let_all_go();
		usleep(20);
	}
	return NULL;
}

/* Mbufs that another thread frees. */
static void
gather__another_thread_lets_go(void)
{
	struct buffer b;
	pthread_t t;

	CHECK_EQ(start(LAZY_BY_HAND, true, 13), 0);
	CHECK(new_buffer(&b, 5));
	__atomic_store_n(&letting_go, 1, __ATOMIC_RELAXED);
	pthread_create(&t, NULL, let_go_forever, NULL);
	for (uint64_t i = 0; i < 200; i++) {
		post_from(&w.a, &b, i);
		if (i >= 4)
			CHECK(completes(i - 4, WC_SUCCESS));
	}
	for (uint64_t i = 196; i < 200; i++)
		CHECK(completes(i, WC_SUCCESS));
	CHECK_EQ(destroy(&w.a), 0);
	__atomic_store_n(&letting_go, 0, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	free(b.mem);
	CHECK_EQ(lazy_read(&lazy.spoilt), 0);
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(gather__port_that_is_done_at_once),
	CHECK_CASE(gather__port_that_must_be_asked),
	CHECK_CASE(gather__port_that_must_be_asked_and_loses),
	CHECK_CASE(gather__completion_waits_for_the_port),
	CHECK_CASE(gather__port_that_keeps_too_many),
	CHECK_CASE(gather__destroy),
	CHECK_CASE(gather__reset),
	CHECK_CASE(gather__reset_and_again),
	CHECK_CASE(gather__dereg),
	CHECK_CASE(gather__dereg_with_a_full_port),
	CHECK_CASE(gather__err_with_a_full_port),
	CHECK_CASE(gather__port_that_gives_nothing_back),
	CHECK_CASE(gather__another_thread_lets_go),
};
CHECK_MAIN(cases)

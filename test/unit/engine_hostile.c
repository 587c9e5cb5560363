/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames that nobody should send, to QPs of UC, UD and XRC and to groups: right ones, and right ones that
 * were changed and sealed again, in one piece or several. On one core the test's own model says after each
 * frame which bytes of memory may be other than before, which receive was used, and how it was counted.
 * The same changes each time, of numbers that the stack chooses (QPNs, keys): TEST_SEED=N makes others,
 * TEST_MATRIX=long more of them.
 */
#include "engine_hostile_frames.h"

#include "wire/print.h"

#define FRAMES 30000u
#define FRAMES_LONG 3000000u

static struct core *core;
static uint32_t taken[NUM_PEERS];
static bool ended[NUM_PEERS];

/* One in eight in several pieces, as from a port with smaller buffers. NULL without memory. */
static struct rte_mbuf *
mbuf_of(struct core *c, const struct frame *f)
{
	uint32_t pieces = one_in(8) ? 2 + pick(3) : 1, from = 0;
	struct rte_mbuf *whole = NULL;

	for (uint32_t i = 1; i <= pieces; i++) {
		uint32_t to = i == pieces ? (uint32_t)f->len : from + pick((uint32_t)f->len - from);
		struct rte_mbuf *m = rte_pktmbuf_alloc(c->port->pool);

		if (m)
			memcpy(rte_pktmbuf_append(m, (uint16_t)(to - from)), f->bytes + from, to - from);
		if (!m || (whole && rte_pktmbuf_chain(whole, m) < 0)) {
			rte_pktmbuf_free(whole);
			rte_pktmbuf_free(m);
			return NULL;
		}
		whole = whole ? whole : m;
		from = to;
	}
	return whole;
}

/* With the core's lock. */
static uint32_t
state_now(const struct peer_qp *p)
{
	return qp_state(qp_get(w.cl.handle, p->e.m.qp)->e.qp);
}

static struct peer_qp *
peer_of(uint32_t qpn)
{
	for (int i = 0; i < NUM_PEERS; i++)
		if (h.qp[i].e.m.qp_num == qpn)
			return &h.qp[i];
	return NULL;
}

/* Bytes that come to a receive, or behind an address. */
static void
note(uint32_t at, const void *bytes, uint32_t len)
{
	CHECK(at + (uint64_t)len <= ARENA);
	memcpy(h.shadow + at, bytes, len);
}

static void
note_write(struct peer_qp *p, const struct wire_pkt *k)
{
	uint64_t region = (uintptr_t)w.buf + REGION;
	uint64_t at = p->va + p->done - region;

	CHECK(p->done + k->payload_len <= p->len);
	if (!k->payload_len)
		return;
	CHECK(at < REGION_LEN && at + k->payload_len <= REGION_LEN);
	note(REGION + (uint32_t)at, k->payload, k->payload_len);
}

static void
note_atomic(const struct wire_pkt *k, uint32_t key)
{
	uint64_t at = k->atomic.va - (uintptr_t)w.buf - REGION, old, new;

	CHECK(k->atomic.rkey == key && at % 8 == 0 && at <= REGION_LEN - 8);
	memcpy(&old, h.shadow + REGION + at, 8);
	new = wire_opcode_op(k->opcode) == WIRE_FETCH_ADD ? old + k->atomic.swap_add :
	      old == k->atomic.compare ? k->atomic.swap_add : old;
	memcpy(h.shadow + REGION + at, &new, 8);
}

/* The connected QP said that it took this packet: it must have been the next one, for memory that the
 * packet may name. */
static void
took(struct peer_qp *p, const struct wire_pkt *k)
{
	uint32_t t = k->info->traits, key = h.region_key[p->q->pd];

	if (p->class == WIRE_UC && (t & WIRE_FIRST))
		p->epsn = k->psn;
	CHECK(psn_eq(p->epsn, k->psn));
	CHECK(t & WIRE_FIRST ? p->class == WIRE_UC || (!p->sends && !p->writes) :
	      t & WIRE_SEND ? p->sends : p->writes);
	p->epsn = psn_add(p->epsn, 1);
	if (t & WIRE_FIRST) {
		p->done = 0;
		p->va = k->reth.va;
		p->len = k->info->ext & WIRE_EXT_RETH ? k->reth.len : 0;
		CHECK(!(k->info->ext & WIRE_EXT_RETH) || !k->reth.len || k->reth.rkey == key);
	}
	CHECK((t & WIRE_LAST) || k->payload_len == MTU || !(t & WIRE_PAYLOAD));
	if (t & WIRE_SEND) {
		CHECK(p->done + k->payload_len <= slot_len(p->q, p->q->head));
		note(slot_at(p->q, p->q->head) + p->done, k->payload, k->payload_len);
	} else if (t & WIRE_WRITE) {
		note_write(p, k);
	} else if (t & WIRE_ATOMIC) {
		note_atomic(k, key);
	} else if (k->reth.len > MTU) {
		p->epsn = psn_add(p->epsn, (k->reth.len + MTU - 1) / MTU - 1);
	}
	p->done += k->payload_len;
	p->sends = (t & WIRE_SEND) && !(t & WIRE_LAST);
	p->writes = (t & WIRE_WRITE) && !(t & WIRE_LAST);
}

/* A receive is over. In order, and of a datagram with the header and all that it brought. */
static void
received(const struct plx_cqe *c, const struct wire_pkt *k)
{
	struct peer_qp *p = peer_of(c->qp_num);
	uint32_t at;

	CHECK(p && p->q);
	CHECK_EQ(c->wr_id, p->q->head);
	at = slot_at(p->q, p->q->head++);
	if (c->status != WC_SUCCESS)
		return;
	CHECK(k && !(c->wc_flags & WC_WITH_IMM) == !(k->info->ext & WIRE_EXT_IMM));
	CHECK(!(c->wc_flags & WC_WITH_IMM) || c->imm == k->imm);
	taken[p - h.qp]++;
	if (p->class != WIRE_UD) {
		CHECK_EQ(c->byte_len, p->done);
		return;
	}
	CHECK(k->deth.qkey == p->qkey && c->src_qp == k->deth.src_qpn && (c->wc_flags & WC_GRH));
	CHECK_EQ(c->byte_len, GRH + k->payload_len);
	CHECK(c->byte_len <= slot_len(p->q, (uint32_t)c->wr_id) && !slot_bad((uint32_t)c->wr_id));
	memset(h.shadow + at, 0, GRH);
	memcpy(h.shadow + at + (k->ip6 ? 0 : GRH - IP4_HDR_LEN), k->l3, k->ip6 ? IP6_HDR_LEN : IP4_HDR_LEN);
	note(at + GRH, k->payload, k->payload_len);
}

static void
receives(const struct wire_pkt *k)
{
	struct plx_cqe c;

	while (!check_failed && peek(&c))
		if (c.queue == PLX_CQE_RQ)
			received(&c, k);
}

/* The SRQ that the next message of the target is for. */
static void
look_at_name(const struct wire_pkt *k)
{
	struct peer_qp *p = &h.qp[TGT];

	if (p->sends || p->writes || !(k->info->ext & WIRE_EXT_XRCETH))
		return;
	for (int i = Q_A; i <= Q_B; i++)
		if (h.q[i].number == k->xrc_srqn)
			p->q = &h.q[i];
}

static uint64_t
all_drops(const struct cnt_block *c)
{
	uint64_t sum = 0;

	for (int i = 0; i < DROP_COUNT; i++)
		sum += c->drop[i];
	return sum;
}

static bool
is_group(const struct frame *f, const struct wire_pkt *k)
{
	uint8_t mac[6];

	if (memcmp(k->dst_gid, group4, 16) && memcmp(k->dst_gid, group6, 16))
		return false;
	wire_group_mac(k->dst_gid, mac);
	return memcmp(f->bytes, mac, 6) == 0;
}

/* Whose it is when it is right in itself; NULL: nobody's. */
static struct peer_qp *
addressee(const struct frame *f, const struct wire_pkt *k)
{
	struct peer_qp *p = peer_of(k->dest_qpn);

	if (!p || memcmp(f->bytes, h.mac, 6) || wire_opcode_class(k->opcode) != (enum wire_class)p->class)
		return NULL;
	if (memcmp(k->dst_gid, h.gid[0], 16) && memcmp(k->dst_gid, h.gid[1], 16))
		return NULL;
	if (p->class != WIRE_UD && memcmp(k->src_gid, h.gid[!p->ip6], 16))
		return NULL;
	return p;
}

/* `was`: the counters before the frame came. */
static void
judge(const struct frame *f, const struct cnt_block *was)
{
	uint64_t requests = core->cnt.cnt[CNT_RX_REQUESTS] - was->cnt[CNT_RX_REQUESTS];
	uint64_t drops = all_drops(&core->cnt) - all_drops(was);
	struct wire_pkt pkt, *k = NULL;
	struct peer_qp *p = NULL;
	bool group = false;

	if (wire_classify(f->bytes, f->len) == WIRE_KIND_ROCE &&
	    wire_parse(f->bytes, f->len, &pkt) == DROP_NONE && wire_icrc_ok(&pkt))
		k = &pkt;
	if (k) {
		group = is_group(f, k) && k->dest_qpn == 0xffffff && wire_opcode_class(k->opcode) == WIRE_UD;
		p = addressee(f, k);
		look_at_name(k);
	}
	CHECK(p || group || (!requests && drops <= 1));
	if (p && p->class != WIRE_UD && requests)
		took(p, k);
	if (check_failed)
		return;
	receives(k);
	/* the message of a packet that was not taken is lost; an answer is none, and XRC's comes again */
	if (p && p->class == WIRE_UC && !requests && drops &&
	    core->cnt.drop[DROP_PKEY] == was->drop[DROP_PKEY])
		forget_message(p);
	if (group)
		CHECK(requests + drops == 3 || state_now(&h.qp[UD]) == QPS_ERR ||
		      state_now(&h.qp[UD_SHARED]) == QPS_ERR || state_now(&h.qp[UD_OTHER]) == QPS_ERR);
	else if (p && p->class != WIRE_XRC)
		CHECK(requests + drops == 1 || state_now(p) == QPS_ERR);
	if (p == &h.qp[INI])
		memcpy(h.shadow + READS, w.buf + READS, READS_LEN);
	CHECK(memcmp(w.buf, h.shadow, ARENA) == 0);
}

/* What the core has to do for itself, with the lock. */
static void
settle(void)
{
	while (core_round(core, CORE_ROUND_WHOLE))
		;
}

static bool
bring_and_judge(const struct frame *f)
{
	struct cnt_block was;
	struct rte_mbuf *m;

	while (!core_try(core, true))
		;
	settle();
	receives(NULL);
	m = mbuf_of(core, f);
	if (!m || port_tx(core->port, 0, &m, 1) != 1) {
		printf("no buffer: leaked?\n");
		check_failed = 1;
	} else {
		was = core->cnt;
		core_rx(core);
		judge(f, &was);
	}
	settle();
	for (int i = 0; i < NUM_PEERS; i++)
		ended[i] = state_now(&h.qp[i]) == QPS_ERR;
	while (core_leave(core))
		core_round(core, CORE_ROUND_WHOLE);
	return !check_failed;
}

/* Something for the peer's answers to be answers to. */
static void
ask(void)
{
	struct end *e = &h.qp[INI].e;
	const struct plx_wq_ctl *ctl = at(&e->m.sq.ctl);

	if (e->sq_tail - __atomic_load_n(&ctl->head, __ATOMIC_ACQUIRE) < 4)
		post_send(e, &(struct send){ .opcode = one_in(2) ? WR_RDMA_READ : WR_FETCH_ADD, .from = READS,
					     .len = 8, .to = REGION, .srqn = 1 });
}

/* Receives, and QPs that ended. */
static int
restore(void)
{
	int rc = 0;

	for (uint32_t i = 0; i < NUM_PEERS && rc == 0; i++)
		if (ended[i] || (i == INI && one_in(500)))
			rc = raise_again(&h.qp[i]);
	for (uint32_t i = 0; i < NUM_QUEUES; i++)
		if (one_in(8))
			post_to_queue(&h.q[i]);
	if (one_in(4))
		ask();
	return rc;
}

static uint32_t
num_frames(void)
{
	const char *matrix = getenv("TEST_MATRIX");

	return matrix && strcmp(matrix, "long") == 0 ? FRAMES_LONG : FRAMES;
}

static uint64_t
the_seed(void)
{
	const char *seed = getenv("TEST_SEED");

	return seed ? strtoull(seed, NULL, 0) : 1;
}

static void
report(uint64_t seed, uint32_t n)
{
	printf("seed %" PRIu64 ": %u frames; receives", seed, n);
	for (int i = 0; i < NUM_PEERS; i++)
		printf(" %u", taken[i]);
	printf("\n");
	memset(taken, 0, sizeof(taken));
}

static void
say_frame(const struct frame *f)
{
	char text[WIRE_TEXT_MAX];

	printf("  %s\n", wire_frame_text(text, sizeof(text), f->bytes, f->len));
}

/* Nobody holds a buffer any more; a report may be under way. */
static bool
buffers_are_back(unsigned int before)
{
	for (uint64_t end = now_ms() + 10000; now_ms() < end; usleep(1000)) {
		eng_quiet(stack_running()->eng);
		drive(CTL_DRIVE_POLL);
		if (rte_mempool_avail_count(core->port->pool) + 4 >= before)
			return true;
	}
	return false;
}

static void
hostile__every_frame_is_judged(void)
{
	static struct frame f;
	uint64_t seed = the_seed();
	unsigned int before;
	uint32_t n = 0;

	CHECK_EQ(open_hostile("inline", seed), 0);
	core = core_of(0);
	before = rte_mempool_avail_count(core->port->pool);
	for (; n < num_frames() && !check_failed; n++) {
		next_frame(&f);
		if (!bring_and_judge(&f))
			say_frame(&f);
		CHECK_EQ(restore(), 0);
	}
	for (int i = 0; i < INI; i++)
		CHECK(check_failed || taken[i] > n / 400);
	report(seed, n);
	CHECK(buffers_are_back(before));
	CHECK_EQ(end_world(), 0);
}

static int
bring_on(struct core *c, void *arg)
{
	struct rte_mbuf *m = mbuf_of(c, arg);

	if (!m)
		return -ENOMEM;
	if (port_tx(c->port, 0, &m, 1) == 1)
		return 0;
	rte_pktmbuf_free(m);
	return -EAGAIN;		/* the loop is full */
}

/* What came, wherever it did; the receives are the next one's in turn. */
static void
collect(void)
{
	struct peer_qp *p;
	struct plx_cqe c;

	while (peek(&c)) {
		p = c.queue == PLX_CQE_RQ ? peer_of(c.qp_num) : NULL;
		if (!p)
			continue;
		taken[p - h.qp] += c.status == WC_SUCCESS;
		if (p->class != WIRE_XRC)
			p->q->head = (uint32_t)c.wr_id + 1;
	}
}

static int
look_who_ended(void)
{
	struct ctl_query_qp m;
	int rc = 0;

	for (uint32_t i = 0; i < NUM_PEERS && rc == 0; i++) {
		m.qp = h.qp[i].e.m.qp;
		rc = call(CTL_QUERY_QP, &m);
		ended[i] = m.attr.qp_state == QPS_ERR;
	}
	return rc;
}

/* Two cores of their own, which give each other what is not theirs, in pieces and to groups too: nothing is
 * written outside of what may be, and no buffer stays. Not under the thread sanitizer: it does not see into
 * DPDK's pools, and what peers of two cores write to one place is theirs to agree on. */
__attribute__((unused)) static void
hostile__two_cores(void)
{
	static struct frame f;
	uint64_t seed = the_seed();
	unsigned int before;
	uint32_t n = 0;

	CHECK_EQ(open_hostile("0,1", seed), 0);
	core = core_of(0);
	before = rte_mempool_avail_count(core->port->pool);
	for (; n < num_frames(); n++) {
		int rc;

		next_frame(&f);
		do
			rc = eng_call(core, bring_on, &f);
		while (rc == -EAGAIN);
		CHECK_EQ(rc, 0);
		core_wake(core);
		collect();
		if (n % 32 == 0)
			CHECK_EQ(look_who_ended() | restore(), 0);
	}
	CHECK(buffers_are_back(before));
	collect();
	for (int i = 0; i < TGT; i++)
		CHECK(taken[i] > n / 2000);
	report(seed, n);
	for (uint32_t i = REGION + REGION_LEN; i < READS; i++)
		CHECK_EQ(w.buf[i], h.shadow[i]);
	for (uint32_t i = READS + READS_LEN; i < ARENA; i++)
		CHECK_EQ(w.buf[i], h.shadow[i]);
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(hostile__every_frame_is_judged),
#ifndef __SANITIZE_THREAD__
	CHECK_CASE(hostile__two_cores),
#endif
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For the test of frames that nobody should send: a stack with QPs of UC, UD and XRC and with groups, and
 * what is known of each of them.
 */
#ifndef UNIT_ENGINE_HOSTILE_H
#define UNIT_ENGINE_HOSTILE_H

#include <fcntl.h>

#include "engine/core.h"

#include "serve_fixture.h"
#include "wire/hdr.h"
#include "wire/parse.h"

#define QKEY 0x11111111u
#define GRH 40u
#define MTU 256u		/* of connected QPs */
#define SLOT 1536u		/* bytes for a receive */
#define SLOTS 8u		/* receives posted at a time */
#define NUM_QUEUES 7u
/* the buffer: slots of each queue, what peers may write to, what READs bring */
#define REGION (NUM_QUEUES * SLOTS * SLOT)
#define REGION_LEN 4096u
#define READS (REGION + 2 * REGION_LEN)
#define READS_LEN 2048u
#define ARENA (READS + 2 * READS_LEN)

static const uint8_t group4[16] = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 };
static const uint8_t group6[16] = { 0xff, 0x15, [12] = 0x80, [15] = 0x77 };

/* Where receives are taken from: a QP's own, or shared. */
struct queue {
	struct plx_wq_ctl *ctl;
	uint8_t *slots;
	uint32_t mask, stride;
	uint32_t tail, head;		/* posted, completed */
	uint32_t pd;			/* index */
	uint32_t number;		/* XRC */
};

enum { UC4, UC6, UD, UD_SHARED, UD_OTHER, TGT, INI, NUM_PEERS };
enum { Q_UC4, Q_UC6, Q_UD, Q_UD_SHARED, Q_UD_OTHER, Q_A, Q_B };	/* UC6's and UD_SHARED's are SRQs */

/* A QP, and what is known of its message. */
struct peer_qp {
	struct end e;
	uint32_t class;
	uint32_t qkey;
	bool ip6;
	struct queue *q;	/* XRC: of the message */
	bool sends, writes;	/* a message that is being received */
	struct psn epsn;
	uint64_t va;
	uint32_t len, done;
};

static struct {
	uint64_t rng;
	struct peer_qp qp[NUM_PEERS];
	struct queue q[NUM_QUEUES];
	uint8_t gid[2][16];		/* ours: IPv6, IPv4 */
	uint8_t mac[6];
	uint32_t pd[2];
	uint32_t slots_key[2], region_key[2];	/* of the PDs; the first for receives alone */
	uint32_t foreign_srq;
	uint8_t shadow[ARENA];
} h;

static inline uint32_t
pick(uint32_t n)
{
	h.rng ^= h.rng << 13;
	h.rng ^= h.rng >> 7;
	h.rng ^= h.rng << 17;
	return (uint32_t)(h.rng >> 20) % n;
}

static inline bool
one_in(uint32_t n)
{
	return pick(n) == 0;
}

static uint32_t
slot_at(const struct queue *q, uint32_t i)
{
	return (uint32_t)((size_t)(q - h.q) * SLOTS + i % SLOTS) * SLOT;
}

/* Some are short, some name no memory. One that is too short for any datagram stays for ever with a QP that
 * does not share it (F4). */
static uint32_t
slot_len(const struct queue *q, uint32_t i)
{
	static const uint32_t len[] = { SLOT, SLOT - 8, 600, SLOT, GRH + 8, SLOT, 30, SLOT };
	uint32_t n = len[i * 7 / 3 % 8];

	return n < 600 && (q == &h.q[Q_UD] || q == &h.q[Q_UD_OTHER]) ? 600 : n;
}

static bool
slot_bad(uint32_t i)
{
	return i % 97 == 50;
}

static void
post_to_queue(struct queue *q)
{
	for (; q->tail - q->head < SLOTS; q->tail++) {
		uint32_t i = q->tail, len = slot_len(q, i), cut = i % 3 ? len : len / 2;
		struct plx_rq_wqe *e = (void *)(q->slots + (size_t)(i & q->mask) * q->stride);
		struct plx_sge *sge = (void *)(e + 1);
		uint32_t key = slot_bad(i) ? 0xbad : h.slots_key[q->pd];

		*e = (struct plx_rq_wqe){ .wr_id = i, .num_sge = 2 };
		sge[0] = (struct plx_sge){ (uintptr_t)w.buf + slot_at(q, i), cut, key };
		sge[1] = (struct plx_sge){ (uintptr_t)w.buf + slot_at(q, i) + cut, len - cut, key };
	}
	__atomic_store_n(&q->ctl->tail, q->tail, __ATOMIC_RELEASE);
}

static void
queue_over(struct queue *q, const struct ctl_wq *wq, uint32_t pd)
{
	*q = (struct queue){ .ctl = at(&wq->ctl), .slots = at(&wq->slots), .mask = (1u << wq->log2_size) - 1,
			     .stride = wq->stride, .pd = pd };
}

static int
reg_part(uint32_t pd, uint32_t from, uint32_t len, uint32_t access, uint32_t *key)
{
	struct ctl_reg_mr m = { .pd = h.pd[pd], .access = access, .addr = (uintptr_t)w.buf + from,
				.length = len, .iova = (uintptr_t)w.buf + from };
	int rc = call(CTL_REG_MR, &m);

	*key = m.lkey;
	return rc;
}

static int
shared_queue(struct queue *q, uint32_t pd, uint32_t xrcd)
{
	struct ctl_create_srq m = { .pd = h.pd[pd], .type = xrcd != 0, .xrcd = xrcd, .cq = w.cq.cq,
				    .max_wr = SLOTS, .max_sge = 2 };
	int rc = call(CTL_CREATE_SRQ, &m);

	if (rc)
		return rc;
	queue_over(q, &m.wq, pd);
	q->number = m.number;
	return (int)m.srq;
}

static void
forget_message(struct peer_qp *p)
{
	p->sends = p->writes = false;
}

/* To RTS, from RESET. */
static int
raise_peer(struct peer_qp *p)
{
	bool ud = p->class == WIRE_UD;
	struct ctl_qp_attr a = { .qp_state = QPS_INIT, .port_num = 1, .qp_access_flags = ALL_ACCESS,
				 .qkey = p->qkey };
	struct ctl_qp_attr rtr = rtr_attr(0x23456);
	struct ctl_modify_qp m = { .qp = p->e.m.qp, .attr = a,
		.mask = QPM_STATE | QPM_PKEY_INDEX | QPM_PORT | (ud ? QPM_QKEY : QPM_ACCESS_FLAGS) };
	int rc = call(CTL_MODIFY_QP, &m);

	p->epsn = psn_make(pick(2) ? pick(1u << 24) : 0xfffff8);
	rtr.path_mtu = 1;
	rtr.rq_psn = p->epsn.v;
	rtr.ah.sgid_index = !p->ip6;
	memcpy(rtr.ah.dgid, h.gid[!p->ip6], 16);
	m.attr = rtr;
	m.mask = ud ? QPM_STATE : p->class == WIRE_UC ?
		 RTR_MASK & ~(QPM_MAX_DEST_RD_ATOMIC | QPM_MIN_RNR_TIMER) : RTR_MASK;
	if (rc == 0)
		rc = call(CTL_MODIFY_QP, &m);
	m.attr = (struct ctl_qp_attr){ .qp_state = QPS_RTS, .max_rd_atomic = 4, .retry_cnt = 7,
				       .rnr_retry = 7 };
	m.mask = p->class != WIRE_XRC ? QPM_STATE | QPM_SQ_PSN :
		 QPM_STATE | QPM_TIMEOUT | QPM_RETRY_CNT | QPM_RNR_RETRY | QPM_SQ_PSN | QPM_MAX_QP_RD_ATOMIC;
	forget_message(p);
	return rc ? rc : call(CTL_MODIFY_QP, &m);
}

static int
new_peer(int i, uint32_t type, struct queue *q, int srq, uint32_t xrcd)
{
	static const uint8_t class[QPT_COUNT] = { [QPT_UC] = WIRE_UC, [QPT_UD] = WIRE_UD,
		[QPT_XRC_INI] = WIRE_XRC, [QPT_XRC_TGT] = WIRE_XRC };
	struct peer_qp *p = &h.qp[i];
	int rc;

	*p = (struct peer_qp){ .class = class[type], .qkey = i == UD_OTHER ? QKEY + 1 : QKEY, .q = q,
			       .ip6 = i == UC6 };
	p->e.m = (struct ctl_create_qp){ .pd = h.pd[0], .type = type, .send_cq = w.cq.cq, .recv_cq = w.cq.cq,
					 .srq = srq < 0 ? 0 : (uint32_t)srq + 1, .xrcd = xrcd,
					 .cap = { 16, SLOTS, 2, 2, 0 } };
	rc = call(CTL_CREATE_QP, &p->e.m);
	if (rc == 0 && q && srq < 0)
		queue_over(q, &p->e.m.rq, 0);
	return rc ? rc : raise_peer(p);
}

/* What is posted is gone, too, where it was the QP's own. */
static int
raise_again(struct peer_qp *p)
{
	int rc = modify(&p->e, QPM_STATE, (struct ctl_qp_attr){ .qp_state = QPS_RESET });

	if (p->q && !p->e.m.srq && p->class != WIRE_XRC)
		p->q->head = p->q->tail;
	return rc ? rc : raise_peer(p);
}

static int
attach_all(void)
{
	int rc = 0;

	for (int i = UD; i <= UD_OTHER; i++) {
		struct ctl_mcast m = { .qp = h.qp[i].e.m.qp };

		memcpy(m.gid, group4, 16);
		rc |= call(CTL_ATTACH_MCAST, &m);
		memcpy(m.gid, group6, 16);
		rc |= call(CTL_ATTACH_MCAST, &m);
	}
	return rc;
}

static int
own_addresses(void)
{
	int rc = 0;

	for (uint32_t i = 0; i < 2; i++) {
		struct ctl_query_gid g = { .port = 1, .index = i };

		rc |= call(CTL_QUERY_GID, &g);
		memcpy(h.gid[i], g.gid, 16);
	}
	memcpy(h.mac, eng_port(stack_running()->eng)->mac, 6);
	return rc;
}

static int
domains(uint32_t xrcd[2])
{
	struct queue foreign;

	for (int i = 0; i < 2; i++) {
		struct ctl_xrcd m = { .fd = -1, .oflags = O_CREAT };

		if (call(CTL_OPEN_XRCD, &m))
			return -1;
		xrcd[i] = m.xrcd;
	}
	if (shared_queue(&h.q[Q_A], 0, xrcd[0]) < 0 || shared_queue(&h.q[Q_B], 1, xrcd[0]) < 0 ||
	    shared_queue(&foreign, 0, xrcd[1]) < 0)
		return -1;
	h.foreign_srq = foreign.number;
	return 0;
}

static struct core *
core_of(uint32_t i)
{
	return eng_core(stack_running()->eng, i);
}

/* All of it; the buffer is full of bytes that stay. 0 or not. */
static int
open_hostile(const char *cores, uint64_t seed)
{
	struct ctl_pd pd = { 0 };
	uint32_t xrcd[2];
	int srq[2], rc;

	h.rng = seed * 2 + 1;
	rc = start_stack(cores);
	if (rc == 0)
		rc = open_client() | own_addresses() | call(CTL_ALLOC_PD, &pd);
	h.pd[0] = w.pd;
	h.pd[1] = pd.pd;
	for (uint32_t i = 0; i < 2 && rc == 0; i++)
		rc = reg_part(i, 0, REGION, 1, &h.slots_key[i]) |
		     reg_part(i, REGION, REGION_LEN, ALL_ACCESS, &h.region_key[i]);
	if (rc || domains(xrcd))
		return -1;
	srq[0] = shared_queue(&h.q[Q_UC6], 0, 0);
	srq[1] = shared_queue(&h.q[Q_UD_SHARED], 0, 0);
	rc = srq[0] < 0 || srq[1] < 0 || new_peer(UC4, QPT_UC, &h.q[Q_UC4], -1, 0) ||
	     new_peer(UC6, QPT_UC, &h.q[Q_UC6], srq[0], 0) || new_peer(UD, QPT_UD, &h.q[Q_UD], -1, 0) ||
	     new_peer(UD_SHARED, QPT_UD, &h.q[Q_UD_SHARED], srq[1], 0) ||
	     new_peer(UD_OTHER, QPT_UD, &h.q[Q_UD_OTHER], -1, 0) ||
	     new_peer(TGT, QPT_XRC_TGT, NULL, -1, xrcd[0]) || new_peer(INI, QPT_XRC_INI, NULL, -1, 0) ||
	     attach_all();
	for (uint32_t i = 0; i < ARENA; i++)
		w.buf[i] = h.shadow[i] = (uint8_t)(i * 7 >> 2 | 1);
	for (uint32_t i = 0; i < NUM_QUEUES; i++)
		post_to_queue(&h.q[i]);
	return rc;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Two hosts in one thread: memory, rings, wire and clock. See pair.h. */
#include "pair.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "transport/numbers.h"
#include "wire/icrc.h"

#define SLOTS GATHER_SLOTS
#define DELAY_NS 1000u
#define BYTE_PS 80u		/* 100 Gb/s */
#define QUANTUM 16384u
#define STILL_MAX 1000000u
/* Any two of one side differ in three bits: a turned one never names another QP. */
#define QPN(side, n) ((0x001234u + (side) * 0x111111u) ^ (n) * (1u << 6 | 1u << 11 | 1u << 17))

struct pair_out {
	struct out_slot slot[SLOTS];
	struct outbox box;
	uint8_t room[SLOTS][SIM_FRAME_MAX];
};

uint64_t
pair_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static bool
chance(struct pair *p, uint32_t ppm)
{
	return ppm && pair_random(&p->rng) % 1000000 < ppm;
}

static void
wire_send(struct pair *p, uint32_t from, const uint8_t *data, uint32_t len)
{
	struct wire_pkt pkt;

	p->frames++;
	if (wire_parse(data, len, &pkt) != DROP_NONE || !wire_icrc_ok(&pkt))
		assert(!"a frame of ours that does not parse");
	if (p->sent)
		p->sent(p, from, &pkt);
	if (p->filter && !p->filter(p, from, &pkt))
		sim_wire_lose(p->wire, p->now, from, len);
	else
		sim_wire_send(p->wire, p->now, from, data, len);
}

/* As the engine does with what it received. */
static void
deliver(struct pair *p, struct sim_frame *f)
{
	struct pair_side *to = &p->side[!f->from];
	struct wire_pkt pkt = { .psn = { 0 } };
	enum drop_reason why;
	struct qp *qp;

	why = wire_parse(f->data, f->len, &pkt);
	if (why == DROP_NONE && !wire_icrc_ok(&pkt))
		why = DROP_ICRC;
	if (why == DROP_NONE)
		why = demux_rx(to->demux, &pkt, &qp);
	if (p->came)
		p->came(p, f, &pkt, why);
	if (why == DROP_NONE)
		qp_rx(qp, &to->x, &pkt);
	else
		cnt_drop(&to->cnt, why);
	sim_wire_done(p->wire, f);
}

static void
run_side(struct pair_side *s)
{
	struct pair *p = s->pair;
	struct outbox *ob = s->x.out;
	uint8_t room[SIM_FRAME_MAX];
	struct list_node *n;

	s->x.now = p->now;
	while ((n = list_pop(&s->x.run))) {
		bool more;

		ob->used = 0;
		gather_lend(&p->gather, s->index, ob, p->conf.ext_min);
		more = qp_run(qp_of_run(n), &s->x, QUANTUM);
		for (uint32_t i = 0; i < ob->used; i++) {
			wire_send(p, s->index, gather_frame(ob, i, room), ob->slot[i].len);
			gather_sent(&p->gather, &s->x, i);
		}
		if (more)
			list_push(&s->x.run, n);
	}
}

static uint64_t
earliest(const struct pair *p)
{
	const struct sim_frame *f = sim_wire_first(p->wire);
	uint64_t at = f ? f->at : QP_NEVER;

	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t n = 0; n < p->num_qps; n++)
			if (qp_wake_at(p->side[i].q[n].qp) < at)
				at = qp_wake_at(p->side[i].q[n].qp);
	return at;
}

/* Both ends' ACKs wait for a later step, now and then. */
static void
hold_some(struct pair *p)
{
	for (uint32_t i = 0; i < 2; i++) {
		if (chance(p, p->conf.late))
			p->side[i].x.hold_acks = true;
		else if (p->conf.late)
			xport_release_acks(&p->side[i].x);
	}
}

/* Nothing else is due: is there an ACK that waits only because of hold_some()? Not any more. */
static bool
release_all(struct pair *p)
{
	bool any = false;

	for (uint32_t i = 0; i < 2 && p->conf.late; i++) {
		any |= !list_empty(&p->side[i].x.late);
		xport_release_acks(&p->side[i].x);
	}
	return any;
}

static void
run_timers(struct pair_side *s)
{
	for (uint32_t n = 0; n < s->pair->num_qps; n++)
		if (qp_wake_at(s->q[n].qp) <= s->pair->now)
			qp_timer(s->q[n].qp, &s->x);
}

void
pair_run(struct pair *p, uint64_t until)
{
	for (uint32_t still = 0;; still++) {
		struct sim_frame *f;
		uint64_t at;

		hold_some(p);
		run_side(&p->side[0]);
		run_side(&p->side[1]);
		at = earliest(p);
		if (at == QP_NEVER || at > until) {
			if (release_all(p))
				continue;
			return;
		}
		if (at > p->now) {
			p->now = at;
			still = 0;
		}
		assert(still < STILL_MAX);	/* who is always due does nothing */
		for (uint32_t i = 0; i < 2; i++)
			p->side[i].x.now = p->now;
		while ((f = sim_wire_first(p->wire)) && f->at <= p->now)
			deliver(p, sim_wire_take(p->wire));
		run_timers(&p->side[0]);
		run_timers(&p->side[1]);
	}
}

/* Setting up */

static void *
zeroed(size_t len)
{
	void *m = aligned_alloc(64, (len + 63) & ~(size_t)63);

	if (m)
		memset(m, 0, (len + 63) & ~(size_t)63);
	return m;
}

static uint32_t
log2_up(uint32_t n)
{
	uint32_t k = 0;

	while ((1u << k) < n)
		k++;
	return k;
}

static void
defaults(struct pair_conf *c)
{
#define DEFAULT(field, value) do { if (!c->field) c->field = (value); } while (0)
	DEFAULT(type, QPT_RC);
	DEFAULT(mtu, 3);
	DEFAULT(max_wr, 64);
	DEFAULT(max_sge, 4);
	DEFAULT(max_inline, 128);
	DEFAULT(cq_size, 1024);
	DEFAULT(access, MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC | MEM_FLUSH_GLOBAL);
	DEFAULT(max_rd_atomic, 4);
	DEFAULT(timeout, 8);
	DEFAULT(min_rnr_timer, 1);
	DEFAULT(delay_ns, DELAY_NS);
	DEFAULT(byte_ps, BYTE_PS);
#undef DEFAULT
}

static void
make_path(struct qp_path *path, uint32_t side, bool ip6)
{
	struct wire_tmpl_conf t = { .hop_limit = 64, .udp_sport = 0xc000 };

	for (uint32_t i = 0; i < 2; i++) {
		uint8_t *gid = i ? t.dst_gid : t.src_gid;

		if (!ip6)
			memset(gid + 10, 0xff, 2);
		else
			gid[0] = 0xfd;
		gid[12] = 10;
		gid[15] = (uint8_t)(1 + (i ^ side));
		(i ? t.dst_mac : t.src_mac)[0] = 2;
		(i ? t.dst_mac : t.src_mac)[5] = gid[15];
	}
	memcpy(path->src_gid, t.src_gid, 16);
	memcpy(path->dst_gid, t.dst_gid, 16);
	wire_tmpl_make(&path->tmpl, &t);
	path->ready = true;
}

static void
make_queues(struct pair_qp *q, const struct pair_conf *pc, struct qp_conf *c)
{
	struct wq_conf *wq[2] = { &c->sq, &c->rq };

	q->cq_log2 = log2_up(pc->cq_size);
	for (uint32_t i = 0; i < 2; i++) {
		q->cq_ctl[i] = zeroed(sizeof(*q->cq_ctl[i]));
		q->cq_ring[i] = zeroed(sizeof(struct plx_cqe) << q->cq_log2);
		cq_init(&q->cq[i], q->cq_ctl[i], q->cq_ring[i], q->cq_log2, pc->cq_size);
		wq[i]->log2_size = log2_up(pc->max_wr);
		wq[i]->max_wr = pc->max_wr;
		wq[i]->max_sge = pc->max_sge;
		wq[i]->stride = i ? plx_rq_stride(pc->max_sge) : plx_sq_stride(pc->max_sge, pc->max_inline);
		q->wq_ctl[i] = wq[i]->ctl = zeroed(sizeof(*wq[i]->ctl));
		q->wq_slots[i] = wq[i]->slots = zeroed((size_t)wq[i]->stride << wq[i]->log2_size);
	}
}

/* What must come with the change to each state; the reliable ones want more, datagrams less. */
static uint32_t
mask_to(uint32_t state, uint32_t type)
{
	bool rc = type == QPT_RC;

	if (type == QPT_UD && state == QPS_INIT)
		return QPM_STATE | QPM_PKEY_INDEX | QPM_PORT | QPM_QKEY;
	if (type == QPT_UD && state == QPS_RTR)
		return QPM_STATE;
	switch (state) {
	case QPS_INIT:
		return QPM_STATE | QPM_PKEY_INDEX | QPM_PORT | QPM_ACCESS_FLAGS;
	case QPS_RTR:
		return QPM_STATE | QPM_AV | QPM_PATH_MTU | QPM_DEST_QPN | QPM_RQ_PSN |
		       (rc ? QPM_MIN_RNR_TIMER | QPM_MAX_DEST_RD_ATOMIC : 0);
	default:
		return QPM_STATE | QPM_SQ_PSN |
		       (rc ? QPM_TIMEOUT | QPM_RETRY_CNT | QPM_RNR_RETRY | QPM_MAX_QP_RD_ATOMIC : 0);
	}
}

static void
connect_qp(struct pair_qp *q, const struct pair_conf *pc)
{
	struct pair_side *s = q->side;
	struct qp_attr a = {
		.port_num = 1, .qkey = PAIR_QKEY, .access_flags = pc->access, .path_mtu = pc->mtu,
		.dest_qpn = QPN(!s->index, q->index), .sq_psn = pc->psn[s->index],
		.rq_psn = pc->psn[!s->index],
		.max_rd_atomic = pc->max_rd_atomic, .max_dest_rd_atomic = pc->max_rd_atomic,
		.min_rnr_timer = pc->min_rnr_timer, .timeout = pc->timeout,
		.retry_cnt = pc->retry_cnt, .rnr_retry = pc->rnr_retry, .path = q->path,
	};
	int err = 0;

	for (a.state = QPS_INIT; a.state <= QPS_RTS; a.state++)
		err |= qp_modify(q->qp, &s->x, mask_to(a.state, pc->type), &a);
	assert(!err);
	(void)err;
}

static void
make_qp(struct pair_side *s, uint32_t n, const struct pair_conf *pc)
{
	struct pair_qp *q = &s->q[n];
	struct qp_conf c = {
		.qpn = QPN(s->index, n), .handle = 7 + s->index + 2 * n, .gen = 3, .type = pc->type, .pd = 1,
		.send_cq = &q->cq[0], .recv_cq = &q->cq[1], .max_inline = pc->max_inline,
		.port_ip_mtu = 4200, .dev_max_rd_atomic = 16, .dev_max_dest_rd_atomic = 16,
	};

	q->side = s;
	q->index = n;
	make_queues(q, pc, &c);
	make_path(&q->path, s->index, pc->ip6);
	seqcell_set(&s->ah.path, &q->path);
	q->qp = zeroed(qp_size());
	if (qp_init(q->qp, &c))
		assert(!"conf");
	demux_add(s->demux, c.qpn, q->qp);
	connect_qp(q, pc);
}

static const struct ah *
ah_of(void *arg, uint32_t handle)
{
	const struct pair_side *s = arg;

	return handle == PAIR_AH ? &s->ah : NULL;
}

static void
make_side(struct pair *p, uint32_t index)
{
	struct pair_side *s = &p->side[index];
	struct mr d = { .pd = 1, .access = 15 | MEM_FLUSH_GLOBAL, .length = PAIR_MEM };
	uint8_t *all = zeroed(PAIR_MEM + 2 * PAIR_RED);

	s->pair = p;
	s->index = index;
	s->mem = all + PAIR_RED;
	memset(all, 0xa5, PAIR_RED);
	memset(s->mem + PAIR_MEM, 0xa5, PAIR_RED);
	d.base = s->mem;
	d.iova = (uintptr_t)s->mem;
	s->mrs = mr_table_new(64);
	mr_add(s->mrs, &d, &s->mr);
	for (uint32_t i = 0; i < SLOTS; i++)
		p->out[index].slot[i].data = p->out[index].room[i];
	p->out[index].box = (struct outbox){ .slot = p->out[index].slot, .cap = SLOTS };
	xport_init(&s->x, &p->out[index].box, s->mrs, &s->cnt, NULL);
	s->x.max_inflight = p->conf.max_inflight;
	s->x.ah_of = ah_of;
	s->x.ah_arg = s;
	s->ah.pd = s->ah.gen = 1;
	s->demux = demux_new();
}

static uint64_t
chance_of(uint32_t ppm)
{
	return ppm * PORT_CHANCE_ONE / 1000000;
}

static struct sim_wire *
make_wire(const struct pair_conf *c)
{
	struct sim_wire_conf w = {
		.impair = {
			.drop = chance_of(c->loss), .dup = chance_of(c->dup),
			.reorder = chance_of(c->reorder), .corrupt = chance_of(c->corrupt),
			.seed = c->seed,
		},
		.forge = chance_of(c->forge), .delay_ns = c->delay_ns, .frame_ns = c->frame_ns,
		.byte_ps = c->byte_ps, .only = c->only, .num_only = c->num_only,
	};

	return sim_wire_new(&w);
}

struct pair *
pair_new(const struct pair_conf *conf)
{
	struct pair *p = zeroed(sizeof(*p));

	if (!p)
		return NULL;
	p->conf = *conf;
	defaults(&p->conf);
	p->now = 1000000;
	p->rng = p->conf.seed;
	p->wire = make_wire(&p->conf);
	p->out = calloc(2, sizeof(*p->out));
	if (!p->wire || !p->out) {
		free(p->wire);
		free(p->out);
		free(p);
		return NULL;
	}
	make_side(p, 0);
	make_side(p, 1);
	pair_add(p, &p->conf);
	return p;
}

uint32_t
pair_add(struct pair *p, const struct pair_conf *conf)
{
	struct pair_conf c = *conf;

	assert(p->num_qps < PAIR_QPS);
	defaults(&c);
	make_qp(&p->side[0], p->num_qps, &c);
	make_qp(&p->side[1], p->num_qps, &c);
	return p->num_qps++;
}

static void
free_qp(struct pair_qp *q)
{
	qp_fini(q->qp, &q->side->x);
	free(q->qp);
	for (uint32_t k = 0; k < 2; k++) {
		free(q->cq_ctl[k]);
		free(q->cq_ring[k]);
		free(q->wq_ctl[k]);
		free(q->wq_slots[k]);
	}
}

void
pair_free(struct pair *p)
{
	for (uint32_t i = 0; i < 2; i++) {
		struct pair_side *s = &p->side[i];

		for (uint32_t n = 0; n < p->num_qps; n++)
			free_qp(&s->q[n]);
		demux_free(s->demux);
		mr_table_free(s->mrs);
		free(s->mem - PAIR_RED);
	}
	sim_wire_free(p->wire);
	free(p->out);
	free(p);
}

struct plx_sge
pair_sge(const struct pair_side *s, uint32_t offset, uint32_t length)
{
	return (struct plx_sge){ (uintptr_t)s->mem + offset, length, s->mr->key };
}

bool
pair_red_zones_ok(const struct pair *p)
{
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t k = 0; k < PAIR_RED; k++)
			if ((p->side[i].mem - PAIR_RED)[k] != 0xa5 ||
			    p->side[i].mem[PAIR_MEM + k] != 0xa5)
				return false;
	return true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Does everything hold while flows run over a bad wire, and when they are done? See episode.h. */
#include "episode.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pcap.h"
#include "transport/numbers.h"

#define US 1000ull
#define PATIENCE (2ull * 1000000000)	/* virtual time without a frame, after which nothing comes */
#define TURN_US 20u
#define TURN_MAX_US 100000u

struct episode {
	const struct episode_conf *conf;
	struct pair *p;
	struct flow flow[FLOWS];
	uint32_t num_flows;
	struct flow_shared shared;
	uint64_t rng;
	uint64_t came[2][DROP_COUNT];	/* frames to each side, by what became of them */
	uint64_t polled[2];
	struct pcap *pcap;
	char why[256];
};

static void
complain(struct episode *e, const char *who, const char *why)
{
	if (!e->why[0])
		snprintf(e->why, sizeof(e->why), "%llu ns: %s: %s", (unsigned long long)e->p->now, who,
			 why);
}

static struct flow *
flow_of(struct episode *e, uint32_t from, const struct wire_pkt *pkt)
{
	uint32_t requester = pkt->info->traits & WIRE_REQUEST ? from : !from;

	for (uint32_t n = 0; n < e->p->num_qps; n++)
		if (qp_num(e->p->side[!from].q[n].qp) == pkt->dest_qpn)
			return &e->flow[2 * n + requester];
	return NULL;
}

static void
sent(struct pair *p, uint32_t from, const struct wire_pkt *pkt)
{
	struct episode *e = p->watcher;
	struct flow *f = flow_of(e, from, pkt);

	if (!f)
		complain(e, "a frame", "to a QP that does not exist");
	else if (pkt->info->traits & WIRE_REQUEST)
		mon_request_sent(&f->mon, pkt);
	else
		mon_response_sent(&f->mon, pkt);
}

static void
came(struct pair *p, const struct sim_frame *frame, const struct wire_pkt *pkt, enum drop_reason why)
{
	struct episode *e = p->watcher;
	struct flow *f;

	e->came[!frame->from][why]++;
	if (e->pcap)
		pcap_add(e->pcap, p->now, frame->data, frame->len);
	if (why != DROP_NONE)
		return;
	if (frame->forged)
		complain(e, "the receiver", "believed a header field that it must refuse");
	f = flow_of(e, frame->from, pkt);
	if (pkt->info->traits & WIRE_REQUEST)
		mon_request_came(&f->mon, pkt);
	else
		mon_response_came(&f->mon, pkt);
}

/* Setting up */

static uint32_t
draw_psn(uint64_t *rng)
{
	static const uint32_t near[] = { 0, 0x7fffff, 0x800000, 0xffffff };
	uint64_t r = pair_random(rng);

	return (r & 1 ? near[r >> 8 & 3] - (uint32_t)(r >> 16) % 500 : (uint32_t)(r >> 16)) & PSN_MASK;
}

static struct pair_conf
draw_conf(const struct episode_conf *c, uint64_t *rng)
{
	static const uint32_t windows[] = { 0, 0, 0, 4, 16, 64, 512 };

	return (struct pair_conf){
		.psn = { draw_psn(rng), draw_psn(rng) },
		.mtu = 1 + (uint32_t)(pair_random(rng) % 5),
		.max_wr = 8u << pair_random(rng) % 4,
		.max_inflight = windows[pair_random(rng) % 7],
		.max_rd_atomic = (uint8_t)(1 + pair_random(rng) % 16),
		.timeout = (uint8_t)(8 + pair_random(rng) % 3),
		.retry_cnt = 7, .rnr_retry = 7,
		.min_rnr_timer = (uint8_t)(1 + pair_random(rng) % 5),
		.ip6 = pair_random(rng) & 1,
		.seed = c->seed, .loss = c->drop, .dup = c->dup, .reorder = c->reorder,
		.corrupt = c->corrupt, .forge = c->forge, .frame_ns = 20,
		.late = pair_random(rng) % 2 * 300000,
		.only = c->only, .num_only = c->num_only,
	};
}

static void
set_up(struct episode *e)
{
	uint32_t qps = 1 + (uint32_t)(pair_random(&e->rng) % 12);

	for (uint32_t n = 0; n < qps; n++) {
		struct pair_conf c = draw_conf(e->conf, &e->rng);

		if (n) {
			pair_add(e->p, &c);
		} else {
			e->p = pair_new(&c);
			assert(e->p);
		}
		for (uint32_t i = 0; i < 2; i++)
			flow_init(&e->flow[2 * n + i], &e->p->side[i].q[n], &e->p->side[!i].q[n], &c,
				  pair_random(&e->rng));
	}
	e->num_flows = 2 * qps;
	e->p->watcher = e;
	e->p->sent = sent;
	e->p->came = came;
}

/* Running */

static bool
failed(struct episode *e)
{
	for (uint32_t i = 0; i < e->num_flows && !e->why[0]; i++) {
		const struct flow *f = &e->flow[i];
		char who[64];

		if (!f->mon.why[0])
			continue;
		snprintf(who, sizeof(who), "QP %u, %s", f->from->index, i % 2 ? "b>a" : "a>b");
		complain(e, who, f->mon.why);
	}
	return e->why[0];
}

static void
turn(struct episode *e, bool closing)
{
	for (uint32_t i = 0; i < e->num_flows; i++) {
		struct flow *f = &e->flow[i];
		uint64_t r = pair_random(&e->rng);

		flow_poll(f, &e->shared);
		if (closing)
			flow_close(f, &e->shared);
		else if (r % 4)
			flow_post(f, &e->shared, r >> 8 & 7);
		if (!f->slow || r >> 16 & 1)
			flow_post_recvs(f, f->slow ? 1 + (r >> 24 & 1) : 16);
	}
	e->p->now += pair_random(&e->rng) % US;
}

static bool
all_idle(struct episode *e)
{
	for (uint32_t i = 0; i < e->num_flows; i++)
		if (!flow_idle(&e->flow[i]))
			return false;
	return !sim_wire_first(e->p->wire);
}

static void
run(struct episode *e)
{
	struct pair *p = e->p;
	uint64_t last = p->now, span = TURN_US;

	while (!failed(e)) {
		uint64_t frames = p->frames, until = p->now + US * (pair_random(&e->rng) % span);
		bool closing = frames >= e->conf->frames;

		if (closing && all_idle(e))
			return;
		if (p->now - last > PATIENCE) {
			complain(e, "the run", "does not end");
			return;
		}
		turn(e, closing);
		pair_run(p, until);
		if (p->now < until)
			p->now = until;
		/* who waits for a timer may wait longer each time */
		span = p->frames != frames ? TURN_US : span < TURN_MAX_US ? span * 2 : span;
		if (p->frames != frames)
			last = p->now;
	}
}

/* At the end */

static void
same(struct episode *e, uint32_t side, const char *name, uint64_t theirs, uint64_t ours)
{
	char why[128];

	if (theirs == ours)
		return;
	snprintf(why, sizeof(why), "counter %s of host %c is %llu, on the wire were %llu", name,
		 "ab"[side], (unsigned long long)theirs, (unsigned long long)ours);
	complain(e, "the end", why);
}

/* Counters equal what crossed the wire. */
static void
check_counters(struct episode *e, uint32_t side)
{
	struct mon_counts req = { 0 }, resp = { 0 };	/* of flows that begin and end here */
	const struct cnt_block *c = &e->p->side[side].cnt;
	uint64_t cqes = 0;

	for (uint32_t i = 0; i < e->num_flows; i++) {
		struct mon_counts *to = i % 2 == side ? &req : &resp;
		const struct flow *f = &e->flow[i];

#define ADD(name) to->name += f->mon.n.name;
		MON_COUNTS(ADD)
#undef ADD
		cqes += f->cqes[i % 2 != side];
	}
#define SAME(NAME, ours) same(e, side, cnt_name(CNT_##NAME), cnt_read(&c->cnt[CNT_##NAME]), ours)
	SAME(TX_REQUESTS, req.tx_requests);
	SAME(TX_RETRANS, req.tx_retrans);
	SAME(RX_ACKS, req.rx_acks);
	SAME(RX_NAK_SEQ, req.rx_nak_seq);
	SAME(RX_NAK_RNR, req.rx_nak_rnr);
	SAME(RX_RESPONSES, req.rx_responses);
	SAME(TX_ACKS, resp.tx_acks);
	SAME(TX_NAK_SEQ, resp.tx_nak_seq);
	SAME(TX_NAK_RNR, resp.tx_nak_rnr);
	SAME(RX_REQUESTS, resp.rx_requests);
	SAME(RX_DUPLICATES, resp.rx_duplicates);
	SAME(CQE, cqes);
#undef SAME
	e->came[side][DROP_PSN_AHEAD] += resp.rx_ahead;
	e->came[side][DROP_PSN_STALE] += req.rx_stale;
	/* of duplicates, some may be dropped */
	e->came[side][DROP_DUP_READ] = cnt_read(&c->drop[DROP_DUP_READ]);
	e->came[side][DROP_DUP_ATOMIC] = cnt_read(&c->drop[DROP_DUP_ATOMIC]);
	for (uint32_t why = DROP_NONE + 1; why < DROP_COUNT; why++)
		same(e, side, drop_name((enum drop_reason)why), cnt_read(&c->drop[why]),
		     e->came[side][why]);
}

/* Everything is as it was at the beginning. */
static void
check_end(struct episode *e)
{
	for (uint32_t i = 0; i < e->num_flows; i++)
		flow_check_end(&e->flow[i]);
	failed(e);
	for (uint32_t i = 0; i < 2; i++) {
		struct pair_side *s = &e->p->side[i];

		check_counters(e, i);
		if (!list_empty(&s->x.run) || !list_empty(&s->x.late) || s->x.num_events || s->x.lost_events)
			complain(e, "the end", "a QP still wants to send, or an event was raised");
		/* any flow to this side knows the word */
		if (*flow_word(&e->flow[!i], true) != e->shared.adds[i])
			complain(e, "the end", "the shared word is not the number of FETCH_ADDs");
	}
	if (!pair_red_zones_ok(e->p))
		complain(e, "the end", "memory outside was written to");
}

static void
report(struct episode *e, struct episode_result *out)
{
	struct sim_wire *w = e->p->wire;

	memset(out, 0, sizeof(*out));
	memcpy(out->why, e->why, sizeof(out->why));
	out->frames = e->p->frames;
	out->lost = w->lost;
	out->doubled = w->doubled;
	out->delayed = w->delayed;
	out->corrupted = w->corrupted;
	out->forged = w->forged;
	out->virtual_ns = e->p->now;
	for (uint32_t i = 0; i < e->num_flows; i++) {
		out->wrs += e->flow[i].done;
		out->bytes += e->flow[i].bytes;
		out->cqes += e->flow[i].cqes[0] + e->flow[i].cqes[1];
		out->retransmitted += e->flow[i].mon.n.tx_retrans;
		out->rnr_naks += e->flow[i].mon.n.tx_nak_rnr;
	}
	for (uint32_t i = 0; i < 2; i++)
		out->timeouts += cnt_read(&e->p->side[i].cnt.cnt[CNT_TIMEOUTS]);
	out->suffered = w->suffered;
	out->num_suffered = w->num_suffered;
	w->suffered = NULL;
}

void
episode_run(const struct episode_conf *conf, struct episode_result *out)
{
	struct episode *e = calloc(1, sizeof(*e));

	assert(e);
	e->conf = conf;
	e->rng = conf->seed;
	if (conf->pcap)
		e->pcap = pcap_open(conf->pcap);
	set_up(e);
	run(e);
	if (!e->why[0])
		check_end(e);
	if (e->pcap)
		pcap_close(e->pcap);
	report(e, out);
	pair_free(e->p);
	free(e);
}

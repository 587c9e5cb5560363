/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host's loop in virtual time: what an engine does between a port and the transport, without a
 * port. Called by every line that injects, posts or waits.
 */
#include <stdlib.h>
#include <string.h>

#include "host.h"
#include "wire/group.h"
#include "wire/icrc.h"
#include "wire/parse.h"

#define ROUNDS_MAX 100000u

/* The frame as it would stand on the wire, from the slot and what it leaves where it is. */
static void
gather(struct host *h, uint32_t i, uint8_t *to)
{
	const struct out_slot *s = &h->out.slot[i];
	const struct out_ext *e = &h->ext[i];

	if (!s->ext) {
		memcpy(to, s->data, s->len);
		return;
	}
	memcpy(to, s->data, e->at);
	memcpy(to + e->at, e->data, e->len);
	memcpy(to + e->at + e->len, s->data + e->at, s->len - e->at - e->len);
	if (h->num_held == HOST_HELD)
		host_broke(h, "more external payloads than the host can hold");
	else
		h->held[h->num_held++] = *e;
}

/* The last reading of the programs' memory is over. */
static bool
give_back(struct host *h)
{
	uint32_t n = h->num_held;

	h->num_held = 0;
	for (uint32_t i = 0; i < n; i++)
		qp_ext_back(h->held[i].qp, &h->x, h->held[i].wr);
	return n;
}

static void
take_frames(struct host *h)
{
	for (uint32_t i = 0; i < h->out.used; i++) {
		size_t len = h->out.slot[i].len;
		struct host_frame *f = malloc(sizeof(*f) + len);
		struct pkt p;
		char line[600];

		if (!f)
			abort();
		*f = (struct host_frame){ .at = h->x.now, .len = len };
		gather(h, i, f->bytes);
		*h->frames_end = f;
		h->frames_end = &f->next;
		if (pkt_decode(f->bytes, len, &p)) {
			host_note(h, "> a frame that cannot be decoded");
			continue;
		}
		if (!p.ip_sum_ok)
			host_broke(h, "a frame with a wrong IPv4 header checksum was sent (A7)");
		pkt_print(&p, 0, line, sizeof(line));
		host_note(h, "> %s", line);
	}
	h->out.used = 0;
}

static void
take_cqes(struct host *h, struct host_qp *q, struct host_cq *c, int which)
{
	while (!c->hold) {
		const struct plx_cqe *cqe = &c->ring[c->head & ((1u << c->log2_size) - 1)];
		struct host_cqe *n;

		if (__atomic_load_n(&cqe->phase, __ATOMIC_ACQUIRE) !=
		    plx_cqe_phase(c->head, c->log2_size))
			return;
		n = calloc(1, sizeof(*n));
		if (!n)
			abort();
		n->cqe = *cqe;
		n->qp = q;
		n->cq = c;
		for (unsigned int i = 0; h->xrc && which && i < h->num_qps; i++)
			if (h->qp[i]->tgt_qpn == cqe->qp_num)
				n->qp = h->qp[i];
		*h->cqes_end[which] = n;
		h->cqes_end[which] = &n->next;
		if (cqe->queue == PLX_CQE_SQ)
			q->sq_free = cqe->wq_head;
		else
			q->rq_free = cqe->wq_head;
		c->ctl.head = ++c->head;
		host_note(h, "  cqe %s wr=%llu status=%u op=%u len=%u", cqe->queue ? "recv" : "send",
			  (unsigned long long)cqe->wr_id, cqe->status, cqe->opcode, cqe->byte_len);
	}
}

static void
take_notified(struct host *h)
{
	struct list_node *n;

	while ((n = list_pop(&h->x.cq_events))) {
		struct cq *cq = container_of(n, struct cq, event_node);

		cq->event_due = false;
		for (unsigned int i = 0; i < h->num_qps; i++) {
			h->notified[0] += cq == &h->qp[i]->send_cq.cq;
			h->notified[1] += cq == &h->qp[i]->recv_cq.cq;
		}
	}
}

static void
take_all(struct host *h)
{
	take_frames(h);
	for (unsigned int i = 0; i < h->num_qps; i++) {
		take_cqes(h, h->qp[i], &h->qp[i]->send_cq, 0);
		take_cqes(h, h->qp[i], &h->qp[i]->recv_cq, 1);
	}
	for (unsigned int i = 0; i < h->num_srqs; i++)
		if (h->srq[i]->cq == &h->srq[i]->own_cq)
			take_cqes(h, h->qp[0], h->srq[i]->cq, 1);
	take_notified(h);
}

void
host_settle(struct host *h)
{
	struct list_node *n;
	unsigned int rounds = 0;

	take_all(h);
	/* held until nobody has anything to do, so that completions wait for it */
	while ((n = list_pop(&h->x.run)) || give_back(h)) {
		struct qp *qp = n ? qp_of_run(n) : NULL;

		if (!qp) {
			take_all(h);
			continue;
		}
		h->out.cap = h->slots;
		h->out.ext_room = h->external ? h->slots : 0;
		if (qp_run(qp, &h->x, h->quantum) && !list_linked(n))
			list_push(&h->x.run, n);
		take_all(h);
		if (++rounds > ROUNDS_MAX) {
			host_broke(h, "a QP wants to run for ever");
			return;
		}
	}
}

/* The two parsers must tell the same (faults.md 4.1); what the product drops, ours may accept. */
static void
compare_parsers(struct host *h, const struct wire_pkt *w, const uint8_t *frame, size_t len)
{
	struct pkt p;
	const char *why = pkt_decode(frame, len, &p);

	if (why && !wire_icrc_ok(w))
		return;		/* both refuse it, each for a reason of its own */
	if (why)
		host_broke(h, "lib/wire accepts a frame that the runner's decoder refuses: %s", why);
	else if (p.icrc_ok != wire_icrc_ok(w))
		host_broke(h, "lib/wire and the runner disagree on an ICRC");
	else if (p.opcode != w->opcode || p.psn != w->psn.v || p.dqpn != w->dest_qpn ||
		 p.ackreq != w->ack_req || p.pkey != w->pkey ||
		 /* lib/wire takes the zero bytes of a CNP for a header */
		 (p.payload_len != w->payload_len && p.opcode != 0x81))
		host_broke(h, "lib/wire and the runner disagree on a field");
}

/* While a packet is given to the QPs of a group. */
struct giving {
	struct host *h;
	const struct wire_pkt *pkt;
};

static void
give(void *arg, struct qp *qp)
{
	const struct giving *g = arg;

	qp_rx(qp, &g->h->x, g->pkt);
}

static enum drop_reason
receive(struct host *h, const uint8_t *frame, size_t len)
{
	enum drop_reason why;
	struct wire_pkt pkt;
	struct giving g = { .h = h, .pkt = &pkt };
	struct qp *qp;

	if (wire_classify(frame, len) != WIRE_KIND_ROCE)
		return DROP_NOT_ROCE;
	why = wire_parse(frame, len, &pkt);
	if (why)
		return why;
	compare_parsers(h, &pkt, frame, len);
	if (!wire_icrc_ok(&pkt))
		return DROP_ICRC;
	if (wire_gid_is_group(pkt.dst_gid))
		return mcast_rx(h->mcast, &pkt, &h->cnt, give, &g);
	why = demux_rx(h->demux, &pkt, &qp);
	if (why)
		return why;
	qp_rx(qp, &h->x, &pkt);
	return DROP_NONE;
}

void
host_rx(struct host *h, const uint8_t *frame, size_t len)
{
	/* A copy of exactly this length, so that a read beyond it is seen by the sanitizer. */
	uint8_t *copy = malloc(len ? len : 1);
	enum drop_reason why;

	if (!copy)
		abort();
	memcpy(copy, frame, len);
	why = receive(h, copy, len);
	if (why) {
		cnt_drop(&h->cnt, why);
		host_note(h, "  dropped: %s", drop_text(why));
	}
	free(copy);
	take_frames(h);
}

bool
host_has_news(const struct host *h)
{
	return h->frames || h->cqes[0] || h->cqes[1] || h->x.num_events || h->notified[0] ||
	       h->notified[1];
}

static struct host_qp *
next_timer(struct host *h)
{
	struct host_qp *best = NULL;

	for (unsigned int i = 0; i < h->num_qps; i++) {
		uint64_t at = qp_wake_at(h->qp[i]->qp);

		if (at != QP_NEVER && (!best || at < qp_wake_at(best->qp)))
			best = h->qp[i];
	}
	return best;
}

void
host_advance(struct host *h, uint64_t until)
{
	unsigned int rounds = 0;

	while (!h->broken[0]) {
		struct host_qp *q = next_timer(h);
		uint64_t at = q ? qp_wake_at(q->qp) : QP_NEVER;

		/* once there is news, only what is due at this very time still happens */
		if (at > (host_has_news(h) ? h->x.now : until))
			break;
		if (at > h->x.now) {
			h->x.now = at;
			rounds = 0;
		}
		qp_timer(q->qp, &h->x);
		host_settle(h);
		if (++rounds > 1000)
			host_broke(h, "a timer wants to fire again at once, for ever");
	}
	if (!host_has_news(h))
		h->x.now = until;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines about what the application sees: cqe, event, mem, untouched, count, state, arm, notify,
 * poll. */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "run.h"

/* In the order of enum ibv_wc_status (D-8). */
static const char *const statuses[] = {
	"ok", "loc_len", "loc_qp_op", "loc_eec_op", "loc_prot", "flush", "mw_bind", "bad_resp",
	"loc_access", "rem_inv_req", "rem_access", "rem_op", "retry_exc", "rnr_retry_exc",
};
#define STATUSES (sizeof(statuses) / sizeof(statuses[0]))

/* In the order of enum ibv_event_type (D-9). */
static const char *const events[] = {
	"CQ_ERR", "QP_FATAL", "QP_REQ_ERR", "QP_ACCESS_ERR", "COMM_EST", "SQ_DRAINED", "PATH_MIG",
	"PATH_MIG_ERR", "DEVICE_FATAL", "PORT_ACTIVE", "PORT_ERR", "LID_CHANGE", "PKEY_CHANGE", "SM_CHANGE",
	"SRQ_ERR", "SRQ_LIMIT_REACHED", "QP_LAST_WQE_REACHED",
};
#define EVENTS (sizeof(events) / sizeof(events[0]))

static const struct host_wr *
wr_of(struct run *r, uint64_t id)
{
	const struct host_qp *q = run_qp(r);

	for (uint32_t i = q->num_wrs; i-- > 0;)
		if (q->wr[i].id == id)
			return &q->wr[i];
	run_fail(r, "wr %llu was never posted", (unsigned long long)id);
}

static uint32_t
status_of(struct run *r, struct words *w)
{
	for (uint32_t i = 0; i < STATUSES; i++)
		if (words_flag(w, statuses[i]))
			return i;
	if (words_left(w) && !strchr(words_left(w), '=') && strcmp(words_left(w), "solicited"))
		run_fail(r, "no such status: %s", words_left(w));
	return 0;
}

/* What a completion must be. */
struct cqe_want {
	uint32_t status;
	const char *op, *len, *imm, *inv, *src;
	bool solicited;
};

static uint32_t
wc_opcode(struct run *r, const struct host_wr *wr, const char *op)
{
	if (!op)
		return wr->wc_opcode;
	if (!strcmp(op, "recv"))
		return IBV_WC_RECV;
	if (!strcmp(op, "write_imm"))
		return IBV_WC_RECV_RDMA_WITH_IMM;
	run_fail(r, "op=recv or op=write_imm");
}

/* Who sends to it: of an XRC connection the peer's initiator. */
static uint32_t
sender(const struct host_qp *q)
{
	return q->tgt ? q->peer_qpn + 1 : q->peer_qpn;
}

static void
check_success(struct run *r, const struct host_wr *wr, const struct plx_cqe *c,
	      const struct cqe_want *want)
{
	uint32_t op = wc_opcode(r, wr, want->op);
	unsigned long long id = wr->id;

	if (c->opcode != op)
		run_fail(r, "opcode of wr %llu is %u, not %u", id, c->opcode, op);
	if (wr->recv && !want->len)
		run_fail(r, "len= is missing");
	if (want->len && c->byte_len != run_number(r, want->len))
		run_fail(r, "length of wr %llu is %u, not %s", id, c->byte_len, want->len);
	if (!!(c->wc_flags & IBV_WC_WITH_IMM) != !!want->imm)
		run_fail(r, "wr %llu has %simmediate data", id, want->imm ? "no " : "");
	if (want->imm && ntohl(c->imm) != run_number(r, want->imm))
		run_fail(r, "immediate of wr %llu is 0x%x", id, ntohl(c->imm));
	if (!!(c->wc_flags & IBV_WC_WITH_INV) != !!want->inv)
		run_fail(r, "wr %llu has %sinvalidated key", id, want->inv ? "no " : "an ");
	if (want->inv && c->imm != run_key(r, want->inv))
		run_fail(r, "invalidated key of wr %llu is 0x%x", id, c->imm);
	if (!!(c->wc_flags & IBV_WC_GRH) != (wr->recv && r->qp->conf.type == IBV_QPT_UD))
		run_fail(r, "wr %llu has %sGRH", id, c->wc_flags & IBV_WC_GRH ? "a " : "no ");
	if (wr->recv && c->src_qp != (want->src ? run_number(r, want->src) : sender(r->qp)))
		run_fail(r, "src_qp of wr %llu is 0x%x", id, c->src_qp);
	if (wr->recv && !!c->solicited != want->solicited)
		run_fail(r, "wr %llu is %ssolicited", id, want->solicited ? "not " : "");
}

/* An XRC connection's two ends do not end together, and what was posted to a shared queue is not flushed
 * (F13): what RC says of the other end is not true here. */
static bool
not_flushed(struct run *r, const struct host_wr *wr, const struct cqe_want *want)
{
	const struct host_cqe *n = r->h.cqes[wr->recv];

	return r->h.xrc && want->status == IBV_WC_WR_FLUSH_ERR && (!n || n->cqe.wr_id != wr->id) &&
	       (wr->recv || qp_state(r->qp->qp) != IBV_QPS_ERR);
}

static void
check_one(struct run *r, uint64_t id, const struct cqe_want *want)
{
	const struct host_wr *wr = wr_of(r, id);
	struct host_cqe *n = r->h.cqes[wr->recv];
	struct plx_cqe c;

	if (not_flushed(r, wr, want))
		return;

	if (!n)
		run_fail(r, "no completion of wr %llu", (unsigned long long)id);
	c = n->cqe;
	if (c.wr_id != id)
		run_fail(r, "completion of wr %llu (status %u) is first, not of %llu",
			 (unsigned long long)c.wr_id, c.status, (unsigned long long)id);
	if (c.status != want->status)
		run_fail(r, "status of wr %llu is %u (%s), not %s", (unsigned long long)id, c.status,
			 c.status < STATUSES ? statuses[c.status] : "?", statuses[want->status]);
	if (wr->srq && n->cq != wr->srq->cq)
		run_fail(r, "wr %llu: not the CQ of its shared queue", (unsigned long long)id);
	if (n->qp != r->qp || c.qp_num != (wr->srq ? r->qp->tgt_qpn : r->qp->qpn) ||
	    c.queue != (wr->recv ? PLX_CQE_RQ : PLX_CQE_SQ))
		run_fail(r, "wr %llu: QP 0x%x, queue %u", (unsigned long long)id, c.qp_num, c.queue);
	if (c.status == 0)
		check_success(r, wr, &c, want);
	else if (!c.vendor_err)
		run_fail(r, "error completion of wr %llu has no vendor_err", (unsigned long long)id);
	else if (!c.solicited)		/* an error wakes a solicited-only waiter (D-4) */
		run_fail(r, "error completion of wr %llu is not marked solicited", (unsigned long long)id);
	r->h.cqes[wr->recv] = n->next;
	if (!n->next)
		r->h.cqes_end[wr->recv] = &r->h.cqes[wr->recv];
	free(n);
}

/* cqe WR|A..B [STATUS] [len=] [imm=] [inv=KEY] [op=recv|write_imm] [solicited]: the next of that queue. */
static void
cmd_cqe(struct run *r, struct words *w)
{
	char *text = run_strdup(r, words_next(w) ?: ""), *dots = strstr(text, "..");
	struct cqe_want want = { .solicited = words_flag(w, "solicited"), .op = words_opt(w, "op"),
				 .src = words_opt(w, "src_qpn"), .len = words_opt(w, "len"),
				 .imm = words_opt(w, "imm"), .inv = words_opt(w, "inv") };
	uint64_t from, to;

	want.status = status_of(r, w);
	if (dots)
		*dots = 0;
	from = run_number(r, text);
	to = dots ? run_number(r, dots + 2) : from;
	for (; from <= to; from++)
		check_one(r, from, &want);
}

static bool
is_of(const struct host_qp *q, const struct qp_event *e)
{
	if (e->type == IBV_EVENT_CQ_ERR)
		return e->cq == &q->send_cq.cq || e->cq == &q->recv_cq.cq;
	if (e->type == IBV_EVENT_SRQ_ERR || e->type == IBV_EVENT_SRQ_LIMIT_REACHED)
		return (void *)e->cq == q->conf.srq;
	return e->qp == q->qp || (q->tgt && e->qp == q->tgt);
}

/* event NAME: the next asynchronous event, of the current QP, its SRQ or one of its CQs. */
static void
cmd_event(struct run *r, struct words *w)
{
	struct host_qp *q = run_qp(r);
	const char *name = words_next(w) ?: "";
	struct qp_event e;
	uint32_t want = 0;

	while (want < EVENTS && strcmp(name, events[want]))
		want++;
	if (want == EVENTS)
		run_fail(r, "no such event: %s", name);
	if (!r->h.x.num_events)
		run_fail(r, "no event was raised");
	e = r->h.x.events[0];
	if (e.type != want)
		run_fail(r, "event %s was raised, not %s", e.type < EVENTS ? events[e.type] : "?", name);
	if (!is_of(q, &e))
		run_fail(r, "event %s is of another object", name);
	memmove(r->h.x.events, r->h.x.events + 1, --r->h.x.num_events * sizeof(e));
}

/* mem REGION[+OFFSET] DATA: these bytes are there now, and stay. */
static void
cmd_mem(struct run *r, struct words *w)
{
	const char *at = words_next(w), *text = words_next(w);
	struct run_place p;
	const uint8_t *data;
	uint32_t len;

	if (!at || !text)
		run_fail(r, "mem REGION[+OFFSET] DATA");
	p = run_place(r, at);
	data = data_parse(r, text, &len);
	if (!p.mr || p.offset + len > p.mr->len)
		run_fail(r, "outside the region");
	for (uint32_t i = 0; i < len; i++)
		if (p.mr->mem[p.offset + i] != data[i])
			run_fail(r, "byte %s+%llu is 0x%02x, not 0x%02x", p.mr->name,
				 (unsigned long long)p.offset + i, p.mr->mem[p.offset + i], data[i]);
	memcpy(p.mr->shadow + p.offset, data, len);
}

/* untouched: no byte differs from what lines said so far. */
static void
cmd_untouched(struct run *r, struct words *w)
{
	const char *why = host_mem_check(&r->h);

	(void)w;
	if (why)
		run_fail(r, "%s", why);
}

static uint64_t
counter(struct run *r, const char *name)
{
	for (int i = 0; i < CNT_COUNT; i++)
		if (!strcmp(name, cnt_name((enum cnt)i)))
			return r->h.cnt.cnt[i];
	for (int i = 0; i < DROP_COUNT; i++)
		if (!strcmp(name, drop_name((enum drop_reason)i)))
			return r->h.cnt.drop[i];
	run_fail(r, "no such counter: %s", name);
}

/* count NAME N: since the start. */
static void
cmd_count(struct run *r, struct words *w)
{
	const char *name = words_next(w), *n = words_next(w);
	uint64_t got;

	if (!name || !n)
		run_fail(r, "count NAME N");
	got = counter(r, name);
	if (got != run_number(r, n))
		run_fail(r, "counter %s is %llu", name, (unsigned long long)got);
}

/* In the order of enum ibv_qp_state. */
static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

static void
cmd_state(struct run *r, struct words *w)
{
	const char *name = words_next(w) ?: "";
	const struct host_qp *q = run_qp(r);
	uint32_t s = qp_state(q->qp);

	/* of an XRC connection ERR is one end's alone */
	if (q->tgt && (s == qp_state(q->tgt) || s != IBV_QPS_ERR))
		s = qp_state(q->tgt);
	if (s > 6 || strcmp(name, states[s]))
		run_fail(r, "state is %s", s > 6 ? "?" : states[s]);
}

static struct host_cq *
cq_of(struct run *r, struct words *w, int *which)
{
	const char *name = words_next(w) ?: "";

	*which = !strcmp(name, "recv");
	if (!*which && strcmp(name, "send"))
		run_fail(r, "send or recv");
	return *which ? &run_qp(r)->recv_cq : &run_qp(r)->send_cq;
}

/* arm send|recv [solicited]: req_notify. */
static void
cmd_arm(struct run *r, struct words *w)
{
	int which;
	struct host_cq *c = cq_of(r, w, &which);

	c->ctl.arm = words_flag(w, "solicited") ? PLX_CQ_ARM_SOLICITED : PLX_CQ_ARM_ANY;
}

/* notify send|recv: one completion event came. */
static void
cmd_notify(struct run *r, struct words *w)
{
	int which;

	cq_of(r, w, &which);
	if (!r->h.notified[which])
		run_fail(r, "no completion event came");
	r->h.notified[which]--;
}

/* poll send|recv off|on: the application stops polling that CQ, or goes on. */
static void
cmd_poll(struct run *r, struct words *w)
{
	int which;
	struct host_cq *c = cq_of(r, w, &which);

	c->hold = words_flag(w, "off");
	if (!c->hold && !words_flag(w, "on"))
		run_fail(r, "off or on");
	run_settle(r);
}

const struct cmd cmd_check[] = {
	{ "cqe", cmd_cqe }, { "event", cmd_event }, { "mem", cmd_mem }, { "untouched", cmd_untouched },
	{ "count", cmd_count }, { "state", cmd_state }, { "arm", cmd_arm }, { "notify", cmd_notify },
	{ "poll", cmd_poll }, { NULL, NULL },
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does the peer still get: answers of READs, of atomics and of what is ordered like them, the same
 * answers again, ACK or NAK, in the order of their PSNs. Filled by the responder's steps, emptied by
 * qp_run(); on the owning core.
 *
 * No payload is kept: a READ is read from memory when its packet is built, a duplicate too (C5).
 */
#include <assert.h>
#include <string.h>

#include "mem/guarded.h"
#include "transport/frame.h"
#include "transport/resp.h"
#include "wire/mtu.h"

static struct resp_rd *
rd_at(struct resp *r, uint32_t n)
{
	return &r->rd[(r->rd_head + n) % r->rd_cap];
}

/* Only the answered ones may be forgotten, the oldest first. One whose answer is owed again counts as
 * answered: a peer that sends one more than it may have outstanding has the oldest answer (C9). */
bool
resp_rd_room(const struct qp *qp)
{
	const struct resp *r = &qp->resp;
	uint32_t max = qp->attr.max_dest_rd_atomic;

	if (!max)
		return false;
	return r->rd_count < max || r->rd[r->rd_head].given;
}

static void
forget_oldest(struct resp *r)
{
	if (rd_at(r, 0)->pending)
		r->rd_pending--;
	r->rd_head = (r->rd_head + 1) % r->rd_cap;
	r->rd_count--;
}

static struct resp_rd *
rd_new(struct qp *qp)
{
	struct resp *r = &qp->resp;

	while (r->rd_count && r->rd_count >= qp->attr.max_dest_rd_atomic && rd_at(r, 0)->given)
		forget_oldest(r);
	assert(r->rd_count < r->rd_cap);
	return rd_at(r, r->rd_count++);
}

void
resp_rd_accept(struct resp_job *job, uint32_t npsn, uint64_t orig)
{
	struct resp *r = &job->qp->resp;
	struct resp_rd *rd = rd_new(job->qp);
	bool read = job->pkt->info->traits & WIRE_READ;

	*rd = (struct resp_rd){
		.first = r->epsn,
		.npsn = npsn,
		.rkey = read ? job->pkt->reth.rkey : 0,
		.len = read ? job->pkt->reth.len : 0,
		.pd = r->key_pd,
		.va = read ? job->pkt->reth.va : 0,
		.orig = orig,
		.op = (uint8_t)wire_opcode_op(job->pkt->opcode),
		.pending = true,
		/* the ACK of what came before is sent for itself, so that a duplicate of it can be
		 * answered by the same PSN again (C4) */
		.ack_before = r->ack_due,
		.ack_psn = r->ack_psn,
	};
	r->ack_due = false;
	r->rd_pending++;
}

/* The newest that holds this PSN, if it was such a request. */
static struct resp_rd *
find(struct resp *r, struct psn psn, enum wire_op op)
{
	for (uint32_t n = r->rd_count; n-- > 0;) {
		struct resp_rd *rd = rd_at(r, n);

		if (psn_in(psn, rd->first, rd->npsn))
			return rd->op == op ? rd : NULL;
	}
	return NULL;
}

static void
again_from(struct resp *r, struct resp_rd *rd, uint32_t k)
{
	if (!rd->pending) {
		rd->pending = true;
		r->rd_pending++;
	} else if (k >= rd->next) {
		return;		/* that part is still to come; duplicates never stack */
	}
	rd->from = k;
	rd->next = k;
}

/* The new range lies where that part of the old one did and ends with it, and its key, perhaps
 * another one, is good now (C6, N6). */
static bool
may_read_again(const struct resp_job *job, const struct resp_rd *rd, uint32_t k)
{
	const struct wire_pkt *pkt = job->pkt;
	uint64_t skipped = (uint64_t)k * job->qp->mtu;
	struct mw *window;
	enum mem_result res;
	uint8_t *ptr;

	if (skipped > rd->len || pkt->reth.len != rd->len - skipped ||
	    pkt->reth.va != rd->va + skipped)
		return false;
	if (!pkt->reth.len)
		return true;
	res = resp_reach(job->qp, job->x, rd->pd, pkt->reth.rkey, MEM_REMOTE_READ, pkt->reth.va,
			 pkt->reth.len, &ptr, &window);
	resp_let_go(window);
	return resp_may(res);
}

enum drop_reason
resp_rd_again(struct resp_job *job)
{
	struct resp *r = &job->qp->resp;
	bool read = job->pkt->info->traits & WIRE_READ;
	struct resp_rd *rd = find(r, job->pkt->psn, wire_opcode_op(job->pkt->opcode));
	uint32_t k;

	if (!rd)
		return read ? DROP_DUP_READ : DROP_DUP_ATOMIC;
	k = psn_dist(rd->first, job->pkt->psn);
	if (read) {
		if (job->pkt->payload_len || !may_read_again(job, rd, k))
			return DROP_DUP_READ;
		rd->rkey = job->pkt->reth.rkey;
	}
	again_from(r, rd, k);
	return DROP_NONE;
}

void
resp_forget(struct qp *qp)
{
	struct resp *r = &qp->resp;

	for (uint32_t n = 0; n < r->rd_count; n++)
		rd_at(r, n)->pending = false;
	r->rd_pending = 0;
	r->ack_due = false;
	r->nak = 0;
}

bool
resp_due(const struct qp *qp)
{
	const struct resp *r = &qp->resp;

	return r->rd_pending || r->nak || r->ack_due;
}

bool
resp_due_now(const struct qp *qp, const struct xport *x)
{
	const struct resp *r = &qp->resp;

	return r->rd_pending || r->nak || (r->ack_due && (r->ack_now || !x->hold_acks));
}

/* Whatever it answers, the MSN says how far this end is now: so it never goes back (C22). */
static uint32_t
send_aeth(struct qp *qp, struct xport *x, struct psn psn, uint8_t syndrome)
{
	struct frame_bth bth = { .op = WIRE_ACKNOWLEDGE, .psn = psn };
	struct frame f;

	if (!frame_open(&f, qp, x, &bth, 0))
		return 0;
	f.at = wire_put_aeth(f.at, syndrome, qp->resp.msn);
	return frame_seal(&f, qp, x);
}

static uint32_t
send_ack(struct qp *qp, struct xport *x, struct psn psn)
{
	uint32_t len = send_aeth(qp, x, psn, AETH_ACK_UNLIMITED);

	if (len)
		cnt_add(x->cnt, CNT_TX_ACKS, 1);
	return len;
}

static enum cnt
nak_counter(uint8_t syndrome)
{
	switch (syndrome) {
	case AETH_NAK_SEQ:
		return CNT_TX_NAK_SEQ;
	case AETH_NAK_INV_REQ:
		return CNT_TX_NAK_INV;
	case AETH_NAK_REM_ACCESS:
		return CNT_TX_NAK_ACCESS;
	case AETH_NAK_REM_OP:
		return CNT_TX_NAK_OP;
	default:
		return CNT_TX_NAK_RNR;
	}
}

/* Every NAK names ePSN and so acknowledges all before it (C3). */
static uint32_t
send_nak(struct qp *qp, struct xport *x)
{
	struct resp *r = &qp->resp;
	uint32_t len = send_aeth(qp, x, r->epsn, r->nak);

	if (!len)
		return 0;
	cnt_add(x->cnt, nak_counter(r->nak), 1);
	xport_trace(x, TRACE_NAK_TX, qp, r->epsn, r->nak);
	if (r->nak == AETH_NAK_SEQ)
		r->quiet = true;
	r->nak = 0;
	r->ack_due = false;
	return len;
}

static void
answered(struct resp *r, struct resp_rd *rd)
{
	rd->pending = false;
	rd->given = true;
	r->rd_pending--;
}

static uint32_t
send_atomic(struct qp *qp, struct xport *x, struct resp_rd *rd)
{
	struct frame_bth bth = { .op = WIRE_ATOMIC_ACK, .psn = rd->first };
	struct frame f;

	if (!frame_open(&f, qp, x, &bth, 0))
		return 0;
	f.at = wire_put_aeth(f.at, AETH_ACK_UNLIMITED, qp->resp.msn);
	f.at = wire_put_atomic_ack(f.at, rd->orig);
	answered(&qp->resp, rd);
	return frame_seal(&f, qp, x);
}

/* The memory of a READ went away before all of it was read: that packet's PSN gets the NAK. */
static uint32_t
read_failed(struct qp *qp, struct xport *x, struct psn psn)
{
	uint32_t len = send_aeth(qp, x, psn, AETH_NAK_REM_ACCESS);

	if (!len)
		return 0;
	cnt_add(x->cnt, CNT_TX_NAK_ACCESS, 1);
	xport_trace(x, TRACE_NAK_TX, qp, psn, AETH_NAK_REM_ACCESS);
	resp_forget(qp);
	if (qp->state != QPS_ERR)
		status_fail_recv(qp, x, FAULT_RKEY);
	return len;
}

/* By place in the train: [is its first][is the READ's last]. */
static const uint8_t read_ops[2][2] = {
	{ WIRE_READ_RESP_MIDDLE, WIRE_READ_RESP_LAST },
	{ WIRE_READ_RESP_FIRST, WIRE_READ_RESP_ONLY },
};

/* The next packet of a READ, with these bytes. */
static inline uint32_t
put_read(struct qp *qp, struct xport *x, struct resp_rd *rd, const uint8_t *from, uint32_t len)
{
	bool last = rd->next + 1 == rd->npsn;
	struct frame_bth bth = {
		.op = (enum wire_op)read_ops[rd->next == rd->from][last],
		.psn = psn_add(rd->first, rd->next),
	};
	struct frame f;

	if (!frame_open(&f, qp, x, &bth, len))
		return 0;
	if (bth.op != WIRE_READ_RESP_MIDDLE)
		f.at = wire_put_aeth(f.at, AETH_ACK_UNLIMITED, qp->resp.msn);
	if (len)
		memcpy(f.at, from, len);
	rd->next++;
	if (last)
		answered(&qp->resp, rd);
	return frame_seal(&f, qp, x);
}

/* From on-demand memory: only the copy itself tells whether it is there. */
static __attribute__((noinline, cold)) uint32_t
send_guarded(struct qp *qp, struct xport *x, struct resp_rd *rd, const uint8_t *from, uint32_t len,
	     struct mw *window)
{
	uint8_t bytes[128u << MTU_ENUM_MAX];
	bool there = mem_guarded_read(from, bytes, len);

	resp_let_go(window);	/* the end of a QP is the end of its windows */
	if (!there)
		return read_failed(qp, x, psn_add(rd->first, rd->next));
	return put_read(qp, x, rd, bytes, len);
}

static uint32_t
send_read(struct qp *qp, struct xport *x, struct resp_rd *rd)
{
	uint64_t at = (uint64_t)rd->next * qp->mtu;
	uint32_t len = rd->next + 1 == rd->npsn ? rd->len - (uint32_t)at : qp->mtu, sent;
	enum mem_result res = MEM_OK;
	struct mw *window = NULL;
	uint8_t *ptr = NULL;

	if (len)
		res = resp_reach(qp, x, rd->pd, rd->rkey, MEM_REMOTE_READ, rd->va + at, len, &ptr, &window);
	if (__builtin_expect(res != MEM_OK, 0))
		return res == MEM_ASK ? send_guarded(qp, x, rd, ptr, len, window) :
					read_failed(qp, x, psn_add(rd->first, rd->next));
	sent = put_read(qp, x, rd, ptr, len);
	resp_let_go(window);
	return sent;
}

static struct resp_rd *
oldest_pending(struct resp *r)
{
	for (uint32_t n = 0; n < r->rd_count; n++) {
		struct resp_rd *rd = rd_at(r, n);

		if (rd->pending)
			return rd;
	}
	return NULL;
}

static uint32_t
send_answer(struct qp *qp, struct xport *x, struct resp_rd *rd)
{
	uint32_t len;

	if (rd->ack_before) {
		len = send_ack(qp, x, rd->ack_psn);
		if (len)
			rd->ack_before = false;
		return len;
	}
	if (rd->op == WIRE_CMP_SWAP || rd->op == WIRE_FETCH_ADD)
		return send_atomic(qp, x, rd);
	return send_read(qp, x, rd);	/* without bytes, but of a READ */
}

/* A gap that closed before its NAK went out: the packets that were dropped behind it must come again,
 * unless they did. */
static void
settle_gap(struct resp *r)
{
	if (r->nak == AETH_NAK_SEQ && psn_diff(r->nak_psn, r->epsn) < 0) {
		r->nak = 0;
		r->ack_due = true;
	}
}

uint32_t
resp_send(struct qp *qp, struct xport *x)
{
	struct resp *r = &qp->resp;
	uint32_t len;

	if (r->rd_pending)
		return send_answer(qp, x, oldest_pending(r));
	settle_gap(r);
	if (r->nak)
		return send_nak(qp, x);
	len = send_ack(qp, x, r->ack_psn);
	if (len)
		r->ack_due = r->ack_now = false;
	return len;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is every completion the one that is due, and every byte where and what it must be? Called by a
 * simulation between turns of the two hosts.
 */
#include <string.h>

#include "bytes.h"
#include "flow.h"
#include "transport/numbers.h"

static const char *const names[] = {
	[WR_RDMA_WRITE] = "WRITE", [WR_RDMA_WRITE_IMM] = "WRITE_IMM", [WR_SEND] = "SEND",
	[WR_SEND_IMM] = "SEND_IMM", [WR_RDMA_READ] = "READ", [WR_CMP_SWAP] = "CMP_SWAP",
	[WR_FETCH_ADD] = "FETCH_ADD", [WR_FLUSH] = "FLUSH", [WR_ATOMIC_WRITE] = "ATOMIC_WRITE",
};

static const uint8_t wc_of[] = {
	[WR_RDMA_WRITE] = WC_RDMA_WRITE, [WR_RDMA_WRITE_IMM] = WC_RDMA_WRITE, [WR_SEND] = WC_SEND,
	[WR_SEND_IMM] = WC_SEND, [WR_RDMA_READ] = WC_RDMA_READ, [WR_CMP_SWAP] = WC_CMP_SWAP,
	[WR_FETCH_ADD] = WC_FETCH_ADD, [WR_FLUSH] = WC_FLUSH, [WR_ATOMIC_WRITE] = WC_ATOMIC_WRITE,
};

static uint8_t *
area(struct flow *f, struct pair_qp *q)
{
	return q->side->mem + f->base;
}

/* The WR's bytes at `at`, which are then poisoned. */
static void
check_bytes(struct flow *f, uint32_t n, struct pair_qp *q, uint32_t at)
{
	const struct flow_wr *w = flow_wr_at(f, n);
	uint32_t wrong = bytes_wrong(area(f, q) + at, w->len, w->stream);

	if (wrong != w->len)
		mon_complain(&f->mon, "WR %u (%s of %u bytes): byte %u is wrong at the %s", n,
			     names[w->opcode], w->len, wrong, q == f->from ? "sender" : "receiver");
	bytes_poison(area(f, q) + at, w->len);
}

static void
check_poison(struct flow *f, uint32_t n, struct pair_qp *q)
{
	const struct flow_wr *w = flow_wr_at(f, n);
	uint32_t at = bytes_written(area(f, q) + w->at, w->room);

	if (at != w->room)
		mon_complain(&f->mon, "WR %u (%s of %u bytes): byte %d, beside them, was written at the %s",
			     n, names[w->opcode], w->len,
			     (int)(w->at + at) - (int)(q == f->from ? w->here : w->there),
			     q == f->from ? "sender" : "receiver");
}

/* At the receiver: once a later message of the flow has completed there, or the WR at the sender. */
static void
arrived(struct flow *f, uint32_t n)
{
	struct flow_wr *w = flow_wr_at(f, n);

	if (w->arrived)
		return;
	w->arrived = true;
	if (flow_sends(w))
		check_bytes(f, n, f->to, w->there);
}

static void
check_atomic(struct flow *f, struct flow_shared *sh, uint32_t n)
{
	struct flow_wr *w = flow_wr_at(f, n);
	uint8_t *seen = sh->seen[f->to->side->index];
	uint64_t v;

	memcpy(&v, area(f, f->from) + w->here, 8);
	bytes_poison(area(f, f->from) + w->here, 8);
	if (!w->imm) {
		if (v != w->before)
			mon_complain(&f->mon, "WR %u (%s): %016lx came back, not %016lx", n,
				     names[w->opcode], v, w->before);
	} else if (v >= sh->adds[f->to->side->index] || v / 8 >= sizeof(sh->seen[0])) {
		mon_complain(&f->mon, "WR %u (FETCH_ADD): %lx came back, too much", n, v);
	} else if (seen[v / 8] >> v % 8 & 1) {
		mon_complain(&f->mon, "WR %u (FETCH_ADD): %lx came back twice", n, v);
	} else {
		seen[v / 8] |= (uint8_t)(1u << v % 8);
	}
}

/* The sender's application knows that it is done. */
static void
finish(struct flow *f, struct flow_shared *sh, uint32_t n)
{
	struct flow_wr *w = flow_wr_at(f, n);

	if (psn_diff(f->mon.una, w->end) < 0)
		mon_complain(&f->mon, "B9: WR %u (%s) completed, PSN %06x is not acknowledged", n,
			     names[w->opcode], f->mon.una.v);
	if (w->takes_recv && !w->arrived)
		mon_complain(&f->mon, "WR %u (%s) completed at the sender alone", n, names[w->opcode]);
	arrived(f, n);
	if (w->opcode == WR_CMP_SWAP || w->opcode == WR_FETCH_ADD)
		check_atomic(f, sh, n);
	else if (w->opcode == WR_RDMA_READ)
		check_bytes(f, n, f->to, w->there);	/* still what it was */
	if ((int32_t)(f->recv_done - n) <= 0)
		f->recv_done = n + 1;
	if ((int32_t)(f->recv_next - n) <= 0)
		f->recv_next = n + 1;
}

/* The stretch of a READ whose bytes are sent on is kept for as long as they are. */
static void
free_stretch(struct flow *f, uint32_t n)
{
	struct flow_wr *w = flow_wr_at(f, n);

	if (w->lent)
		return;
	if (w->opcode == WR_RDMA_READ || (flow_sends(w) && !w->borrows && !w->is_inline))
		check_bytes(f, n, f->from, w->here);
	check_poison(f, n, f->from);
	check_poison(f, n, f->to);
	w->freed = true;
}

static void
give_back(struct flow *f, uint32_t n)
{
	struct flow_wr *w = flow_wr_at(f, n);

	if (w->borrows) {
		flow_wr_at(f, w->lender)->lent = false;
		free_stretch(f, w->lender);
	}
	free_stretch(f, n);
	while (f->oldest != f->posted && flow_wr_at(f, f->oldest)->freed) {
		w = flow_wr_at(f, f->oldest++);
		f->tail = w->at + w->room;
	}
}

static void
check_cqe(struct flow *f, const struct plx_cqe *e, uint32_t n, struct pair_qp *q, uint8_t opcode)
{
	if (e->status || e->wr_id != n || e->opcode != opcode || e->qp_num != qp_num(q->qp))
		mon_complain(&f->mon, "D-1: CQE of WR %lu, opcode %u, status %u (%x); due was WR %u (%s)",
			     e->wr_id, e->opcode, e->status, e->vendor_err, n,
			     names[flow_wr_at(f, n)->opcode]);
}

static void
poll_recvs(struct flow *f)
{
	struct plx_cqe e;

	while (!f->mon.why[0] && pair_qp_poll(f->to, 1, &e)) {
		uint32_t n = f->recv_done;
		struct flow_wr *w;
		bool write;

		while (n != f->recv_next && !flow_wr_at(f, n)->takes_recv)
			arrived(f, n++);
		if (n == f->recv_next) {
			mon_complain(&f->mon, "D-1: a receive completed that nobody sent to");
			return;
		}
		w = flow_wr_at(f, n);
		write = w->opcode == WR_RDMA_WRITE_IMM;
		check_cqe(f, &e, n, f->to, write ? WC_RECV_RDMA_WITH_IMM : WC_RECV);
		if (e.byte_len != w->len || e.wc_flags != (w->opcode == WR_SEND ? 0 : WC_WITH_IMM) ||
		    (w->opcode != WR_SEND && e.imm != w->imm))
			mon_complain(&f->mon, "receive of WR %u: %u bytes of %u, flags %x, imm %x of %x",
				     n, e.byte_len, w->len, e.wc_flags, e.imm, w->imm);
		if (psn_diff(f->mon.epsn, w->end) < 0)
			mon_complain(&f->mon, "receive of WR %u completed before its last packet", n);
		arrived(f, n);
		f->recv_done = n + 1;
		f->recvs_out--;
		f->cqes[1]++;
	}
}

void
flow_poll(struct flow *f, struct flow_shared *sh)
{
	struct plx_cqe e;

	poll_recvs(f);
	while (!f->mon.why[0] && pair_qp_poll(f->from, 0, &e)) {
		uint32_t n = f->done;

		while (n != f->posted && !flow_wr_at(f, n)->signalled)
			n++;
		if (n == f->posted) {
			mon_complain(&f->mon, "D-1: a CQE of WR %lu, and none is due", e.wr_id);
			return;
		}
		check_cqe(f, &e, n, f->from, wc_of[flow_wr_at(f, n)->opcode]);
		if (e.wq_head != n + 1)
			mon_complain(&f->mon, "CQE of WR %u frees up to %u", n, e.wq_head);
		poll_recvs(f);
		for (; f->done != n + 1; f->done++)
			finish(f, sh, f->done);
		for (uint32_t i = f->oldest; i != f->done; i++)
			if (!flow_wr_at(f, i)->freed)
				give_back(f, i);
		f->cqes[0]++;
	}
}

void
flow_check_end(struct flow *f)
{
	struct qp *qp = f->from->qp;
	struct pair_qp *ends[2] = { f->from, f->to };

	if (qp_state(qp) != QPS_RTS)
		mon_complain(&f->mon, "the QP ended in state %u", qp_state(qp));
	if (!flow_idle(f))
		mon_complain(&f->mon, "WR %u of %u is still under way", f->done, f->posted);
	if (qp_wake_at(qp) != QP_NEVER)
		mon_complain(&f->mon, "a timer still runs");
	if (f->recvs_out || f->mon.recvs)
		mon_complain(&f->mon, "%u receives too many are left", f->recvs_out + f->mon.recvs);
	if (!psn_eq(f->mon.una, f->psn) || !psn_eq(f->mon.epsn, f->psn))
		mon_complain(&f->mon, "PSNs end at %06x and %06x, not %06x", f->mon.una.v, f->mon.epsn.v,
			     f->psn.v);
	if (*flow_word(f, false) != f->word)
		mon_complain(&f->mon, "its word is %016lx, not %016lx", *flow_word(f, false), f->word);
	for (uint32_t i = 0; i < 2; i++)
		if (bytes_written(area(f, ends[i]) - FLOW_CANARY, FLOW_SPAN) != FLOW_SPAN)
			mon_complain(&f->mon, "memory was written to that nothing is in");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does this WQE ask for, may it, and which PSNs does it take? Called by the requester when a
 * WQE is started or gone back to, and by the completer when an answer is to be placed. Owning core.
 *
 * The ring is the application's memory: it is copied once, and the copy is judged. Gone back to, it
 * is copied again and must not differ in what decides the number of PSNs.
 */
#include "transport/req.h"

const struct req_op req_ops[WR_OPCODES] = {
	[WR_SEND] = { WIRE_SEND_FIRST, WIRE_SEND_MIDDLE, WIRE_SEND_LAST, WIRE_SEND_ONLY, WC_SEND,
		      .se = true },
	[WR_SEND_IMM] = { WIRE_SEND_FIRST, WIRE_SEND_MIDDLE, WIRE_SEND_LAST_IMM, WIRE_SEND_ONLY_IMM,
			  WC_SEND, .imm = true, .se = true },
	[WR_RDMA_WRITE] = { WIRE_WRITE_FIRST, WIRE_WRITE_MIDDLE, WIRE_WRITE_LAST, WIRE_WRITE_ONLY,
			    WC_RDMA_WRITE },
	[WR_RDMA_WRITE_IMM] = { WIRE_WRITE_FIRST, WIRE_WRITE_MIDDLE, WIRE_WRITE_LAST_IMM,
				WIRE_WRITE_ONLY_IMM, WC_RDMA_WRITE, .imm = true, .se = true },
	[WR_RDMA_READ] = { .only = WIRE_READ_REQUEST, .wc = WC_RDMA_READ, .need = MEM_LOCAL_WRITE,
			   .answer = ANSWER_READ, .no_inline = true },
	[WR_CMP_SWAP] = { .only = WIRE_CMP_SWAP, .wc = WC_CMP_SWAP, .need = MEM_LOCAL_WRITE,
			  .answer = ANSWER_ATOMIC, .fixed = true, .bytes = 8, .no_inline = true },
	[WR_FETCH_ADD] = { .only = WIRE_FETCH_ADD, .wc = WC_FETCH_ADD, .need = MEM_LOCAL_WRITE,
			   .answer = ANSWER_ATOMIC, .fixed = true, .bytes = 8, .no_inline = true },
	[WR_SEND_INV] = { WIRE_SEND_FIRST, WIRE_SEND_MIDDLE, WIRE_SEND_LAST_INV, WIRE_SEND_ONLY_INV,
			  WC_SEND, .se = true },
	[WR_FLUSH] = { .only = WIRE_FLUSH, .wc = WC_FLUSH, .answer = ANSWER_EMPTY, .fixed = true,
		       .no_inline = true },
	[WR_ATOMIC_WRITE] = { .only = WIRE_ATOMIC_WRITE, .wc = WC_ATOMIC_WRITE, .answer = ANSWER_EMPTY,
			      .fixed = true, .bytes = 8 },
	[WR_LOCAL_INV] = { .wc = WC_LOCAL_INV, .answer = ANSWER_NONE },
	[WR_BIND_MW] = { .wc = WC_BIND_MW, .answer = ANSWER_NONE },
};

struct mem_sgl
req_sgl(const struct qp *qp, const struct req_copy *c)
{
	return (struct mem_sgl){
		.sge = c->wqe.sge,
		.num_sge = c->wqe.w.num_sge,
		.pd = qp->conf.pd,
		.need = req_ops[c->wqe.w.opcode].need,
	};
}

/* The word of an ATOMIC_WRITE may stand in the slot, if it has the room, whatever max_inline_data is: it
 * is not inline by the program's wish. */
static enum fault
load_inline(const struct qp *qp, struct req_copy *c, const struct req_op *op, uint32_t *length)
{
	*length = c->wqe.w.length;
	if (op->fixed ? *length != op->bytes : *length > qp->conf.max_inline)
		return op->fixed ? FAULT_SEND_LENGTH : FAULT_SEND_OP;
	c->valid = true;
	return FAULT_NONE;
}

/* Copied and judged; *length is what its SGEs or its inline bytes add up to. */
static enum fault
load(struct qp *qp, struct xport *x, uint32_t index, struct req_copy *c, uint32_t *length)
{
	const struct plx_sq_wqe *w = &c->wqe.w;
	const struct req_op *op;
	struct mem_sgl sgl;
	uint64_t sum;

	c->valid = false;
	c->index = index;
	if (sq_copy(&qp->sq, index, &c->wqe) || w->opcode >= WR_OPCODES)
		return FAULT_SEND_OP;
	if (!(qp->kind->wr_ops & 1u << w->opcode))
		return FAULT_SEND_OP;
	op = &req_ops[w->opcode];
	if (op->answer == ANSWER_NONE) {
		c->valid = true;
		return FAULT_NONE;
	}
	if (op->answer && ((op->no_inline && (w->flags & PLX_WQE_INLINE)) || !qp->attr.max_rd_atomic))
		return FAULT_SEND_OP;
	if (w->flags & PLX_WQE_INLINE)
		return load_inline(qp, c, op, length);
	sgl = req_sgl(qp, c);
	sum = mem_sgl_length(&sgl);
	if (sum > MAX_MSG_SZ || (op->fixed && sum != op->bytes))
		return FAULT_SEND_LENGTH;
	if (mem_sgl_check(x->mrs, &sgl) != MEM_OK)
		return FAULT_SEND_SGE;
	*length = (uint32_t)sum;
	c->valid = true;
	return FAULT_NONE;
}

static uint32_t
psns_of(uint8_t opcode, uint32_t length, uint32_t mtu)
{
	uint32_t n = (uint32_t)(((uint64_t)length + mtu - 1) / mtu);

	return n ? n : req_ops[opcode].answer != ANSWER_NONE;	/* B2, B4 */
}

void
req_identify(struct qp *qp, uint32_t index)
{
	struct req_wr *wr = req_wr_at(qp, index);

	qp->tx.valid = false;
	sq_copy(&qp->sq, index, &qp->tx.wqe);
	wr->wr_id = qp->tx.wqe.w.wr_id;
	wr->opcode = qp->tx.wqe.w.opcode;
	wr->flags = qp->tx.wqe.w.flags & REQ_WQE_FLAGS;
	wr->length = 0;
}

static enum fault
plan(struct qp *qp, struct xport *x, uint32_t index)
{
	struct req_wr *wr = req_wr_at(qp, index);
	uint32_t length = 0;
	enum fault f = load(qp, x, index, &qp->tx, &length);

	/* wr_id and opcode are good even then: the CQE needs them */
	wr->wr_id = qp->tx.wqe.w.wr_id;
	wr->opcode = qp->tx.wqe.w.opcode;
	wr->flags = qp->tx.wqe.w.flags & REQ_WQE_FLAGS;
	if (f != FAULT_NONE)
		return f;
	wr->length = length;
	wr->npsn = psns_of(wr->opcode, length, qp->mtu);
	wr->first = qp->req.next;
	qp->req.planned++;
	return FAULT_NONE;
}

static enum fault
load_again(struct qp *qp, struct xport *x, uint32_t index, struct req_copy *c)
{
	const struct req_wr *wr = req_wr_at(qp, index);
	uint32_t length = 0;
	enum fault f = load(qp, x, index, c, &length);

	if (f == FAULT_NONE && (length != wr->length || c->wqe.w.opcode != wr->opcode)) {
		c->valid = false;
		f = FAULT_SEND_OP;
	}
	return f;
}

enum fault
req_load(struct qp *qp, struct xport *x, uint32_t index)
{
	if (index == qp->req.planned)
		return plan(qp, x, index);
	if (qp->tx.valid && qp->tx.index == index)
		return FAULT_NONE;
	return load_again(qp, x, index, &qp->tx);
}

enum fault
req_load_answered(struct qp *qp, struct xport *x, uint32_t index)
{
	if (qp->rx.valid && qp->rx.index == index)
		return FAULT_NONE;
	return load_again(qp, x, index, &qp->rx);
}

uint32_t
req_chunk_left(const struct req *req, const struct req_wr *wr, struct psn at)
{
	uint32_t k = psn_dist(wr->first, at);
	uint32_t end = k - k % req->chunk + req->chunk;

	return (end < wr->npsn ? end : wr->npsn) - k;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must be right of a READ, an atomic, an ATOMIC_WRITE or a FLUSH, and what does it do? Called by the
 * responder's steps; on the owning core.
 *
 * ATOMIC_WRITE is an aligned word, written as one; FLUSH makes what was written before visible to all (and,
 * if it asks for that, lasting, which no memory here is). Both come after everything that the peer asked for
 * before them, which is done when they are looked at.
 */
#include "transport/resp.h"

#include <string.h>

#include "mem/guarded.h"
#include "wire/hdr.h"

#define WORD 8u

static uint32_t
flush_need(const struct wire_pkt *pkt)
{
	uint32_t need = 0;

	if (pkt->feth.type == 0 || pkt->feth.type > (FETH_GLOBAL | FETH_PERSISTENT) ||
	    pkt->feth.level > FETH_REGION)
		return RESP_NOBODYS;
	if (pkt->feth.type & FETH_GLOBAL)
		need |= MEM_FLUSH_GLOBAL;
	if (pkt->feth.type & FETH_PERSISTENT)
		need |= MEM_FLUSH_PERSISTENT;
	return need;
}

uint32_t
resp_rd_need(const struct resp_job *job)
{
	switch (wire_opcode_op(job->pkt->opcode)) {
	case WIRE_READ_REQUEST:
		return MEM_REMOTE_READ;
	case WIRE_ATOMIC_WRITE:
		return MEM_REMOTE_WRITE;
	case WIRE_FLUSH:
		return flush_need(job->pkt);
	default:
		return MEM_REMOTE_ATOMIC;
	}
}

/* C20 */
enum fault
resp_rd_length(const struct resp_job *job)
{
	const struct wire_pkt *pkt = job->pkt;
	uint32_t traits = pkt->info->traits;
	bool word = traits & WIRE_IS_ATOMIC_WRITE;

	if (pkt->payload_len != (word ? WORD : 0) || (word && pkt->reth.len != WORD))
		return FAULT_LENGTH;
	if (((traits & WIRE_ATOMIC) && (pkt->atomic.va & 7)) || (word && (pkt->reth.va & 7)))
		return FAULT_MISALIGNED;
	return FAULT_NONE;
}

/* An aligned VA of a region whose first byte is not: no word that is read or written as one. */
static enum fault
check_word(struct resp_job *job, uint64_t va, uint32_t rkey)
{
	enum mem_result res = resp_reach(job->qp, job->x, job->qp->resp.key_pd, rkey, resp_rd_need(job), va,
					 WORD, &job->ptr, &job->window);
	enum fault f = FAULT_NONE;

	if (!resp_may(res))
		return FAULT_RKEY;
	if ((uintptr_t)job->ptr & 7)
		f = FAULT_MISALIGNED;
	else if (res == MEM_ASK && !mem_guarded_word((uint64_t *)(void *)job->ptr))
		f = FAULT_RKEY;
	if (f != FAULT_NONE)
		resp_let_go(job->window);
	return f;
}

/* It may, now; who reaches it later asks again. */
static bool
may_reach(const struct resp_job *job, uint32_t need)
{
	const struct wire_pkt *pkt = job->pkt;
	struct mw *window;
	uint8_t *ptr;
	enum mem_result res = resp_reach(job->qp, job->x, job->qp->resp.key_pd, pkt->reth.rkey, need,
					 pkt->reth.va, pkt->reth.len, &ptr, &window);

	resp_let_go(window);
	return resp_may(res);
}

enum fault
resp_rd_rkey(struct resp_job *job)
{
	const struct wire_pkt *pkt = job->pkt;
	uint32_t need = resp_rd_need(job);
	bool may = true;

	if (pkt->info->traits & WIRE_ATOMIC)
		return check_word(job, pkt->atomic.va, pkt->atomic.rkey);
	if (pkt->info->traits & WIRE_IS_ATOMIC_WRITE)
		return check_word(job, pkt->reth.va, pkt->reth.rkey);
	if ((pkt->info->traits & WIRE_IS_FLUSH) && pkt->feth.level == FETH_REGION)
		/* the range says nothing; a window gives no right to it */
		may = mr_check_whole(job->x->mrs, pkt->reth.rkey, job->qp->resp.key_pd, need) == MEM_OK;
	else if (pkt->reth.len || (pkt->info->traits & WIRE_IS_FLUSH))
		may = may_reach(job, need);
	return may ? FAULT_NONE : FAULT_RKEY;
}

/* Operands in host order; lock-prefixed, so atomic with the CPUs' own (C20, C21). */
static uint64_t
atomic(const struct wire_pkt *pkt, uint64_t *word)
{
	uint64_t orig = pkt->atomic.compare;

	if (wire_opcode_op(pkt->opcode) == WIRE_FETCH_ADD)
		return __atomic_fetch_add(word, pkt->atomic.swap_add, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(word, &orig, pkt->atomic.swap_add, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return orig;
}

/* Bytes as they came, like any WRITE; who sees the word sees all that was written before it. */
static void
write_word(const struct wire_pkt *pkt, uint64_t *word)
{
	uint64_t value;

	memcpy(&value, pkt->payload, sizeof(value));
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

uint64_t
resp_rd_execute(struct resp_job *job)
{
	uint64_t *word = (uint64_t *)(void *)job->ptr;
	uint32_t traits = job->pkt->info->traits;
	uint64_t orig = 0;

	if (traits & WIRE_ATOMIC)
		orig = atomic(job->pkt, word);
	else if (traits & WIRE_IS_ATOMIC_WRITE)
		write_word(job->pkt, word);
	else if (traits & WIRE_IS_FLUSH)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);	/* nothing waits in this CPU any more */
	resp_let_go(job->window);
	return orig;
}

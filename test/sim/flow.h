/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The application of a simulation: work requests of one direction of one queue pair, drawn from a
 * seed, and what their completions and the memory on both sides must then be.
 *
 * A WR has a stretch of a ring, at the same place in both memories. What lies in it is poison, but
 * for the WR's own bytes while it is under way; each side's are looked at and poisoned again as soon
 * as that side's application may do so, and once more before the stretch is used anew. So a byte
 * that is wrong, beside its place, early or late is seen.
 */
#ifndef SIM_FLOW_H
#define SIM_FLOW_H

#include "monitor.h"
#include "sim/pair.h"
#include "transport/numbers.h"

#define FLOW_WRS 128u		/* remembered; more than a send queue holds */
#define FLOW_CANARY 1024u	/* poison round the region that a flow registers */
#define FLOWS (2u * PAIR_QPS)
#define FLOW_WORDS 16384u	/* at the end of the memory: the words of atomics */
#define FLOW_SPAN ((PAIR_MEM - FLOW_WORDS) / FLOWS & ~63u)
#define FLOW_AREA (FLOW_SPAN - 2 * FLOW_CANARY)

struct flow_wr {
	uint8_t opcode;
	bool signalled, takes_recv;
	bool arrived;		/* the receiver's side of it was looked at */
	bool freed, is_inline;
	bool lent, borrows;	/* a READ's bytes are sent on by a later WR behind a fence */
	uint32_t lender;
	uint32_t len, imm;
	uint32_t at, room;	/* the stretch */
	uint32_t here, there;	/* where its bytes lie, in the sender's memory and in the other */
	uint64_t stream;
	uint64_t before;	/* atomics of a word of our own: what must come back */
	struct psn end;
};

struct flow {
	struct pair_qp *from, *to;
	struct monitor mon;
	const char *name;
	uint32_t base, mtu, max_wr, max_inline;
	struct mr *here, *there, *words;
	uint64_t rng, seed;
	bool slow;		/* its receiver often has no buffer ready */
	bool closing;
	struct flow_wr wr[FLOW_WRS];
	uint32_t posted, done, oldest;	/* WRs: given, completed, first that still has its stretch */
	uint32_t recv_next, recvs_out, recv_done;	/* receives: next to post, waiting, completed */
	uint32_t silent, silent_room;	/* unsignalled in a row, and their stretches */
	uint32_t head, tail;	/* of the ring of stretches */
	struct psn psn;
	uint64_t word;		/* what our own word must be now */
	uint64_t adds;		/* FETCH_ADDs that were posted to the shared word */
	uint64_t bytes, cqes[2];
};

/* Shared words: one for each side, which the FETCH_ADDs of all flows to that side raise by one. */
struct flow_shared {
	uint8_t seen[2][1u << 17];	/* a bit for each value that came back */
	uint64_t adds[2];
};

void flow_init(struct flow *f, struct pair_qp *from, struct pair_qp *to, const struct pair_conf *conf,
	       uint64_t seed);

/* Posts what fits, at most `n` WRs. */
void flow_post(struct flow *f, struct flow_shared *sh, uint32_t n);
/* Nothing more will be sent: the last WR must be a signalled one. False: no room, try again. */
bool flow_close(struct flow *f, struct flow_shared *sh);
/* Receives that are due, at most `n`. */
void flow_post_recvs(struct flow *f, uint32_t n);

/* flow_check.c: polls, and judges. */
void flow_poll(struct flow *f, struct flow_shared *sh);
/* Nothing is under way and nothing is left behind. */
void flow_check_end(struct flow *f);

static inline bool
flow_idle(const struct flow *f)
{
	return f->done == f->posted && f->oldest == f->posted && f->recv_next == f->posted;
}

/* Our own word and the shared one, in the receiver's memory. */
static inline uint64_t *
flow_word(struct flow *f, bool shared)
{
	uint32_t n = shared ? 0 : 1 + f->from->index;

	return (uint64_t *)(void *)(f->to->side->mem + PAIR_MEM - FLOW_WORDS + 128 * n);
}

/* Its bytes go from here to there. */
static inline bool
flow_sends(const struct flow_wr *w)
{
	return w->opcode <= WR_SEND_IMM || w->opcode == WR_ATOMIC_WRITE;
}

static inline struct flow_wr *
flow_wr_at(struct flow *f, uint32_t n)
{
	return &f->wr[n % FLOW_WRS];
}

#endif

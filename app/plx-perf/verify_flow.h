/* SPDX-License-Identifier: BSD-3-Clause */
/* What a verified stream posts: messages, receives, credits. */
#ifndef PLX_PERF_VERIFY_FLOW_H
#define PLX_PERF_VERIFY_FLOW_H

#include "verify.h"

#define VERIFY_CREDITS 64u		/* credit messages in flight at most */
#define VERIFY_CREDIT_ID UINT32_MAX	/* wr_id of credits; for data the data QP's index */

struct verify_qp {
	struct ibv_qp *qp;
	/* messages, counted over all rounds: */
	uint64_t next;			/* sent */
	uint64_t completed;
	uint64_t credited;		/* the other end has checked them */
	uint64_t arrived;		/* from the other end, and checked */
	uint32_t credits_due;		/* of these, not yet told */
	uint64_t round_messages, round_bytes;	/* sent in this round */
};

struct verify {
	struct verify_layout y;
	struct verify_qp *q;
	struct ibv_qp *credit_qp;
	uint32_t credits_out;		/* credit messages in flight */
	bool fetches;
	uint64_t begin_ns;
};

struct plan flow_plan(const struct worker *w, uint64_t stream, uint64_t n);

/* Where in the source area of the target a READ of this plan begins. */
uint64_t flow_read_at(const struct verify *v, const struct plan *p);

/* Posts the next message of data QP i. 0, or -1 after a line. */
int flow_send(struct worker *w, struct verify *v, uint32_t i);

/* Posts the receive of message n on data QP i. 0, or -1 after a line. */
int flow_post_receive(struct worker *w, struct verify *v, uint32_t i, uint64_t n);

/* Tells the other end all that is due of data QP i. 0, or -1 after a line. */
int flow_post_credit(struct verify *v, uint32_t i);
int flow_post_credit_receive(struct verify *v);

#endif

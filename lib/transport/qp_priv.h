/* SPDX-License-Identifier: BSD-3-Clause */
/* What a queue pair is made of; for this room alone. Owning core only. */
#ifndef TRANSPORT_QP_PRIV_H
#define TRANSPORT_QP_PRIV_H

#include "mem/cursor.h"
#include "mem/mw.h"
#include "transport/ack.h"
#include "transport/kind.h"
#include "transport/numbers.h"
#include "transport/qp.h"
#include "transport/status.h"
#include "wire/psn.h"

/* What the core itself remembers of a WQE that was started: the ring is the application's memory and
 * may change, the PSNs it was given may not. */
struct req_wr {
	uint64_t wr_id;
	struct psn first;
	uint32_t npsn;		/* PSNs: of the request packets, or of a READ's responses (B2), or none */
	uint32_t length;	/* REQ_WR_FAILED: why, as in plx_cqe.vendor_err */
	uint8_t opcode;		/* enum wr_opcode */
	uint8_t flags;		/* enum plx_wqe_flags, and */
#define REQ_WR_FAILED 0x80u	/* it is over, did not succeed, and is held back */
#define REQ_WR_LOCAL 0x40u	/* without a packet, and it has taken effect */
#define REQ_WQE_FLAGS ((uint8_t)~(REQ_WR_FAILED | REQ_WR_LOCAL))	/* what a program may set */
	uint16_t refs;		/* external parts of its frames that are not back (outbox.h) */
};

/* A copy of a WQE, kept while the same one is worked on. */
struct req_copy {
	bool valid;
	uint32_t index;
	struct sq_wqe wqe;
};

/*
 * The requester. WQEs by free-running counters: done <= head <= cur <= planned <= sq.tail. PSNs: una
 * <= next <= max. The WQE at head holds una, the one at cur holds next; what is to be sent for a PSN
 * follows from its distance to the WQE's first one, so going back is an assignment (B23). Those from
 * done to head are over, but the program may not know yet: something still reads its memory.
 */
struct req {
	struct psn una;		/* oldest not acknowledged */
	struct psn next;	/* next to send */
	struct psn max;		/* after the last one ever sent */
	uint32_t done, head, cur, planned;
	uint32_t rd_out;	/* READ and atomic requests in [una, next) (B7) */
	uint32_t since_asked;	/* packets since the last AckReq */
	uint32_t chunk;		/* packets that one READ request asks for at most */
	struct psn reread;	/* where a READ was last asked for again from its middle (B13) */
	struct req_wr *wr;	/* by WQE counter & wr_mask */
	uint32_t wr_mask;
	bool drained;		/* all that was started before SQD is done (E6) */
};

struct retry {
	uint64_t ack_at;	/* the ACK timer runs out, or QP_NEVER */
	uint64_t rnr_at;	/* the wait after an RNR NAK ends, or QP_NEVER when there is none */
	uint8_t left, rnr_left;
	bool went_back;		/* for this una already: more NAKs of the round change nothing (B14) */
};

enum resp_msg {			/* the message that is coming in */
	MSG_NONE,
	MSG_SEND,
	MSG_WRITE,
	MSG_COUNT,
};

/* A request that was accepted and is not answered by an ACK: its answer, and all that is needed to give it
 * again (C8). */
struct resp_rd {
	struct psn first;
	uint32_t npsn;
	uint32_t rkey, len, pd;	/* len: 0 but of a READ */
	uint64_t va;		/* of the whole READ as it came first */
	uint64_t orig;		/* result of an atomic */
	uint8_t op;		/* enum wire_op */
	bool pending;		/* not all of the answer was sent */
	bool given;		/* it was once: the peer may have it */
	bool ack_before;	/* an ACK of ack_psn goes out first */
	struct psn ack_psn;
	uint32_t from, next;	/* response packets: the train's first, the next to send */
};

struct resp {
	struct psn epsn;
	uint32_t msn;
	struct psn ack_psn;	/* last SEND or WRITE packet executed: what an ACK may name (C3, C4) */
	enum resp_msg msg;
	bool ack_due;
	bool ack_now;			/* ... and waits no longer; counts only while it is due */
	bool quiet;		/* a NAK 0x60 or RNR NAK went out: no other until epsn came (C2, N16) */
	bool established;	/* COMM_EST was raised */
	uint8_t bad_keys;	/* UC: in a row */
	uint8_t nak;		/* syndrome due, 0: none */
	struct psn nak_psn;	/* of a NAK 0x60: the furthest packet that was dropped */
	uint64_t done;		/* bytes of the message that came */
	uint64_t va;		/* WRITE: as its RETH says */
	uint32_t rkey, len;
	bool wqe_used;
	bool last_wqe;			/* QP_LAST_WQE_REACHED was raised (E8) */
	uint32_t wqe_pd;		/* to which the SGEs of a receive belong: the QP's, or its SRQ's */
	uint32_t key_pd;		/* to which what requests name by rkey belongs: likewise */
	uint64_t wqe_len;
	struct cq *cq;			/* what receives complete on */
	const struct xrc_srq *xrc;	/* an XRC target: of the request, or of the message under way */
	struct resp_rd *rd;	/* ring of rd_cap; the oldest at rd_head */
	uint32_t rd_cap, rd_head, rd_count, rd_pending;
	struct rq_wqe wqe;
};

struct qp {
	struct list_node run;
	uint32_t state;		/* enum qp_state_no */
	uint32_t mtu;		/* bytes */
	const struct qp_kind *kind;	/* of its type */
	bool fatal;		/* a CQ of ours overflowed: to be ended at the next run (D-6) */
	bool late;		/* `run` stands in xport.late, not in xport.run */
	struct req req;
	struct retry retry;
	struct resp resp;
	/* recv.c: the next receive WQE, into resp.wqe. 1 taken, 0 none there, -EINVAL taken but malformed */
	int (*take_recv)(struct qp *qp);
	struct sq sq;
	struct rq rq;
	struct qp_attr attr;	/* as last set */
	struct qp_conf conf;
	struct cq_user {
		struct list_node node;	/* in cq.users */
		struct qp *qp;
	} send_user, recv_user;
	void *owner;
	struct mw_user windows;	/* those of type 2 that it has bound */
	struct req_copy tx;	/* the WQE at req.cur */
	struct req_copy rx;	/* the READ or atomic that is being answered */
	struct qp_end end;	/* why it is in ERR or SQE, and the last NAK received */
};

/* Distance ahead of una, right for all of [una, una + 2^24). */
static inline uint32_t
psn_dist(struct psn from, struct psn to)
{
	return (to.v - from.v) & PSN_MASK;
}

static inline bool
qp_kick(struct qp *qp, struct xport *x)
{
	if (list_linked(&qp->run)) {
		if (!qp->late)
			return false;
		list_del(&qp->run);
		qp->resp.ack_now = true;	/* it waited already */
	}
	qp->late = false;
	list_push(&x->run, &qp->run);
	return true;
}

/* It owes an ACK and nothing else, and the ACK may wait. */
static inline void
qp_put_off(struct qp *qp, struct xport *x)
{
	if (list_linked(&qp->run))
		return;
	qp->late = true;
	list_push(&x->late, &qp->run);
}

static inline struct req_wr *
req_wr_at(struct qp *qp, uint32_t index)
{
	return &qp->req.wr[index & qp->req.wr_mask];
}

static inline void
xport_trace(const struct xport *x, enum trace_kind kind, const struct qp *qp, struct psn psn,
	    uint64_t arg)
{
	if (x->trace)
		trace_add(x->trace, x->now, kind, qp->conf.qpn, psn.v, arg);
}

/* Responses may be sent and requests taken (C31). */
static inline bool
qp_receives(const struct qp *qp)
{
	return qp->state >= QPS_RTR && qp->state <= QPS_SQE;
}

static inline bool
qp_sends(const struct qp *qp)
{
	return qp->state == QPS_RTS || qp->state == QPS_SQD;
}

#endif

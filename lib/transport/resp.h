/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder: requests in, their effects on memory, and what goes back. Owning core only. */
#ifndef TRANSPORT_RESP_H
#define TRANSPORT_RESP_H

#include "transport/qp_priv.h"

/* QP to RTR: expects rq_psn, remembers nothing. */
void resp_init(struct qp *qp);

/* A request packet (WIRE_REQUEST) for a QP that receives. */
void resp_rx(struct qp *qp, struct xport *x, const struct wire_pkt *pkt);
/* The same for one that is expected and refused before it is looked at further. */
void resp_refuse(struct qp *qp, struct xport *x, const struct wire_pkt *pkt, enum fault why);

/* The same of an unreliable connection. */
void resp_uc_rx(struct qp *qp, struct xport *x, const struct wire_pkt *pkt);

/* A datagram. */
void resp_ud_rx(struct qp *qp, struct xport *x, const struct wire_pkt *pkt);

/* One packet on its way through the responder. */
struct resp_job {
	struct qp *qp;
	struct xport *x;
	const struct wire_pkt *pkt;
	uint8_t *ptr;		/* where the bytes of a WRITE or the word of an atomic go; NULL: done */
	struct mw *window;	/* by which they are reached; NULL: by a region's key */
	enum fault fault;
};

/* resp_exec.c: what touches memory. FAULT_NONE, or why not. */
enum fault resp_check_rkey(struct resp_job *job);
enum fault resp_place_send(struct resp_job *job);
void resp_place_write(struct resp_job *job);

/* resp_rd.c: the requests that are answered by more than an ACK (WIRE_ANSWERED), step by step. */
/* The rights (enum mem_access) that it needs, of the QP and of the region; RESP_NOBODYS: there is no such
 * request, and no region that has this right. */
#define RESP_NOBODYS (1u << 31)
uint32_t resp_rd_need(const struct resp_job *job);
enum fault resp_rd_length(const struct resp_job *job);
enum fault resp_rd_rkey(struct resp_job *job);
/* What it does to the memory, whole. Returns the result of an atomic. */
uint64_t resp_rd_execute(struct resp_job *job);

/* Where the `len` bytes at `va` lie for a peer that names them by `rkey`, and may it do what `need`
 * (enum mem_access) says? MEM_OK and *ptr; MEM_ASK: at *ptr, by mem/guarded.h alone; or it may not. A
 * window's key holds the window, in *in, until resp_let_go(*in); *in is NULL for a region's, or when it may
 * not. */
static inline enum mem_result
resp_reach(const struct qp *qp, const struct xport *x, uint32_t pd, uint32_t rkey, uint32_t need, uint64_t va,
	   uint64_t len, uint8_t **ptr, struct mw **in)
{
	enum mem_result res = mr_check(x->mrs, rkey, pd, need, va, len, ptr);

	*in = NULL;
	if (__builtin_expect(res == MEM_BAD_KEY, 0))
		res = mw_enter(x->mrs, &qp->windows, pd, rkey, need, va, len, ptr, in);
	return res;
}

static inline bool
resp_may(enum mem_result res)
{
	return res == MEM_OK || res == MEM_ASK;
}

static inline void
resp_let_go(struct mw *in)
{
	if (__builtin_expect(in != NULL, 0))
		mw_leave(in);
}

/* The list of the receive WQE in use. */
struct mem_sgl resp_sgl(const struct qp *qp);

/* resp_replay.c: the same, remembered until max_dest_rd_atomic newer ones have come. */
/* One more may be accepted (C9). */
bool resp_rd_room(const struct qp *qp);
/* Remembers it; its answer is pending. `orig`: the result of an atomic. */
void resp_rd_accept(struct resp_job *job, uint32_t npsn, uint64_t orig);
/* A duplicate: its answer is pending again, or it is not one that may be (C5-C7). */
enum drop_reason resp_rd_again(struct resp_job *job);

/* Nothing more is owed to the peer. */
void resp_forget(struct qp *qp);
/* Something is. */
bool resp_due(const struct qp *qp);
/* Something is, and not only an ACK that may wait. */
bool resp_due_now(const struct qp *qp, const struct xport *x);
/* Sends the next packet that is owed, in PSN order: answers, a NAK or an ACK (C24). Bytes sent, or 0
 * when the outbox is full. Only when something is due and the path is ready. */
uint32_t resp_send(struct qp *qp, struct xport *x);

#endif

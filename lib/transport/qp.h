/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue pair as the core sees it, and all that an engine (or a test with a virtual clock) does
 * with one. Sans-IO: no mbuf, no clock, no log, no lock, no allocation after qp_init(). Every
 * function is for the owning core alone.
 */
#ifndef TRANSPORT_QP_H
#define TRANSPORT_QP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "mem/mr.h"
#include "queue/cq.h"
#include "queue/rq.h"
#include "queue/sq.h"
#include "queue/srq.h"
#include "telemetry/counters.h"
#include "telemetry/trace.h"
#include "transport/outbox.h"
#include "transport/why.h"
#include "wire/build.h"
#include "wire/parse.h"

#define QP_NEVER UINT64_MAX

/* What happened asynchronously, for the application's async fd. */
struct qp_event {
	uint32_t type;		/* value of enum ibv_event_type */
	struct qp *qp;		/* the QP, or */
	struct cq *cq;		/* the CQ */
};
#define QP_EVENTS_MAX 64u

struct ah;

/* What a core lends to every transport call. One per core (or per simulated host). */
struct xport {
	uint64_t now;			/* ns, monotonic, from the caller */
	struct outbox *out;
	const struct mr_table *mrs;
	struct cnt_block *cnt;
	struct trace *trace;
	struct list run;		/* struct qp.run: QPs that want qp_run() */
	bool hold_acks;			/* an ACK may wait: whoever sets this calls xport_release_acks() */
	struct list late;		/* struct qp.run: QPs with nothing to send but an ACK that waits */
	struct list cq_events;		/* struct cq.event_node: CQs that owe a completion event */
	struct qp_event events[QP_EVENTS_MAX]; /* taken by the caller; the oldest first */
	uint32_t num_events;
	uint32_t lost_events;		/* raised while the array was full */
	uint32_t max_inflight;		/* bound of unacknowledged packets a QP (B6); 0: 128 */
	uint32_t held;			/* QPs with completions that wait for qp_ext_back() */
	struct why_box *whys;		/* gets what ends QPs; NULL: nobody wants to know */
	/* The address handle of that number, or NULL. It stays until the call that it was asked in
	 * returns. NULL: there are none. */
	const struct ah *(*ah_of)(void *arg, uint32_t handle);
	void *ah_arg;
};

void xport_init(struct xport *x, struct outbox *out, const struct mr_table *mrs,
		struct cnt_block *cnt, struct trace *trace);
/* No ACK waits any more: hold_acks is false, and QPs that owe one are in the run list. */
void xport_release_acks(struct xport *x);

/* On the CQ's home core: a CQE that another core wrote, and counted, for a CQ that is not its own. */
void xport_forward(struct xport *x, struct cq *cq, const struct plx_cqe *cqe);
/* On the core of x: the CQ, or what stands for it here, overflowed elsewhere. Raises CQ_ERR and ends
 * the QPs that complete on it here (D-6), once. */
void xport_cq_end(struct xport *x, struct cq *cq);

/* The path to the peer: what a QP puts in front of its BTH, and whom it believes (B29, C32). */
struct qp_path {
	struct wire_tmpl tmpl;
	uint8_t src_gid[16];	/* ours */
	uint8_t dst_gid[16];
	bool ready;		/* the neighbour is resolved; until then nothing is sent, timers run */
	uint8_t way;		/* enum out_way: dst_gid is a peer's, our own, or a group */
};

/* An SRQ that a peer may name, as one core sees it. */
struct xrc_srq {
	struct srq *srq;
	struct cq *cq;		/* what its receives complete on, on this core */
};

/* An XRC domain as the core of a target sees it. */
struct xrc_domain {
	/* On that core, for each request: the SRQ of this number in the domain, or NULL. One that was given
	 * stays until the targets of the domain have forgotten it: qp_forget_srq(). */
	const struct xrc_srq *(*find)(void *arg, uint32_t srqn);
	void *arg;
};

struct qp_conf {
	uint32_t qpn;
	uint32_t handle, gen;	/* what the application knows it by */
	uint32_t type;		/* enum ibv_qp_type, of those that qp_kind_of() knows */
	uint32_t pd;
	struct cq *send_cq, *recv_cq;
	struct wq_conf sq, rq;	/* rq.max_wr may be 0 */
	struct srq *srq;	/* receives come from there; NULL: from rq. Then rq.max_wr is 0 */
	struct xrc_domain xrc;	/* of an XRC target alone, which has no PD */
	uint32_t max_inline;
	uint32_t port_ip_mtu;	/* for the active MTU (A32) */
	uint32_t dev_max_rd_atomic, dev_max_dest_rd_atomic;
};

/* Attributes that qp_modify() takes and qp_query() gives; the mask bits are ibv_qp_attr_mask's. */
struct qp_attr {
	uint32_t state, cur_state;
	uint32_t path_mtu;	/* enum ibv_mtu */
	uint32_t path_mig_state;
	uint32_t rq_psn, sq_psn;
	uint32_t dest_qpn;
	uint32_t qkey;
	uint32_t access_flags;
	uint16_t pkey_index;
	uint8_t port_num;
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t timeout, retry_cnt, rnr_retry;
	bool en_sqd_async_notify;
	bool sq_draining;	/* query: SQD, and what was started before is not done (E6) */
	struct qp_path path;	/* for IBV_QP_AV: made by the caller from the address vector */
};

struct qp;

/* `type` is one of the book's; there are QPs of it in this version. Pure; any thread. */
bool qp_type_known(uint32_t type);
bool qp_type_exists(uint32_t type);
/* It has a receive queue, of its own or a shared one. */
bool qp_type_receives(uint32_t type);

/* Bytes of a QP: the caller (control side) allocates them, zeroed and aligned to 64. */
size_t qp_size(void);
/* 0, -EINVAL for a conf outside its limits, -ENOMEM. */
int qp_init(struct qp *qp, const struct qp_conf *conf);
/* Takes it out of every list of x. The memory is the caller's. */
void qp_fini(struct qp *qp, struct xport *x);

/* The state table, pure: 0, or -EINVAL for an untabled transition, a missing or a foreign bit (E1).
 * `type`, `from`, `to`, `mask` with their verbs values. */
int qp_state_check(uint32_t type, uint32_t from, uint32_t to, uint32_t mask);

/* 0; -EINVAL and nothing changed (E1, E2). */
int qp_modify(struct qp *qp, struct xport *x, uint32_t mask, const struct qp_attr *attr);
void qp_query(const struct qp *qp, struct qp_attr *attr);

/* The neighbour of the path was resolved or has a new MAC: replaces the template. */
void qp_path_set(struct qp *qp, struct xport *x, const struct qp_path *path);

/* An XRC target: the SRQ is found no more; if a message is under way into it, no CQE tells of the receive
 * that it took. */
void qp_forget_srq(struct qp *qp, const struct srq *srq);

/* The doorbell rang for one of its queues. */
void qp_sq_bell(struct qp *qp, struct xport *x);
void qp_rq_bell(struct qp *qp, struct xport *x);

/* A parsed packet for this QP, its ICRC checked. Counts what it drops. */
void qp_rx(struct qp *qp, struct xport *x, const struct wire_pkt *pkt);

/*
 * Lets the QP send: a due ACK or NAK, responses, then requests, at most `quantum` bytes of frames
 * (at least one frame). The caller took it off x->run; true: it has more to send and goes to the
 * end of the list again (also when the outbox was full).
 */
bool qp_run(struct qp *qp, struct xport *x, uint32_t quantum);

/* When qp_timer() must be called, ns, or QP_NEVER. Look again after every other call. */
uint64_t qp_wake_at(const struct qp *qp);
void qp_timer(struct qp *qp, struct xport *x);

/*
 * A frame's external part (outbox.h) is back: no more of WQE `wr`'s memory is read for it. Writes the
 * completions that waited for it. Not for parts from before a RESET, or of a QP that is no more: it
 * is for the caller to forget those.
 */
void qp_ext_back(struct qp *qp, struct xport *x, uint32_t wr);
/* A frame of WQE `wr` that was not sent yet still has a use: it is not acknowledged, nor flushed. */
bool qp_ext_wanted(const struct qp *qp, uint32_t wr);

/* Read-only facts for engine and serve. */
uint32_t qp_num(const struct qp *qp);
uint32_t qp_state(const struct qp *qp);
const struct qp_conf *qp_conf(const struct qp *qp);

/* For the engine: a word of the caller's own that goes with the QP, and back from the run list. */
void qp_set_owner(struct qp *qp, void *owner);
void *qp_owner(const struct qp *qp);
struct qp *qp_of_run(struct list_node *run);

#endif

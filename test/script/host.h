/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host under test: the real transport, memory and queues, a virtual clock, and the application's
 * half of its rings. What it sends, completes and raises is queued here until a script line claims
 * it. One thread.
 */
#ifndef SCRIPT_HOST_H
#define SCRIPT_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pkt.h"
#include "mem/mw.h"
#include "queue/cq.h"
#include "queue/srq.h"
#include "telemetry/counters.h"
#include "transport/ah.h"
#include "transport/demux.h"
#include "transport/mcast.h"
#include "transport/qp.h"

#define HOST_QPS 8
#define HOST_MRS 16
#define HOST_MWS 8
#define HOST_SRQS 16
#define HOST_HELD 1024
#define HOST_CANARY 64
#define HOST_CANARY_BYTE 0xca

/* A memory region: `shadow` is what its bytes should be. */
struct host_mr {
	char name[16];
	struct mr *mr;
	uint32_t key;		/* outlives mr */
	uint64_t iova;
	uint8_t *room, *mem, *shadow;	/* room: canary, mem, canary */
	size_t len;
};

/* A memory window. */
struct host_mw {
	char name[16];
	struct mw *mw;		/* NULL: freed */
	uint32_t key;		/* that the last bind gives it */
};

struct host_cq {
	struct cq cq;
	struct plx_cq_ctl ctl;
	struct plx_cqe *ring;
	uint32_t head, log2_size;
	bool hold;		/* the application does not poll */
};

/* What was posted, to check its completion by. */
struct host_wr {
	uint64_t id;
	const struct host_srq *srq;	/* where it was posted; NULL: a queue of the QP's own */
	bool recv;
	uint32_t wc_opcode;
};

struct host;

/* A shared receive queue, with the application's half. */
struct host_srq {
	struct srq srq;		/* first */
	char name[16];
	struct host *host;
	struct plx_wq_ctl ctl;
	uint32_t tail;
	/* of those that XRC peers name: host_xrc.c */
	uint32_t number, domain;
	struct xrc_srq at;
	struct host_cq own_cq, *cq;	/* cq: NULL for another queue */
	bool gone;
};

struct host_qp {
	char name[16];
	/* of an XRC connection: the target, which takes what the peer requests, and its own shared queue */
	struct qp *tgt;
	uint32_t tgt_qpn, domain;
	struct host_srq *srq;
	struct host *host;
	struct qp *qp;
	struct qp_conf conf;
	struct plx_wq_ctl sq_ctl, rq_ctl;
	struct host_cq send_cq, recv_cq;
	uint32_t sq_tail, rq_tail;
	uint32_t sq_free, rq_free;	/* counters up to which slots are free again: wq_head of CQEs */
	uint32_t qpn, peer_qpn, sq_base, rq_base, mtu;
	uint8_t class;		/* bits 7-5 of its opcodes */
	struct pkt out, in;	/* templates: what it sends, what its peer sends */
	struct host_wr *wr;	/* room for a power of two */
	uint32_t num_wrs;
};

#define HOST_AHS 4

struct host_frame {
	struct host_frame *next;
	uint64_t at;
	size_t len;
	uint8_t bytes[];
};

struct host_cqe {
	struct host_cqe *next;
	struct plx_cqe cqe;
	struct host_qp *qp;
	const struct host_cq *cq;
};

struct host {
	struct xport x;
	struct outbox out;
	struct out_slot *slot;
	uint32_t slots, quantum;
	bool external;		/* payloads stay in the program's memory until the frame is out */
	struct out_ext *ext;	/* one a slot */
	struct out_ext held[HOST_HELD];	/* not given back yet */
	uint32_t num_held;
	struct mr_table *mrs;
	struct cnt_block cnt;
	struct trace trace;
	struct demux *demux;
	struct mcast *mcast;	/* groups */
	struct ah ah[HOST_AHS];	/* address handles, by number */
	bool ah_there[HOST_AHS];
	bool ip6;
	uint16_t vlan;		/* TCI, 0: untagged */
	uint32_t start_psn;
	struct host_qp *qp[HOST_QPS];
	unsigned int num_qps;
	struct host_mr mr[HOST_MRS];
	unsigned int num_mrs;
	struct host_mw mw[HOST_MWS];
	unsigned int num_mws;
	bool xrc;		/* its QPs are the two ends of XRC connections */
	struct host_srq *srq[HOST_SRQS];
	unsigned int num_srqs;
	/* what no script line has claimed yet, oldest first */
	struct host_frame *frames, **frames_end;
	struct host_cqe *cqes[2], **cqes_end[2];	/* send, receive */
	uint32_t notified[2];				/* completion events of send and receive CQs */
	/* called with each frame, CQE and event as it appears, for the trace of a failure */
	void (*saw)(void *arg, const char *text);
	void *saw_arg;
	char broken[256];	/* why the host is broken, empty: it is not */
};

/* Every host lends room for external payloads, of any length. Set by main. */
extern bool host_external;
/* Every host speaks XRC. Set by main. */
extern bool host_xrc;

void host_init(struct host *h);
void host_fini(struct host *h);
/* Notes in the trace. */
void host_note(struct host *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The host did what no script can allow; the first reason stays. */
void host_broke(struct host *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* What no line claimed is gone: frames, completions, events. */
void host_forget(struct host *h);

/* host_mem.c */
struct host_mr *host_mr_add(struct host *h, const char *name, const struct mr *desc);
struct host_mr *host_mr_find(struct host *h, const char *name);
/* 0, or -EBUSY: a window is bound to it. */
int host_mr_dereg(struct host *h, struct host_mr *m);
struct host_mw *host_mw_add(struct host *h, const char *name, uint32_t pd, enum mw_type type);
struct host_mw *host_mw_find(struct host *h, const char *name);
void host_mw_dealloc(struct host *h, struct host_mw *m);
/* NULL, or which byte of which region is not what it should be. */
const char *host_mem_check(struct host *h);

/* host_qp.c */
struct host_qp_want {
	struct qp_attr attr;
	uint32_t sq, rq, send_cqe, recv_cqe, pd, max_inline, ip_mtu;
	uint32_t domain;	/* XRC */
	int psn;		/* -1: the host's start PSN */
	uint32_t qpn;		/* 0: a number by the host */
	struct srq *srq;	/* or NULL; then `rq` counts */
	uint32_t type;		/* enum ibv_qp_type; 0: RC */
};
/* A QP in RESET with these attributes to be set. NULL and the reason in h->broken. */
struct host_qp *host_qp_add(struct host *h, const char *name, const struct host_qp_want *want);
void host_qp_free(struct host *h, struct host_qp *q);
/* What must come with the change to `state`, INIT to RTS, of a QP of that type (1.E). */
uint32_t host_qp_mask(uint32_t type, uint32_t state);
/* Takes it from RESET to `state` (INIT, RTR, RTS) with want's attributes. */
int host_qp_raise(struct host *h, struct host_qp *q, const struct host_qp_want *want, uint32_t state);
/* The path to its peer, ready. */
void host_path(const struct host_qp *q, struct qp_path *path);
/* Publishes one WQE and rings. 0, -ENOMEM when the queue is full. */
int host_post(struct host *h, struct host_qp *q, const struct plx_sq_wqe *wqe, const struct plx_sge *sge,
	      const void *inline_data);
int host_recv(struct host *h, struct host_qp *q, uint64_t wr_id, uint32_t num_sge,
	      const struct plx_sge *sge);

/* host_srq.c */
/* NULL when there are too many. */
struct host_srq *host_srq_add(struct host *h, const char *name, uint32_t max_wr, uint32_t pd);
struct host_srq *host_srq_find(struct host *h, const char *name);
void host_srq_free(struct host_srq *s);
/* 0, -ENOMEM when it is full. */
int host_srq_recv(struct host_srq *s, uint64_t wr_id, uint32_t num_sge, const struct plx_sge *sge);
/* 0, or the error of srq_resize(). */
int host_srq_resize(struct host_srq *s, uint32_t max_wr);

/* For host_xrc.c: a CQ, a work queue of the host's. */
void host_cq_add(struct host *h, struct host_cq *c, uint32_t cqes);
void host_wq_conf(struct wq_conf *c, struct plx_wq_ctl *ctl, uint32_t max_wr, uint32_t stride);

/* host_xrc.c */
/* A shared queue that peers name, by `number` or, when that is 0, one by the host. cq: NULL for one of its
 * own. NULL: too many. */
struct host_named {
	uint32_t number, pd, domain, wrs;
};
struct host_srq *host_named_add(struct host *h, const char *name, const struct host_named *want,
				struct host_cq *cq);
/* No target finds it any more. */
void host_named_destroy(struct host *h, struct host_srq *s);
/* The target beside an initiator, and its shared queue. */
void host_tgt_add(struct host *h, struct host_qp *q, const struct host_qp_want *want);
void host_tgt_free(struct host *h, struct host_qp *q);
/* host_qp_raise() for the two. */
int host_xrc_raise(struct host *h, struct host_qp *q, const struct qp_attr *want, uint32_t state);

/* host_time.c */
/* Everything that wants to run now does. */
void host_settle(struct host *h);
/* A frame arrives; host_settle() is the caller's. */
void host_rx(struct host *h, const uint8_t *frame, size_t len);
/* The clock goes to `until`, timers fire at their times; stops early once something to claim has
 * appeared. */
void host_advance(struct host *h, uint64_t until);
bool host_has_news(const struct host *h);

#endif

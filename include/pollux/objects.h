/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the inline data path needs of an object: the verbs structure first, so that a pointer to the
 * one is a pointer to the other, then the process's own part. Programs look at the verbs structure
 * only. Everything behind it may change with PLX_ABI_VERSION.
 */
#ifndef POLLUX_OBJECTS_H
#define POLLUX_OBJECTS_H

#include <infiniband/verbs.h>

#include <pollux/abi/cqe.h>
#include <pollux/abi/doorbell.h>
#include <pollux/abi/ring.h>
#include <pollux/abi/wqe.h>

enum plx_drive {		/* what a calling thread does for a core without a thread of its own */
	PLX_DRIVE_POST = 0,	/* take what was posted and send; receive nothing */
	PLX_DRIVE_POLL = 1,	/* one whole round of the core's loop */
	PLX_DRIVE_MORE = 2,	/* as POST, but the queue has earlier work that its peer has not
				 * acknowledged: it may wait a little for company */
};

/* A core of the stack as one context sees it. */
struct plx_core_end {
	struct plx_bell_ring *bell;	/* this context's doorbell ring of that core */
	void *arg;
	/* enum plx_drive. Returns at once when another thread drives the core. NULL: the core has a
	 * thread of its own. Any thread. */
	void (*drive)(void *arg, unsigned int how);
	void (*wake)(void *arg);	/* wakes the core's sleeping thread; any thread; never NULL */
};

struct plx_qp;

struct plx_context {
	struct verbs_context vctx;	/* ends in the struct ibv_context that the program holds */
	int refuse;			/* 0, or the errno of every call: EIO in a forked child */
	uint32_t num_cores;
	struct plx_core_end *core;
	/* By QP handle. A poller looks up under its CQ's lock; plx_destroy_qp() takes that lock
	 * between the removal and the free. */
	struct plx_qp **qp_table;
	uint32_t qp_table_size;
};

/* The application's half of a send or receive queue. */
struct plx_wq {
	/* under `lock` */
	uint32_t lock;
	uint32_t tail;			/* WQEs written; free-running */
	struct plx_wq_ctl *ctl;
	uint8_t *slots;
	uint32_t mask;			/* ring slots - 1 */
	uint32_t stride;		/* bytes a slot */
	uint32_t max_wr;		/* granted; the queue is full at this many, whatever the ring */
	uint32_t max_sge;
	uint32_t max_inline;		/* bytes; 0 for a receive queue */
	uint32_t single;		/* 1: one thread at a time posts, so that nobody takes `lock` */
	uint8_t pad_post[PLX_CACHE_LINE - 48];
	/* written by pollers under their CQ's lock, released to posters; of a shared receive queue ctl->head
	 * as a poster last saw it, under `lock` */
	uint32_t head;			/* WQEs whose slots are free again; free-running */
	uint8_t pad_poll[PLX_CACHE_LINE - 4];
} __attribute__((aligned(PLX_CACHE_LINE)));
PLX_ABI_ASSERT(sizeof(struct plx_wq) == 2 * PLX_CACHE_LINE, "posters and pollers: a line each");

/* The batch between plx_wr_start() and plx_wr_complete(); under the send queue's lock. */
struct plx_wr_build {
	struct plx_sq_wqe *wqe;		/* whose address may be set; NULL: none, or an error came */
	struct plx_sq_wqe *data;	/* whose data may be set, likewise */
	uint32_t tail;			/* WQEs of the queue, with those of the batch */
	uint32_t missing;		/* not 0: the last one has not said yet where it goes */
	int32_t err;			/* the first error, a positive errno; or 0 */
	uint32_t owner;			/* atomic: which thread has a batch open (__plx_wr_self()); 0: none */
};

/* Where a struct ibv_qp_ex of rdma-core after version 44 goes on; every program has the room, so that those
 * compiled with any of them agree on what stands behind it. */
struct plx_qp_ex_later {
	uint64_t ex44[44];
	void (*wr_flush)(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, size_t len, uint8_t type,
			 uint8_t level);
};
PLX_ABI_ASSERT(offsetof(struct plx_qp_ex_later, wr_flush) ==
	       offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(void *), "the next entry of the table");

struct plx_qp {
	union {
		struct ibv_qp qp;
		struct ibv_qp_ex ex;
		struct plx_qp_ex_later later;
	} v;
	uint32_t gen;			/* with the handle: which QP a CQE speaks of */
	uint32_t opcodes;		/* bit n: IBV_WR_n may be posted, and goes to a connected peer */
	const struct plx_core_end *core;	/* the owning core */
	uint8_t sig_all;
	uint8_t max_rd_atomic;		/* 0: READ and atomics are refused at the post */
	uint32_t xrc_opcodes;		/* the same of an XRC initiator, whose `opcodes` is 0 */
	uint32_t dgram_opcodes;		/* and of a QP that sends datagrams, likewise */
	uint32_t msg_max;		/* bytes of one message: of a datagram the port's active MTU */
	uint32_t local_opcodes;		/* those that go to no peer, of a QP of any type */
	uint32_t wr_opcodes;		/* bit n: IBV_WR_n may be built: of the type, and asked for */
	struct plx_wr_build build;
	struct plx_wq sq;
	struct plx_wq rq;
};

struct plx_ah {
	struct ibv_ah ah;
	uint32_t gen;			/* with the handle: which AH a WQE speaks of */
};

struct plx_cq {
	union {
		struct ibv_cq cq;
		struct ibv_cq_ex ex;
	} v;
	uint32_t lock;
	uint32_t head;			/* CQEs polled; free-running; under `lock` */
	uint32_t log2_size;
	uint32_t gen;			/* with the handle: which CQ an event speaks of */
	struct plx_cq_ctl *ctl;
	struct plx_cqe *ring;
	uint64_t cores;			/* bit n: an empty poll drives core n; atomic */
	/* between plx_start_poll() and plx_end_poll(), under `lock` */
	const struct plx_cqe *cur;	/* what is read; a slot of the ring at any other time, too */
	uint8_t held;			/* 1: it is number `head`, and its slot is not given back yet */
	uint8_t single;			/* one thread uses it: those two take no lock */
};

struct plx_srq {
	struct ibv_srq srq;
	uint32_t gen;			/* with the handle: which SRQ an event speaks of */
	struct plx_wq wq;
};

static inline struct plx_context *
__plx_context_of(struct ibv_context *context)
{
	return (struct plx_context *)((char *)context - offsetof(struct plx_context, vctx.context));
}

static inline struct plx_qp *
__plx_qp_of(struct ibv_qp *qp)
{
	return (struct plx_qp *)qp;
}

static inline struct plx_ah *
__plx_ah_of(struct ibv_ah *ah)
{
	return (struct plx_ah *)ah;
}

static inline struct plx_cq *
__plx_cq_of(struct ibv_cq *cq)
{
	return (struct plx_cq *)cq;
}

static inline struct plx_srq *
__plx_srq_of(struct ibv_srq *srq)
{
	return (struct plx_srq *)srq;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stack that does nothing by itself: objects and rings in ordinary memory, and a core that the test
 * plays. One client, one core. Not locked: control calls from one thread at a time.
 */
#ifndef UNIT_VERBS_MOCK_H
#define UNIT_VERBS_MOCK_H

#include <stdbool.h>
#include <stdint.h>

#include <pollux/abi/cqe.h>
#include <pollux/abi/doorbell.h>
#include <pollux/abi/event.h>
#include <pollux/abi/wqe.h>

#include "ctl/backend.h"

#define MOCK_MAX 64

struct mock_cq {
	bool used;
	uint32_t gen, log2_size, tail, channel;
	struct plx_cq_ctl *ctl;
	struct plx_cqe *ring;
};

struct mock_wq {
	uint32_t log2_size, stride;
	struct plx_wq_ctl *ctl;
	uint8_t *slots;
};

struct mock_qp {
	bool used;
	uint32_t gen, num, state;
	struct ctl_create_qp req;
	struct ctl_qp_attr attr;
	struct mock_wq sq, rq;
};

struct mock_srq {
	bool used;
	uint32_t gen, limit;
	struct ctl_create_srq req;
	struct mock_wq wq;
};

struct mock_channel {
	bool used;
	int fd;				/* the stack's end */
};

struct mock {
	bool can_drive;			/* the core has no thread of its own */
	void (*on_drive)(unsigned int how);	/* what a driven core does; may be NULL */
	int fail_type, fail_err;	/* the next call of that type answers fail_err */
	int open_err;
	unsigned int drives[3], wakes, closes;
	uint32_t bells_seen;		/* doorbell entries taken */
	struct plx_bell_ring *bell;
	int async_fd;			/* the stack's end */
	struct ctl_reg_mr last_mr;
	struct ctl_rereg_mr last_rereg;
	struct ctl_advise_mr last_advise;
	struct ctl_alloc_dm last_dm;
	uint32_t dm[64];		/* all the device memory there is */
	struct ctl_create_ah last_ah;
	struct ctl_modify_qp last_modify;
	struct ctl_mcast last_mcast;
	unsigned int attaches, detaches;
	uint32_t num_mws;
	struct mock_cq cq[MOCK_MAX];
	struct mock_qp qp[MOCK_MAX];
	struct mock_srq srq[MOCK_MAX];
	struct mock_channel channel[MOCK_MAX];
};

extern struct mock mock;
extern const struct ctl_backend mock_backend;

/* Empties the mock and registers it. */
void mock_start(bool can_drive);
/* Ends what mock_start and the client left. */
void mock_stop(void);

/* The core's half. */
/* The next doorbell entry, or 0 when there is none; clears the queue's bell as a core does. */
uint32_t mock_take_bell(void);
/* Writes a CQE; wq_head, qp, qp_gen and queue are the caller's. */
void mock_push(uint32_t cq, const struct plx_cqe *cqe);
/* A CQE that completes all WQEs of a queue before `wq_head`. */
void mock_complete(uint32_t cq, uint32_t qp, enum plx_cqe_queue queue, uint64_t wr_id,
		   uint32_t wq_head);
/* Takes the arm word and sends an event when it was set; what it was. */
uint32_t mock_fire(uint32_t cq);
void mock_async(uint32_t type, enum plx_event_subject subject, uint32_t handle, uint32_t gen);
struct plx_sq_wqe *mock_sq_wqe(uint32_t qp, uint32_t index);
struct plx_rq_wqe *mock_rq_wqe(uint32_t qp, uint32_t index);
/* The next WQE of an SRQ is taken: a copy, and its slot is free. False: there is none. */
bool mock_srq_take(uint32_t srq, struct plx_rq_wqe *out);

/* verbs_mock_srq.c: what mock_backend calls for the messages of that name. */
int mock_srq_create(struct ctl_create_srq *m);
int mock_srq_modify(struct ctl_modify_srq *m);
int mock_srq_query(struct ctl_query_srq *m);
int mock_srq_destroy(uint32_t srq);
/* verbs_mock_region.c, likewise. */
int mock_reg_mr(struct ctl_reg_mr *m);
int mock_rereg_mr(struct ctl_rereg_mr *m);
int mock_advise_mr(struct ctl_advise_mr *m);
int mock_alloc_dm(struct ctl_alloc_dm *m);
/* For verbs_mock_srq.c: the rings of a queue. */
void mock_wq_make(struct mock_wq *wq, uint32_t max_wr, uint32_t stride, struct ctl_wq *out);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker is one end of the test. A process has one, or both with --self: they take turns in
 * steps on the only thread, so nothing here may block. What it does in a step is its activity.
 *
 * The course of one size, the same for both ends: start, READY to and fro; steps; DONE (with the
 * number of messages) once all that this end sends has completed; BYE once it has also received all
 * that the other's DONE announced. An end that has sent and received BYE goes on to the next size.
 */
#ifndef PLX_PERF_WORKER_H
#define PLX_PERF_WORKER_H

#include <stdbool.h>

#include "conn.h"
#include "exchange.h"
#include "options.h"
#include "stats.h"

/* X(field): figures of one end for one size, as they travel in BYE. */
#define FIGURES(X) \
	X(messages)		/* sent and completed */ \
	X(bytes)		/* of these */ \
	X(ns)			/* from the first post to the last completion */ \
	X(received)		/* messages this end saw arrive */ \
	X(checked)		/* bytes of them that were verified */ \
	X(nivcsw) X(nvcsw)	/* context switches of the process meanwhile */

struct figures {
#define FIGURE(f) uint64_t f;
	FIGURES(FIGURE)
#undef FIGURE
};

struct worker;

struct activity {
	/* What the verbs objects must provide for. */
	void (*need)(const struct test *t, struct conn_need *need);
	/* Once, connected: makes w->state and posts receives. 0, or -1 after a line. */
	int (*open)(struct worker *w);
	/* Before each size, while no traffic runs. 0, or -1 after a line. */
	int (*start)(struct worker *w);
	/* Does what can be done now. 1 progress, 0 nothing to do, -1 failed after a line. */
	int (*step)(struct worker *w);
	/* All that this end wants to send is sent and completed. */
	bool (*sent)(const struct worker *w);
	/* 1: all of the `announced` messages of the other end have arrived; 0 not yet; -1 as step. */
	int (*received)(const struct worker *w, uint64_t announced);
	/* A completion is outstanding, so a dead peer shows by an error completion. */
	bool (*waits)(const struct worker *w);
	void (*close)(struct worker *w);
};

struct worker {
	const struct options *options;
	const struct test *test;
	const struct activity *act;
	void *state;
	struct conn conn;
	struct link link;
	bool client;
	uint64_t size;			/* of this round; for random sizes the largest */
	bool stop;			/* send no more: the user or the peer asked to end */
	bool target_only;		/* takes no part in this test but by its memory */

	/* the course of this size */
	bool done_sent, bye_sent, done_heard, bye_heard, peer_stops;
	uint64_t announced;
	uint64_t last_progress_ns;

	struct usage usage_before;
	struct figures mine, theirs;
	struct histogram *latency;	/* full round trips, ns */
	struct windows *windows;	/* messages a second; in latency mode median round trips, ns */
};

extern const struct activity activity_bw, activity_lat, activity_verify, activity_verify_atomic;

static inline bool
worker_sends(const struct worker *w)
{
	return w->client || w->test->bidirectional;
}

/* Receives of one QP, all into the same place, posted again in batches. */
struct recv_ring {
	struct ibv_qp *qp;
	uint32_t batch;
	uint32_t missing;		/* receives used up and not posted again */
	struct ibv_sge sge;
	struct ibv_recv_wr *chain;	/* `batch` of them */
};

/* Posts `depth` receives of wr_id `id`, rounded down to batches. 0, or -1 after a line. */
int recv_ring_open(struct recv_ring *r, struct ibv_qp *qp, uint64_t id, uint32_t depth,
		   struct ibv_sge sge);
/* One receive was used. 0, or -1 after a line. */
int recv_ring_used(struct recv_ring *r);
void recv_ring_close(struct recv_ring *r);

/* Receives that keep `depth` messages in flight on a QP from ever finding none. */
static inline uint32_t
recv_depth(const struct test *t)
{
	uint64_t n = 2 * t->depth;

	return (uint32_t)(n < 64 ? 64 : n > 16384 ? 16384 : n);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two hosts with connected QPs, one each unless more are added, a wire between them (wire.h) and one virtual
 * clock, all in memory and in one thread. The wire loses, doubles and reorders by a generator keyed
 * with a seed, so that a run can be repeated. The transport under test is the product's; rings are
 * written and polled here as an application does.
 */
#ifndef SIM_PAIR_H
#define SIM_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "gather.h"
#include "transport/ah.h"
#include "transport/demux.h"
#include "transport/qp.h"
#include "wire.h"

#define PAIR_MEM (4u << 20)	/* bytes of memory a side, between two red zones */
#define PAIR_RED 4096u
#define PAIR_QPS 16u	/* of a side, at most */
#define PAIR_AH 1u	/* the address handle of the other side; gen is 1 too */
#define PAIR_QKEY 0x11111111u	/* of all UD QPs */

struct pair_conf {
	uint32_t type;		/* enum ibv_qp_type; 0: RC */
	uint32_t psn[2];	/* sq_psn of side 0 and of side 1 */
	uint32_t mtu;		/* enum ibv_mtu; 0: 3 (1024) */
	uint32_t max_wr;	/* 0: 64 */
	uint32_t max_sge;	/* 0: 4 */
	uint32_t max_inline;	/* 0: 128 */
	uint32_t cq_size;	/* 0: 1024 */
	uint32_t access;	/* qp_access_flags; 0: remote write, read and atomic */
	uint32_t max_inflight;
	uint8_t max_rd_atomic;	/* both ways; 0: 4 */
	uint8_t timeout;	/* 0: 8 */
	uint8_t retry_cnt;	/* taken as it is */
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;	/* 0: 1 (10 us) */
	bool ip6;
	uint32_t ext_min;	/* payloads from so many bytes stay in the program's memory; 0: none */
	/* the wire, chances in parts of a million; of the first QP's conf alone, as max_inflight */
	uint64_t seed;
	uint32_t loss, dup, reorder, corrupt, forge;
	uint32_t late;		/* of the steps that put ACKs off */
	uint32_t delay_ns;	/* one way; 0: 1000 */
	uint32_t frame_ns;	/* that a frame occupies it, beside its bytes */
	uint32_t byte_ps;	/* 0: 80 (100 Gb/s) */
	const uint64_t *only;	/* frames that suffer while others are spared (wire.h), or NULL */
	uint32_t num_only;
};

struct pair;

struct pair_qp {
	struct pair_side *side;
	uint32_t index;		/* connected with the other side's of the same index */
	struct qp *qp;
	struct cq cq[2];	/* send, receive */
	struct plx_cq_ctl *cq_ctl[2];
	struct plx_cqe *cq_ring[2];
	uint32_t cq_log2;
	struct plx_wq_ctl *wq_ctl[2];
	uint8_t *wq_slots[2];
	struct qp_path path;
};

struct pair_side {
	struct pair *pair;
	uint32_t index;
	struct xport x;
	struct cnt_block cnt;
	struct mr_table *mrs;
	struct demux *demux;
	struct mr *mr;		/* all of `mem`, every right */
	struct ah ah;		/* PAIR_AH, from the first QP on */
	uint8_t *mem;		/* PAIR_MEM bytes; its addresses are the iova too */
	struct pair_qp q[PAIR_QPS];
};

struct pair {
	struct pair_conf conf;
	uint64_t now;
	struct pair_side side[2];
	/* The last word on every frame: false: it is lost. Called before the generator. NULL: none. */
	bool (*filter)(struct pair *p, uint32_t from, const struct wire_pkt *pkt);
	void *filter_arg;
	/* Shown every frame that is sent, and every one that arrives, before it is processed: the reason to
	 * drop it, or DROP_NONE. NULL: nobody looks. */
	void (*sent)(struct pair *p, uint32_t from, const struct wire_pkt *pkt);
	void (*came)(struct pair *p, const struct sim_frame *f, const struct wire_pkt *pkt,
		     enum drop_reason why);
	void *watcher;
	uint64_t frames, rng;
	uint32_t num_qps;
	struct sim_wire *wire;
	struct pair_out *out;
	struct gather gather;
};

/* Both QPs in RTS. NULL: no memory. */
struct pair *pair_new(const struct pair_conf *conf);
/* One more QP on each side, connected; gives its index. */
uint32_t pair_add(struct pair *p, const struct pair_conf *conf);
void pair_free(struct pair *p);

/* As an application that counts its slots itself. SGEs or inline bytes, as w->flags says. */
void pair_qp_post_send(struct pair_qp *q, const struct plx_sq_wqe *w, const void *sge_or_data);
void pair_qp_post_recv(struct pair_qp *q, uint64_t wr_id, const struct plx_sge *sge, uint32_t num_sge);
/* The next CQE of queue 0 (send) or 1 (receive). */
bool pair_qp_poll(struct pair_qp *q, uint32_t queue, struct plx_cqe *out);
/* The same for a side's first QP. */
void pair_post_send(struct pair_side *s, const struct plx_sq_wqe *w, const void *sge_or_data);
void pair_post_recv(struct pair_side *s, uint64_t wr_id, const struct plx_sge *sge, uint32_t num_sge);
bool pair_poll(struct pair_side *s, uint32_t queue, struct plx_cqe *out);

/* Lets both work until nothing is due, but not longer than to `until`, ns. */
void pair_run(struct pair *p, uint64_t until);

/* An SGE into a side's memory. */
struct plx_sge pair_sge(const struct pair_side *s, uint32_t offset, uint32_t length);

/* Nothing was written outside the memory of either side. */
bool pair_red_zones_ok(const struct pair *p);

/* Next number of a seeded sequence (splitmix64). */
uint64_t pair_random(uint64_t *state);

#endif

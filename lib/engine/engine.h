/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine: EAL, one port, its cores and who drives them. What lib/serve sees of it.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/twheel.h"
#include "mem/mr.h"
#include "net/net.h"
#include "port/port.h"
#include "transport/demux.h"
#include "transport/qp.h"
#include <pollux/abi/doorbell.h>

struct core;
struct engine;

struct eng_conf {
	struct port_conf port;
	const char *impair;	/* words of port_impair_parse(), or NULL */
	const char *record;	/* a file's name, or NULL */
	struct net_conf net;	/* mac and ip_mtu are filled in from the port */
	bool inline_mode;	/* the program's threads drive the core; else it has a thread of its own */
	int cpu;		/* of that thread */
	bool eal_running;	/* a DPDK program started EAL itself: do not */
	uint32_t mem_mb;	/* EAL memory; 0: enough for one port and core */
	bool copies;		/* never send a payload from where the program put it */
	/* Was there ever a QP of this number? Called on the core, seldom. */
	bool (*was_qpn)(void *arg, uint32_t qpn);
	/* The cores are silent for good and the port is still open; or NULL. By eng_stop(), eng_exit(). */
	void (*ended)(void *arg, struct engine *e);
	void *arg;
};

/* Control thread, once a process at a time. 0, or -errno with one line in `why` that says what to
 * do; then nothing is left but EAL itself, which can be started once in a process. */
int eng_start(const struct eng_conf *conf, const struct mr_table *mrs, struct engine **out, char *why,
	      size_t why_len);
/* All clients are gone. Stops the threads, closes the port. EAL itself stays until the exit. */
void eng_stop(struct engine *e);
/*
 * At the exit of the process, when threads of the program may still run and use what they hold: no
 * core is driven any more, the port is closed, so that nothing of it stays behind; no memory is
 * freed. Does nothing in a forked child.
 */
void eng_exit(struct engine *e);
/* After fork(), in the child: all that drives a core does nothing from now on. */
void eng_forked(struct engine *e);

uint32_t eng_num_cores(const struct engine *e);
struct core *eng_core(struct engine *e, uint32_t index);
const struct port *eng_port(const struct engine *e);
/* Calls `each` for all that the port's driver and those that stand on it count. Any thread. */
void eng_port_counters(const struct engine *e,
		       void (*each)(void *arg, const char *name, const char *text, uint64_t n),
		       void *arg);
/* The program's threads drive the cores. */
bool eng_inline(const struct engine *e);
/* The port can carry frames now. Any thread. */
bool eng_link_up(struct engine *e);

/*
 * Runs fn(core, arg) on the core: by this thread when it can take the core's try-lock, else by
 * whoever has it. Control threads; blocks until it has run; returns what fn returned. When it
 * returns the core has passed a quiet point.
 */
int eng_call(struct core *c, int (*fn)(struct core *c, void *arg), void *arg);

/*
 * Control thread. Waits until no port reads the program's memory any more for QPs that are gone or
 * were reset, or for the region of that key, which is unpublished: then the program may have its
 * memory back. 0, or the number of frames that a second did not bring back, and which nobody waits
 * for again.
 */
int eng_wait_qps(struct engine *e);
int eng_wait_region(struct engine *e, uint32_t key);

/* Inside eng_call only. */
struct xport *core_xport(struct core *c);
struct demux *core_demux(struct core *c);
struct net *core_net(struct core *c);

/* A client's doorbell ring joins or leaves the rings that the core polls. QPs are found by handle in
 * the client's own table: qp_of(arg, handle) gives the QP or NULL. Inside eng_call only. */
struct core_client {
	struct plx_bell_ring *ring;
	uint32_t head;
	struct qp *(*qp_of)(void *arg, uint32_t handle);
	void *arg;
	int async_fd;		/* where its QPs' events go; non-blocking; -1: nowhere */
	struct list_node node;
};
void core_client_add(struct core *c, struct core_client *client);
void core_client_del(struct core *c, struct core_client *client);

/* A CQ as the engine knows it: qp_conf's CQs must be the first member of one. */
struct eng_cq {
	struct cq cq;
	bool error_due;			/* owes IBV_EVENT_CQ_ERR to its async fd */
	struct list_node error_node;
};
/* Nothing of the core's knows the CQ any more; no QP uses it. Inside eng_call only. */
void core_cq_del(struct core *c, struct eng_cq *cq);

/* What the engine keeps beside each QP. Allocated zeroed by serve, which sets client and qp. */
struct eng_qp {
	struct core_client *client;
	struct qp *qp;
	/* the rest is the engine's own */
	struct core *core;
	struct twheel_node timer;
	uint64_t timer_at;		/* when it fires; QP_NEVER */
	int64_t deficit;		/* bytes it may still send in its turn */
	uint64_t confirm_at;		/* when a frame next confirms its neighbour */
	uint32_t events;		/* 1 << enum ibv_event_type: due to the async fd */
	struct list_node event_node;
	bool connected;			/* counted in the core: RTR and above */
	uint8_t path_at;		/* which of the two is in use */
	bool path_used;
	struct path path[2];		/* the other one is being opened */
};

/* QP joins or leaves the core: demux, timer, path. core_qp_del returns when no list of the core knows
 * it any more. Inside eng_call only. 0, -ENOMEM, -EEXIST (its QPN is taken). */
int core_qp_add(struct core *c, struct eng_qp *q);
void core_qp_del(struct core *c, struct eng_qp *q);
/* After a qp_modify(): timers, events and the count of connected QPs. Inside eng_call only. */
void core_qp_changed(struct core *c, struct eng_qp *q);

/*
 * A path for an address vector, beside the one that the QP has: open it, modify the QP with what
 * *out says, then keep it or drop it. Inside eng_call only. 0 or the error of path_open().
 */
int core_path_open(struct core *c, struct eng_qp *q, const struct path_req *req, struct qp_path *out);
void core_path_keep(struct core *c, struct eng_qp *q);
void core_path_drop(struct core *c, struct eng_qp *q);
/* The QP went to RESET: it has no path any more. */
void core_path_none(struct core *c, struct eng_qp *q);
/* The QP's path still waits for its neighbour. Inside eng_call only. */
bool core_path_waits(const struct eng_qp *q);

/* Any thread: takes what was posted and sends; receives nothing. Returns at once when another thread
 * drives the core, which then does it. */
void core_drive_post(struct core *c);
/* Any thread, in place of core_drive_post() after a post behind others of its queue that are not
 * acknowledged yet. True: it was noted and goes out with those that follow (at once with the 16th, or
 * with the next poll). */
bool core_post_waits(struct core *c);
/* Any thread: one whole round of the loop if nobody else drives the core now. */
void core_drive_poll(struct core *c);
/* Any thread: wakes the core's thread if it sleeps. */
void core_wake(struct core *c);

/* Any thread: the core's counters. */
const struct cnt_block *core_counters(const struct core *c);

#endif

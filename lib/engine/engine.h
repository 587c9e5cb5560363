/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine: EAL, one port, its cores and who drives them. What lib/serve sees of it.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/net.h"
#include "port/port.h"
#include "transport/demux.h"
#include "transport/qp.h"
#include <pollux/abi/doorbell.h>

struct core;
struct engine;

struct eng_conf {
	struct port_conf port;
	struct net_conf net;	/* mac and ip_mtu are filled in from the port */
	bool inline_mode;	/* the program's threads drive the core; else it has a thread of its own */
	int cpu;		/* of that thread */
	bool eal_running;	/* a DPDK program started EAL itself: do not */
	uint32_t mem_mb;	/* EAL memory; 0: enough for one port and core */
};

/* Control thread, once a process. 0, or -errno with one line in `why` that says what to do. */
int eng_start(const struct eng_conf *conf, struct mr_table *mrs, struct engine **out, char *why,
	      size_t why_len);
/* All clients are gone. Stops the threads, closes the port. EAL itself stays until the exit. */
void eng_stop(struct engine *e);

uint32_t eng_num_cores(const struct engine *e);
struct core *eng_core(struct engine *e, uint32_t index);
const struct port *eng_port(const struct engine *e);

/*
 * Runs fn(core, arg) on the core: at once when the caller can take the core's try-lock, else by its
 * mailbox. Control threads; blocks until it has run; returns what fn returned. When it returns the
 * core has passed a quiet point.
 */
int eng_call(struct core *c, int (*fn)(struct core *c, void *arg), void *arg);

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
	int async_fd;		/* where its QPs' events go */
	struct list_node node;
};
int core_client_add(struct core *c, struct core_client *client);
void core_client_del(struct core *c, struct core_client *client);

/* What the engine keeps beside each QP; serve allocates it with the QP behind it (qp_size()). */
struct eng_qp {
	struct core_client *client;
	struct path path;
	bool path_open;
	struct list_node timer_node;	/* engine's own */
	uint8_t engine_priv[64];
	struct qp *qp;
};

/* QP joins or leaves the core: demux, timer, path. core_qp_del returns when no list of the core knows
 * it any more. Inside eng_call only. 0, -ENOMEM. */
int core_qp_add(struct core *c, struct eng_qp *q);
void core_qp_del(struct core *c, struct eng_qp *q);

/* Any thread: one round of the loop if nobody else drives the core now. */
void core_drive_post(struct core *c);
void core_drive_poll(struct core *c);
/* Any thread: wakes the core's thread if it sleeps. */
void core_wake(struct core *c);

/* Any thread: sums of a core's counters. */
const struct cnt_block *core_counters(const struct core *c);

#endif

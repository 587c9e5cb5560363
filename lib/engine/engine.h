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
#include "base/seqcell.h"
#include "base/twheel.h"
#include "engine/mailbox.h"
#include "mem/mr.h"
#include "net/net.h"
#include "port/port.h"
#include "transport/ah.h"
#include "transport/demux.h"
#include "transport/qp.h"
#include <pollux/abi/doorbell.h>

struct core;
struct engine;

#define ENG_MAX_CORES 64u
#define ENG_PORT_CORE 0u	/* index of the core that serves the port */

struct eng_conf {
	struct port_conf port;
	const char *impair;	/* words of port_impair_parse(), or NULL */
	const char *record;	/* a file's name, or NULL */
	struct net_conf net;	/* mac and ip_mtu are filled in from the port */
	bool inline_mode;	/* the program's threads drive the core; else each has a thread of its own */
	uint32_t num_cores;	/* 1 to ENG_MAX_CORES; inline: 1 */
	int cpu[ENG_MAX_CORES];	/* of each core's thread, unless inline */
	bool eal_running;	/* a DPDK program started EAL itself: do not */
	uint32_t mem_mb;	/* EAL memory; 0: enough for one port and the cores */
	bool explain;		/* print why QPs failed */
	bool copies;		/* never send a payload from where the program put it */
	/* Was there ever a QP of this number? Called on the core, seldom. */
	bool (*was_qpn)(void *arg, uint32_t qpn);
	/* The address handle of that number, or NULL. Called on every core; what it gives stays until all
	 * of them have passed a quiet point. NULL: there are none. */
	const struct ah *(*ah_of)(void *arg, uint32_t handle);
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

/* The time stamp counter, which is also what a completion's timestamp is of, and its rate in kHz, as it
 * was measured at the start. Any thread. */
uint64_t eng_ticks(void);
uint32_t eng_tick_khz(const struct engine *e);

uint32_t eng_num_cores(const struct engine *e);
/* NULL beyond the last one. */
struct core *eng_core(struct engine *e, uint32_t index);
uint32_t core_index(const struct core *c);
/* The core that polls the port, and to which lib/net belongs. */
struct core *eng_port_core(struct engine *e);

/*
 * place.c. A QPN names its core by its low bits, of which there are eng_qpn_bits(): 0 with one core.
 * With a number of cores that is no power of two some values name none; eng_qpn_core() may then be
 * eng_num_cores() or more.
 */
uint32_t eng_qpn_bits(uint32_t num_cores);
uint32_t eng_qpn_core(const struct engine *e, uint32_t qpn);
/*
 * Where does a new QP go? Control thread. `vector` of its CQs: not 0 pins the core of that number.
 * Else it is the one that this thread drives (eng_drives()), else the one with the fewest QPs; of
 * several `home`, where its CQ is, or UINT32_MAX for a CQ that is nowhere yet, or the first.
 */
uint32_t eng_place(struct engine *e, uint32_t vector, uint32_t home);
/* This thread drives that core by itself (plx_core_poll()). */
void eng_drives(uint32_t index);
const struct port *eng_port(const struct engine *e);
/* Calls `each` for all that the port's driver and those that stand on it count. Any thread. */
void eng_port_counters(const struct engine *e,
		       void (*each)(void *arg, const char *name, const char *text, uint64_t n),
		       void *arg);
/* The program's threads drive the cores. */
bool eng_inline(const struct engine *e);
/*
 * The port is up, as programs are told. Any thread. A memif with nobody at its other end is a port on a
 * switch whose other host is off: up, until a peer that was there is gone. Only a cable is out from the
 * start.
 */
bool eng_link_up(struct engine *e);

/*
 * Runs fn(core, arg) on the core: by this thread when it can take the core's try-lock, else by
 * whoever has it. Control threads; blocks until it has run; returns what fn returned. When it
 * returns the core has passed a quiet point, and all notes that were posted to it before have run.
 * Never from inside another one: two cores that wait for each other wait for ever.
 */
int eng_call(struct core *c, int (*fn)(struct core *c, void *arg), void *arg);
/* The same with nothing to do. */
void eng_flush(struct core *c);
/* Every core has passed a quiet point since: what was unpublished before is used by none any more. */
void eng_quiet(struct engine *e);

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
	uint32_t port_event;	/* enum ibv_event_type of the port's that is due; 0: none */
	struct list_node node;
};
void core_client_add(struct core *c, struct core_client *client);
void core_client_del(struct core *c, struct core_client *client);

/* A CQ as the engine knows it: qp_conf's CQs must be the first member of one. Zeroed by who makes it,
 * but for cq. */
struct eng_cq {
	struct cq cq;
	bool error_due;			/* owes IBV_EVENT_CQ_ERR to its async fd */
	struct list_node error_node;
	struct eng_feed *feed;		/* it is that feed's end on another core; NULL: the CQ itself */
	struct eng_feed *feeds;		/* what other cores feed it by */
	/* moderation; the home core's */
	uint32_t mod_count;		/* CQEs since the last event that make one due; 0: no number */
	uint64_t mod_ns;		/* and the time after which it is without; 0: not moderated */
	uint32_t told;			/* cq.tail at the last event */
	bool held;			/* an event waits for one of the two */
	uint64_t held_until;
	struct list_node held_node;	/* in core.held */
};

/* Control thread. The CQ goes on in another ring, as cq_move(). home_core NULL: no core knows it yet. */
int eng_cq_move(struct eng_cq *cq, struct core *home_core, struct plx_cqe *ring, uint32_t log2_size,
		uint32_t cqe);
/* Control thread. From now on an event is sent once `count` CQEs came since the last one, or `ns` after
 * it was due; ns 0: at once. */
void eng_cq_moderate(struct eng_cq *cq, struct core *home_core, uint32_t count, uint64_t ns);

/*
 * A CQ has one producer, its home core. A QP of another core completes on a feed: a CQ of the
 * engine's own, of the same size, which the home core polls as an application would, and from which
 * it fills the real one. It has no room for one more only when the real one would not either.
 */
struct eng_feed {
	struct eng_cq at;		/* first: what QPs of `core` complete on */
	struct core *core, *home_core;
	struct eng_cq *home;
	struct feed_end {		/* what the home core polls */
		struct plx_cq_ctl *ctl;
		const struct plx_cqe *ring;
		uint32_t log2_size;
		uint32_t head;
	} end_home;
	bool again;			/* the home core has not polled all of it */
	struct mail news;		/* there are CQEs; sent while ctl->arm is taken */
	struct mail ended, end;		/* it overflowed; its home did: once each */
	struct eng_feed *next;		/* in home->feeds */
};

/* Control thread. `ctl` and `ring` (zeroed, the real CQ's size) are the caller's until
 * eng_cq_del(). */
void eng_feed_add(struct eng_feed *f, struct eng_cq *home, struct core *home_core, struct core *core,
		  struct plx_cq_ctl *ctl, struct plx_cqe *ring);
/* Control thread. What the feed's core completed before the last answer that it gave is in the CQ. */
void eng_feed_settle(struct eng_feed *f);
/* Control thread. The feed goes on in another ring, which is zeroed and has its own control words; when
 * this returns nobody uses the old ones. */
void eng_feed_refit(struct eng_feed *f, struct plx_cq_ctl *ctl, struct plx_cqe *ring,
		    uint32_t log2_size);
/* Control thread; no QP uses the CQ any more. Afterwards no core knows it, nor its feeds. */
void eng_cq_del(struct eng_cq *cq, struct core *home_core);

/*
 * A shared receive queue as the engine knows it. QPs of any core take from it; what it has to tell its
 * client goes out by the core that serves the port. Zeroed by who makes it, but for srq, async_fd,
 * handle and gen.
 */
struct eng_srq {
	struct srq srq;			/* first: of srq_init() with eng_srq_raise() */
	int async_fd;			/* of its context */
	uint32_t handle, gen;		/* what the application knows it by */
	/* the rest is the engine's own */
	struct core *teller;
	uint32_t due;			/* limit events, and SRQ_ERR: srq.c. Any core */
	struct mail note;		/* there are some; sent when `due` leaves 0 */
	struct list_node event_node;	/* the teller's */
};

/* Control thread. Before any QP has it; and when none has it any more: then no core knows it. */
void eng_srq_add(struct engine *e, struct eng_srq *srq);
void eng_srq_del(struct eng_srq *srq);
/* srq.raise. Any thread. */
void eng_srq_raise(struct srq *srq, enum srq_event event);

/* Who hears of a QP's events: a client, and the handle by which it knows the QP. Most QPs have one; the
 * target of XRC has one for each that opened it (F17). Zeroed by serve, which sets the first three. */
struct eng_ear {
	struct core_client *client;
	uint32_t handle, gen;
	/* the rest is of the QP's core */
	uint32_t events;		/* 1 << enum ibv_event_type: due to the client's async fd */
	struct list_node event_node;	/* while some are due */
	struct list_node node;		/* in eng_qp.ears */
};

/* What the engine keeps beside each QP. Allocated zeroed by serve, which sets qp. */
struct eng_qp {
	struct qp *qp;
	/* the rest is the engine's own: of the QP's core */
	struct core *core;
	struct twheel_node timer;
	uint64_t timer_at;		/* when it fires; QP_NEVER */
	int64_t deficit;		/* bytes it may still send in its turn */
	uint64_t confirm_at;		/* when a frame next confirms its neighbour */
	struct list ears;		/* struct eng_ear.node */
	bool connected;			/* counted in the core: RTR and above */
	/* the last-WQE event, while it goes by the home core of the receive CQ: feed.c */
	bool last_away, last_again;
	const struct plx_cq_ctl *last_ctl;	/* of the feed, when it left */
	struct mail last_note;
	/* of the core that serves the port */
	uint8_t path_at;		/* which of the two is in use */
	bool path_used;
	struct path path[2];		/* the other one is being opened */
	/* between the two, when they are not one */
	SEQCELL(struct qp_path) path_news;	/* the newest */
	uint32_t path_told;		/* path_note is on its way */
	struct mail path_note;
	uint8_t confirm_gid[16], confirm_mac[6];
	uint32_t confirm_told;		/* confirm_note is on its way: the two are the port's core's */
	struct mail confirm_note;
};

/* A QP joins the core: demux, timer. Inside eng_call only. 0, -ENOMEM, -EEXIST (its QPN is taken). */
int core_qp_add(struct core *c, struct eng_qp *q);
/* From now on, or no longer, this ear hears of the QP's events. Inside eng_call only, and before the QP is
 * deleted, which forgets all ears. */
void core_qp_hear(struct core *c, struct eng_qp *q, struct eng_ear *ear);
void core_qp_deaf(struct core *c, struct eng_ear *ear);
/* Control thread. `gone` runs on the QP's core: from then on no doorbell finds it. When this returns
 * no core knows the QP any more, nor has its path. */
void eng_qp_del(struct eng_qp *q, void (*gone)(void *arg), void *arg);
/* After a qp_modify(): timers, events and the count of connected QPs. Inside eng_call only. */
void core_qp_changed(struct core *c, struct eng_qp *q);

/*
 * A path for an address vector, beside the one that the QP has: open it, modify the QP with what
 * *out says, then keep it or drop it. In eng_call() of the core that serves the port only, which tells
 * the QP's core of later changes. 0 or the error of path_open().
 */
int core_path_open(struct core *c, struct eng_qp *q, const struct path_req *req, struct qp_path *out);
void core_path_keep(struct core *c, struct eng_qp *q);
void core_path_drop(struct core *c, struct eng_qp *q);
/* The QP went to RESET: it has no path any more. */
void core_path_none(struct core *c, struct eng_qp *q);
/* The QP's path still waits for its neighbour. */
bool core_path_waits(const struct eng_qp *q);

/*
 * group.c. The QP gets a copy of what is sent to the group, which the port joins. Control thread. 0, -EINVAL
 * (no multicast group), -EEXIST (it is attached already, and stays so), -ENOMEM (also with NET_MAX_GROUPS).
 * A QP is detached from all of them before eng_qp_del().
 */
int eng_group_attach(struct eng_qp *q, const uint8_t gid[16]);
/* Nothing happens when it is not attached. */
void eng_group_detach(struct eng_qp *q, const uint8_t gid[16]);

/*
 * ah.c. An address handle: a path that belongs to no QP. Allocated zeroed by serve, which sets pd and gen
 * of ah. On the core that serves the port, inside eng_call() only; 0 or the error of path_open().
 */
struct eng_ah {
	struct ah ah;			/* what every core reads */
	struct path path;		/* of the core that serves the port */
};
int core_ah_open(struct core *c, struct eng_ah *a, const struct path_req *req);
/* No core finds it any more. */
void core_ah_close(struct core *c, struct eng_ah *a);
/* It still waits for its neighbour. */
bool core_ah_waits(const struct eng_ah *a);

/*
 * gsi.c. The owner of QP 1, one at a time: `rx` gets each of its datagrams, on the core that serves the port,
 * while the packet lies in its frame. Control thread. 0, -EBUSY.
 */
struct eng_gsi {
	void (*rx)(void *arg, struct core *c, const struct wire_pkt *pkt);
	void *arg;
	struct psn psn;			/* of the next one sent */
};
int eng_gsi_open(struct engine *e, void (*rx)(void *arg, struct core *c, const struct wire_pkt *pkt),
		 void *arg);
/* When it returns nothing is handed on any more. */
void eng_gsi_close(struct engine *e);
/* QP 1 sends to QP `dest_qpn` at the handle's peer. In `rx`, or in eng_call(), of the core that serves the
 * port. 0, -EAGAIN (no room, or no neighbour yet: try again), -EMSGSIZE (more than the port's MTU). */
int core_gsi_send(struct core *c, const struct eng_ah *a, uint32_t dest_qpn, const void *data, uint32_t len);

/* Any thread: takes what was posted and sends; receives nothing. Returns at once when another thread
 * drives the core, which then does it. */
void core_drive_post(struct core *c);
/* Any thread, in place of core_drive_post() after a post behind others of its queue that are not
 * acknowledged yet. True: it was noted and goes out with those that follow (at once with the 16th, or
 * with the next poll). The first four posts since the last poll never wait. */
bool core_post_waits(struct core *c);
/* Any thread: one whole round of the loop if nobody else drives the core now. */
void core_drive_poll(struct core *c);
/* Any thread: wakes the core's thread if it sleeps. */
void core_wake(struct core *c);

/* Any thread: the core's counters. */
const struct cnt_block *core_counters(const struct core *c);

#endif

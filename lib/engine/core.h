/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core: all that the loop works on. Private to the engine. Everything but the words marked "any
 * thread" belongs to the thread that holds the core's lock.
 */
#ifndef ENGINE_CORE_H
#define ENGINE_CORE_H

#include <endian.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/gather.h"
#include "engine/handoff.h"
#include "engine/mailbox.h"

#define CORE_RX_BURST 32u
#define CORE_OUT 64u			/* outbox slots */
#define CORE_NET_TX 64u			/* places that only lib/net gets */
#define CORE_TXQ (2 * CORE_OUT + CORE_NET_TX) /* frames that wait for the port */
#define CORE_LOOP 256u			/* frames from ourselves to ourselves; power of two */
/* buffers that a core has at most: those above, frames from and to another one, DPDK's cache */
#define CORE_MBUFS (CORE_OUT + CORE_TXQ + CORE_LOOP + 2 * HANDOFF_SLOTS + 192u)
#define CORE_QUANTUM 32768		/* bytes of a QP's turn */
#define CORE_BELLS 256u			/* doorbells of a client in a round */
#define CORE_FEED 256u			/* CQEs that one note brings at most */
#define CORE_LINES 8u			/* lines that wait to be printed */
#define CORE_LINE_LEN 256u
#define CORE_CONFIRM_NS 1000000000u	/* a QP confirms its neighbour once a second */
#define CORE_LATE_NS 4000u		/* an ACK waits at most so long while somebody drives */
#define CORE_LATE_IDLE_NS 500000u	/* and so long when nobody does any more */
#define CORE_PROMPT_POSTS 4u		/* since the last poll: they never wait */
#define CORE_LATE_POSTS 16u		/* posts that wait for one another */
#define CORE_LATE_POST_NS 1000u		/* after frames were sent: who posts more seldom does not wait */
#define CORE_REFINE_NS 1000000000u	/* of the clock; longer and longer */

/* The try-lock: who drives. WANTED: held, and somebody who found it so left work behind. */
enum core_lock {
	CORE_FREE = 0,
	CORE_HELD = 1,
	CORE_WANTED = 2,
};

enum core_how {
	CORE_ROUND_POST,		/* no receive, no timers */
	CORE_ROUND_WHOLE,
};

/* What the core's own thread knows: of times in ticks, and its own but for what is marked. */
struct idle {
	pthread_t thread;
	bool started;
	int fd;				/* eventfd: wakes it */
	int port_fd;			/* readable when frames arrive, or -1 */
	bool armed;			/* it will be */
	uint32_t asleep;		/* any thread: it sleeps, or is about to */
	uint32_t stop;			/* any thread */
	uint32_t ready;			/* any thread: it runs */
	uint64_t deadline;		/* any thread: of a long sleep, ns of the core; else 0 */
	uint64_t until;			/* any thread: when its sleep ends, in ticks; else 0 */
	struct clock clock;		/* a copy of its own */
	uint64_t step_ns;		/* of the next sleep */
	uint64_t now;			/* ns of the core, at its last round on this thread */
	uint64_t timer_ns;		/* from then to the next timer */
	uint64_t worked;		/* when it last found work */
	uint64_t looked;		/* when it last looked, without a sleep since; else 0 */
	uint64_t crowded_until;		/* there are fewer CPUs than spinners: do not spin */
	uint64_t crowded_ns;		/* how long that was believed the last time */
	long preempted;			/* ru_nivcsw as last seen */
	uint64_t link_at;		/* when to look at the link again */
	bool link_was_up;
};

/* explain.c: QPs that ended and are not told of yet. */
struct explain {
	struct why_box box;
	uint64_t since;			/* when the second began in which `said` lines were printed; ticks */
	uint32_t said;
	uint32_t unsaid;		/* any thread may read */
};

struct core {
	/* any thread */
	uint32_t lock;			/* enum core_lock */
	uint32_t connected;		/* QPs in RTR and above */
	uint32_t num_qps;
	uint64_t driven_tsc;		/* when a thread of the program last did a whole round */
	uint32_t posts;			/* since a whole round: the prompt ones, and those that wait */
	uint64_t sent_tsc;		/* when frames were last sent */
	struct mailbox mail __rte_cache_aligned;

	/* the loop */
	struct clock clock __rte_cache_aligned;
	uint64_t tsc;			/* of this round */
	uint64_t net_at;		/* when net_timer() is due */
	uint64_t refine_at, refine_ns;
	uint64_t late_since;		/* no ACK waits that came before, ns */
	uint64_t patience;		/* CORE_LATE_IDLE_NS in ticks */
	uint64_t post_patience;		/* CORE_LATE_POST_NS in ticks */
	unsigned int lcore;		/* the lcore id of whoever drives, or LCORE_ID_ANY */
	unsigned int lcore_before;	/* what it was before */
	uint32_t index;			/* in engine.core */
	bool serves_port;		/* polls its queue, and lib/net is this core's */
	struct peer *peers;		/* by index; NULL: there is one core */
	uint32_t peer_turn;		/* who of them comes first */
	bool peers_first;		/* ... and whether before this core itself */
	struct engine *engine;
	struct port *port;
	struct net *net;		/* on the others for its GIDs only, which never change */
	struct demux *demux;
	struct mcast *mcast;		/* its mark: 1 << index of each core with QPs of the group */
	struct list clients;		/* struct core_client.node */
	struct xport x;
	struct cnt_block cnt;
	struct trace trace;
	struct twheel wheel;
	uint64_t mac;			/* the port's, as core_mac() */
	uint8_t last_gid[16];		/* of ours, to which the last frame came */

	/* out: slots whose data lies in lent mbufs; then what waits for the port or for ourselves */
	struct outbox out;
	struct out_slot slot[CORE_OUT];
	struct out_ext ext[CORE_OUT];	/* what of them lies elsewhere */
	struct gather *gather;		/* NULL: nothing ever does */
	struct rte_mbuf *lent[CORE_OUT];
	uint32_t num_lent;		/* from 0 */
	struct rte_mbuf *txq[CORE_TXQ];
	uint32_t num_txq;
	struct rte_mbuf *loopq[CORE_LOOP];
	uint32_t loop_head, loop_tail;

	struct eng_gsi gsi;		/* of the core that serves the port */

	/* events that are due to a socket */
	struct list qp_events;		/* struct eng_ear.event_node */
	struct list cq_errors;		/* struct eng_cq.error_node */
	struct list srq_events;		/* struct eng_srq.event_node; of the core that serves the port */
	bool port_due;			/* a client's port_event */
	struct list held;		/* struct eng_cq.held_node: completion events that wait */
	uint64_t held_at;		/* when the first of them is due; UINT64_MAX: none */

	/* lines for people; printed by the background thread */
	char line[CORE_LINES][CORE_LINE_LEN];
	uint32_t num_lines;		/* any thread may read */
	struct explain *explain;	/* NULL: nobody asked */
	bool said_self;
	bool (*was_qpn)(void *arg, uint32_t qpn);
	void *was_arg;

	struct idle idle;
	bool own_thread;		/* dedicated: the thread holds the lock but for sleeping */
	int cpu;
};

/* engine.c */
struct engine {
	struct port port;
	struct port impaired, recorded;	/* what stands on it, if any */
	struct port *top;		/* what the cores use */
	uint32_t link_lost;		/* any thread: it was up and is down */
	void (*ended)(void *arg, struct engine *e);
	void *arg;
	struct core *core[ENG_MAX_CORES];
	uint32_t num_cores;
	uint32_t tick_khz;		/* of eng_ticks() */
	bool inline_mode;
	pid_t pid;
};

/* core.c. Takes the lock; false when another thread has it, who with `insist` does one round more. */
bool core_try(struct core *c, bool insist);
/* Gives it up. True: it was wanted meanwhile and is held again, for one more round. */
bool core_leave(struct core *c);
/* One round; the number of things that it found to do. With the lock. */
unsigned int core_round(struct core *c, enum core_how how);

/* The stations, in the order of a round. Each returns how much it found to do. With the lock. */
unsigned int core_submit(struct core *c);
unsigned int core_rx(struct core *c);
unsigned int core_timers(struct core *c);
unsigned int core_sched(struct core *c);
unsigned int core_tx(struct core *c);
unsigned int core_notify(struct core *c);

/* late.c. May something wait at `tsc` for a later round? */
bool core_late_ok(const struct core *c, uint64_t tsc);
/* A round begins: what was put off goes now. */
void core_posts_begin(struct core *c, enum core_how how);
/* After a round received so many frames: lets ACKs go that have waited long enough, before what was
 * posted. */
void core_acks(struct core *c, enum core_how how, unsigned int received);
/* Sends all that waits, before the control side changes a QP. */
void core_settle(struct core *c);

/* The first six bytes of eight or more, as they lie. */
static inline uint64_t
core_mac(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word & htobe64(UINT64_C(0xffffffffffff0000));
}

/* A hub, or a device that takes everything, also brings what is for others. `frame` has an Ethernet
 * header. What is sent to a group is for group.c. */
static inline bool
core_is_for_us(const struct core *c, const uint8_t *frame)
{
	return core_mac(frame) == c->mac;
}

/* group.c: a RoCE frame that is not to our MAC. DROP_NONE when a group has it; what QPs do not take of it
 * is counted. */
enum drop_reason core_group_rx(struct core *c, const uint8_t *frame, uint32_t len);
/* Of a frame that this core received, or sent to a group, and that lies in one piece: the other cores
 * with QPs of the group share it. Where there are several cores. */
void core_group_spread(struct core *c, struct rte_mbuf *m);
/* A frame that goes to the wire and to a group: a copy waits for our own receive if anybody here is
 * attached. There is room for one in loopq. */
void core_group_loop(struct core *c, const struct rte_mbuf *m);

/* timer.c: after anything that was done to a QP. */
void core_touch(struct core *c, struct eng_qp *q);
/* After anything that was done to lib/net; the core that serves the port. */
void core_net_touch(struct core *c);
/* When core_timers() next has something to do, ns; UINT64_MAX: never. */
uint64_t core_wake_at(const struct core *c);

/* tx.c */
int core_tx_init(struct core *c);
void core_tx_fini(struct core *c);
/* A frame of lib/net: copied, or dropped when too many wait. */
void core_net_send(void *core, const uint8_t *frame, size_t len);
/* Takes at most n frames for ourselves. */
unsigned int core_loop_take(struct core *c, struct rte_mbuf **bufs, unsigned int n);

/* feed.c: what is due on a feed is told to the CQ's home; a CQ that is at its end ends on all cores. */
void core_feed_news(struct core *c, struct eng_feed *f);
void core_feed_ended(struct core *c, struct eng_feed *f);
void core_cq_ended(struct core *c, struct eng_cq *cq);
/* QP_LAST_WQE_REACHED was raised. True: it is told when the QP's last CQE has reached its CQ. */
bool core_feed_last(struct eng_qp *q);
/* No list of the core's holds the CQ, or the feed's end, any more. */
void core_cq_del(struct core *c, struct eng_cq *cq);

/* moderate.c. Does the event that is due wait for more CQEs, or for its time? */
bool core_holds(struct core *c, struct eng_cq *cq);
/* It did not, and was sent. */
void core_told(struct core *c, struct eng_cq *cq);
/* Those whose time has come are due. */
void core_held_timer(struct core *c);
/* Nothing of it waits any more. */
void core_release(struct core *c, struct eng_cq *cq);

/* srq.c: tells what SRQs have to tell, an event a round; how many. */
unsigned int core_srq_events(struct core *c);

/* path.c: what transport is told of a path of lib/net's. */
void core_path_of(const struct path *p, struct qp_path *out);
/* The QP's peer is alive at this MAC. */
void core_confirm(struct core *c, struct eng_qp *q, const uint8_t gid[16], const uint8_t mac[6]);

/* gsi.c: a packet to QP 1. */
enum drop_reason core_gsi_rx(struct core *c, const struct wire_pkt *pkt);

/* notify.c: the link was lost, or is back: all clients are told. The core that serves the port. */
void core_port_event(struct core *c, bool up);
/* Sends a record to a socket. False: it is full. One that nobody reads any more takes everything. */
bool core_tell(int fd, const void *rec, size_t len);
/* What transport raised goes to lists that cannot overflow. */
void core_take_events(struct core *c);
/* One event of that QP, enum ibv_event_type, is due to all its ears. */
void core_qp_raised(struct core *c, struct eng_qp *q, uint32_t type);

/* say.c: keeps a line for the background thread to print; with the lock. */
void core_say(void *core, const char *line);
/* Prints what is kept. Takes the lock itself. */
void core_print(struct core *c);

/* explain.c: the core's QPs are told of when they fail. 0 or -ENOMEM. */
int core_explain_init(struct core *c);
void core_explain_fini(struct core *c);
/* Prints why QPs failed. Takes the lock itself. */
void core_explain(struct core *c);
/* The same at the end, with the lock or when nobody else is left. */
void core_explain_last(struct core *c);

/* idle.c: starts the core's own thread. 0 or -errno. */
int idle_start(struct core *c);
/* Ends the thread; the fd that wakes it stays for those who would still do that. */
void idle_stop(struct core *c);
/* Nobody drives a core any more, or ever did. */
void idle_close(struct core *c);
/* After a round of a program's thread: does a timer come before the end of a long sleep? With the
 * lock. */
static inline void
idle_hurry(struct core *c)
{
	uint64_t deadline = __atomic_load_n(&c->idle.deadline, __ATOMIC_RELAXED);

	if (__builtin_expect(deadline != 0, 0) && core_wake_at(c) < deadline)
		core_wake(c);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who drives the core when nobody else does? Its own thread, which all of this file runs on; each core
 * has one.
 *
 * Inline: it sleeps in steps while the program drives, and takes over when the program is silent:
 * passive targets, ACKs, timers, ARP. Dedicated: it drives always. In both cases it spins while it
 * finds work, then sleeps: on the port's wake fd where there is one, else in steps that grow.
 *
 * When there are fewer CPUs than threads that spin, spinning is what makes everybody wait: each turn
 * takes the scheduler's slice of some ms. Then it sleeps in short steps instead, for it is woken at
 * once where a spinner would wait for its turn. It knows by being preempted for longer than any
 * round takes, and tries again after a while that doubles.
 */
#include "engine/core.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>

#define QUIET_NS 10000u		/* a program that polled so recently goes on polling */
#define SPIN_NS 50000u		/* without work, before the first sleep */
#define OWN_SPIN_NS 1000000u	/* the same for a dedicated core */
#define STEP_MIN_NS 30000u
#define STEP_MAX_NS 400000u	/* while QPs are connected and the port has no wake fd: 5 % of a CPU */
#define STEP_ALONE_NS 4000000u	/* while none is */
#define STEP_EMPTY_NS 150000000u /* without any: ARP, ND and echo are all that there is to answer */
#define STEP_LONG_NS 1000000000u /* with a wake fd */
#define CROWD_GAP_NS 500000u	/* more than any round takes, less than a slice of the scheduler */
#define CROWD_MIN_NS 100000000u
#define CROWD_MAX_NS 5000000000u
#define LINK_NS 100000000u	/* between two looks at a link that is up */
#define LINK_DOWN_NS 5000000u

static uint64_t
ticks(const struct idle *i, uint64_t ns)
{
	return clock_ticks(&i->clock, ns);
}

static bool
program_drives(const struct core *c, uint64_t tsc)
{
	uint64_t driven = __atomic_load_n(&c->driven_tsc, __ATOMIC_RELAXED);

	/* a round that sends 64 frames through the kernel takes much longer than QUIET_NS */
	if (!c->own_thread && __atomic_load_n(&c->lock, __ATOMIC_RELAXED) != CORE_FREE)
		return true;
	return !c->own_thread && driven && (int64_t)(tsc - driven) < (int64_t)ticks(&c->idle, QUIET_NS);
}

/* Frames shall ring from now on, or need not: each ring costs the peer a system call. What other cores
 * hand over rings by core_wake(). With the lock. */
static void
arm(struct core *c, bool on)
{
	const struct port_driver *drv = c->port->drv;

	if (!c->serves_port)
		c->idle.armed = on;
	else if (c->idle.armed != on && c->idle.port_fd >= 0)
		c->idle.armed = (!drv->wait_arm || drv->wait_arm(c->port, on)) && on;
}

/* Rounds, if nobody else drives; how much work they found. The last ones before a sleep arm the bell
 * first, so that what comes after them rings. */
static unsigned int
look(struct core *c, bool before_sleep)
{
	struct idle *i = &c->idle;
	unsigned int found = 0;
	uint64_t at;

	if (!core_try(c, false))
		return 0;
	arm(c, before_sleep);
	do {
		found += core_round(c, CORE_ROUND_WHOLE);
		at = core_wake_at(c);
		i->now = c->x.now;
		i->timer_ns = at > i->now ? at - i->now : 0;
	} while (core_leave(c));
	return found;
}

static long
preemptions(void)
{
	struct rusage ru;

	getrusage(RUSAGE_THREAD, &ru);
	return ru.ru_nivcsw;
}

/* Looks at the time since the last look: was it taken by another spinner? */
static void
feel_crowd(struct idle *i, uint64_t tsc)
{
	uint64_t gap = i->looked ? tsc - i->looked : 0;
	long n;

	i->looked = tsc;
	if (__builtin_expect(gap < ticks(i, CROWD_GAP_NS), 1))
		return;
	n = preemptions();
	if (n == i->preempted)
		return;		/* the whole machine stood still */
	i->preempted = n;
	if (i->crowded_ns && tsc - i->crowded_until < ticks(i, i->crowded_ns))
		i->crowded_ns = RTE_MIN(2 * i->crowded_ns, CROWD_MAX_NS);
	else
		i->crowded_ns = CROWD_MIN_NS;
	i->crowded_until = tsc + ticks(i, i->crowded_ns);
}

static bool
crowded(const struct idle *i, uint64_t tsc)
{
	return (int64_t)(i->crowded_until - tsc) > 0;
}

static bool
may_spin(const struct core *c, uint64_t tsc)
{
	const struct idle *i = &c->idle;
	uint64_t spin = c->own_thread ? OWN_SPIN_NS : SPIN_NS;

	return tsc - i->worked < ticks(i, spin) && !crowded(i, tsc);
}

/* The longest step by what there is: frames may be for a QP of any core. */
static uint64_t
longest_step(const struct core *c)
{
	const struct engine *e = c->engine;
	uint64_t longest = STEP_EMPTY_NS;

	for (uint32_t n = 0; n < e->num_cores; n++) {
		if (__atomic_load_n(&e->core[n]->connected, __ATOMIC_RELAXED))
			return STEP_MAX_NS;
		if (__atomic_load_n(&e->core[n]->num_qps, __ATOMIC_RELAXED))
			longest = STEP_ALONE_NS;
	}
	return longest;
}

/*
 * How long to sleep. The next step is longer, until work is found: a program that polls all the time
 * is left alone more and more, one that polls now and then and waits for memory to change in between
 * (ib_write_lat) is looked after closely.
 */
static uint64_t
choose_step(struct core *c, uint64_t tsc, bool program)
{
	struct idle *i = &c->idle;
	uint64_t max = program ? CORE_LATE_IDLE_NS : longest_step(c);
	uint64_t step = RTE_MIN(i->step_ns, max);

	i->step_ns = RTE_MIN(2 * step, max);
	if (program)
		return step;	/* seldom: each wake takes the CPU from a program that polls on it */
	if (tsc - i->worked < ticks(i, STEP_MAX_NS) && crowded(i, tsc))
		step = i->step_ns = STEP_MIN_NS;
	else if (i->port_fd >= 0 || !c->serves_port)
		step = STEP_LONG_NS;	/* frames wake it, or the core that received them */
	return RTE_MAX(RTE_MIN(step, i->timer_ns), TWHEEL_GRAIN_NS);
}

/* The bells of a dedicated core say whether it must be woken. False: they could not be told, for a
 * control thread has the core. */
static bool
tell_clients(struct core *c, uint32_t asleep)
{
	if (!c->own_thread)
		return true;
	if (!core_try(c, false))
		return false;
	list_for_each(n, &c->clients)
		__atomic_store_n(&container_of(n, struct core_client, node)->ring->asleep, asleep,
				 __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	while (core_leave(c))
		core_round(c, CORE_ROUND_POST);
	return true;
}

/* Waits for `ns`, for core_wake(), and for frames if `program` does not look for them itself. */
static void
wait(struct core *c, uint64_t ns, bool program)
{
	struct idle *i = &c->idle;
	struct pollfd fds[2] = {
		{ .fd = i->fd, .events = POLLIN },
		{ .fd = program || !i->armed ? -1 : i->port_fd, .events = POLLIN },
	};
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u) };
	uint64_t n;

	if (ppoll(fds, 2, &ts, NULL) <= 0)
		return;
	if (fds[0].revents && read(i->fd, &n, sizeof(n)) > 0) {
		/* whoever wakes it is silent from now on */
		__atomic_store_n(&c->driven_tsc, 0, __ATOMIC_RELAXED);
		i->step_ns = STEP_MIN_NS;
		i->worked = rte_rdtsc();
	}
	if (fds[1].revents)
		c->port->drv->wait_clear(c->port);
}

/*
 * The sleeping half of the handshake: say that it sleeps, fence, look again. A long sleep also says
 * until when, for a program that sets an earlier timer meanwhile.
 */
static void
sleep_for(struct core *c, uint64_t ns, bool program)
{
	struct idle *i = &c->idle;
	bool nothing = true;

	__atomic_store_n(&i->asleep, 1, __ATOMIC_RELAXED);
	if (ns > STEP_MAX_NS && !program)
		__atomic_store_n(&i->deadline, i->now + ns, __ATOMIC_RELAXED);
	__atomic_store_n(&i->until, rte_rdtsc() + ticks(i, ns), __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!tell_clients(c, 1))
		ns = STEP_MIN_NS;	/* nobody would wake it */
	if (!program) {
		nothing = look(c, true) == 0;
		ns = RTE_MIN(ns, RTE_MAX(i->timer_ns, TWHEEL_GRAIN_NS));
		if (!i->armed)	/* nobody would ring, or somebody else drives */
			ns = RTE_MIN(ns, i->step_ns);
	}
	if (nothing && !__atomic_load_n(&i->stop, __ATOMIC_RELAXED))
		wait(c, ns, program);
	__atomic_store_n(&i->deadline, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&i->until, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&i->asleep, 0, __ATOMIC_RELAXED);
	tell_clients(c, 0);
	i->looked = 0;
	if (!nothing)
		i->worked = rte_rdtsc();
}

/* A link that comes up: our addresses are announced, for a switch or a peer that forgot them. Programs
 * are told when it is lost (D-10: QPs stay as they are), and when it is back. */
static void
watch_link(struct core *c, uint64_t tsc)
{
	struct idle *i = &c->idle;
	bool up;

	if (!c->serves_port || (int64_t)(tsc - i->link_at) < 0)
		return;
	up = c->port->drv->link_up(c->port);
	i->link_at = tsc + ticks(i, up ? LINK_NS : LINK_DOWN_NS);
	if (up != i->link_was_up) {
		if (!core_try(c, false)) {
			i->link_at = tsc;
			return;
		}
		if (i->link_was_up || __atomic_load_n(&c->engine->link_lost, __ATOMIC_RELAXED))
			core_port_event(c, up);
		__atomic_store_n(&c->engine->link_lost, !up, __ATOMIC_RELAXED);
		if (up) {
			net_announce(c->net);
			core_net_touch(c);
		}
		do
			core_round(c, CORE_ROUND_POST);
		while (core_leave(c));
	}
	i->link_was_up = up;
}

static void
live(struct core *c)
{
	struct idle *i = &c->idle;

	while (!__atomic_load_n(&i->stop, __ATOMIC_ACQUIRE)) {
		uint64_t tsc = rte_rdtsc();
		bool program = program_drives(c, tsc);

		core_print(c);
		core_explain(c);
		watch_link(c, tsc);
		feel_crowd(i, tsc);
		if (!program && look(c, false)) {
			i->worked = tsc;
			i->step_ns = STEP_MIN_NS;
			if (!crowded(i, tsc))
				continue;
		}
		if (!program && may_spin(c, tsc))
			rte_pause();
		else
			sleep_for(c, choose_step(c, tsc, program), program);
	}
}

static void *
thread_main(void *arg)
{
	struct core *c = arg;
	struct idle *i = &c->idle;

	prctl(PR_SET_TIMERSLACK, 1UL);
	/* the lcore id stays the core's: whoever drives it borrows it */
	if (rte_lcore_id() == LCORE_ID_ANY && rte_thread_register() == 0)
		c->lcore = rte_lcore_id();
	i->preempted = preemptions();
	__atomic_store_n(&i->ready, 1, __ATOMIC_RELEASE);
	live(c);
	return NULL;
}

static int
pin(pthread_attr_t *attr, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return pthread_attr_setaffinity_np(attr, sizeof(set), &set);
}

static void
name_thread(const struct core *c)
{
	char name[16];

	snprintf(name, sizeof(name), c->own_thread ? "pollux-core%u" : "pollux-idle", c->index);
	pthread_setname_np(c->idle.thread, name);
}

/* With all signals blocked: handlers of the program run on threads of the program. */
static int
start_thread(struct core *c)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int err;

	pthread_attr_init(&attr);
	err = c->own_thread ? pin(&attr, c->cpu) : 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (!err)
		err = pthread_create(&c->idle.thread, &attr, thread_main, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (!err)
		name_thread(c);
	return -err;
}

int
idle_start(struct core *c)
{
	struct idle *i = &c->idle;
	int rc;

	i->clock = c->clock;
	i->step_ns = STEP_MIN_NS;
	i->port_fd = c->serves_port && c->port->drv->wait_fd ? c->port->drv->wait_fd(c->port) : -1;
	if (c->serves_port)
		c->engine->link_lost = c->port->carrier && !c->port->drv->link_up(c->port);
	i->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (i->fd < 0)
		return -errno;
	rc = start_thread(c);
	if (rc < 0)
		return rc;
	i->started = true;
	while (!__atomic_load_n(&i->ready, __ATOMIC_ACQUIRE))
		sched_yield();
	return 0;
}

void
idle_stop(struct core *c)
{
	if (!c->idle.started)
		return;
	__atomic_store_n(&c->idle.stop, 1, __ATOMIC_RELEASE);
	core_wake(c);
	pthread_join(c->idle.thread, NULL);
	c->idle.started = false;
}

void
idle_close(struct core *c)
{
	if (c->idle.fd >= 0)
		close(c->idle.fd);
	c->idle.fd = -1;
}

void
core_wake(struct core *c)
{
	const uint64_t one = 1;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	/* the first of several writes */
	if (__atomic_load_n(&c->idle.asleep, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(&c->idle.asleep, 0, __ATOMIC_RELAXED))
		(void)!write(c->idle.fd, &one, sizeof(one));
}

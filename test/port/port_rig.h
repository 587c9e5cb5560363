/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes with a port each: every case forks them before any EAL starts, for a process can start
 * EAL once. Two ends of a wire keep step over a socketpair.
 */
#ifndef PORT_RIG_H
#define PORT_RIG_H

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include "check.h"
#include "port/port.h"

#define RIG_TYPE 0x88b5u	/* EtherType for local experiments */
#define RIG_BURST 32u
#define RIG_SKIP 77
#define RIG_WAIT_MS 60000

struct rig {
	struct port port;
	struct port_conf conf;
	char spec[512];
	char why[256];
	int side;			/* 0 or 1 */
	int sync;			/* to the other end */
	uint8_t peer_mac[6];
};

static inline uint64_t
rig_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static inline void
rig_nap(unsigned int ms)
{
	struct timespec ts = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&ts, NULL);
}

/* EAL as the engine starts it where there are no hugepages, with the least memory that must do. */
static inline int
rig_eal(const char *port_arg)
{
	char lcores[64], *argv[16], *args[] = {
		(char *)(uintptr_t)"rig", lcores, (char *)(uintptr_t)"--no-pci",
		(char *)(uintptr_t)"--no-telemetry", (char *)(uintptr_t)"--iova-mode=va",
		(char *)(uintptr_t)"--no-huge", (char *)(uintptr_t)"--no-shconf",
		(char *)(uintptr_t)"--single-file-segments",
		(char *)(uintptr_t)"-m", (char *)(uintptr_t)"64",
		(char *)(uintptr_t)(getenv("RIG_VERBOSE") ? "--log-level=8" : "--log-level=4"),
	};
	int argc = sizeof(args) / sizeof(args[0]);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	snprintf(lcores, sizeof(lcores), "--lcores=0@(0-%ld)", cpus - 1);
	memcpy(argv, args, sizeof(args));
	if (port_arg[0])
		argv[argc++] = (char *)(uintptr_t)port_arg;
	argv[argc] = NULL;
	return rte_eal_init(argc, argv) < 0 ? -rte_errno : 0;
}

/* SPEC to configuration. */
static inline int
rig_parse(struct rig *r, const char *spec)
{
	return port_conf_parse(spec, r->spec, sizeof(r->spec), &r->conf, r->why, sizeof(r->why));
}

/* From a SPEC to an open port. EAL runs already when `again`. */
static inline int
rig_open(struct rig *r, const char *spec, bool again)
{
	char arg[512] = "";
	int ret = rig_parse(r, spec);
	const struct port_driver *drv;

	if (ret != 0)
		return ret;
	drv = port_driver_find(r->conf.driver);
	if (!drv)
		return -ENOENT;
	if (!again && drv->eal_args)
		ret = drv->eal_args(&r->conf, arg, sizeof(arg), r->why, sizeof(r->why));
	if (ret == 0 && !again)
		ret = rig_eal(arg);
	if (ret == 0)
		ret = port_open(&r->port, &r->conf, r->why, sizeof(r->why));
	return ret;
}

/* Both ends come here before either goes on. False when the other is gone or late. */
static inline bool
rig_meet(struct rig *r)
{
	struct pollfd p = { .fd = r->sync, .events = POLLIN };
	char byte = 'x';

	return send(r->sync, &byte, 1, MSG_NOSIGNAL) == 1 && poll(&p, 1, RIG_WAIT_MS) == 1 &&
	       read(r->sync, &byte, 1) == 1;
}

static inline bool
rig_swap_macs(struct rig *r)
{
	return send(r->sync, r->port.mac, 6, MSG_NOSIGNAL) == 6 &&
	       recv(r->sync, r->peer_mac, 6, MSG_WAITALL) == 6;
}

/* Until the link is up, polling as a core does. */
static inline bool
rig_link(struct rig *r)
{
	uint64_t end = rig_ms() + RIG_WAIT_MS;
	struct rte_mbuf *m;

	while (!r->port.drv->link_up(&r->port)) {
		if (port_rx(&r->port, 0, &m, 1))
			rte_pktmbuf_free(m);
		if (rig_ms() > end)
			return false;
		rig_nap(1);
	}
	return true;
}

static inline uint8_t
rig_byte(int side, uint32_t seq, uint32_t at)
{
	return (uint8_t)(side * 101 + seq * 7 + at * 13 + (at >> 8));
}

/* Frame `seq` of `len` bytes from `side`. */
static inline void
rig_fill(uint8_t *f, const uint8_t dst[6], const uint8_t src[6], int side, uint32_t seq, uint32_t len)
{
	memcpy(f, dst, 6);
	memcpy(f + 6, src, 6);
	f[12] = RIG_TYPE >> 8;
	f[13] = RIG_TYPE & 0xff;
	memcpy(f + 14, &seq, 4);
	for (uint32_t i = 18; i < len; i++)
		f[i] = rig_byte(side, seq, i);
}

/* NULL: without memory. */
static inline struct rte_mbuf *
rig_frame(struct rig *r, const uint8_t dst[6], uint32_t seq, uint32_t len)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(r->port.pool);

	if (!m)
		return NULL;
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	rig_fill(rte_pktmbuf_mtod(m, uint8_t *), dst, r->port.mac, r->side, seq, len);
	return m;
}

/* Not ours, right, or wrong. */
static inline int
rig_judge(const struct rig *r, const struct rte_mbuf *m, int from, uint32_t seq, uint32_t len)
{
	const uint8_t *f = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t got;

	if (m->data_len < 18 || f[12] != RIG_TYPE >> 8 || f[13] != (RIG_TYPE & 0xff))
		return 0;
	memcpy(&got, f + 14, 4);
	if (m->nb_segs != 1 || got != seq || m->data_len != len || m->pkt_len != len)
		return -1;
	for (uint32_t i = 18; i < len; i++)
		if (f[i] != rig_byte(from, seq, i))
			return -1;
	return memcmp(f, r->port.mac, 6) == 0 && memcmp(f + 6, r->peer_mac, 6) == 0 ? 1 : -1;
}

/* Sends `n` frames of `len` bytes and receives as many of the peer's, all of them right and in
 * order. */
static inline bool
rig_exchange(struct rig *r, uint32_t n, uint32_t len)
{
	uint64_t end = rig_ms() + RIG_WAIT_MS;
	uint32_t sent = 0, got = 0;

	while (sent < n || got < n) {
		struct rte_mbuf *bufs[RIG_BURST];
		uint16_t k = 0, done;

		/* no more than a few bursts ahead of the peer: nothing here has flow control */
		while (k < RIG_BURST && sent + k < n && sent + k < got + 2 * RIG_BURST) {
			bufs[k] = rig_frame(r, r->peer_mac, sent + k, len);
			if (!bufs[k])
				return false;
			k++;
		}
		done = port_tx(&r->port, 0, bufs, k);
		rte_pktmbuf_free_bulk(bufs + done, k - done);
		sent += done;
		k = port_rx(&r->port, 0, bufs, RIG_BURST);
		for (uint16_t i = 0; i < k; i++) {
			int is = rig_judge(r, bufs[i], 1 - r->side, got, len);

			if (is < 0)
				printf("side %d: frame %u of %u bytes is wrong\n", r->side, got, len);
			if (is < 0)
				return false;
			got += (uint32_t)is;
		}
		rte_pktmbuf_free_bulk(bufs, k);
		if (rig_ms() > end) {
			printf("side %d: %u of %u sent, %u received\n", r->side, sent, n, got);
			return false;
		}
	}
	return true;
}

/* Sends `n` frames whether anybody takes them or not. */
static inline bool
rig_speak(struct rig *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *m = rig_frame(r, r->peer_mac, i, 1500);

		if (!m || port_tx(&r->port, 0, &m, 1) != 1)
			return false;
	}
	return true;
}

/* Waits until the link is down, and looks only then for what rig_speak() sent. */
static inline bool
rig_listen_late(struct rig *r, uint32_t n)
{
	uint64_t end = rig_ms() + RIG_WAIT_MS;
	uint32_t got = 0;

	while (r->port.drv->link_up(&r->port) && rig_ms() < end)
		rig_nap(1);
	for (; got < n; got++) {
		struct rte_mbuf *m;
		int is;

		if (port_rx(&r->port, 0, &m, 1) != 1)
			break;
		is = rig_judge(r, m, 1 - r->side, got, 1500);
		rte_pktmbuf_free(m);
		if (is != 1)
			break;
	}
	if (got != n)
		printf("side %d: %u of %u frames of a peer that is gone\n", r->side, got, n);
	return got == n;
}

/* Every buffer is back in the pool but those that the device itself holds. */
static inline unsigned int
rig_in_use(const struct rig *r)
{
	return rte_mempool_in_use_count(r->port.pool);
}

/* Forks. The child dies with its parent and its exit status is fn's. */
static inline pid_t
rig_fork(int (*fn)(struct rig *r), int side, int sync)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct rig *r = calloc(1, sizeof(*r));

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(300);
		if (!r)
			_exit(1);
		r->side = side;
		r->sync = sync;
		exit(fn(r));
	}
	return pid;
}

/* The exit status, or 128 and the signal. */
static inline int
rig_join(pid_t pid)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 255;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline int
rig_alone(int (*fn)(struct rig *r))
{
	return rig_join(rig_fork(fn, 0, -1));
}

/* Two processes; 0 when both say 0. */
static inline int
rig_pair(int (*fn0)(struct rig *r), int (*fn1)(struct rig *r))
{
	int sv[2], a, b;
	pid_t p0, p1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) != 0)
		return 255;
	p0 = rig_fork(fn0, 0, sv[0]);
	p1 = rig_fork(fn1, 1, sv[1]);
	close(sv[0]);
	close(sv[1]);
	a = rig_join(p0);
	b = rig_join(p1);
	if (a || b)
		printf("the ends say %d and %d\n", a, b);
	return a ? a : b;
}

/* One end, of this side, dies by SIGKILL or ends well; 0 when the other says 0. */
static inline int
rig_outlive(int (*dies)(struct rig *r), int side, int (*stays)(struct rig *r))
{
	int sv[2], dead, alive;
	pid_t p0, p1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) != 0)
		return 255;
	p0 = rig_fork(stays, 1 - side, sv[0]);
	p1 = rig_fork(dies, side, sv[1]);
	close(sv[0]);
	close(sv[1]);
	dead = rig_join(p1);
	alive = rig_join(p0);
	return dead == 0 || dead == 128 + SIGKILL ? alive : dead;
}

/* In a child: says where, and 1. */
#define RIG_CHECK(cond) \
	do { \
		if (!(cond)) { \
			printf("%s:%d: side %d: failed: %s (%s)\n", __FILE__, __LINE__, r->side, #cond, \
			       r->why); \
			return 1; \
		} \
	} while (0)

#endif

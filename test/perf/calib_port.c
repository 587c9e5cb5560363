/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast does DPDK itself move frames between two processes over a port of this kind? Bursts and one
 * queue each way, as Pollux uses the port, but nothing else: no protocol, no ICRC. Called by calib's
 * main() in each of the two processes.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pause.h>

#include "calib.h"

#define FRAME 4154u		/* WRITE_ONLY or MIDDLE of 4096 bytes over IPv4, about */
#define PING 82u		/* WRITE_ONLY of 8 bytes */
#define ROOM 4352u		/* as Pollux has with its usual MTU */
#define ROOM_AF_PACKET 16384u	/* its ring's slots must fit */
#define MBUFS 3072u
#define RING 1024u
#define BURST 32u
#define TYPE_AT 12u
#define ETHER_TYPE 0xb588u	/* 0x88b5 in network order: for local experiments */
#define HEAD 14u
#define LINK_WAIT_NS 5000000000ull
#define PEER_WAIT_NS 10000000000ull
#define SILENCE_NS 300000000ull	/* after which the peer is done */
#define WARM_NS 200000000ull	/* the first lap of a ring in shared memory is one of page faults */
#define HOLD_US 600000u		/* a port that still polls while the other closes may not survive it */

struct calib_port {
	uint16_t id;
	struct rte_mempool *pool;
};

static int
start_eal(const struct calib_conf *c)
{
	char lcores[32], vdev[512];
	char *argv[] = {
		(char *)(uintptr_t)"calib", lcores, vdev, (char *)(uintptr_t)"--no-pci",
		(char *)(uintptr_t)"--no-telemetry", (char *)(uintptr_t)"--iova-mode=va",
		(char *)(uintptr_t)"--single-file-segments", (char *)(uintptr_t)"--log-level=3",
		(char *)(uintptr_t)(c->huge ? "--in-memory" : "--no-huge"),
		(char *)(uintptr_t)"-m", (char *)(uintptr_t)"192",
		(char *)(uintptr_t)"--no-shconf", NULL,
	};

	signal(SIGPIPE, SIG_IGN);	/* a vhost peer that is done */
	snprintf(lcores, sizeof(lcores), "--lcores=0@%d", c->cpu[0]);
	snprintf(vdev, sizeof(vdev), "--vdev=%s", c->vdev);
	return rte_eal_init(c->huge ? 11 : 12, argv);
}

static bool
wait_for_link(uint16_t id)
{
	uint64_t begin = now_ns();
	struct rte_eth_link link;

	do {
		if (rte_eth_link_get_nowait(id, &link) == 0 && link.link_status)
			return true;
	} while (now_ns() - begin < LINK_WAIT_NS);
	return false;
}

static int
open_port(const struct calib_conf *c, struct calib_port *p)
{
	struct rte_eth_conf eth = { 0 };
	bool af_packet = !strncmp(c->vdev, "net_af_packet", strlen("net_af_packet"));
	uint16_t rx = RING, tx = RING;

	if (start_eal(c) < 0 || !rte_eth_dev_count_avail()) {
		fprintf(stderr, "calib: DPDK has no port %s\n", c->vdev);
		return -1;
	}
	p->id = (uint16_t)rte_eth_find_next(0);
	p->pool = rte_pktmbuf_pool_create("frames", MBUFS, 256, 0, RTE_PKTMBUF_HEADROOM +
					  (af_packet ? ROOM_AF_PACKET : ROOM), -1);
	if (!p->pool || rte_eth_dev_configure(p->id, 1, 1, &eth) ||
	    rte_eth_dev_adjust_nb_rx_tx_desc(p->id, &rx, &tx) ||
	    rte_eth_rx_queue_setup(p->id, 0, rx, 0, NULL, p->pool) ||
	    rte_eth_tx_queue_setup(p->id, 0, tx, 0, NULL)) {
		fprintf(stderr, "calib: %s cannot be set up\n", c->vdev);
		return -1;
	}
	if (c->size > 1518)
		(void)rte_eth_dev_set_mtu(p->id, (uint16_t)(c->size - HEAD));	/* those that ask */
	if (rte_eth_dev_start(p->id) || !wait_for_link(p->id)) {
		fprintf(stderr, "calib: %s gets no link\n", c->vdev);
		return -1;
	}
	(void)rte_eth_promiscuous_enable(p->id);
	return 0;
}

static void
close_port(struct calib_port *p)
{
	rte_eth_dev_stop(p->id);
	rte_eth_dev_close(p->id);
	rte_eal_cleanup();
}

static bool
is_ours(const struct rte_mbuf *m)
{
	uint16_t type;

	memcpy(&type, rte_pktmbuf_mtod_offset(m, const uint8_t *, TYPE_AT), 2);
	return type == ETHER_TYPE;
}

/* All of it written: what an application's bytes cost that a port gets. */
static struct rte_mbuf *
make_frame(struct calib_port *p, uint32_t size, uint64_t n)
{
	static const uint16_t type = ETHER_TYPE;
	struct rte_mbuf *m = rte_pktmbuf_alloc(p->pool);
	uint8_t *at;

	if (!m)
		return NULL;
	at = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)size);
	memset(at, 2, HEAD);
	memcpy(at + TYPE_AT, &type, 2);
	memset(at + HEAD, (int)n, size - HEAD);
	return m;
}

static uint64_t
read_frame(const struct rte_mbuf *m)
{
	const uint8_t *at = rte_pktmbuf_mtod(m, const uint8_t *);
	uint64_t sum = 0, w;

	for (uint32_t i = 0; i + 8 <= m->data_len; i += 8) {
		memcpy(&w, at + i, 8);
		sum += w;
	}
	return sum;
}

static void
send_all(struct calib_port *p, struct rte_mbuf **m, uint32_t n, uint64_t end)
{
	uint32_t sent = 0;

	while (sent < n && now_ns() < end)
		sent += rte_eth_tx_burst(p->id, 0, m + sent, (uint16_t)(n - sent));
	rte_pktmbuf_free_bulk(m + sent, n - sent);
}

int
calib_send(const struct calib_conf *c)
{
	uint32_t size = c->size ? c->size : FRAME;
	struct rte_mbuf *m[BURST];
	struct calib_port p;
	uint64_t end, n = 0;

	if (open_port(c, &p))
		return 1;
	end = now_ns() + c->duration_ns;
	while (now_ns() < end) {
		uint32_t k = 0;

		while (k < BURST && (m[k] = make_frame(&p, size, n)))
			k++, n++;
		send_all(&p, m, k, end);
	}
	usleep(HOLD_US);
	close_port(&p);
	return 0;
}

int
calib_receive(const struct calib_conf *c)
{
	static struct meter m;
	uint64_t last, now, bytes = 0, frames = 0, sum = 0;
	bool small = c->size && c->size < 1024;
	struct rte_mbuf *got[BURST];
	struct calib_port p;

	if (open_port(c, &p))
		return 1;
	for (last = now = now_ns(); now - last < (frames ? SILENCE_NS : PEER_WAIT_NS); now = now_ns()) {
		uint16_t k = rte_eth_rx_burst(p.id, 0, got, BURST);

		for (uint16_t i = 0; i < k; i++) {
			if (is_ours(got[i])) {
				sum += read_frame(got[i]);
				bytes += got[i]->pkt_len;
				frames++;
				last = now;
			}
			rte_pktmbuf_free(got[i]);
		}
		if (frames && now - last < WINDOW_NS)
			meter_tick(&m, now, small ? frames : bytes);
	}
	close_port(&p);
	if (small)
		meter_print(&m, "port_rate", "M/s", 1e3);
	else
		meter_print(&m, "port", "Gb/s", 8);
	return sum == 1 || !frames;
}

/* Waits until one frame of ours has come: its buffer, or NULL when nothing did for so long. */
static struct rte_mbuf *
wait_frame(struct calib_port *p, uint64_t patience)
{
	uint64_t begin = now_ns();
	struct rte_mbuf *m;

	do {
		if (!rte_eth_rx_burst(p->id, 0, &m, 1))
			continue;
		if (is_ours(m))
			return m;
		rte_pktmbuf_free(m);
	} while (now_ns() - begin < patience);
	return NULL;
}

int
calib_ping(const struct calib_conf *c)
{
	static struct meter m;
	static struct sampler s;
	static struct histogram h;
	uint32_t size = c->size ? c->size : PING;
	struct rte_mbuf *f = NULL;
	struct calib_port p;
	uint64_t end, warm, now;

	if (open_port(c, &p))
		return 1;
	histogram_reset(&h);
	now = now_ns();
	sampler_begin(&s, now + WARM_NS);
	m.usage = stats_usage();
	warm = now + WARM_NS;
	for (end = warm + c->duration_ns; now < end;) {
		uint64_t begin = now;

		if (f || (f = make_frame(&p, size, 0)))
			send_all(&p, &f, 1, end);
		f = wait_frame(&p, SILENCE_NS / 4);	/* the peer may not be there yet */
		now = now_ns();
		if (begin < warm)
			continue;
		if (f)
			sampler_add(&s, &h, &m.w, now - begin, now);
		m.gaps += now - begin > METER_GAP_NS;
		if (now - begin > m.longest_gap)
			m.longest_gap = now - begin;
	}
	meter_print_latency(&m, "port_latency");
	usleep(HOLD_US);
	close_port(&p);
	return !h.count;
}

int
calib_pong(const struct calib_conf *c)
{
	uint64_t patience = PEER_WAIT_NS;
	struct calib_port p;
	struct rte_mbuf *m;

	if (open_port(c, &p))
		return 1;
	while ((m = wait_frame(&p, patience))) {
		(void)read_frame(m);
		send_all(&p, &m, 1, UINT64_MAX);
		patience = SILENCE_NS;
	}
	close_port(&p);
	return 0;
}

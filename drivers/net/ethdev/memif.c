/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memif: shared memory between two processes of one machine, found by a socket. Which end makes
 * the socket (server) and which calls (client), and what DPDK is told of it. Control thread, but the
 * bursts.
 *
 * One frame always fits one buffer: DPDK's memif has faults with chains of them.
 *
 * DPDK's client calls once, when it is started. So that either end may come first, or again, a timer
 * on EAL's interrupt thread, where memif also hangs up, looks at the link and tells the core to call;
 * the core calls between two bursts, for none may run meanwhile.
 */
#include <stdio.h>
#include <string.h>

#include <rte_alarm.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_log.h>

#include "ethdev.h"
#include "intr_mend.h"
#include "last.h"
#include "memif_mend.h"

#define MEMIF_CHECK_US 20000u	/* between two looks at a link that is down */
#define MEMIF_CHECK_UP_US 200000u
#define MEMIF_LEND_US 50000u	/* memory that was lent stays for so long after the end */
#define MEMIF_PATIENCE 50u	/* looks until a call that was taken but not answered is repeated */
#define MEMIF_NAME "net_memif0"
#define MEMIF_RING_LOG2 10u
#define MEMIF_RING (1u << MEMIF_RING_LOG2)
#define MEMIF_BUF_MIN 4352u
/* Zero-copy keeps both rings full of buffers; the core and its cache hold the rest. */
#define MEMIF_MBUFS (2 * MEMIF_RING + 1024u)

/* Room for a frame in whole cache lines. The same on both sides, for the client makes the memory. */
static uint32_t
buf_size(uint32_t ip_mtu)
{
	uint32_t size = (ip_mtu + PORT_L2_LEN + 127) & ~127u;

	return size < MEMIF_BUF_MIN ? MEMIF_BUF_MIN : size;
}

static uint32_t
mtu_of(const struct port_conf *conf)
{
	return conf->ip_mtu ? conf->ip_mtu : PORT_MTU_DEFAULT;
}

static int
write_devargs(const struct port_conf *conf, const struct port_memif *m, char *out, size_t len)
{
	uint8_t mac[6];
	int n;

	/* DPDK's own choice would be the same one in every process */
	ethdev_choose_mac(mac, conf->mac);
	n = snprintf(out, len, MEMIF_NAME ",role=%s,id=0,socket=%s,socket-abstract=%s,bsize=%u,"
		     "rsize=%u,mac=%02x:%02x:%02x:%02x:%02x:%02x%s", m->server ? "server" : "client",
		     m->socket, m->abstract ? "yes" : "no", buf_size(mtu_of(conf)), MEMIF_RING_LOG2,
		     mac[0], mac[1], mac[2], mac[3], mac[4], mac[5],
		     m->zero_copy ? ",zero-copy=yes" : "");
	return n < (int)len ? 0 : -ENAMETOOLONG;
}

static int
prepare(const struct port_conf *conf, char *devargs, size_t len, char *why, size_t why_len)
{
	struct port_memif m;
	int ret = port_memif_parse(conf->args, &m, why, why_len);

	if (ret != 0)
		return ret;
	ret = write_devargs(conf, &m, devargs, len);
	if (ret != 0) {
		snprintf(why, why_len, "memif: socket name too long");
		return ret;
	}
	if (m.abstract)
		return 0;
	return m.server ? sock_clear("memif", m.socket, why, why_len) :
			  sock_check("memif", m.socket, false, why, why_len);
}

static int
memif_eal_args(const struct port_conf *conf, char *out, size_t out_len, char *why, size_t why_len)
{
	const size_t lead = sizeof(ETHDEV_ARG) - 1;

	if (out_len <= lead)
		return -EINVAL;
	memcpy(out, ETHDEV_ARG, lead);
	return prepare(conf, out + lead, out_len - lead, why, why_len);
}

/* Interrupt thread. */
static void
check_link(void *arg)
{
	struct port *p = arg;
	struct ethdev *e = p->priv;
	uint8_t patience = __atomic_load_n(&e->patience, __ATOMIC_RELAXED);
	bool up = ethdev_link_up(p);

	if (up)
		__atomic_store_n(&e->patience, 0, __ATOMIC_RELAXED);
	else if (patience)
		__atomic_store_n(&e->patience, patience - 1, __ATOMIC_RELAXED);
	else
		__atomic_store_n(&e->retry, 1, __ATOMIC_RELEASE);
	rte_eal_alarm_set(up ? MEMIF_CHECK_UP_US : MEMIF_CHECK_US, check_link, p);
}

/* Starts the device without a word of DPDK's about who does not answer yet. */
static bool
start_quietly(uint16_t port_id)
{
	int type = rte_log_register("pmd.net.memif");
	int level = type < 0 ? -1 : rte_log_get_level((uint32_t)type);
	bool started;

	if (level >= 0)
		rte_log_set_level((uint32_t)type, RTE_LOG_EMERG);
	started = rte_eth_dev_start(port_id) == 0;
	if (level >= 0)
		rte_log_set_level((uint32_t)type, (uint32_t)level);
	return started;
}

/* Owning core, between bursts. */
static void
call(struct ethdev *e)
{
	__atomic_store_n(&e->retry, 0, __ATOMIC_RELAXED);
	intr_lock();
	if (e->running)
		rte_eth_dev_stop(e->port_id);
	e->running = start_quietly(e->port_id);
	intr_unlock();
	__atomic_store_n(&e->patience, e->running ? MEMIF_PATIENCE : 0, __ATOMIC_RELAXED);
}

static uint16_t
memif_rx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	struct ethdev *e = p->priv;

	if (__builtin_expect(__atomic_load_n(&e->retry, __ATOMIC_ACQUIRE), 0))
		call(e);
	return __builtin_expect(e->running || last_waits(), 1) ? last_rx(queue, bufs, n) : 0;
}

static uint16_t
memif_tx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	struct ethdev *e = p->priv;

	/* DPDK's memif looks at the first frame before it counts them */
	if (__builtin_expect(!e->running || n == 0 || !last_burst_begin(), 0))
		return 0;
	n = rte_eth_tx_burst(e->port_id, queue, bufs, n);
	last_burst_end();
	return n;
}

static int
memif_open(struct port *p, const struct port_conf *conf, char *why, size_t why_len)
{
	char devargs[512] = MEMIF_NAME;
	struct ethdev_conf eth = {
		.devargs = devargs,
		.ip_mtu = mtu_of(conf),
		.room = buf_size(mtu_of(conf)),
		.rx_ring = MEMIF_RING,
		.tx_ring = MEMIF_RING,
		.num_mbufs = MEMIF_MBUFS + conf->more_mbufs,
		.has_peer = true,
	};
	struct port_memif m;
	int ret = port_memif_parse(conf->args, &m, why, why_len);

	if (ret == 0 && !ethdev_exists(devargs))
		ret = prepare(conf, devargs, sizeof(devargs), why, why_len);
	eth.later = !m.server;
	if (ret == 0)
		ret = ethdev_open(p, &eth, why, why_len);
	if (ret != 0)
		return ret;
	((struct ethdev *)p->priv)->lends = m.zero_copy;
	memif_hear(true);
	if (eth.later)
		check_link(p);
	return 0;
}

static void
memif_close(struct port *p)
{
	struct ethdev *e = p->priv;

	(void)rte_eal_alarm_cancel(check_link, p); /* waits for one that runs */
	memif_hear(false);
	ethdev_halt(e);
	/* the peer, who has just heard of it, takes out what it has not read: nobody says when it is done */
	if (e->lends)
		rte_delay_us_sleep(MEMIF_LEND_US);
	ethdev_close(p);
}

const struct port_driver drv_memif = {
	.name = "memif",
	.open = memif_open,
	.close = memif_close,
	.rx = memif_rx,
	.tx = memif_tx,
	.link_up = ethdev_link_up,
	.wait_fd = ethdev_wait_fd,
	.wait_clear = ethdev_wait_clear,
	.due = ethdev_due,
	.eal_args = memif_eal_args,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How do frames reach a device that DPDK drives? One queue pair, whole frames in one segment, no
 * offloads. memif.c, af_packet.c and vdev.c say which device. Burst functions run on the owning
 * core, the rest on the control thread.
 */
#include "ethdev.h"

#include <errno.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_ethdev.h>

#include "base/random.h"
#include "intr_mend.h"
#include "last.h"

#define ETHDEV_OWN_HEADER 12u

uint16_t
ethdev_rx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	const struct ethdev *e = p->priv;

	return rte_eth_rx_burst(e->port_id, queue, bufs, n);
}

void
ethdev_tx_clean(struct port *p, uint16_t queue)
{
	const struct ethdev *e = p->priv;

	(void)rte_eth_tx_done_cleanup(e->port_id, queue, 0);
}

uint16_t
ethdev_tx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	const struct ethdev *e = p->priv;

	return rte_eth_tx_burst(e->port_id, queue, bufs, n);
}

bool
ethdev_link_up(struct port *p)
{
	struct ethdev *e = p->priv;
	struct rte_eth_link link = { 0 };
	int ret;

	rte_spinlock_lock(&e->link_look);
	ret = rte_eth_link_get_nowait(e->port_id, &link);
	rte_spinlock_unlock(&e->link_look);
	return ret == 0 && link.link_status == RTE_ETH_LINK_UP;
}

/* The socket is asked about the interface, and as long as it is open the interface brings frames to all
 * groups (for neighbour discovery, and for those that QPs are attached to). It receives nothing itself. */
int
ethdev_set_iface(struct port *p, const char *name)
{
	struct packet_mreq groups = { .mr_type = PACKET_MR_ALLMULTI };
	struct ethdev *e = p->priv;

	snprintf(e->iface, sizeof(e->iface), "%s", name);
	p->carrier = true;
	e->iface_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (e->iface_fd < 0)
		return -errno;
	groups.mr_ifindex = (int)if_nametoindex(name);
	(void)setsockopt(e->iface_fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &groups, sizeof(groups));
	return 0;
}

bool
ethdev_carrier(struct port *p)
{
	const struct ethdev *e = p->priv;
	struct ifreq r;

	memset(&r, 0, sizeof(r));
	memcpy(r.ifr_name, e->iface, sizeof(e->iface));
	return ioctl(e->iface_fd, SIOCGIFFLAGS, &r) == 0 && (r.ifr_flags & IFF_RUNNING);
}

int
ethdev_wait_fd(struct port *p)
{
	return ((const struct ethdev *)p->priv)->bell_fd;
}

void
ethdev_wait_clear(struct port *p)
{
	const struct ethdev *e = p->priv;

	if (e->bell_fd >= 0)
		bell_clear(e->bell_fd);
}

/* A device without a link has nobody who could ring. */
bool
ethdev_wait_arm(struct port *p, bool on)
{
	const struct ethdev *e = p->priv;

	if (!e->bell_is_dpdks)
		return false;
	if (!on)
		return rte_eth_dev_rx_intr_disable(e->port_id, 0) == 0;
	return rte_eth_dev_rx_intr_enable(e->port_id, 0) == 0 && ethdev_link_up(p);
}

uint64_t
ethdev_due(struct port *p)
{
	(void)p;
	return last_waits() ? 0 : UINT64_MAX;
}

bool
ethdev_mac_given(const uint8_t mac[6])
{
	static const uint8_t none[6];

	return memcmp(mac, none, 6) != 0;
}

void
ethdev_choose_mac(uint8_t mac[6], const uint8_t given[6])
{
	if (ethdev_mac_given(given)) {
		memcpy(mac, given, 6);
		return;
	}
	random_bytes(mac, 6);
	mac[0] = (uint8_t)((mac[0] | 2) & ~1u);
}

/* The name is what stands before the first comma. */
static int
find_port(const char *devargs, uint16_t *port_id)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	size_t len = strcspn(devargs, ",");

	if (len >= sizeof(name))
		return -ENAMETOOLONG;
	memcpy(name, devargs, len);
	name[len] = '\0';
	return rte_eth_dev_get_port_by_name(name, port_id);
}

bool
ethdev_exists(const char *devargs)
{
	uint16_t port_id;

	return find_port(devargs, &port_id) == 0;
}

static int
fail(char *why, size_t why_len, const struct port *p, const char *what, int err)
{
	snprintf(why, why_len, "port %s: %s: %s", p->name, what, strerror(-err));
	return err;
}

/*
 * Drivers of DPDK's that read what is to be sent with the CPU, in the call that takes it: any memory of
 * the process will do. Others give addresses to a device or to another process, which know DPDK's
 * memory alone; or send the first segment only (memif, af_packet, af_xdp).
 */
static bool
gathers(const struct rte_eth_dev_info *info)
{
	static const char *const readers[] = { "net_vhost" };

	if (!(info->tx_offload_capa & RTE_ETH_TX_OFFLOAD_MULTI_SEGS))
		return false;
	for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (strcmp(info->driver_name, readers[i]) == 0)
			return true;
	return false;
}

/* The device made for EAL's start, or made now when EAL ran already. */
static int
get_port(struct port *p, const char *devargs, struct ethdev *e, char *why, size_t why_len)
{
	struct rte_eth_dev_info info;
	int ret = 0;

	if (!ethdev_exists(devargs))
		ret = rte_dev_probe(devargs);
	if (ret == 0)
		ret = find_port(devargs, &e->port_id);
	if (ret == 0)
		ret = rte_eth_dev_info_get(e->port_id, &info);
	if (ret != 0)
		return fail(why, why_len, p, "DPDK has no such device, or cannot make it", ret);
	e->dev = info.device;
	p->gathers = gathers(&info);
	return 0;
}

/* The MTU is configuration, and what passes. */
static void
choose_mtu(struct port *p, const struct ethdev_conf *conf, uint16_t port_id)
{
	uint16_t mtu = 0;

	p->ip_mtu = conf->ip_mtu;
	if (!p->ip_mtu && rte_eth_dev_get_mtu(port_id, &mtu) == 0)
		p->ip_mtu = mtu;
	if (p->ip_mtu < PORT_MTU_MIN || p->ip_mtu > PORT_MTU_MAX)
		p->ip_mtu = RTE_ETHER_MTU;
	p->max_frame = p->ip_mtu + PORT_L2_LEN;
}

/* A device that can have a larger MTU must be told before it starts. memif and af_packet report 1518
 * bytes at most, and carry what their buffers hold without being told. */
static void
tell_mtu(const struct port *p, uint16_t port_id)
{
	struct rte_eth_dev_info info;

	if (p->ip_mtu > RTE_ETHER_MTU && rte_eth_dev_info_get(port_id, &info) == 0 &&
	    info.max_rx_pktlen >= p->max_frame && info.max_mtu >= p->ip_mtu)
		(void)rte_eth_dev_set_mtu(port_id, (uint16_t)p->ip_mtu);
}

static int
setup_queues(struct port *p, const struct ethdev_conf *conf, uint16_t port_id)
{
	struct rte_eth_conf eth = { .intr_conf.rxq = conf->rx_intr };
	uint16_t rx = conf->rx_ring, tx = conf->tx_ring;
	unsigned int node = p->numa < 0 ? (unsigned int)SOCKET_ID_ANY : (unsigned int)p->numa;
	int ret;

	if (p->gathers)
		eth.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
	ret = rte_eth_dev_configure(port_id, 1, 1, &eth);
	if (ret == 0)
		ret = rte_eth_dev_adjust_nb_rx_tx_desc(port_id, &rx, &tx);
	if (ret == 0)
		ret = rte_eth_rx_queue_setup(port_id, 0, rx, node, NULL, p->pool);
	if (ret == 0)
		ret = rte_eth_tx_queue_setup(port_id, 0, tx, node, NULL);
	if (ret == 0 && !conf->keep_mtu)
		tell_mtu(p, port_id);
	if (ret == 0 && conf->foreign)
		(void)rte_eth_promiscuous_enable(port_id);
	/* devices that cannot be told take all of them anyhow; what nobody is attached to is dropped above */
	if (ret == 0)
		(void)rte_eth_allmulticast_enable(port_id);
	return ret;
}

static int
start(struct port *p, const struct ethdev_conf *conf, struct ethdev *e)
{
	int ret = setup_queues(p, conf, e->port_id);

	if (ret != 0 || conf->later)
		return ret;
	ret = rte_eth_dev_start(e->port_id);
	e->running = ret == 0;
	if (ret == 0 && conf->rx_intr) {
		e->bell_fd = rte_eth_dev_rx_intr_ctl_q_get_fd(e->port_id, 0);
		e->bell_is_dpdks = e->bell_fd >= 0;
	}
	return ret;
}

/*
 * virtio puts up to 12 bytes of its own in front of a frame. Cards round a buffer down to a power of
 * two, and cut a frame that then does not fit in pieces, which would have to be put together again.
 */
static uint32_t
room_of(const struct port *p, const struct ethdev_conf *conf)
{
	uint32_t room = conf->room ? conf->room : p->max_frame + ETHDEV_OWN_HEADER;

	return conf->round_room ? rte_align32pow2(room) : room;
}

static int
make_pool(struct port *p, const struct ethdev_conf *conf, char *why, size_t why_len)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	uint32_t room = room_of(p, conf);
	size_t len = strcspn(conf->devargs, ",");

	snprintf(name, sizeof(name), "plx_%.*s", (int)len, conf->devargs);
	p->pool = port_pool_new(name, conf->num_mbufs, room, p->numa);
	if (p->pool)
		return 0;
	snprintf(why, why_len, "port %s: no memory for %u buffers of %u bytes: give DPDK more",
		 p->name, conf->num_mbufs, room);
	return -ENOMEM;
}

static void
stop_device(void *arg)
{
	struct ethdev *e = arg;

	if (e->running)
		rte_eth_dev_stop(e->port_id);
	e->running = false;
}

static void
close_device(void *arg)
{
	const struct ethdev *e = arg;

	rte_eth_dev_close(e->port_id);
}

/* DPDK takes leave of a peer that may be gone, by a write that then would end the program. */
static void
without_pipe_signal(void (*fn)(void *arg), struct ethdev *e)
{
	static const struct timespec none;
	sigset_t pipe, before, waiting;

	sigemptyset(&pipe);
	sigaddset(&pipe, SIGPIPE);
	sigpending(&waiting);
	pthread_sigmask(SIG_BLOCK, &pipe, &before);
	fn(e);
	if (!sigismember(&waiting, SIGPIPE))
		while (sigtimedwait(&pipe, NULL, &none) < 0 && errno == EINTR)
			;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void
stop_quietly(void *arg)
{
	without_pipe_signal(stop_device, arg);
}

static void
close_quietly(void *arg)
{
	without_pipe_signal(close_device, arg);
}

/*
 * The peer may hang up at the same moment, which DPDK notices on the interrupt thread: two that hang up
 * free things twice. So ours is done there too. In two steps: what a look at the link put off before
 * the device stopped still needs it, and is done between them.
 */
void
ethdev_halt(struct ethdev *e)
{
	if (e->halted)
		return;
	e->halted = true;
	if (e->has_peer) {
		intr_call(stop_quietly, e);
		intr_call(close_quietly, e);
		last_close();
	} else {
		stop_device(e);
		close_device(e);
	}
}

int
ethdev_open(struct port *p, const struct ethdev_conf *conf, char *why, size_t why_len)
{
	struct ethdev *e = calloc(1, sizeof(*e));
	struct rte_ether_addr mac;
	int ret;

	if (!e)
		return fail(why, why_len, p, "opening", -ENOMEM);
	e->bell_fd = e->claim_fd = e->iface_fd = -1;
	e->has_peer = conf->has_peer;
	ret = get_port(p, conf->devargs, e, why, why_len);
	if (ret != 0)
		goto free_priv;
	p->numa = rte_eth_dev_socket_id(e->port_id);
	choose_mtu(p, conf, e->port_id);
	ret = make_pool(p, conf, why, why_len);
	if (ret != 0)
		goto drop;
	if (e->has_peer)
		ret = last_open(e->port_id);
	if (ret == 0)
		ret = start(p, conf, e);
	if (ret != 0) {
		fail(why, why_len, p, "the device does not start", ret);
		goto free_pool;
	}
	if (rte_eth_macaddr_get(e->port_id, &mac) == 0)
		memcpy(p->mac, mac.addr_bytes, 6);
	p->priv = e;
	return 0;
free_pool:
	ethdev_halt(e);		/* it has buffers */
	rte_mempool_free(p->pool);
	p->pool = NULL;
drop:
	ethdev_halt(e);
	rte_dev_remove(e->dev);
free_priv:
	free(e);
	return ret;
}

void
ethdev_close(struct port *p)
{
	struct ethdev *e = p->priv;

	if (e->bell_fd >= 0 && !e->bell_is_dpdks)
		close(e->bell_fd);
	if (e->claim_fd >= 0)
		close(e->claim_fd);
	if (e->iface_fd >= 0)
		close(e->iface_fd);
	ethdev_halt(e);
	rte_dev_remove(e->dev);	/* so that a port of that name can be opened again */
	rte_mempool_free(p->pool);
	free(e);
	p->priv = NULL;
	p->pool = NULL;
}

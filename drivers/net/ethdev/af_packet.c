/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An Ethernet interface of the kernel, shared with it by packet sockets: slow, but every machine has
 * one. The kernel keeps the interface's MAC and addresses; the port has a MAC of its own, so the
 * kernel does not answer for it. Control thread, but the receive burst.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "ethdev.h"

#define AF_PACKET_NAME "net_af_packet0"
#define AF_PACKET_FRAMES 512u		/* slots of each ring, which the kernel allocates */
#define AF_PACKET_SLOT_MIN 2048u
#define AF_PACKET_SLOT_HEAD 128u	/* more than the kernel's header in front of a frame */
#define AF_PACKET_SLOTS_PER_BLOCK 4u
#define AF_PACKET_MBUFS 1024u		/* the rings are not made of them: only the core holds any */

/* A power of two with room for a frame and the kernel's header: 2048 for an MTU of 1500, 8192 for
 * 4200, 16384 for 9000. */
static uint32_t
slot_size(uint32_t ip_mtu)
{
	uint32_t size = AF_PACKET_SLOT_MIN;

	while (size < ip_mtu + PORT_L2_LEN + AF_PACKET_SLOT_HEAD)
		size *= 2;
	return size;
}

/* The interface's MTU, or the smaller one that was asked for. */
static int
choose_mtu(const struct port_conf *conf, const struct port_iface *iface, uint32_t *ip_mtu, char *why,
	   size_t why_len)
{
	*ip_mtu = conf->ip_mtu ? conf->ip_mtu : iface->mtu;
	if (*ip_mtu > iface->mtu) {
		snprintf(why, why_len, "MTU %u is more than the %u of interface \"%s\": `ip link set"
			 " %s mtu %u`", *ip_mtu, iface->mtu, conf->args, conf->args, *ip_mtu);
		return -EINVAL;
	}
	if (*ip_mtu > PORT_MTU_MAX)
		*ip_mtu = PORT_MTU_MAX;
	if (*ip_mtu < PORT_MTU_MIN) {
		snprintf(why, why_len, "interface \"%s\" has an MTU of %u: at least %u is needed",
			 conf->args, *ip_mtu, PORT_MTU_MIN);
		return -EINVAL;
	}
	return 0;
}

static int
query(const struct port_conf *conf, struct port_iface *iface, uint32_t *ip_mtu, char *why,
      size_t why_len)
{
	int ret = port_iface_query(conf->args, iface, why, why_len);

	return ret ? ret : choose_mtu(conf, iface, ip_mtu, why, why_len);
}

static int
write_devargs(const struct port_conf *conf, uint32_t ip_mtu, char *out, size_t len)
{
	uint32_t slot = slot_size(ip_mtu);
	int n = snprintf(out, len, AF_PACKET_NAME ",iface=%s,blocksz=%u,framesz=%u,framecnt=%u,"
			 "qdisc_bypass=1", conf->args, AF_PACKET_SLOTS_PER_BLOCK * slot, slot,
			 AF_PACKET_FRAMES);

	return n < (int)len ? 0 : -ENAMETOOLONG;
}

static int
check_permission(char *why, size_t why_len)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	int ret = fd < 0 ? -errno : 0;

	if (fd >= 0)
		close(fd);
	else
		snprintf(why, why_len, "af_packet: no packet socket: %s%s", strerror(-ret),
			 ret == -EPERM ? ": run as root, or give CAP_NET_RAW" : "");
	return ret;
}

/* Checks; the device is not made at EAL's start, for it must come after the bell. */
static int
af_packet_eal_args(const struct port_conf *conf, char *out, size_t out_len, char *why,
		   size_t why_len)
{
	struct port_iface iface;
	uint32_t ip_mtu;
	int ret = query(conf, &iface, &ip_mtu, why, why_len);

	if (out_len)
		out[0] = 0;
	return ret ? ret : check_permission(why, why_len);
}

/* The one that was asked for; or a locally administered one that is the same whenever the interface is,
 * and looks like no other interface's: FNV-1a of the interface's. */
static void
choose_mac(uint8_t mac[6], const struct port_conf *conf, const struct port_iface *iface)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	if (ethdev_mac_given(conf->mac)) {
		memcpy(mac, conf->mac, 6);
		return;
	}
	for (int i = 0; i < 6; i++)
		h = (h ^ iface->mac[i]) * UINT64_C(0x100000001b3);
	h ^= h >> 32;
	for (int i = 0; i < 6; i++)
		mac[i] = (uint8_t)(h >> (8 * i));
	mac[0] = (uint8_t)((mac[0] | 2) & ~1u);
}

/* Two ports with one MAC would each take the other's frames. The name is in the abstract namespace,
 * which a network namespace has of its own and which a dead process leaves empty. */
static int
claim(struct port *p, const struct port_iface *iface, const char *name, char *why, size_t why_len)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct ethdev *e = p->priv;
	const uint8_t *m = p->mac;
	int n = snprintf(un.sun_path + 1, sizeof(un.sun_path) - 1,
			 "pollux/af_packet/%d/%02x:%02x:%02x:%02x:%02x:%02x", iface->index, m[0], m[1], m[2],
			 m[3], m[4], m[5]);
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);

	e->claim_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (e->claim_fd >= 0 && bind(e->claim_fd, (const struct sockaddr *)&un, len) == 0)
		return 0;
	if (errno == EADDRINUSE)
		snprintf(why, why_len, "af_packet: another Pollux has %s with this MAC: end it, or give"
			 " this one another --mac", name);
	else
		snprintf(why, why_len, "af_packet: %s: %s", name, strerror(errno));
	return -EBUSY;
}

static int
open_device(struct port *p, const struct port_conf *conf, uint32_t ip_mtu, char *why, size_t why_len)
{
	char devargs[256];
	struct ethdev_conf eth = {
		.devargs = devargs,
		.ip_mtu = ip_mtu,
		.room = slot_size(ip_mtu),	/* a slot is copied into one buffer: DPDK checks it */
		.rx_ring = AF_PACKET_FRAMES,
		.tx_ring = AF_PACKET_FRAMES,
		.num_mbufs = AF_PACKET_MBUFS + conf->more_mbufs,
	};
	int ret = write_devargs(conf, ip_mtu, devargs, sizeof(devargs));

	if (ret != 0)
		return ret;
	ret = ethdev_open(p, &eth, why, why_len);
	if (ret == -EPERM) /* DPDK's word for its own failure; what the user may do was checked */
		snprintf(why, why_len, "af_packet: DPDK cannot open \"%s\". Its fanout group is named by"
			 " process and interface: if another such port runs in this network"
			 " namespace, start this one again", conf->args);
	return ret;
}

/*
 * The bell is opened before the device: the kernel gives a frame to the packet socket that came last
 * first, and whoever is woken must find the frame, or he sleeps again beside it.
 */
static int
af_packet_open(struct port *p, const struct port_conf *conf, char *why, size_t why_len)
{
	struct port_iface iface;
	uint32_t ip_mtu;
	uint8_t mac[6];
	int bell, ret = query(conf, &iface, &ip_mtu, why, why_len);

	if (ret != 0)
		return ret;
	choose_mac(mac, conf, &iface);
	bell = bell_open(iface.index, mac, why, why_len);
	if (bell < 0)
		return bell;
	ret = open_device(p, conf, ip_mtu, why, why_len);
	if (ret != 0) {
		close(bell);
		return ret;
	}
	((struct ethdev *)p->priv)->bell_fd = bell;
	memcpy(p->mac, mac, 6);
	ret = ethdev_set_iface(p, conf->args);
	if (ret == 0)
		ret = claim(p, &iface, conf->args, why, why_len);
	if (ret != 0)
		ethdev_close(p);
	return ret;
}

/* The kernel takes the VLAN tag out of a frame; it goes back to where the rest of us expects it. */
static uint16_t
af_packet_rx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	uint16_t got = ethdev_rx(p, queue, bufs, n);

	for (uint16_t i = 0; i < got; i++)
		if (__builtin_expect(!!(bufs[i]->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED), 0))
			(void)rte_vlan_insert(&bufs[i]);
	return got;
}

const struct port_driver drv_af_packet = {
	.name = "af_packet",
	.open = af_packet_open,
	.close = ethdev_close,
	.rx = af_packet_rx,
	.tx = ethdev_tx,
	.link_up = ethdev_carrier,
	.wait_fd = ethdev_wait_fd,
	.wait_clear = ethdev_wait_clear,
	.eal_args = af_packet_eal_args,
};

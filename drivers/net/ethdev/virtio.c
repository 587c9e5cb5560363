/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two ends of a vhost-user wire: "vhost" makes the socket and reads and writes the other's
 * memory, "virtio" calls and lends its memory; that one may also be a virtual machine. Which end may
 * sleep until frames come: both. Control thread, but what is called of a burst or a bell.
 *
 * The memory that is lent is all of EAL's, in one file for each kind of page
 * (--single-file-segments): the peer must be trusted with it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_eth_vhost.h>
#include <rte_ethdev.h>
#include <rte_vhost.h>

#include "ethdev.h"

#define VHOST_NAME "net_vhost0"
#define VIRTIO_NAME "net_virtio_user0"
#define VIRTIO_RING 1024u
/* The ring of received frames is full of them; what is sent is in the other ring. */
#define VIRTIO_MBUFS (2 * VIRTIO_RING + 1024u)

/* Weak: not there where DPDK's drivers are loaded at its start. Without it nobody can empty vhost's
 * bell, so there is none. */
int rte_eth_vhost_get_vid_from_port_id(uint16_t port_id) __attribute__((weak));

static uint32_t
mtu_of(const struct port_conf *conf)
{
	return conf->ip_mtu ? conf->ip_mtu : PORT_MTU_DEFAULT;
}

/* In front of it ETHDEV_ARG when there is no EAL yet. */
static int
vhost_devargs(const struct port_conf *conf, const char *lead, char *out, size_t len)
{
	int n = snprintf(out, len, "%s" VHOST_NAME ",iface=%s,queues=1", lead, conf->args);

	return n < (int)len ? 0 : -ENAMETOOLONG;
}

/* Packed and in order: one line of the ring for four frames, and none to search. */
static int
virtio_devargs(const struct port_conf *conf, const char *lead, char *out, size_t len)
{
	uint8_t mac[6];
	int n;

	ethdev_choose_mac(mac, conf->mac);
	n = snprintf(out, len, "%s" VIRTIO_NAME ",path=%s,queues=1,queue_size=%u,packed_vq=1,in_order=1,"
		     "mrg_rxbuf=1,mac=%02x:%02x:%02x:%02x:%02x:%02x", lead, conf->args, VIRTIO_RING,
		     mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	return n < (int)len ? 0 : -ENAMETOOLONG;
}

static int
vhost_eal_args(const struct port_conf *conf, char *out, size_t out_len, char *why, size_t why_len)
{
	int ret = sock_clear("vhost", conf->args, why, why_len);

	return ret ? ret : vhost_devargs(conf, ETHDEV_ARG, out, out_len);
}

static int
virtio_eal_args(const struct port_conf *conf, char *out, size_t out_len, char *why, size_t why_len)
{
	int ret = sock_check("virtio", conf->args, true, why, why_len);

	return ret ? ret : virtio_devargs(conf, ETHDEV_ARG, out, out_len);
}

static int
open_end(struct port *p, const struct port_conf *conf, char *devargs, bool bell, char *why,
	 size_t why_len)
{
	const struct ethdev_conf eth = {
		.devargs = devargs,
		.ip_mtu = mtu_of(conf),
		.rx_ring = VIRTIO_RING,
		.tx_ring = VIRTIO_RING,
		.num_mbufs = VIRTIO_MBUFS + conf->more_mbufs,
		.keep_mtu = true,
		.rx_intr = bell,
		.has_peer = true,
	};

	return ethdev_open(p, &eth, why, why_len);
}

static int
vhost_open(struct port *p, const struct port_conf *conf, char *why, size_t why_len)
{
	char devargs[256] = VHOST_NAME;
	int ret = 0;

	if (!ethdev_exists(devargs)) {
		ret = sock_clear("vhost", conf->args, why, why_len);
		if (ret == 0)
			ret = vhost_devargs(conf, "", devargs, sizeof(devargs));
	}
	if (ret == 0)
		ret = open_end(p, conf, devargs, rte_eth_vhost_get_vid_from_port_id != NULL, why,
			       why_len);
	if (ret == 0)
		ethdev_choose_mac(p->mac, conf->mac);	/* DPDK's is the same in every process */
	return ret;
}

static int
virtio_open(struct port *p, const struct port_conf *conf, char *why, size_t why_len)
{
	char devargs[256] = VIRTIO_NAME;
	int ret = 0;

	if (!ethdev_exists(devargs)) {
		ret = sock_check("virtio", conf->args, true, why, why_len);
		if (ret == 0)
			ret = virtio_devargs(conf, "", devargs, sizeof(devargs));
	}
	return ret ? ret : open_end(p, conf, devargs, true, why, why_len);
}

/* It is not readable any more. */
static void
drain(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t n;

	if (fd >= 0 && poll(&p, 1, 0) == 1 && (p.revents & POLLIN))
		(void)!read(fd, &n, sizeof(n));
}

/* The bell is an epoll fd of DPDK's around the peer's eventfd, which nobody else reads. */
static void
vhost_wait_clear(struct port *p)
{
	const struct ethdev *e = p->priv;
	struct rte_vhost_vring vring;
	int vid = -1;

	if (e->bell_is_dpdks)
		vid = rte_eth_vhost_get_vid_from_port_id(e->port_id);
	/* ring 1 is what the peer sends */
	if (vid >= 0 && rte_vhost_get_vhost_vring(vid, 1, &vring) == 0)
		drain(vring.kickfd);
}

static void
virtio_wait_clear(struct port *p)
{
	drain(((const struct ethdev *)p->priv)->bell_fd);
}

const struct port_driver drv_vhost = {
	.name = "vhost",
	.open = vhost_open,
	.close = ethdev_close,
	.rx = ethdev_rx,
	.tx = ethdev_tx,
	.link_up = ethdev_link_up,
	.wait_fd = ethdev_wait_fd,
	.wait_arm = ethdev_wait_arm,
	.wait_clear = vhost_wait_clear,
	.eal_args = vhost_eal_args,
};

const struct port_driver drv_virtio = {
	.name = "virtio",
	.open = virtio_open,
	.close = ethdev_close,
	.rx = ethdev_rx,
	.tx = ethdev_tx,
	.link_up = ethdev_link_up,
	.wait_fd = ethdev_wait_fd,
	.wait_arm = ethdev_wait_arm,
	.wait_clear = virtio_wait_clear,
	.eal_args = virtio_eal_args,
};

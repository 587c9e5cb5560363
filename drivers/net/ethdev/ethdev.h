/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the kinds of DPDK device share: opening one by name, bursts, closing. Burst functions run on
 * the owning core, the rest on the control thread.
 */
#ifndef ETHDEV_ETHDEV_H
#define ETHDEV_ETHDEV_H

#include <rte_spinlock.h>

#include "port/port_driver.h"

struct rte_device;

/* EAL argument in front of the devargs, which follow it in the same word. */
#define ETHDEV_ARG "--vdev="

struct ethdev_conf {
	const char *devargs;		/* "net_memif0,role=server,…": the name, then what it takes */
	uint32_t ip_mtu;		/* 0: the device's */
	uint32_t room;			/* bytes of a buffer; 0: a frame's */
	uint16_t rx_ring, tx_ring;
	uint32_t num_mbufs;
	bool later;			/* the core starts the device, not ethdev_open() */
	bool keep_mtu;			/* the device is not told of the MTU */
	bool rx_intr;			/* the device can ring when frames come */
	bool has_peer;			/* a process that may hang up while the device ends */
	bool foreign;			/* frames to another MAC than the device's are wanted */
	bool round_room;		/* the device counts its buffers in powers of two */
};

struct ethdev {
	uint16_t port_id;
	struct rte_device *dev;
	bool running;			/* started: bursts may reach it. Owning core */
	uint8_t retry;			/* set by a timer: the core is to start it (again) */
	uint8_t patience;		/* turns of that timer until then */
	bool has_peer;
	bool lends;			/* the peer reads frames where they lie in our memory */
	bool halted;			/* stopped and closed, not yet gone */
	rte_spinlock_t link_look;	/* drivers ask the card in several steps: one thread at a time */
	int bell_fd;			/* readable when a frame for us arrived; -1: there is none */
	bool bell_is_dpdks;		/* and must be armed */
	int claim_fd;			/* holds the name of what one process may open; -1: none */
	int iface_fd;			/* a socket to ask the kernel about `iface`; -1: there is none */
	char iface[16];
};

/* Opens, configures and starts one queue pair; adds the device if EAL does not know it. Fills *p;
 * p->priv is a struct ethdev. 0, or -errno and a line in `why`. */
int ethdev_open(struct port *p, const struct ethdev_conf *conf, char *why, size_t why_len);
void ethdev_close(struct port *p);
/* The part of it that ends the device's traffic; at most once. */
void ethdev_halt(struct ethdev *e);
uint16_t ethdev_rx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n);
uint16_t ethdev_tx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n);
void ethdev_tx_clean(struct port *p, uint16_t queue);
/* Any thread. */
bool ethdev_link_up(struct port *p);
int ethdev_wait_fd(struct port *p);
void ethdev_wait_clear(struct port *p);
bool ethdev_wait_arm(struct port *p, bool on);
/* Of a device whose rx is last_rx(): for what is left of a peer that went nothing will ring. */
uint64_t ethdev_due(struct port *p);

/* An interface of the kernel, whose carrier DPDK does not look at. 0 or -errno. */
int ethdev_set_iface(struct port *p, const char *name);
bool ethdev_carrier(struct port *p);

/* A MAC was configured: not all zero. */
bool ethdev_mac_given(const uint8_t mac[6]);
/* Is EAL running already, with a device of the name that devargs begin with? */
bool ethdev_exists(const char *devargs);

/*
 * A packet socket on the interface that becomes readable when a frame to `mac` or to a group
 * arrives, and keeps next to nothing of it; while it is open the interface takes frames to every
 * MAC. The fd, or -errno with a line in `why`.
 */
int bell_open(int ifindex, const uint8_t mac[6], char *why, size_t why_len);
void bell_clear(int fd);

/*
 * A UNIX socket that a device of `kind` is to make (what a dead server left goes away), or to find
 * (`must_live`: somebody listens already). 0, or -errno with a line in `why`.
 */
int sock_clear(const char *kind, const char *path, char *why, size_t why_len);
int sock_check(const char *kind, const char *path, bool must_live, char *why, size_t why_len);

/* A locally administered MAC of one station: the one given, or a random one. */
void ethdev_choose_mac(uint8_t mac[6], const uint8_t given[6]);

extern const struct port_driver drv_memif;
extern const struct port_driver drv_af_packet;
extern const struct port_driver drv_vdev;
extern const struct port_driver drv_af_xdp;
extern const struct port_driver drv_vhost;
extern const struct port_driver drv_virtio;
extern const struct port_driver drv_pci;

#endif

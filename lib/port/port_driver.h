/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a port driver is: bursts of mbufs to and from one queue of one device. Drivers live in
 * drivers/net, know nothing of RoCE, and are found through the table that the build writes.
 */
#ifndef PORT_DRIVER_H
#define PORT_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port/spec.h"

struct rte_mbuf;
struct rte_mempool;

struct port_conf {
	const char *spec;	/* as given: "memif:/run/a.sock,server" */
	const char *driver;	/* the word before the colon: loop, memif, af_packet, vdev */
	const char *args;	/* what follows it, or "" */
	uint32_t ip_mtu;	/* 0: the device's own (or the default of its kind) */
	uint8_t mac[6];		/* all zero: the driver chooses a locally administered one */
	uint16_t num_queues;
	uint16_t rx_ring, tx_ring; /* descriptors; 0: the driver's default */
	uint32_t more_mbufs;	/* held by cores, beyond what one core holds */
	uint8_t bell_mac[6];	/* filled by the caller before wait_fd: the MAC in use */
};

/* How eal_args() begins when EAL must look at the PCI bus, for the device that follows. */
#define PORT_EAL_PCI "--allow="

struct port_driver;

struct port {
	const struct port_driver *drv;
	void *priv;
	struct rte_mempool *pool;	/* receive and transmit buffers; room for a whole frame each */
	uint32_t ip_mtu;		/* in use */
	uint32_t max_frame;		/* bytes of the longest frame without FCS */
	uint8_t mac[6];
	int numa;			/* socket of the device, or -1 */
	bool gathers;			/* tx takes a frame in three segments, the middle one anywhere in
					 * the process's memory */
	bool carrier;			/* its link is a cable's: without one it is down from the start */
	bool loops;			/* what is sent is what is received: frames to ourselves too */
	char name[64];
	struct port *lower;		/* what a stacked port stands on; NULL: the port is a device */
};

struct port_driver {
	const char *name;
	/* Control thread, after EAL start. Fills mac, ip_mtu, max_frame, numa, pool; the name is the
	 * SPEC unless the driver knows better. 0, or -errno and one line in `why` that says what to
	 * do. NULL: this driver is no device but stands on another port, by stack(). */
	int (*open)(struct port *p, const struct port_conf *conf, char *why, size_t why_len);
	void (*close)(struct port *p);
	/* Owning core. As rte_eth_rx_burst / rte_eth_tx_burst: mbufs not taken stay the caller's.
	 * Without a link tx may take none or lose what it takes. */
	uint16_t (*rx)(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n);
	uint16_t (*tx)(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n);
	/* Any thread. */
	bool (*link_up)(struct port *p);
	/* An fd that becomes readable when frames arrive, or -1. The core drains it with
	 * wait_clear() after waking. Control thread. */
	int (*wait_fd)(struct port *p);
	/* Owning core: frames that arrive from now on shall make it readable, or need not; who arms it
	 * looks for frames once more before sleeping. False: it cannot ring now (no link). NULL: it
	 * always rings. */
	bool (*wait_arm)(struct port *p, bool on);
	void (*wait_clear)(struct port *p);
	/* The EAL argument the driver needs before EAL starts ("--vdev=…"), one word, "" when none. 0 or
	 * -errno with `why`. Also checks that what it names can be opened. NULL: none. When EAL runs
	 * already, open() adds the device itself. Control thread, before EAL start. */
	int (*eal_args)(const struct port_conf *conf, char *out, size_t out_len, char *why,
			size_t why_len);
	/* In place of open(): *p is a copy of what p->lower says of itself; args are the driver's
	 * own. p->lower is open, stays where it is, and is closed after p. Control thread. 0, or
	 * -errno and one line in `why`. */
	int (*stack)(struct port *p, const char *args, char *why, size_t why_len);
	/* Owning core: frees the mbufs that were sent. NULL: none stay with the driver. */
	void (*tx_clean)(struct port *p, uint16_t queue);
	/* Owning core: ns until rx has something to do or to give that no frame will wake the core
	 * for; 0: now; UINT64_MAX: nothing. NULL: never anything. */
	uint64_t (*due)(struct port *p);
	/* Calls `each` for all that this driver itself counts: name, what it counts, how many that
	 * were. Any thread while p is open. NULL: nothing. */
	void (*counters)(struct port *p,
			 void (*each)(void *arg, const char *name, const char *text, uint64_t n),
			 void *arg);
};

/* Every driver that was built, then NULL. The build writes it (drivers/meson.build). */
extern const struct port_driver *const port_drivers[];

/* The driver of that name, or NULL. */
const struct port_driver *port_driver_find(const char *name);

/* For drivers that stand on another port: what the port below says. */
bool port_lower_link_up(struct port *p);
int port_lower_wait_fd(struct port *p);
bool port_lower_wait_arm(struct port *p, bool on);
void port_lower_wait_clear(struct port *p);
uint64_t port_lower_due(struct port *p);

/* A pool of `n` buffers with `room` data bytes each behind the usual headroom, on NUMA node `numa`
 * (-1: any). NULL without memory, or when the name is taken. */
struct rte_mempool *port_pool_new(const char *name, uint32_t n, uint32_t room, int numa);

#endif

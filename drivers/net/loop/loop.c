/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A wire whose two ends are the same port: what is sent is received, by reference, in order, and
 * nothing is lost until the ring is full. For one process that talks to itself. Burst functions run
 * on the owning core, the rest on the control thread.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "base/random.h"
#include "port/port_driver.h"

#define LOOP_RING 1024u
#define LOOP_MBUFS (LOOP_RING + 1024u)	/* what the ring holds, and what the core holds */

extern const struct port_driver drv_loop;

/* One MAC for all loops of the process, so that its addresses stay when a port is opened again. */
static uint8_t loop_mac[6];

static void
choose_mac(uint8_t mac[6], const struct port_conf *conf)
{
	static const uint8_t none[6];

	if (memcmp(conf->mac, none, 6) != 0) {
		memcpy(mac, conf->mac, 6);
		return;
	}
	if (memcmp(loop_mac, none, 6) == 0) {
		random_bytes(loop_mac, 6);
		loop_mac[0] = (uint8_t)((loop_mac[0] | 2) & ~1u); /* locally administered, one host */
	}
	memcpy(mac, loop_mac, 6);
}

static int
loop_open(struct port *p, const struct port_conf *conf, char *why, size_t why_len)
{
	const uint32_t num = LOOP_MBUFS + conf->more_mbufs;
	struct rte_ring *ring;

	p->ip_mtu = conf->ip_mtu ? conf->ip_mtu : PORT_MTU_DEFAULT;
	p->max_frame = p->ip_mtu + PORT_L2_LEN;
	p->loops = true;
	choose_mac(p->mac, conf);
	p->pool = port_pool_new("plx_loop", num, p->max_frame, -1);
	if (!p->pool) {
		snprintf(why, why_len, "loop: no memory for %u frames of %u bytes: give DPDK more",
			 num, p->max_frame);
		return -ENOMEM;
	}
	ring = rte_ring_create("plx_loop", LOOP_RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (!ring) {
		snprintf(why, why_len, "loop: no ring: %s", rte_strerror(rte_errno));
		rte_mempool_free(p->pool);
		p->pool = NULL;
		return -ENOMEM;
	}
	p->priv = ring;
	return 0;
}

static void
loop_close(struct port *p)
{
	struct rte_mbuf *m;

	while (rte_ring_sc_dequeue(p->priv, (void **)&m) == 0)
		rte_pktmbuf_free(m);
	rte_ring_free(p->priv);
	rte_mempool_free(p->pool);
	p->priv = NULL;
	p->pool = NULL;
}

static uint16_t
loop_rx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	(void)queue;
	return (uint16_t)rte_ring_sc_dequeue_burst(p->priv, (void **)bufs, n, NULL);
}

static uint16_t
loop_tx(struct port *p, uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	(void)queue;
	return (uint16_t)rte_ring_sp_enqueue_burst(p->priv, (void *const *)bufs, n, NULL);
}

static bool
loop_link_up(struct port *p)
{
	(void)p;
	return true;
}

/* Nothing comes but what the core itself sent, so there is nothing to wait for; a core that found
 * nothing in the ring and then sends nothing finds nothing later. */
static int
loop_wait_fd(struct port *p)
{
	(void)p;
	return -1;
}

static void
loop_wait_clear(struct port *p)
{
	(void)p;
}

const struct port_driver drv_loop = {
	.name = "loop",
	.open = loop_open,
	.close = loop_close,
	.rx = loop_rx,
	.tx = loop_tx,
	.link_up = loop_link_up,
	.wait_fd = loop_wait_fd,
	.wait_clear = loop_wait_clear,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What did the peer send before it hung up? It lies in memory that DPDK's memif unmaps, on EAL's
 * interrupt thread, as soon as it hears of that, whether the core has read it or not. A program that sends
 * its last acknowledgements and ends would leave its peer without them. So that thread takes out what lies
 * there first, and the core has it from here.
 *
 * A process has one memif, and so one of this.
 */
#include "memif_last.h"

#include <errno.h>
#include <sys/stat.h>

#include <rte_ethdev.h>
#include <rte_ring.h>

#include "intr_mend.h"
#include "memif_mend.h"

#define LAST_RING 2048u		/* more than the ring of a device of ours holds */
#define LAST_BURST 32u

static struct rte_ring *last;	/* of mbufs: from the interrupt thread to the core */
static uint16_t device;

/* With the bursts cut. The peer may go on sending: no more than there can be. */
static void
save(void)
{
	struct rte_mbuf *bufs[LAST_BURST];
	unsigned int n = 1;

	while (n && rte_ring_free_count(last) >= LAST_BURST) {
		n = rte_eth_rx_burst(device, 0, bufs, LAST_BURST);
		rte_ring_sp_enqueue_bulk(last, (void *const *)bufs, n, NULL);
	}
}

/* Interrupt thread. With a link there is but one thing that a socket has to say: the peer is going. Other
 * fds are timers. */
static void
before(void *arg, int fd)
{
	struct rte_eth_link link;
	struct stat st;

	(void)arg;
	if (fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode))
		return;
	if (rte_eth_link_get_nowait(device, &link) != 0 || link.link_status != RTE_ETH_LINK_UP)
		return;
	memif_cut();
	save();
	memif_uncut();
}

int
memif_last_open(uint16_t port_id)
{
	last = rte_ring_create("memif_last", LAST_RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (!last)
		return -ENOMEM;
	device = port_id;
	intr_before(before, NULL);
	return 0;
}

void
memif_last_close(void)
{
	struct rte_mbuf *m;

	intr_before(NULL, NULL);
	while (memif_last_take(&m, 1))
		rte_pktmbuf_free(m);
	rte_ring_free(last);
	last = NULL;
}

bool
memif_last_waits(void)
{
	return memif_is_cut() || !rte_ring_empty(last);
}

uint16_t
memif_last_take(struct rte_mbuf **bufs, uint16_t n)
{
	return (uint16_t)rte_ring_sc_dequeue_burst(last, (void **)bufs, n, NULL);
}

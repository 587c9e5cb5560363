/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What did the peer send before it hung up? It lies in memory that DPDK's memif unmaps, on a thread
 * of its own, as soon as it hears of that, whether the core has read it or not. A program that sends its last
 * acknowledgements and ends would leave its peer without them. So that thread takes out what lies there first
 * (memif_mend.c), and the core has it from here.
 *
 * A process has one device with a peer, and so one of this.
 */
#include "last.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_ring.h>

#define LAST_RING 2048u		/* more than the ring of a device of ours holds */
#define LAST_BURST 32u

static struct rte_ring *last;	/* of mbufs: from that thread to the core; NULL: no device is open */
static uint16_t device;

/*
 * The burst's side of the handshake is two plain stores: the fence between "I burst" and "is it cut?"
 * is made by the other side, for all threads, with membarrier(2).
 */
static uint32_t bursting, cut;

bool
last_burst_begin(void)
{
	__atomic_store_n(&bursting, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&cut, __ATOMIC_RELAXED) == 0, 1))
		return true;
	last_burst_end();
	return false;
}

void
last_burst_end(void)
{
	__atomic_store_n(&bursting, 0, __ATOMIC_RELEASE);
}

static void
fence_all_threads(void)
{
	if (syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
		return;
	if (syscall(__NR_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
	    syscall(__NR_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0)
		return;
	(void)syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

void
last_cut(void)
{
	const struct timespec nap = { .tv_nsec = 20000 };

	__atomic_store_n(&cut, 1, __ATOMIC_SEQ_CST);
	fence_all_threads();
	while (__atomic_load_n(&bursting, __ATOMIC_ACQUIRE))
		nanosleep(&nap, NULL);
}

void
last_uncut(void)
{
	__atomic_store_n(&cut, 0, __ATOMIC_RELEASE);
}

static bool
link_up(void)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(device, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

/* With the bursts cut. The peer may go on sending: no more than there can be. */
static void
save(struct rte_ring *r)
{
	struct rte_mbuf *bufs[LAST_BURST];
	unsigned int n = 1;

	while (n && rte_ring_free_count(r) >= LAST_BURST) {
		n = rte_eth_rx_burst(device, 0, bufs, LAST_BURST);
		rte_ring_sp_enqueue_bulk(r, (void *const *)bufs, n, NULL);
	}
}

void
last_save(void)
{
	struct rte_ring *r = __atomic_load_n(&last, __ATOMIC_ACQUIRE);

	if (!r || !link_up())
		return;
	last_cut();
	save(r);
	last_uncut();
}

int
last_open(uint16_t port_id)
{
	struct rte_ring *r = rte_ring_create("last", LAST_RING, SOCKET_ID_ANY,
					     RING_F_SP_ENQ | RING_F_SC_DEQ);

	if (!r)
		return -ENOMEM;
	device = port_id;
	__atomic_store_n(&last, r, __ATOMIC_RELEASE);
	return 0;
}

static uint16_t
take(struct rte_mbuf **bufs, uint16_t n)
{
	return (uint16_t)rte_ring_sc_dequeue_burst(last, (void **)bufs, n, NULL);
}

void
last_close(void)
{
	struct rte_ring *r = last;
	struct rte_mbuf *m;

	if (!r)
		return;
	while (take(&m, 1))
		rte_pktmbuf_free(m);
	__atomic_store_n(&last, NULL, __ATOMIC_RELEASE);
	rte_ring_free(r);
}

bool
last_waits(void)
{
	return __atomic_load_n(&cut, __ATOMIC_ACQUIRE) || !rte_ring_empty(last);
}

uint16_t
last_rx(uint16_t queue, struct rte_mbuf **bufs, uint16_t n)
{
	if (__builtin_expect(last_waits(), 0))
		return take(bufs, n);
	if (__builtin_expect(!last_burst_begin(), 0))
		return 0;
	n = rte_eth_rx_burst(device, queue, bufs, n);
	last_burst_end();
	return n;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May a burst touch the peer's memory? DPDK 22.11's memif hangs up on EAL's interrupt thread and unmaps
 * there what a burst on the core may be reading (SIGSEGV): here the one waits for the other.
 *
 * Put between two of DPDK's objects by the linker, as intr_mend.c says.
 */
#include "memif_mend.h"

#include <linux/membarrier.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct rte_eth_dev;

/* Weak: the original, which only a link with --wrap has. */
void __real_memif_free_regions(struct rte_eth_dev *dev) __attribute__((weak));

void __wrap_memif_free_regions(struct rte_eth_dev *dev);

/*
 * The burst's side of the handshake is two plain stores: the fence between "I burst" and "is it cut?"
 * is made by the other side, for all threads, with membarrier(2).
 */
static uint32_t bursting, cut;

bool
memif_burst_begin(void)
{
	__atomic_store_n(&bursting, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&cut, __ATOMIC_RELAXED) == 0, 1))
		return true;
	memif_burst_end();
	return false;
}

void
memif_burst_end(void)
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
memif_cut(void)
{
	const struct timespec nap = { .tv_nsec = 20000 };

	__atomic_store_n(&cut, 1, __ATOMIC_SEQ_CST);
	fence_all_threads();
	while (__atomic_load_n(&bursting, __ATOMIC_ACQUIRE))
		nanosleep(&nap, NULL);
}

void
memif_uncut(void)
{
	__atomic_store_n(&cut, 0, __ATOMIC_RELEASE);
}

bool
memif_is_cut(void)
{
	return __atomic_load_n(&cut, __ATOMIC_ACQUIRE);
}

/* Interrupt thread, or the core between two bursts. memif has cleared its "connected" flag: a burst
 * that begins after this one returns finds nothing to do. */
void
__wrap_memif_free_regions(struct rte_eth_dev *dev)
{
	memif_cut();
	__real_memif_free_regions(dev);
	memif_uncut();
}

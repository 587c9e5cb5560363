/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What keeps a peer that hangs up from ending our process? DPDK 22.11's memif hangs up on EAL's
 * interrupt thread and does two things wrong there:
 *
 * - it unmaps the peer's memory while a burst on the core may be reading it (SIGSEGV);
 * - when a caller is gone before it was greeted, it closes the socket without taking it out of EAL's
 *   interrupts, whose thread then ends the process ("Error adding fd").
 *
 * Both are calls from one object of DPDK's archives to another, so the linker can put ours between
 * (--wrap, in lib/libpollux-stack). A stack on the system's shared DPDK cannot be mended so: there
 * the functions of this file whose names begin with __wrap_ are never called.
 */
#define ALLOW_EXPERIMENTAL_API	/* rte_intr_fd_get(): stable since 23.11 */
#include "memif_mend.h"

#include <linux/membarrier.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_interrupts.h>

struct rte_eth_dev;

/* Weak: the originals, which only a link with --wrap has. */
void __real_memif_free_regions(struct rte_eth_dev *dev) __attribute__((weak));
int __real_close(int fd) __attribute__((weak));
int __real_rte_intr_callback_register(const struct rte_intr_handle *ih, rte_intr_callback_fn cb,
				      void *arg) __attribute__((weak));
int __real_rte_intr_callback_unregister(const struct rte_intr_handle *ih, rte_intr_callback_fn cb,
					void *arg) __attribute__((weak));
int __real_rte_intr_callback_unregister_pending(const struct rte_intr_handle *ih,
						rte_intr_callback_fn cb, void *arg,
						rte_intr_unregister_callback_fn done)
	__attribute__((weak));

void __wrap_memif_free_regions(struct rte_eth_dev *dev);
int __wrap_close(int fd);
int __wrap_rte_intr_callback_register(const struct rte_intr_handle *ih, rte_intr_callback_fn cb,
				      void *arg);
int __wrap_rte_intr_callback_unregister(const struct rte_intr_handle *ih, rte_intr_callback_fn cb,
					void *arg);
int __wrap_rte_intr_callback_unregister_pending(const struct rte_intr_handle *ih,
						rte_intr_callback_fn cb, void *arg,
						rte_intr_unregister_callback_fn done);

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

/* Interrupt thread, or the core between two bursts. memif has cleared its "connected" flag: a burst
 * that begins after this one returns finds nothing to do. */
void
__wrap_memif_free_regions(struct rte_eth_dev *dev)
{
	const struct timespec nap = { .tv_nsec = 20000 };

	__atomic_store_n(&cut, 1, __ATOMIC_SEQ_CST);
	fence_all_threads();
	while (__atomic_load_n(&bursting, __ATOMIC_ACQUIRE))
		nanosleep(&nap, NULL);
	__real_memif_free_regions(dev);
	__atomic_store_n(&cut, 0, __ATOMIC_RELEASE);
}

/* Who is registered for an fd, from registering to unregistering. An fd has one owner at a time. */
#define FDS 1024
static struct {
	const struct rte_intr_handle *ih;
	rte_intr_callback_fn cb;
	void *arg;
} watched[FDS];

static int
watched_fd(const struct rte_intr_handle *ih)
{
	int fd = rte_intr_fd_get(ih);

	return fd >= 0 && fd < FDS ? fd : -1;
}

static void
forget(int fd)
{
	if (fd >= 0)
		__atomic_store_n(&watched[fd].cb, NULL, __ATOMIC_RELEASE);
}

/* Noted first: the callback may run, and end its registration, before the original returns. */
int
__wrap_rte_intr_callback_register(const struct rte_intr_handle *ih, rte_intr_callback_fn cb, void *arg)
{
	int fd = watched_fd(ih);
	int ret;

	if (fd >= 0) {
		watched[fd].ih = ih;
		watched[fd].arg = arg;
		__atomic_store_n(&watched[fd].cb, cb, __ATOMIC_RELEASE);
	}
	ret = __real_rte_intr_callback_register(ih, cb, arg);
	if (ret < 0)
		forget(fd);
	return ret;
}

int
__wrap_rte_intr_callback_unregister(const struct rte_intr_handle *ih, rte_intr_callback_fn cb, void *arg)
{
	int fd = watched_fd(ih);
	int ret = __real_rte_intr_callback_unregister(ih, cb, arg);

	if (ret > 0)
		forget(fd);
	return ret;
}

int
__wrap_rte_intr_callback_unregister_pending(const struct rte_intr_handle *ih, rte_intr_callback_fn cb,
					    void *arg, rte_intr_unregister_callback_fn done)
{
	forget(watched_fd(ih));	/* EAL takes it out before it calls `done`, which closes */
	return __real_rte_intr_callback_unregister_pending(ih, cb, arg, done);
}

int
__wrap_close(int fd)
{
	rte_intr_callback_fn cb = NULL;

	if (fd >= 0 && fd < FDS)
		cb = __atomic_exchange_n(&watched[fd].cb, NULL, __ATOMIC_ACQ_REL);
	if (__builtin_expect(cb != NULL, 0))
		(void)__real_rte_intr_callback_unregister(watched[fd].ih, cb, watched[fd].arg);
	return __real_close(fd);
}

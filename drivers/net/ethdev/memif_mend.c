/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What keeps a peer that hangs up from ending our process? DPDK 22.11's memif greets and hangs up on
 * EAL's interrupt thread and does three things wrong there:
 *
 * - it unmaps the peer's memory while a burst on the core may be reading it (SIGSEGV);
 * - when a caller is gone before it was greeted, it closes the socket without taking it out of EAL's
 *   interrupts, whose thread then ends the process ("Error adding fd");
 * - it takes no lock: a client that calls, or hangs up, on another thread frees what a greeting that
 *   is under way works on (SIGSEGV). So all it does on the interrupt thread is done under a lock of
 *   ours, which memif.c takes for what it calls elsewhere.
 *
 * All are calls from one object of DPDK's archives to another, so the linker can put ours between
 * (--wrap, in lib/libpollux-stack). A stack on the system's shared DPDK cannot be mended so: there
 * the functions of this file whose names begin with __wrap_ are never called.
 */
#define ALLOW_EXPERIMENTAL_API	/* rte_intr_fd_get(): stable since 23.11 */
#include "memif_mend.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
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

/*
 * What the interrupt thread calls for an fd, from registering to unregistering. EAL is given guarded()
 * in place of it, with this as its argument. An fd has one owner at a time.
 */
#define FDS 1024
static struct watch {
	const struct rte_intr_handle *ih;
	rte_intr_callback_fn cb;	/* NULL: nobody is registered. Any thread */
	void *arg;
	rte_intr_unregister_callback_fn done;
	bool doomed;			/* must not be called any more: to be unregistered */
} watched[FDS];

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

void
memif_lock(void)
{
	pthread_mutex_lock(&one_at_a_time);
}

void
memif_unlock(void)
{
	pthread_mutex_unlock(&one_at_a_time);
}

/* Interrupt thread. While it waited, the core may have hung up. */
static void
guarded(void *arg)
{
	struct watch *w = arg;

	memif_lock();
	if (!w->doomed)
		w->cb(w->arg);
	memif_unlock();
}

/* Interrupt thread, with EAL's lock, which who holds ours may wait for: so without ours. The original
 * closes the fd, which then may be another's. */
static void
finished(struct rte_intr_handle *ih, void *arg)
{
	struct watch *w = arg;

	w->done(ih, w->arg);
}

static struct watch *
watch_of(const struct rte_intr_handle *ih)
{
	int fd = rte_intr_fd_get(ih);

	return fd >= 0 && fd < FDS ? &watched[fd] : NULL;
}

/* Is this what was registered for it? */
static bool
is_watched(const struct watch *w, rte_intr_callback_fn cb, const void *arg)
{
	return w && __atomic_load_n(&w->cb, __ATOMIC_ACQUIRE) == cb && w->arg == arg;
}

/* Noted first: the callback may run, and end its registration, before the original returns. A second
 * one for an fd, which memif does not have, is not ours to guard. */
int
__wrap_rte_intr_callback_register(const struct rte_intr_handle *ih, rte_intr_callback_fn cb, void *arg)
{
	struct watch *w = watch_of(ih);
	int ret;

	if (!w || !cb || __atomic_load_n(&w->cb, __ATOMIC_ACQUIRE))
		return __real_rte_intr_callback_register(ih, cb, arg);
	w->ih = ih;
	w->arg = arg;
	w->doomed = false;
	__atomic_store_n(&w->cb, cb, __ATOMIC_RELEASE);
	ret = __real_rte_intr_callback_register(ih, guarded, w);
	if (ret < 0)
		__atomic_store_n(&w->cb, NULL, __ATOMIC_RELEASE);
	return ret;
}

int
__wrap_rte_intr_callback_unregister(const struct rte_intr_handle *ih, rte_intr_callback_fn cb, void *arg)
{
	struct watch *w = watch_of(ih);
	int ret;

	if (!is_watched(w, cb, arg))
		return __real_rte_intr_callback_unregister(ih, cb, arg);
	ret = __real_rte_intr_callback_unregister(ih, guarded, w);
	if (ret > 0)
		__atomic_store_n(&w->cb, NULL, __ATOMIC_RELEASE);
	return ret;
}

/* EAL takes it out when its callback has returned, then calls `done`, which closes the fd: it is not
 * to be unregistered once more by then. memif asks for this because the callback was running a moment
 * ago; when it is not any more EAL refuses, and then it can be taken out at once. */
int
__wrap_rte_intr_callback_unregister_pending(const struct rte_intr_handle *ih, rte_intr_callback_fn cb,
					    void *arg, rte_intr_unregister_callback_fn done)
{
	struct watch *w = watch_of(ih);
	int ret;

	if (!done || !is_watched(w, cb, arg))
		return __real_rte_intr_callback_unregister_pending(ih, cb, arg, done);
	w->done = done;
	w->doomed = true;
	__atomic_store_n(&w->cb, NULL, __ATOMIC_RELEASE);
	do {
		ret = __real_rte_intr_callback_unregister_pending(ih, guarded, w, finished);
		if (ret != -EAGAIN)
			return ret;
		ret = __real_rte_intr_callback_unregister(ih, guarded, w);
	} while (ret == -EAGAIN);
	done((struct rte_intr_handle *)(uintptr_t)ih, arg);
	return ret;
}

int
__wrap_close(int fd)
{
	struct watch *w = fd >= 0 && fd < FDS ? &watched[fd] : NULL;

	if (__builtin_expect(w && __atomic_exchange_n(&w->cb, NULL, __ATOMIC_ACQ_REL), 0))
		(void)__real_rte_intr_callback_unregister(w->ih, guarded, w);
	return __real_close(fd);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may happen at the same time as what EAL's interrupt thread does? DPDK 22.11's memif and
 * virtio-user see there that a peer hangs up, and take no lock against who closes the device:
 *
 * - what is registered for the fd cannot be taken out while it runs, which they ignore, or they forget
 *   it; the fd is closed, and the thread ends the process ("Error adding fd");
 * - both free the same things, or one of them what the other works on (SIGSEGV);
 * - virtio-user puts off a part of it to an alarm, which finds a device that is gone (SIGSEGV).
 *
 * So a device that has a peer is stopped and closed on that thread too (intr_call()); all that runs
 * there has a lock of ours, which memif.c takes for what it calls elsewhere; and no fd is closed that
 * is registered.
 *
 * All but intr_call() stands between one object of DPDK's archives and another, where the linker puts
 * it (--wrap, in lib/libpollux-stack). A stack on the system's shared DPDK cannot be mended so: there
 * the functions of this file whose names begin with __wrap_ are never called.
 */
#define ALLOW_EXPERIMENTAL_API	/* rte_intr_fd_get() and the like: stable since 23.11 */
#include "intr_mend.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_interrupts.h>

/* Weak: the originals, which only a link with --wrap has. */
int __real_close(int fd) __attribute__((weak));
int __real_rte_intr_callback_register(const struct rte_intr_handle *ih, rte_intr_callback_fn cb,
				      void *arg) __attribute__((weak));
int __real_rte_intr_callback_unregister(const struct rte_intr_handle *ih, rte_intr_callback_fn cb,
					void *arg) __attribute__((weak));
int __real_rte_intr_callback_unregister_pending(const struct rte_intr_handle *ih,
						rte_intr_callback_fn cb, void *arg,
						rte_intr_unregister_callback_fn done)
	__attribute__((weak));

int __wrap_close(int fd);
int __wrap_rte_intr_callback_register(const struct rte_intr_handle *ih, rte_intr_callback_fn cb,
				      void *arg);
int __wrap_rte_intr_callback_unregister(const struct rte_intr_handle *ih, rte_intr_callback_fn cb,
					void *arg);
int __wrap_rte_intr_callback_unregister_pending(const struct rte_intr_handle *ih,
						rte_intr_callback_fn cb, void *arg,
						rte_intr_unregister_callback_fn done);

/*
 * What the interrupt thread calls for an fd, from registering to unregistering. EAL is given guarded()
 * in place of it, with this as its argument. An fd has one owner at a time.
 */
#define FDS 1024
static struct watch {
	rte_intr_callback_fn cb;	/* NULL: nobody is registered. Any thread */
	void *arg;
	rte_intr_unregister_callback_fn done;
	bool doomed;			/* must not be called any more: to be unregistered */
} watched[FDS];

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static void (*first)(int fd);	/* with the lock */

void
intr_lock(void)
{
	pthread_mutex_lock(&one_at_a_time);
}

void
intr_unlock(void)
{
	pthread_mutex_unlock(&one_at_a_time);
}

void
intr_before(void (*fn)(int fd))
{
	intr_lock();
	first = fn;
	intr_unlock();
}

/* Interrupt thread. While it waited, the core may have hung up. */
static void
guarded(void *arg)
{
	struct watch *w = arg;

	intr_lock();
	if (!w->doomed) {
		if (first)
			first((int)(w - watched));
		w->cb(w->arg);
	}
	intr_unlock();
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

/* Noted first: the callback may run, and end its registration, before the original returns. virtio
 * registers the same twice, when it is configured and when it starts, and EAL would call it twice.
 * Another's for the same fd, which nobody has, would not be ours to guard. */
int
__wrap_rte_intr_callback_register(const struct rte_intr_handle *ih, rte_intr_callback_fn cb, void *arg)
{
	struct watch *w = watch_of(ih);
	int ret;

	if (cb && is_watched(w, cb, arg))
		return 0;
	if (!w || !cb || __atomic_load_n(&w->cb, __ATOMIC_ACQUIRE))
		return __real_rte_intr_callback_register(ih, cb, arg);
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

/* EAL took it out. */
static void
gone(struct rte_intr_handle *ih, void *arg)
{
	(void)ih;
	(void)arg;
}

/* Its owner's handle may be free already. What is running is taken out when it has returned, before
 * the thread looks at the fd again. */
static void
forget(int fd, struct watch *w)
{
	struct rte_intr_handle *ih = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	int ret = ih ? rte_intr_fd_set(ih, fd) : -ENOMEM;

	if (ret == 0) {
		do {
			ret = __real_rte_intr_callback_unregister(ih, guarded, w);
			if (ret == -EAGAIN)
				ret = __real_rte_intr_callback_unregister_pending(ih, guarded, w, gone);
		} while (ret == -EAGAIN);
	}
	rte_intr_instance_free(ih);
}

int
__wrap_close(int fd)
{
	struct watch *w = fd >= 0 && fd < FDS ? &watched[fd] : NULL;

	if (__builtin_expect(w && __atomic_exchange_n(&w->cb, NULL, __ATOMIC_ACQ_REL), 0)) {
		w->doomed = true;
		forget(fd, w);
	}
	return __real_close(fd);
}

struct errand {
	void (*fn)(void *arg);
	void *arg;
	int done;
};

/* Interrupt thread. */
static void
run(void *arg)
{
	struct errand *r = arg;

	r->fn(r->arg);
	__atomic_store_n(&r->done, 1, __ATOMIC_RELEASE);
}

void
intr_call(void (*fn)(void *arg), void *arg)
{
	struct errand r = { .fn = fn, .arg = arg };
	const struct timespec nap = { .tv_nsec = 100000 };

	if (rte_eal_alarm_set(1, run, &r) != 0) {
		fn(arg);	/* no memory: better than never */
		return;
	}
	while (!__atomic_load_n(&r.done, __ATOMIC_ACQUIRE))
		nanosleep(&nap, NULL);
}

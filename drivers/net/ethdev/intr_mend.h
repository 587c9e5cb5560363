/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * EAL's interrupt thread, on which DPDK's drivers see a peer hang up. See intr_mend.c.
 */
#ifndef ETHDEV_INTR_MEND_H
#define ETHDEV_INTR_MEND_H

/*
 * Any thread but the interrupt thread: while it is held DPDK's drivers do nothing there. Around what
 * starts or stops a memif elsewhere.
 */
void intr_lock(void);
void intr_unlock(void);

/*
 * Control thread: fn(fd) is called with the lock before what a driver does about one of its fds on the
 * interrupt thread; NULL: nothing any more. One at a time has it. Never called in a stack on the system's
 * shared DPDK.
 */
void intr_before(void (*fn)(int fd));

/*
 * Any thread but the interrupt thread, without the lock: calls fn(arg) on the interrupt thread and
 * waits for its end. What had been put off there before, to a time that has come, is done first. When
 * that cannot be asked for, for want of memory, fn is called here.
 */
void intr_call(void (*fn)(void *arg), void *arg);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stack inside a DPDK program: libpollux-stack. The program starts the stack on a port, then uses
 * the verbs of <pollux/verbs.h> as any program does; it may drive the core from its own reactor.
 *
 * A program that does not know of DPDK needs none of this: the verbs load a private stack, which
 * takes the same settings from variables (POLLUX_PORT and so on).
 */
#ifndef POLLUX_STACK_H
#define POLLUX_STACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/*
 * The settings of pollux-run, in its words. NULL, "" and 0 mean that a setting is not given. The
 * strings are the caller's and are not used after plx_stack_start().
 */
struct plx_stack_config {
	size_t size;		/* sizeof(struct plx_stack_config): later versions have more members */
	const char *port;	/* "loop" (default), "memif:SOCKET,server|client[,zc]",
				 * "af_packet:IFACE", "af_xdp:IFACE", "vhost:SOCKET",
				 * "virtio:SOCKET", "pci:ADDRESS", "vdev:DPDK-DEVARGS" */
	const char *ip;		/* "ADDR/LEN,..."; default 10.11.x.y/16 from the MAC */
	const char *gw;		/* "ADDR[,ADDR]": IPv4, IPv6 */
	const char *mac;	/* "aa:bb:cc:dd:ee:ff"; default: locally administered, random */
	const char *vlan;	/* "ID[:PCP]" */
	const char *cores;	/* "inline" (default): the program's threads drive the core as they post
				 * and poll; or CPUs ("2", "0,4-6"; at most 64), each for a core with a
				 * thread of its own, the first of which serves the port */
	const char *impair;	/* a bad network: "drop=P,dup=P,reorder=P[:K],delay=US[:JITTER],corrupt=P,
				 * ecn=P,seed=N", or some of these */
	const char *record;	/* a pcapng file for all frames */
	const char *socket;	/* not in this version */
	uint32_t mtu;		/* IP MTU; default 4200, on af_packet the interface's */
	uint32_t vendor_id;	/* what the device reports; default 0xffffff, which is no vendor's */
	uint32_t vendor_part_id;
	uint32_t mem_mb;	/* memory for EAL when the stack starts it; default: enough for a port */
	int eal_running;	/* 1: the program has called rte_eal_init() already */
	const char *counters;	/* a file for all counters at the end: "NAME NUMBER TEXT" lines */
	const char *zero_copy;	/* "0": copy every payload, also where the port could send it from where
				 * the program put it; default "1" */
	const char *explain;	/* "1": a line on stderr for each QP that fails; default "0" */
	const char *dm_size;	/* MiB of device memory that programs may take in all; default "16" */
};

/*
 * Starts the stack; the device then is in the list of plx_get_device_list(). One stack at a time in
 * a process. Any thread; not in a child that was forked by a process with a stack.
 *
 * 0, or a negative errno with one line in `why` (not NULL) that says what to do:
 *   -EINVAL       a setting is not understood, or does not fit the port
 *   -EOPNOTSUPP   a setting is not in this version
 *   -EBUSY        a stack runs already
 *   -EALREADY     the program started EAL: set eal_running
 *   -ENOMEM, and what opening the port or a file gave (-ENOENT, -EACCES, -EADDRINUSE ...)
 * On an error nothing is left behind but EAL, which DPDK can start once in a process.
 */
int plx_stack_start(const struct plx_stack_config *config, char *why, size_t why_len);

/*
 * Stops the stack and closes its port. All contexts must be closed. Any thread. 0, or -EBUSY (a
 * context is open), -ESRCH (none runs), -EIO (in a forked child). A program that exits without it
 * leaves nothing behind either.
 */
int plx_stack_stop(void);

/*
 * For a reactor: one round of the core's loop (posts taken, frames received, timers, frames sent,
 * events) unless another thread drives the core at this moment. Any thread, any number of them, also
 * when the core has a thread of its own. Some 50 ns when there is nothing to do.
 * Queue pairs that this thread makes from then on, on CQs of completion vector 0, go to that core.
 * 0, -ENODEV (no stack, or no such core: they count from 0 in the order of `cores`), -EIO in a forked
 * child.
 */
int plx_core_poll(uint32_t core);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif

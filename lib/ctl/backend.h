/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one seam between libpollux and a stack. A back end is a stack in this process ("local",
 * registered by libpollux-stack) or, later, one behind a socket ("remote"). libpollux calls through
 * this table and knows nothing else of a stack.
 */
#ifndef CTL_BACKEND_H
#define CTL_BACKEND_H

#include <stddef.h>
#include <stdint.h>

#include "ctl/msg.h"

/* Rises with every change of include/pollux/abi, of objects.h, of the messages or of this table;
 * test/lint/layout.py knows. */
#define CTL_ABI_VERSION 11u

#define CTL_MAX_CORES 64u

struct plx_bell_ring;

struct ctl_device {
	char name[64];			/* "pollux0" */
	uint64_t guid;			/* big-endian */
};

enum ctl_drive {
	CTL_DRIVE_POST,			/* work was posted: take it and send; no receive */
	CTL_DRIVE_POLL,			/* one whole round of the core loop */
	CTL_DRIVE_MORE,			/* as POST, behind unacknowledged work of the same queue: may wait */
};

/*
 * What a context needs at hand for the data path of one core.
 * drive is NULL when the core has a thread of its own (then wake() is called after a doorbell whose
 * publish said that the core sleeps).
 */
struct ctl_core {
	struct plx_bell_ring *bell;	/* this client's doorbell ring of that core */
	void *drive_arg;
	/* Takes the core's try-lock; returns at once when another thread drives it. Any thread. */
	void (*drive)(void *drive_arg, enum ctl_drive how);
	void (*wake)(void *drive_arg);	/* wakes a sleeping core; any thread; never NULL */
};

struct ctl_client {			/* filled by open */
	void *handle;
	int async_fd;			/* struct plx_async_event records; CLOEXEC; closed by close */
	uint32_t num_cores;
	struct ctl_core core[CTL_MAX_CORES];
};

struct ctl_backend {
	uint32_t abi_version;		/* CTL_ABI_VERSION of the stack's build */
	/* Devices: fills at most `max`, returns how many there are, or -errno. */
	int (*devices)(struct ctl_device *out, int max);
	/* A context on device `index`. abi_version: of the inline layer that the program was built
	 * with. 0, or -EPROTO with a line on stderr when the versions do not fit, -EIO in a forked
	 * child, -ENOMEM. */
	int (*open)(int index, uint32_t abi_version, struct ctl_client *out);
	/* Frees whatever the client still holds. */
	void (*close)(struct ctl_client *client);
	/* `msg` is the structure that belongs to `type`. Any thread; may block for some 10 us while
	 * it drives the target core. 0 or -errno. */
	int (*call)(void *handle, enum ctl_msg_type type, void *msg);
	/* Address of a ring, or NULL. */
	void *(*map)(void *handle, const struct ctl_seg *seg);
};

/*
 * Version node PLX_PRIVATE of libpollux, called by the stack when it has started (and with NULL
 * when it stops). 0, -EPROTO when the versions differ, -EBUSY when another is registered.
 */
int __plx_backend_register(const struct ctl_backend *backend);

/*
 * Exported by the private stack, looked up by libpollux after dlopen: starts an embedded stack from
 * the POLLUX_* variables and registers it. 0, or -errno with one line in `why` that says what to do.
 */
int __plx_stack_start_env(char *why, size_t why_len);
#define CTL_STACK_START_ENV "__plx_stack_start_env"

#endif

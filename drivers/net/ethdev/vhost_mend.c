/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When does vhost hear that its peer stops or ends? On a thread of its own, by a message or by the socket's
 * end; what the core has not read by then is out of its reach. So it is read before.
 *
 * Put between two of DPDK's objects by the linker, as intr_mend.c says.
 */
#include "last.h"

/* Weak: the original, which only a link with --wrap has. */
int __real_vhost_user_msg_handler(int vid, int fd) __attribute__((weak));

int __wrap_vhost_user_msg_handler(int vid, int fd);

/* vhost's thread. A peer that has its link says little but that it stops. */
int
__wrap_vhost_user_msg_handler(int vid, int fd)
{
	last_save();
	return __real_vhost_user_msg_handler(vid, fd);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which fanout group is an af_packet device's? DPDK 22.11 makes one of its packet sockets, though we
 * have one alone, with a number made from the process's and the interface's. That is not free when
 * another process came to the same one, by chance or because each is number 1 of its container; on one
 * interface the two would even share out the frames. So the kernel chooses a free one.
 *
 * Put between DPDK and libc by the linker, as intr_mend.c says. Control thread.
 */
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>

/* Since Linux 4.12. */
#ifndef PACKET_FANOUT_FLAG_UNIQUEID
#define PACKET_FANOUT_FLAG_UNIQUEID 0x2000
#endif

/* Weak: the original, which only a link with --wrap has. */
int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
	__attribute__((weak));
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);

int
__wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	unsigned int arg;

	if (level != SOL_PACKET || name != PACKET_FANOUT || len != sizeof(arg))
		return __real_setsockopt(fd, level, name, value, len);
	memcpy(&arg, value, sizeof(arg));
	/* the number in the lower half, how in the upper one; an old kernel does not know of this */
	arg = (arg & 0xffff0000u) | (unsigned int)PACKET_FANOUT_FLAG_UNIQUEID << 16;
	if (__real_setsockopt(fd, level, name, &arg, len) == 0)
		return 0;
	return __real_setsockopt(fd, level, name, value, len);
}

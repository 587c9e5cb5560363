/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is there anything to receive? A second packet socket beside the one that DPDK's af_packet reads,
 * for a core that sleeps. Its filter takes what is for us and keeps one byte of it; its buffer is
 * tiny, so that while nobody sleeps it fills at once and costs little. It also holds the interface
 * in promiscuous mode, which ends with it, whatever way the process ends. Control thread, but
 * bell_clear().
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ethdev.h"

#define BELL_BYTES 1u
#define BELL_DRAIN 64u	/* frames at a time; what is left rings again */

/* A group's frame, or one to this MAC. */
static int
set_filter(int fd, const uint8_t mac[6])
{
	const uint32_t high = (uint32_t)mac[0] << 24 | mac[1] << 16 | mac[2] << 8 | mac[3];
	const uint32_t low = (uint32_t)mac[4] << 8 | mac[5];
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 1, 4, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, high, 0, 3),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 4),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, BELL_BYTES),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(code[0]), code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

static int
set_up(int fd, int ifindex, const uint8_t mac[6])
{
	struct sockaddr_ll ll = { .sll_family = AF_PACKET, .sll_ifindex = ifindex,
				  .sll_protocol = htons(ETH_P_ALL) };
	struct packet_mreq promisc = { .mr_ifindex = ifindex, .mr_type = PACKET_MR_PROMISC };
	int one = 1, least = 1;

	/* the filter stands before the socket is bound: no other frame gets in */
	if (set_filter(fd, mac) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) != 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)) != 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &promisc, sizeof(promisc)) != 0)
		return -errno;
	return bind(fd, (const struct sockaddr *)&ll, sizeof(ll)) == 0 ? 0 : -errno;
}

int
bell_open(int ifindex, const uint8_t mac[6], char *why, size_t why_len)
{
	/* protocol 0: nothing arrives until it is bound */
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int ret = fd < 0 ? -errno : set_up(fd, ifindex, mac);

	if (ret == 0)
		return fd;
	snprintf(why, why_len, "af_packet: packet socket: %s", strerror(-ret));
	if (fd >= 0)
		close(fd);
	return ret;
}

void
bell_clear(int fd)
{
	char byte;

	for (unsigned int i = 0; i < BELL_DRAIN; i++)
		if (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_TRUNC) < 0)
			return;
}

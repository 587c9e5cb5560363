/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs a program while the host is a member of an IP multicast group, for soft_roce.py in the virtual
 * machine.
 *
 *   joined GROUP INTERFACE -- PROGRAM [ARG]...
 *
 * Soft-RoCE gets from the kernel's IP layer only what the host has joined, and ibv_attach_mcast() does not
 * join: the socket here does, and stays open in the program. One thread.
 */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int
join(const char *group, unsigned int interface)
{
	struct group_req four = { .gr_interface = interface };
	struct sockaddr_in *a = (struct sockaddr_in *)&four.gr_group;
	struct ipv6_mreq six = { .ipv6mr_interface = interface };

	if (inet_pton(AF_INET, group, &a->sin_addr) == 1) {
		a->sin_family = AF_INET;
		return setsockopt(socket(AF_INET, SOCK_DGRAM, 0), IPPROTO_IP, MCAST_JOIN_GROUP, &four,
				  sizeof(four));
	}
	if (inet_pton(AF_INET6, group, &six.ipv6mr_multiaddr) != 1)
		return -1;
	return setsockopt(socket(AF_INET6, SOCK_DGRAM, 0), IPPROTO_IPV6, IPV6_JOIN_GROUP, &six, sizeof(six));
}

int
main(int argc, char **argv)
{
	if (argc < 5 || strcmp(argv[3], "--"))
		return 2;
	if (join(argv[1], if_nametoindex(argv[2]))) {
		perror("joined: the group");
		return 1;
	}
	execvp(argv[4], argv + 4);
	perror(argv[4]);
	return 1;
}

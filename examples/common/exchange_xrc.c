/* SPDX-License-Identifier: BSD-3-Clause */
/* As exchange.c, for programs with two QPs and a numbered receive queue at each end. */
#include <arpa/inet.h>
#include <stdio.h>

#include "pingpong.h"

#define ADDRESS_TEXT sizeof("0000:000000:000000:000000:000000:00000000000000000000000000000000")

static void
print(const char *whose, const struct pp_xrc_address *a)
{
	char gid[INET6_ADDRSTRLEN];

	inet_ntop(AF_INET6, &a->gid, gid, sizeof(gid));
	printf("%8s: LID %04x, QPN RECV %06x SEND %06x, PSN %06x, SRQN %06x, GID %s\n", whose, a->lid,
	       a->recv_qpn, a->send_qpn, a->psn, a->srqn, gid);
}

bool
pp_xrc_tell(int fd, const struct pp_xrc_address *a)
{
	char text[ADDRESS_TEXT], gid[PP_GID_TEXT];

	pp_gid_text(&a->gid, gid);
	snprintf(text, sizeof(text), "%04x:%06x:%06x:%06x:%06x:%s", a->lid & 0xffff, a->recv_qpn & 0xffffff,
		 a->send_qpn & 0xffffff, a->psn & 0xffffff, a->srqn & 0xffffff, gid);
	print("local", a);
	return pp_write(fd, text, sizeof(text));
}

bool
pp_xrc_hear(int fd, struct pp_xrc_address *a)
{
	char text[ADDRESS_TEXT], gid[PP_GID_TEXT];

	if (!pp_read(fd, text, sizeof(text)))
		return false;
	text[sizeof(text) - 1] = 0;
	if (sscanf(text, "%x:%x:%x:%x:%x:%32s", &a->lid, &a->recv_qpn, &a->send_qpn, &a->psn, &a->srqn,
		   gid) != 6 || !pp_gid_read(gid, &a->gid)) {
		fprintf(stderr, "The peer speaks otherwise: %s\n", text);
		return false;
	}
	print("remote", a);
	return true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints, one a line as "name hex", every kind of frame that lib/net makes of itself, for judges:
 * each is provoked by a frame that a judge gives on stdin, or by asking, announcing and waiting.
 * Lines of stdin are hex; "vlan" as the argument makes the port a member of VLAN 5, priority 3.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/gid.h"
#include "net/net.h"

static const char *kind = "?";

static void
print_frame(void *arg, const uint8_t *frame, size_t len)
{
	(void)arg;
	printf("%s ", kind);
	for (size_t i = 0; i < len; i++)
		printf("%02x", frame[i]);
	printf("\n");
}

static void
ask(struct net *n, uint32_t sgid, const uint8_t gid[16])
{
	struct path_req req = { .sgid_index = sgid, .udp_sport = 0xc001 };
	struct path p;

	memcpy(req.dgid, gid, 16);
	kind = "ask";
	if (path_open(n, &p, &req, 1, NULL, NULL) != 0)
		exit(1);
	path_close(n, &p);
}

static void
answer(struct net *n, const char *line)
{
	static uint8_t frame[10000];
	struct cnt_block cnt = { 0 };
	size_t len = strcspn(line, "\n") / 2;

	for (size_t i = 0; i < len && i < sizeof(frame); i++) {
		unsigned int byte;

		if (sscanf(line + 2 * i, "%2x", &byte) != 1)
			exit(1);
		frame[i] = (uint8_t)byte;
	}
	kind = "answer";
	if (net_rx(n, frame, len, 1, &cnt) != DROP_NONE)
		printf("dropped -\n");
}

int
main(int argc, char **argv)
{
	static const uint8_t ip4[4] = { 10, 11, 0, 2 }, peer4[4] = { 10, 11, 0, 3 };
	static const uint8_t fd00[16] = { 0xfd, [15] = 2 }, peer_mac[6] = { 2, 0, 0, 0, 0x0a, 3 };
	static struct net_conf conf = { .mac = { 2, 0, 0, 0, 0x0a, 2 }, .ip_mtu = 4200 };
	const struct net_out out = { .send = print_frame };
	static char line[20100];
	uint8_t gid[16];
	const char *why;
	struct net *n;

	conf.num_addrs = 2;
	gid_from_ip4(conf.addr[0].gid, ip4);
	conf.addr[0].prefix_len = 16;
	memcpy(conf.addr[1].gid, fd00, 16);
	conf.addr[1].prefix_len = 64;
	conf.vlan_tci = argc > 1 && strcmp(argv[1], "vlan") == 0 ? 0x6005 : 0;
	n = net_new(&conf, &out, &why);
	if (!n)
		return 1;
	kind = "announce";
	net_announce(n);
	gid_from_ip4(gid, peer4);
	ask(n, 1, gid);
	gid_from_mac(gid, peer_mac);
	ask(n, 0, gid);
	memcpy(gid, fd00, 16);
	gid[15] = 3;
	ask(n, 2, gid);
	while (fgets(line, sizeof(line), stdin))
		answer(n, line);
	net_free(n);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints, one a line as "name hex", every kind of frame that lib/net makes of itself, for judges:
 * each is provoked by a frame that a judge gives on stdin, or by asking, announcing and waiting.
 * Lines of stdin are hex, or "join ADDRESS", "leave ADDRESS", "wait" (some seconds); "vlan" as the
 * argument makes the port a member of VLAN 5, priority 3.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/gid.h"
#include "net/net.h"

#define SECOND UINT64_C(1000000000)

static const char *kind = "?";
static uint64_t now = 1;

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
	if (path_open(n, &p, &req, now, NULL, NULL) != 0)
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
	if (net_rx(n, frame, len, now, &cnt) != DROP_NONE)
		printf("dropped -\n");
}

/* Whatever falls due: the second time that a change is said, answers to queries. */
static void
wait_long(struct net *n)
{
	uint64_t end = now + 20 * SECOND;

	kind = "later";
	while (net_wake_at(n) <= end) {
		now = net_wake_at(n) > now ? net_wake_at(n) : now;
		net_timer(n, now);
	}
	now = end;
}

static void
member(struct net *n, const char *line, int (*fn)(struct net *, const uint8_t *, uint64_t))
{
	char text[64], word[8];
	uint8_t gid[16], ip4[4];

	if (sscanf(line, "%7s %63s", word, text) != 2)
		exit(1);
	if (inet_pton(AF_INET, text, ip4) == 1)
		gid_from_ip4(gid, ip4);
	else if (inet_pton(AF_INET6, text, gid) != 1)
		exit(1);
	kind = "group";
	if (fn(n, gid, now) != 0)
		exit(1);
}

static void
obey(struct net *n, const char *line)
{
	if (line[0] == 'j')
		member(n, line, group_join);
	else if (line[0] == 'l')
		member(n, line, group_leave);
	else if (line[0] == 'w')
		wait_long(n);
	else
		answer(n, line);
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
		obey(n, line);
	net_free(n);
	return 0;
}

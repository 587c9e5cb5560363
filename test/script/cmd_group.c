/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast groups in scripts: which QPs are attached, and packets to one. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "run.h"

void
group_parse(struct run *r, const char *text, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if (inet_pton(AF_INET, text, gid + 12) == 1)
		gid[10] = gid[11] = 0xff;
	else if (inet_pton(AF_INET6, text, gid) != 1)
		run_fail(r, "no address: %s", text);
}

void
group_read(struct run *r, const char *text, struct pkt *p)
{
	static const uint8_t ethernet[2][2] = { { 0x01, 0x00 }, { 0x33, 0x33 } };

	group_parse(r, text, p->dst);
	if (p->ip6 == (strchr(text, '.') != NULL))
		run_fail(r, "%s is not of the host's family", text);
	memcpy(p->dst_mac, ethernet[p->ip6], 2);
	p->dst_mac[2] = p->ip6 ? p->dst[12] : 0x5e;
	p->dst_mac[3] = p->ip6 ? p->dst[13] : p->dst[13] & 0x7f;
	p->dst_mac[4] = p->dst[14];
	p->dst_mac[5] = p->dst[15];
	p->dqpn = 0xffffff;
}

/* attach GROUP, detach GROUP: the current QP. */
static void
change(struct run *r, struct words *w, bool attach)
{
	const char *text = words_next(w);
	uint8_t gid[16];
	int rc;

	if (!text)
		run_fail(r, "which group?");
	group_parse(r, text, gid);
	rc = attach ? mcast_attach(r->h.mcast, gid, run_qp(r)->qp) :
		      mcast_detach(r->h.mcast, gid, run_qp(r)->qp);
	if (rc && rc != -EEXIST)
		run_fail(r, "%s", strerror(-rc));
}

static void
cmd_attach(struct run *r, struct words *w)
{
	change(r, w, true);
}

static void
cmd_detach(struct run *r, struct words *w)
{
	change(r, w, false);
}

const struct cmd cmd_group[] = {
	{ "attach", cmd_attach }, { "detach", cmd_detach }, { NULL, NULL },
};

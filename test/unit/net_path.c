/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths: routes, and what teaches a neighbour. */
#include "net_fixture.h"

#include <errno.h>

/* Which destinations are reached, and how. The port has 10.11.10.2/16, fd00::2/64, 10.5.0.0/31
 * and gateways. */
static const struct {
	uint32_t sgid;
	const char *dst;
	bool gateway;	/* configured */
	int ret;
	const char *asked; /* who is asked for, or NULL */
} routes[] = {
	{ 1, "10.11.200.1", false, 0, "10.11.200.1" },
	{ 1, "10.12.0.1", false, -ENETUNREACH, NULL },
	{ 1, "10.12.0.1", true, 0, "10.11.0.1" },
	{ 2, "fd00::77", false, 0, "fd00::77" },
	{ 2, "fd00:0:0:1::77", false, -ENETUNREACH, NULL },
	{ 2, "fd00:0:0:1::77", true, 0, "fd00::1" },
	{ 0, "fe80::99", false, 0, "fe80::99" },
	{ 2, "fe80::99", false, 0, "fe80::99" },
	{ 1, "10.11.10.2", false, 0, NULL },	/* ourselves */
	{ 0, "fe80::ff:fe00:a02", false, 0, NULL },
	{ 0, "fd00::2", false, 0, NULL },
	{ 1, "fd00::77", false, -EINVAL, NULL }, /* families differ */
	{ 0, "10.11.200.1", false, -EINVAL, NULL },
	{ 2, "10.11.200.1", false, -EINVAL, NULL },
	{ 3, "10.5.0.1", false, 0, "10.5.0.1" }, /* the other of two, nobody's broadcast */
	{ 4, "10.11.200.1", false, -EINVAL, NULL }, /* empty index */
	{ 256, "10.11.200.1", false, -EINVAL, NULL },
	{ 1, "224.0.0.1", false, -EINVAL, NULL },
	{ 1, "255.255.255.255", false, -EINVAL, NULL },
	{ 1, "10.11.255.255", false, -EINVAL, NULL }, /* everybody on the subnet */
	{ 2, "ff02::1", false, -EINVAL, NULL },
	{ 2, "::", false, -EINVAL, NULL },
};

static void
path_open__routes(void)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		struct fix *f = fix_new();
		struct path p;
		uint8_t asked[16];
		int ret;

		fix_addr(f, "10.11.10.2", 16);
		fix_addr(f, "fd00::2", 64);
		fix_addr(f, "10.5.0.0", 31);
		if (routes[i].gateway) {
			gid_of("10.11.0.1", f->conf.gw4);
			gid_of("fd00::1", f->conf.gw6);
		}
		CHECK(!fix_start(f));
		ret = fix_open(f, &p, routes[i].sgid, routes[i].dst);
		if (ret != routes[i].ret)
			printf("%s from %u: %d\n", routes[i].dst, routes[i].sgid, ret);
		CHECK(ret == routes[i].ret);
		CHECK_EQ(p.loop, ret == 0 && !routes[i].asked);
		CHECK_EQ(p.ready, p.loop);
		CHECK_EQ(f->num_sent, routes[i].asked != NULL);
		if (routes[i].asked) {
			gid_of(routes[i].asked, asked);
			if (gid_is_ip4(asked))
				CHECK_MEM(f->sent[0].bytes + 38, asked + 12, 4);
			else
				CHECK_MEM(f->sent[0].bytes + 62, asked, 16);
		}
		path_close(f->net, &p);
		fix_free(f);
	}
}

/* F9: a group's MAC follows from its address; nobody is asked, no gateway needed, the hops are what
 * was asked for. Only for those that may send to one. */
static void
path_open__groups(void)
{
	static const struct {
		uint32_t sgid;
		const char *dst;
		int ret;
		uint8_t mac[6];
	} t[] = {
		{ 1, "224.0.0.1", 0, { 0x01, 0x00, 0x5e, 0, 0, 1 } },
		{ 1, "239.129.2.3", 0, { 0x01, 0x00, 0x5e, 1, 2, 3 } },
		{ 1, "239.255.255.255", 0, { 0x01, 0x00, 0x5e, 0x7f, 0xff, 0xff } },
		{ 2, "ff15::1:2ff:fe03:405", 0, { 0x33, 0x33, 0xfe, 0x03, 0x04, 0x05 } },
		{ 0, "ff02::1", 0, { 0x33, 0x33, 0, 0, 0, 1 } },
		{ 0, "224.0.0.1", -EINVAL, { 0 } },
		{ 1, "ff02::1", -EINVAL, { 0 } },
		{ 1, "255.255.255.255", -EINVAL, { 0 } },
	};

	for (size_t i = 0; i < 2 * sizeof(t) / sizeof(t[0]); i++) {
		struct path_req req = { .sgid_index = t[i / 2].sgid, .hop_limit = 1, .group = i & 1 };
		struct fix *f = fix_new();
		struct path p;

		fix_addr(f, "10.11.10.2", 16);
		fix_addr(f, "fd00::2", 64);
		CHECK(!fix_start(f));
		gid_of(t[i / 2].dst, req.dgid);
		CHECK(path_open(f->net, &p, &req, f->now, NULL, NULL) == (i & 1 ? t[i / 2].ret : -EINVAL));
		CHECK_EQ(f->num_sent, 0);
		if (p.ready) {
			CHECK(p.group && !p.loop);
			CHECK_EQ(p.conf.hop_limit, 1);
			CHECK_MEM(p.tmpl.bytes, t[i / 2].mac, 6);
		}
		CHECK_EQ(p.ready, (i & 1) && t[i / 2].ret == 0);
		path_close(f->net, &p);
		fix_free(f);
	}
}

static void
path_open__loop_template(void)
{
	struct fix *f = fix_new_started();
	struct path p;

	CHECK_EQ(fix_open(f, &p, 1, "10.11.10.2"), 0);
	CHECK(p.loop && p.ready);
	CHECK_MEM(p.tmpl.bytes, mac_a, 6);
	CHECK_MEM(p.tmpl.bytes + 6, mac_a, 6);
	CHECK_EQ(p.tmpl.len, 14 + 20 + 8);
	path_close(f->net, &p);
	fix_free(f);
}

/* One hop is none behind a gateway, and what is asked for anywhere else. */
static void
path_open__hop_limit(void)
{
	static const struct {
		const char *dst;
		uint8_t asked, used;
	} rows[] = {
		{ "10.11.200.1", 0, 64 }, { "10.11.200.1", 1, 1 }, { "10.11.200.1", 255, 255 },
		{ "10.12.0.1", 0, 64 },	  { "10.12.0.1", 1, 64 },  { "10.12.0.1", 2, 2 },
	};
	struct fix *f = fix_new();

	fix_addr(f, "10.11.10.2", 16);
	gid_of("10.11.0.1", f->conf.gw4);
	CHECK(!fix_start(f));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct path_req req = { .sgid_index = 1, .hop_limit = rows[i].asked };
		struct path p;

		gid_of(rows[i].dst, req.dgid);
		CHECK_EQ(path_open(f->net, &p, &req, 0, NULL, NULL), 0);
		CHECK_EQ(p.conf.hop_limit, rows[i].used);
		path_close(f->net, &p);
	}
	fix_free(f);
}

struct seen {
	unsigned int calls;
	struct net *close_in;	/* closes the path in the call */
};

static void
on_change(struct path *p, void *arg)
{
	struct seen *s = arg;

	s->calls++;
	if (s->close_in)
		path_close(s->close_in, p);
}

static void
path_open__resolves(void)
{
	static const struct {
		uint32_t sgid;
		const char *dst, *asks, *answer;
		unsigned int len;	/* of the template */
	} t[] = {
		{ 1, "10.11.10.3", ARP_A_ASKS, ARP_B_ANSWERS, 14 + 20 + 8 },
		{ 0, "fe80::ff:fe00:a03", ND_A_ASKS, ND_B_ANSWERS, 14 + 40 + 8 },
	};

	for (int i = 0; i < 2; i++) {
		struct fix *f = fix_new_started();
		struct seen seen = { 0 };
		struct path_req req = { .sgid_index = t[i].sgid, .udp_sport = 0xc123,
					.traffic_class = 0x68 };
		struct path p, second;
		const uint8_t *ip;

		gid_of(t[i].dst, req.dgid);
		CHECK_EQ(path_open(f->net, &p, &req, f->now, on_change, &seen), 0);
		CHECK(!p.ready && !p.loop);
		CHECK(fix_sent(f, 0, t[i].asks));
		CHECK_EQ(fix_rx(f, t[i].answer), DROP_NONE);
		CHECK_EQ(seen.calls, 1);
		CHECK(p.ready);
		CHECK_EQ(p.tmpl.len, t[i].len);
		CHECK_MEM(p.tmpl.bytes, mac_b, 6);
		CHECK_MEM(p.tmpl.bytes + 6, mac_a, 6);
		ip = p.tmpl.bytes + p.tmpl.l3;
		CHECK_EQ(ip[p.tmpl.ip6 ? 7 : 8], 64); /* hop limit 0 means 64 */
		CHECK_EQ(get_be16(p.tmpl.bytes + p.tmpl.len - 8), 0xc123);
		/* the second path to it is ready at once and asks nobody */
		CHECK_EQ(fix_open(f, &second, t[i].sgid, t[i].dst), 0);
		CHECK(second.ready);
		CHECK_EQ(f->num_sent, 1);
		/* the same answer again is no news */
		CHECK_EQ(fix_rx(f, t[i].answer), DROP_NONE);
		CHECK_EQ(seen.calls, 1);
		path_close(f->net, &p);
		path_close(f->net, &second);
		CHECK(!p.ready);
		fix_free(f);
	}
}

/* Whoever asks us is known from then on. */
static void
net_rx__request_teaches(void)
{
	struct fix *f = fix_new_started();
	struct path p;

	CHECK_EQ(fix_rx(f, ARP_B_ASKS), DROP_NONE);
	CHECK_EQ(fix_rx(f, ND_B_ASKS), DROP_NONE);
	CHECK_EQ(fix_open(f, &p, 1, "10.11.10.3"), 0);
	CHECK(p.ready);
	path_close(f->net, &p);
	CHECK_EQ(fix_open(f, &p, 0, "fe80::ff:fe00:a03"), 0);
	CHECK(p.ready);
	path_close(f->net, &p);
	CHECK_EQ(f->num_sent, 2); /* the two answers */
	fix_free(f);
}

/* Who asks from an address that is on no link of ours is answered, but not remembered: nothing would
 * ever be sent there directly. Nor is a group. */
static void
net_rx__stranger_teaches_nothing(void)
{
	static const uint8_t strangers[][4] = { { 10, 99, 0, 1 }, { 224, 0, 0, 1 }, { 0, 0, 0, 0 } };
	struct fix *f = fix_new_started();
	uint8_t bytes[256], gid[16];
	size_t len = hex_bytes(ARP_B_ASKS, bytes);

	for (int i = 0; i < 3; i++) {
		memcpy(bytes + 28, strangers[i], 4);
		CHECK_EQ(fix_rx_bytes(f, bytes, len), DROP_NONE);
		gid_from_ip4(gid, strangers[i]);
		CHECK(!neigh_learn(f->net, gid, mac_b, f->now, false, true));
	}
	len = hex_bytes(ND_B_ASKS, bytes);
	gid_of("fd77::3", gid);
	memcpy(bytes + 22, gid, 16);
	put_be16(bytes + 56, 0);
	put_be16(bytes + 56, csum_icmp6(bytes + 14, bytes + 54, len - 54));
	CHECK_EQ(fix_rx_bytes(f, bytes, len), DROP_NONE);
	CHECK(!neigh_learn(f->net, gid, mac_b, f->now, false, true));
	CHECK_EQ(f->num_sent, 4);
	fix_free(f);
}

/* What a neighbour says to somebody else changes nothing. */
static void
arp_rx__answer_to_another(void)
{
	struct fix *f = fix_new_started();
	struct path p;
	uint8_t bytes[256];
	size_t len = hex_bytes(ARP_B_ANSWERS, bytes);

	CHECK_EQ(fix_rx(f, ARP_B_ASKS), DROP_NONE);
	CHECK_EQ(fix_open(f, &p, 1, "10.11.10.3"), 0);
	bytes[27] = 0x77; /* sender's MAC */
	bytes[41] = 0x99; /* target 10.11.10.153 */
	CHECK_EQ(fix_rx_bytes(f, bytes, len), DROP_NOT_ROCE);
	CHECK_MEM(p.tmpl.bytes, mac_b, 6);
	path_close(f->net, &p);
	fix_free(f);
}

/* An answer nobody asked for makes no neighbour. */
static void
net_rx__unasked_answer_teaches_nothing(void)
{
	struct fix *f = fix_new_started();
	struct path p;

	CHECK_EQ(fix_rx(f, ARP_B_ANSWERS), DROP_NONE);
	CHECK_EQ(fix_rx(f, ND_B_ANSWERS), DROP_NONE);
	CHECK_EQ(fix_open(f, &p, 1, "10.11.10.3"), 0);
	CHECK(!p.ready);
	path_close(f->net, &p);
	fix_free(f);
}

static const struct check_case cases[] = {
	CHECK_CASE(path_open__routes),
	CHECK_CASE(path_open__groups),
	CHECK_CASE(path_open__loop_template),
	CHECK_CASE(path_open__hop_limit),
	CHECK_CASE(path_open__resolves),
	CHECK_CASE(net_rx__request_teaches),
	CHECK_CASE(net_rx__stranger_teaches_nothing),
	CHECK_CASE(arp_rx__answer_to_another),
	CHECK_CASE(net_rx__unasked_answer_teaches_nothing),
};
CHECK_MAIN(cases)

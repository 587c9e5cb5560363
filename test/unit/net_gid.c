/* SPDX-License-Identifier: BSD-3-Clause */
/* GIDs and the GID table. */
#include "net_fixture.h"

#include <errno.h>

static void
gid_text__both_families(void)
{
	uint8_t gid[16];
	char text[GID_TEXT_LEN];

	gid_of("10.11.0.2", gid);
	gid_text(gid, text);
	CHECK(strcmp(text, "10.11.0.2") == 0);
	CHECK(gid_is_ip4(gid));
	gid_of("fd00:1::a02", gid);
	gid_text(gid, text);
	CHECK(strcmp(text, "fd00:1::a02") == 0);
	CHECK(!gid_is_ip4(gid));
}

static void
gid_is_unicast__table(void)
{
	static const struct {
		const char *addr;
		bool unicast;
	} t[] = {
		{ "10.11.0.2", true },	{ "192.168.1.255", true },    { "223.255.255.255", true },
		{ "0.0.0.0", false },	{ "0.1.2.3", false },	      { "127.0.0.1", false },
		{ "224.0.0.1", false }, { "255.255.255.255", false }, { "fe80::1", true },
		{ "fd00::1", true },	{ "ff02::1", false },	      { "ff0e::1:2", false },
		{ "::1", false },	{ "::", false },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint8_t gid[16];

		gid_of(t[i].addr, gid);
		if (gid_is_unicast(gid) != t[i].unicast)
			printf("%s:\n", t[i].addr);
		CHECK_EQ(gid_is_unicast(gid), t[i].unicast);
	}
}

static void
gid_same_prefix__lengths(void)
{
	static const struct {
		const char *a, *b;
		uint8_t len;
		bool same;
	} t[] = {
		{ "10.11.0.2", "10.11.255.1", 16, true },
		{ "10.11.0.2", "10.10.255.1", 16, false },
		{ "10.11.0.2", "10.10.255.1", 15, true },
		{ "10.11.0.2", "10.11.0.3", 31, true },
		{ "10.11.0.2", "10.11.0.3", 32, false },
		{ "10.11.0.2", "99.0.0.1", 0, true },
		{ "10.11.0.2", "fd00::1", 0, false },
		{ "fd00::1", "fd00::2", 64, true },
		{ "fd00::1", "fd00::2", 127, false },
		{ "fd00::2", "fd00::3", 127, true },
		{ "fd00::1", "fd00::1", 128, true },
		{ "fd00::1", "fd00::2", 128, false },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint8_t a[16], b[16];

		gid_of(t[i].a, a);
		gid_of(t[i].b, b);
		CHECK_EQ(gid_same_prefix(a, b, t[i].len), t[i].same);
	}
}

static void
net_new__default_address_from_mac(void)
{
	struct fix *f = fix_new_started();
	uint8_t gid[16], want[16];

	CHECK_EQ(gid_get(f->net, 0, gid), 0);
	gid_of("fe80::ff:fe00:a02", want);
	CHECK_MEM(gid, want, 16);
	CHECK_EQ(gid_get(f->net, 1, gid), 0);
	gid_of("10.11.10.2", want);
	CHECK_MEM(gid, want, 16);
	CHECK_EQ(gid_find(f->net, want), 1);
	CHECK_EQ(gid_get(f->net, 2, gid), -ENODATA);
	CHECK_EQ(gid_get(f->net, 255, gid), -ENODATA);
	CHECK_EQ(gid_get(f->net, 256, gid), -EINVAL);
	fix_free(f);
}

static void
net_new__default_address_avoids_the_subnets_own(void)
{
	static const struct {
		uint8_t last[2];
		const char *addr;
	} t[] = { { { 0, 0 }, "10.11.0.1" }, { { 255, 255 }, "10.11.255.254" } };

	for (int i = 0; i < 2; i++) {
		struct fix *f = fix_new();
		uint8_t gid[16], want[16];

		memcpy(f->conf.mac + 4, t[i].last, 2);
		CHECK(!fix_start(f));
		gid_of(t[i].addr, want);
		CHECK_EQ(gid_get(f->net, 1, gid), 0);
		CHECK_MEM(gid, want, 16);
		fix_free(f);
	}
}

static void
net_new__given_addresses_in_order(void)
{
	struct fix *f = fix_new();
	uint8_t gid[16], want[16];

	fix_addr(f, "fd00::5", 64);
	fix_addr(f, "192.168.7.1", 24);
	CHECK(!fix_start(f));
	gid_of("fd00::5", want);
	CHECK_EQ(gid_get(f->net, 1, gid), 0);
	CHECK_MEM(gid, want, 16);
	gid_of("192.168.7.1", want);
	CHECK_EQ(gid_get(f->net, 2, gid), 0);
	CHECK_MEM(gid, want, 16);
	CHECK_EQ(gid_get(f->net, 3, gid), -ENODATA);
	fix_free(f);
}

static void
net_new__full_table(void)
{
	struct fix *f = fix_new();
	uint8_t gid[16];

	for (unsigned int i = 0; i < NET_MAX_GIDS - 1; i++) {
		char text[32];

		snprintf(text, sizeof(text), "10.12.%u.1", i);
		fix_addr(f, text, 24);
	}
	CHECK(!fix_start(f));
	CHECK_EQ(gid_get(f->net, NET_MAX_GIDS - 1, gid), 0);
	fix_free(f);
}

/* Each bad configuration is refused with a reason. */
static void
net_new__refuses(void)
{
	enum { MAC, MTU, PREFIX, MCAST, TWICE, OWN, BCAST, GW_OFF, GW_SELF, GW_FAMILY, VLAN, N };

	for (int i = 0; i < N; i++) {
		struct fix *f = fix_new();
		const char *why;

		fix_addr(f, "10.11.10.2", 16);
		if (i == MAC)
			f->conf.mac[0] = 1;
		if (i == MTU)
			f->conf.ip_mtu = 100;
		if (i == PREFIX)
			f->conf.addr[0].prefix_len = 33;
		if (i == MCAST)
			fix_addr(f, "ff02::5", 64);
		if (i == TWICE)
			fix_addr(f, "10.11.10.2", 24);
		if (i == OWN)
			fix_addr(f, "fe80::ff:fe00:a02", 64);
		if (i == BCAST)
			fix_addr(f, "10.12.255.255", 16);
		if (i == GW_OFF)
			gid_of("10.12.0.1", f->conf.gw4);
		if (i == GW_SELF)
			gid_of("10.11.10.2", f->conf.gw4);
		if (i == GW_FAMILY)
			gid_of("10.11.0.1", f->conf.gw6);
		if (i == VLAN)
			f->conf.vlan_tci = 0xffff;
		why = fix_start(f);
		if (!why)
			printf("case %d was taken\n", i);
		CHECK(why && !f->net);
		fix_free(f);
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(gid_text__both_families),
	CHECK_CASE(gid_is_unicast__table),
	CHECK_CASE(gid_same_prefix__lengths),
	CHECK_CASE(net_new__default_address_from_mac),
	CHECK_CASE(net_new__default_address_avoids_the_subnets_own),
	CHECK_CASE(net_new__given_addresses_in_order),
	CHECK_CASE(net_new__full_table),
	CHECK_CASE(net_new__refuses),
};
CHECK_MAIN(cases)

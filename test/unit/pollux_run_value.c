/* SPDX-License-Identifier: BSD-3-Clause */
/* The grammar of the launcher's values: app/pollux-run/value*.c. */
#include "check.h"

#include <stdlib.h>

#include "value.h"

static struct why w;

/* 0 when the text is accepted; a refusal must have said why. */
static int
refusal(int rc)
{
	if (rc && !w.text[0])
		return -1;
	w.text[0] = 0;
	return rc ? 1 : 0;
}

static void
value_mtu__limits(void)
{
	static const char *const bad[] = { "", "575", "9217", "-1", "+400", " 400", "400 ", "0x",
					   "4e3", "99999999999999999999", "1500x" };
	unsigned int mtu = 0;

	CHECK_EQ(refusal(value_mtu("576", &mtu, &w)), 0);
	CHECK_EQ(mtu, 576);
	CHECK_EQ(refusal(value_mtu("9216", &mtu, &w)), 0);
	CHECK_EQ(mtu, 9216);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(refusal(value_mtu(bad[i], &mtu, &w)), 1);
}

static void
value_mac__forms(void)
{
	static const char *const bad[] = { "", "02", "02:00:00:00:00", "02:00:00:00:00:01:02",
					   "2:0:0:0:0:1", "02-00-00-00-00-01", "02:00:00:00:00:0g",
					   "00:00:00:00:00:00", "01:00:5e:00:00:01",
					   "ff:ff:ff:ff:ff:ff", "02:00:00:00:00:01 " };
	static const uint8_t want[6] = { 0x02, 0xab, 0xcd, 0xef, 0x00, 0xff };
	uint8_t mac[6];

	CHECK_EQ(refusal(value_mac("02:ab:CD:ef:00:ff", mac, &w)), 0);
	CHECK_MEM(mac, want, 6);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(refusal(value_mac(bad[i], mac, &w)), 1);
}

static void
value_vlan__id_and_priority(void)
{
	static const char *const bad[] = { "", "0", "4095", "1:", "1:8", "1:9", ":1", "1:2:3",
					   "1,2" };
	uint16_t tci;

	CHECK_EQ(refusal(value_vlan("1", &tci, &w)), 0);
	CHECK_EQ(tci, 1);
	CHECK_EQ(refusal(value_vlan("4094:7", &tci, &w)), 0);
	CHECK_EQ(tci, 7 << 13 | 4094);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(refusal(value_vlan(bad[i], &tci, &w)), 1);
}

static void
value_cores__lists_as_in_taskset(void)
{
	static const char *const bad[] = { "", ",", "1,", "1-", "3-1", "1-3:0", "1-3:", "a",
					   "inlined", "1 2", "99999" };
	struct value_cores set;

	CHECK_EQ(refusal(value_cores("inline", 16, &set, &w)), 0);
	CHECK_EQ(set.n, 0);
	CHECK_EQ(refusal(value_cores("0,2-3,8-14:3", 16, &set, &w)), 0);
	CHECK_EQ(set.n, 6);
	CHECK_EQ(set.cpu[5], 14);
	CHECK_EQ(refusal(value_cores("16", 16, &set, &w)), 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(refusal(value_cores(bad[i], 16, &set, &w)), 1);
}

static void
value_id__bases_and_limit(void)
{
	uint32_t v;

	CHECK_EQ(refusal(value_id("0x15b3", &v, &w)), 0);
	CHECK_EQ(v, 0x15b3);
	CHECK_EQ(refusal(value_id("4294967295", &v, &w)), 0);
	CHECK_EQ(v, UINT32_MAX);
	CHECK_EQ(refusal(value_id("4294967296", &v, &w)), 1);
	CHECK_EQ(refusal(value_id("0x", &v, &w)), 1);
	CHECK_EQ(refusal(value_id("1f", &v, &w)), 1);
}

static void
value_addr_len__refuses_what_no_port_has(void)
{
	static const char *const bad[] = { "", "10.0.0.1", "10.0.0.1/", "10.0.0.1/0", "10.0.0.1/33",
					   "10.0.0/24", "127.0.0.1/8", "0.0.0.0/8",
					   "224.0.0.1/4", "255.255.255.255/32", "::/64", "::1/128",
					   "ff02::1/64", "::ffff:1.2.3.4/96", "fd00::1/129",
					   "fd00::1/64/64", "/24", "10.0.0.1/24 " };
	struct kv_ip a;

	CHECK_EQ(refusal(value_addr_len("10.1.2.3/24", &a, &w)), 0);
	CHECK(a.ip4);
	CHECK_EQ(a.prefix, 24);
	CHECK_EQ(a.gid[15], 3);
	CHECK_EQ(refusal(value_addr_len("fd00::1/64", &a, &w)), 0);
	CHECK(!a.ip4);
	CHECK_EQ(a.gid[15], 1);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(refusal(value_addr_len(bad[i], &a, &w)), 1);
}

static void
value_addr_list__none_twice_and_not_too_many(void)
{
	static struct kv_ip a[VALUE_MAX_ADDRS];
	static char many[VALUE_MAX_ADDRS * 20 + 40];
	size_t n, len = 0;

	CHECK_EQ(refusal(value_addr_list("10.0.0.1/8,fd00::1/64", a, &n, &w)), 0);
	CHECK_EQ(n, 2);
	CHECK_EQ(refusal(value_addr_list("10.0.0.1/8,10.0.0.1/16", a, &n, &w)), 1);
	CHECK_EQ(refusal(value_addr_list("10.0.0.1/8,", a, &n, &w)), 1);
	for (unsigned int i = 0; i < VALUE_MAX_ADDRS; i++)
		len += (size_t)sprintf(many + len, "%s10.0.%u.1/8", i ? "," : "", i);
	CHECK_EQ(refusal(value_addr_list(many, a, &n, &w)), 0);
	CHECK_EQ(n, VALUE_MAX_ADDRS);
	strcpy(many + len, ",10.1.0.1/8");
	CHECK_EQ(refusal(value_addr_list(many, a, &n, &w)), 1);
}

static void
value_gateways__one_of_each_family(void)
{
	struct kv_ip gw[2];
	size_t n;

	CHECK_EQ(refusal(value_gateways("10.0.0.1", gw, &n, &w)), 0);
	CHECK_EQ(n, 1);
	CHECK_EQ(refusal(value_gateways("fd00::1,10.0.0.1", gw, &n, &w)), 0);
	CHECK_EQ(n, 2);
	CHECK(!gw[0].ip4 && gw[1].ip4);
	CHECK_EQ(refusal(value_gateways("10.0.0.1,10.0.0.2", gw, &n, &w)), 1);
	CHECK_EQ(refusal(value_gateways("10.0.0.1,", gw, &n, &w)), 1);
	CHECK_EQ(refusal(value_gateways("10.0.0.1/24", gw, &n, &w)), 1);
	CHECK_EQ(refusal(value_gateways("10.0.0.1,fd00::1,fd00::2", gw, &n, &w)), 1);
}

static int
in_network(const char *addr, const char *net)
{
	struct kv_ip a, b;

	if (value_addr(addr, &a, &w) || value_addr_len(net, &b, &w))
		abort();
	return value_addr_in(&a, &b);
}

static void
value_addr_in__prefix_bits(void)
{
	CHECK(in_network("10.0.0.200", "10.0.0.1/24"));
	CHECK(!in_network("10.0.1.200", "10.0.0.1/24"));
	CHECK(in_network("10.0.0.129", "10.0.0.200/25"));
	CHECK(!in_network("10.0.0.127", "10.0.0.200/25"));
	CHECK(in_network("10.0.0.1", "10.0.0.1/32"));
	CHECK(!in_network("fd00::1", "10.0.0.1/1"));
	CHECK(in_network("fd00::ffff", "fd00::1/64"));
}

static const struct check_case cases[] = {
	CHECK_CASE(value_mtu__limits),
	CHECK_CASE(value_mac__forms),
	CHECK_CASE(value_vlan__id_and_priority),
	CHECK_CASE(value_cores__lists_as_in_taskset),
	CHECK_CASE(value_id__bases_and_limit),
	CHECK_CASE(value_addr_len__refuses_what_no_port_has),
	CHECK_CASE(value_addr_list__none_twice_and_not_too_many),
	CHECK_CASE(value_gateways__one_of_each_family),
	CHECK_CASE(value_addr_in__prefix_bits),
};

CHECK_MAIN(cases)

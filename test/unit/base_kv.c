/* SPDX-License-Identifier: BSD-3-Clause */
/* lib/base/kv: each reader takes the whole of a string or none of it. */
#include "base/kv.h"

#include <errno.h>

#include "check.h"

static struct kv_err err;

static void
kv_next__pairs_in_order(void)
{
	const char *at = "id=3,server,socket=/a=b";
	struct kv_pair p;

	CHECK_EQ(kv_next(&at, &p, &err), 1);
	CHECK(!strcmp(p.key, "id") && !strcmp(p.value, "3") && p.has_value);
	CHECK_EQ(kv_next(&at, &p, &err), 1);
	CHECK(!strcmp(p.key, "server") && !strcmp(p.value, "") && !p.has_value);
	CHECK_EQ(kv_next(&at, &p, &err), 1);
	CHECK(!strcmp(p.key, "socket") && !strcmp(p.value, "/a=b"));
	CHECK_EQ(kv_next(&at, &p, &err), 0);
}

static void
kv_next__empty_value(void)
{
	const char *at = "k=,";
	struct kv_pair p;

	CHECK_EQ(kv_next(&at, &p, &err), -EINVAL);	/* nothing after the comma */
	at = "k=";
	CHECK_EQ(kv_next(&at, &p, &err), 1);
	CHECK(p.has_value && !*p.value);
	CHECK_EQ(kv_next(&at, &p, &err), 0);
}

static void
kv_next__refuses_what_it_cannot_hold(void)
{
	static const char *const bad[] = { "=x", ",a", "a,,b" };
	char longer[400];
	struct kv_pair p;
	const char *at;

	for (unsigned int i = 0; i < 2; i++) {
		at = bad[i];
		CHECK_EQ(kv_next(&at, &p, &err), -EINVAL);
		CHECK(*err.text);
	}
	at = bad[2];
	CHECK_EQ(kv_next(&at, &p, &err), 1);
	CHECK_EQ(kv_next(&at, &p, &err), -EINVAL);
	memset(longer, 'k', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	at = longer;
	CHECK_EQ(kv_next(&at, &p, &err), -EINVAL);
	longer[1] = '=';
	at = longer;
	CHECK_EQ(kv_next(&at, &p, &err), -EINVAL);
}

static void
kv_u64__numbers(void)
{
	uint64_t v = 0;

	CHECK_EQ(kv_u64("0", 0, 10, &v, &err), 0);
	CHECK_EQ(v, 0);
	CHECK_EQ(kv_u64("0x1F", 0, 100, &v, &err), 0);
	CHECK_EQ(v, 31);
	CHECK_EQ(kv_u64("18446744073709551615", 0, UINT64_MAX, &v, &err), 0);
	CHECK_EQ(v, UINT64_MAX);
}

static void
kv_u64__refuses(void)
{
	static const char *const bad[] = {
		"", " 1", "1 ", "-1", "+1", "1a", "0x", "0xg", "x", "1.5",
		"18446744073709551616", "11", "2",
	};
	uint64_t v = 77;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		CHECK_EQ(kv_u64(bad[i], 3, 10, &v, &err), -EINVAL);
		CHECK(*err.text);
	}
	CHECK_EQ(v, 77);
}

static void
kv_size__units(void)
{
	uint64_t v = 0;

	CHECK_EQ(kv_size("7", 0, UINT64_MAX, &v, &err), 0);
	CHECK_EQ(v, 7);
	CHECK_EQ(kv_size("2K", 0, UINT64_MAX, &v, &err), 0);
	CHECK_EQ(v, 2048);
	CHECK_EQ(kv_size("3m", 0, UINT64_MAX, &v, &err), 0);
	CHECK_EQ(v, 3 << 20);
	CHECK_EQ(kv_size("4G", 0, UINT64_MAX, &v, &err), 0);
	CHECK_EQ(v, UINT64_C(4) << 30);
	CHECK_EQ(kv_size("4KB", 0, UINT64_MAX, &v, &err), -EINVAL);
	CHECK_EQ(kv_size("K", 0, UINT64_MAX, &v, &err), -EINVAL);
	CHECK_EQ(kv_size("18446744073709551615K", 0, UINT64_MAX, &v, &err), -EINVAL);
	CHECK_EQ(kv_size("2K", 0, 2047, &v, &err), -EINVAL);
}

static void
kv_cpus__lists(void)
{
	static const uint32_t want[] = { 0, 2, 3, 4, 8, 10, 12, 14 };
	uint32_t cpus[16];

	CHECK_EQ(kv_cpus("0,2-4,8-14:2", 64, cpus, 16, &err), 8);
	CHECK_MEM(cpus, want, sizeof(want));
	CHECK_EQ(kv_cpus("5,5,4-5", 64, cpus, 16, &err), 2);
	CHECK(cpus[0] == 5 && cpus[1] == 4);
}

static void
kv_cpus__refuses(void)
{
	static const char *const bad[] = {
		"", ",", "1,", ",1", "1-", "-1", "4-2", "1-4:0", "1-4:", "a", "1 2", "64", "0-64",
		"0-16", "18446744073709551616",
	};
	uint32_t cpus[16];

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(kv_cpus(bad[i], 64, cpus, 16, &err), -EINVAL);
}

static void
kv_ip__both_families(void)
{
	static const uint8_t v4[16] = { [10] = 0xff, 0xff, 10, 11, 1, 2 };
	static const uint8_t v6[16] = { 0xfd, [15] = 1 };
	struct kv_ip ip;

	CHECK_EQ(kv_ip("10.11.1.2/16", &ip, &err), 0);
	CHECK_MEM(ip.gid, v4, 16);
	CHECK(ip.ip4 && ip.has_prefix && ip.prefix == 16);
	CHECK_EQ(kv_ip("10.11.1.2", &ip, &err), 0);
	CHECK(ip.ip4 && !ip.has_prefix && ip.prefix == 32);
	CHECK_EQ(kv_ip("fd00::1/64", &ip, &err), 0);
	CHECK_MEM(ip.gid, v6, 16);
	CHECK(!ip.ip4 && ip.has_prefix && ip.prefix == 64);
	CHECK_EQ(kv_ip("fd00::1", &ip, &err), 0);
	CHECK_EQ(ip.prefix, 128);
	CHECK_EQ(kv_ip("::ffff:10.11.1.2", &ip, &err), 0);
	CHECK_MEM(ip.gid, v4, 16);
	CHECK(ip.ip4 && ip.prefix == 32);
}

static void
kv_ip__refuses(void)
{
	static const char *const bad[] = {
		"", "10.0.0", "10.0.0.1/33", "10.0.0.1/", "10.0.0.1/x", "fd00::1/129", "host",
		"10.0.0.1 ", "/24",
		"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc:dddd:eeee:ffff",
	};
	struct kv_ip ip;

	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		CHECK_EQ(kv_ip(bad[i], &ip, &err), -EINVAL);
		CHECK(*err.text);
	}
}

static void
kv_mac__reads_and_refuses(void)
{
	static const uint8_t want[6] = { 0x02, 0xab, 0xCD, 0, 0, 0x0f };
	static const char *const bad[] = {
		"", "02:ab:cd:00:00", "02:ab:cd:00:00:0f:", "02-ab-cd-00-00-0f",
		"02:ab:cd:00:00:g0", "01:00:5e:00:00:01", "00:00:00:00:00:00",
		"ff:ff:ff:ff:ff:ff", "2:ab:cd:00:00:0f1",
	};
	uint8_t mac[6];

	CHECK_EQ(kv_mac("02:ab:CD:00:00:0f", mac, &err), 0);
	CHECK_MEM(mac, want, 6);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_EQ(kv_mac(bad[i], mac, &err), -EINVAL);
	CHECK_MEM(mac, want, 6);
}

static const struct check_case cases[] = {
	CHECK_CASE(kv_next__pairs_in_order),
	CHECK_CASE(kv_next__empty_value),
	CHECK_CASE(kv_next__refuses_what_it_cannot_hold),
	CHECK_CASE(kv_u64__numbers),
	CHECK_CASE(kv_u64__refuses),
	CHECK_CASE(kv_size__units),
	CHECK_CASE(kv_cpus__lists),
	CHECK_CASE(kv_cpus__refuses),
	CHECK_CASE(kv_ip__both_families),
	CHECK_CASE(kv_ip__refuses),
	CHECK_CASE(kv_mac__reads_and_refuses),
};

CHECK_MAIN(cases)

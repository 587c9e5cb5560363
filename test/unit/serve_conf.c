/* SPDX-License-Identifier: BSD-3-Clause */
#include "serve/conf.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"

static struct serve_conf conf;
static char why[256];

static int
parse(const struct setting_text *t)
{
	why[0] = 0;
	return conf_parse(&conf, t, why, sizeof(why));
}

static void
conf_parse__nothing_given_is_loop_inline(void)
{
	const struct setting_text t = { 0 };

	CHECK_EQ(parse(&t), 0);
	CHECK(strcmp(conf.eng.port.driver, "loop") == 0);
	CHECK(conf.eng.inline_mode);
	CHECK_EQ(conf.eng.num_cores, 1);
	CHECK_EQ(conf.eng.net.num_addrs, 0);
	CHECK_EQ(conf.eng.port.ip_mtu, 0);
	CHECK(!conf.eng.impair && !conf.eng.record && !conf.counters);
	CHECK_EQ(conf.vendor_id, 0xffffff);
	CHECK_EQ(conf.dm_size, 16u << 20);
	CHECK_EQ(conf.vendor_part_id, 0);
}

static void
conf_parse__everything_given(void)
{
	const struct setting_text t = {
		.port = "memif:/run/x.sock,server", .ip = "10.1.2.3/24,2001:db8::1/64",
		.gw = "10.1.2.254,2001:db8::ff", .mtu = "9000", .mac = "02:00:00:00:00:07",
		.vlan = "5:3", .cores = "1", .vendor_id = "0x2c9", .vendor_part_id = "4119",
		.dm_size = "3",
		.impair = "drop=0.1,seed=7", .record = "x.pcapng", .counters = "x.txt",
	};
	static const uint8_t gid[16] = { [10] = 0xff, [11] = 0xff, 10, 1, 2, 3 };
	static const uint8_t gw[16] = { [10] = 0xff, [11] = 0xff, 10, 1, 2, 254 };

	CHECK_EQ(parse(&t), 0);
	CHECK(strcmp(conf.eng.port.driver, "memif") == 0);
	CHECK_EQ(conf.eng.net.num_addrs, 2);
	CHECK_MEM(conf.eng.net.addr[0].gid, gid, 16);
	CHECK_EQ(conf.eng.net.addr[0].prefix_len, 24);
	CHECK_EQ(conf.eng.net.addr[1].prefix_len, 64);
	CHECK_MEM(conf.eng.net.gw4, gw, 16);
	CHECK_EQ(conf.eng.net.gw6[15], 0xff);
	CHECK_EQ(conf.eng.port.ip_mtu, 9000);
	CHECK_EQ(conf.eng.port.mac[5], 7);
	CHECK_EQ(conf.eng.net.vlan_tci, 3 << 13 | 5);
	CHECK(!conf.eng.inline_mode);
	CHECK_EQ(conf.eng.num_cores, 1);
	CHECK_EQ(conf.eng.cpu[0], 1);
	CHECK(strcmp(conf.eng.impair, "drop=0.1,seed=7") == 0);
	CHECK(strcmp(conf.eng.record, "x.pcapng") == 0);
	CHECK(strcmp(conf.counters, "x.txt") == 0);
	CHECK_EQ(conf.vendor_id, 0x2c9);
	CHECK_EQ(conf.vendor_part_id, 4119);
	CHECK_EQ(conf.dm_size, 3u << 20);
}

static void
conf_parse__empty_is_not_given(void)
{
	const struct setting_text t = { .port = "", .ip = "", .mtu = "", .impair = "", .socket = "" };

	CHECK_EQ(parse(&t), 0);
	CHECK(strcmp(conf.eng.port.driver, "loop") == 0);
}

static void
conf_parse__not_in_this_version(void)
{
	const struct setting_text absent[] = {
		{ .socket = "/run/x" },
	};

	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
		CHECK_EQ(parse(&absent[i]), -EOPNOTSUPP);
		CHECK(strstr(why, "not in this version"));
	}
}

static void
conf_parse__several_cores(void)
{
	const struct setting_text t = { .cores = "4,0-2" }, many = { .cores = "0-64" };

	CHECK_EQ(parse(&t), 0);
	CHECK(!conf.eng.inline_mode);
	CHECK_EQ(conf.eng.num_cores, 4);
	CHECK_EQ(conf.eng.cpu[0], 4);	/* the order is the one given: the first serves the port */
	CHECK_EQ(conf.eng.cpu[3], 2);
	CHECK_EQ(parse(&many), -EINVAL);
}

static void
conf_parse__wrong_words(void)
{
	const struct setting_text wrong[] = {
		{ .ip = "10.1.2.3" }, { .ip = "10.1.2/24" }, { .ip = "10.1.2.3/33" }, { .gw = "here" },
		{ .mtu = "100" }, { .mtu = "90000" }, { .mtu = "big" }, { .mac = "02:00" },
		{ .vlan = "0" }, { .vlan = "4095" }, { .vlan = "1:8" }, { .cores = "all" },
		{ .vendor_id = "-1" }, { .port = "teapot" },
		{ .impair = "drop=2" }, { .impair = "jam=1" },
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		CHECK(parse(&wrong[i]) == -EINVAL);
		CHECK(why[0]);
	}
}

static void
setting_from_env__reads_the_variables(void)
{
	struct setting_text t;

	setenv("POLLUX_IP", "10.9.9.9/8", 1);
	unsetenv("POLLUX_MTU");
	setting_from_env(&t);
	CHECK(t.ip && strcmp(t.ip, "10.9.9.9/8") == 0);
	CHECK(t.mtu == NULL);
}

static const struct check_case cases[] = {
	CHECK_CASE(conf_parse__nothing_given_is_loop_inline),
	CHECK_CASE(conf_parse__everything_given),
	CHECK_CASE(conf_parse__empty_is_not_given),
	CHECK_CASE(conf_parse__not_in_this_version),
	CHECK_CASE(conf_parse__several_cores),
	CHECK_CASE(conf_parse__wrong_words),
	CHECK_CASE(setting_from_env__reads_the_variables),
};

CHECK_MAIN(cases)

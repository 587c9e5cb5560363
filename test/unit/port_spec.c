/* SPDX-License-Identifier: BSD-3-Clause */
/* Port SPECs: what is taken, what is refused, and with which words. */
#include "port/port.h"

#include <errno.h>
#include <stdlib.h>

#include "check.h"

static void
port_conf_parse__splits(void)
{
	static const struct {
		const char *spec, *driver, *args;
	} t[] = {
		{ "loop", "loop", "" },
		{ "loop:", "loop", "" },
		{ "memif:/run/a.sock,server", "memif", "/run/a.sock,server" },
		{ "memif:@wire,client,zc", "memif", "@wire,client,zc" },
		{ "memif:/with:colon,client", "memif", "/with:colon,client" },
		{ "af_packet:eth0", "af_packet", "eth0" },
		{ "af_packet:eth0.5", "af_packet", "eth0.5" },
		{ "af_xdp:eth0", "af_xdp", "eth0" },
		{ "vhost:/run/v", "vhost", "/run/v" },
		{ "virtio:/run/v", "virtio", "/run/v" },
		{ "pci:0000:c1:1f.7", "pci", "0000:c1:1f.7" },
		{ "pci:01:00.0", "pci", "01:00.0" },
		{ "vdev:net_ring0", "vdev", "net_ring0" },
		{ "vdev:net_tap0,iface=x,mac=fixed", "vdev", "net_tap0,iface=x,mac=fixed" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct port_conf c = { .ip_mtu = 1234 };
		char buf[200], why[200] = "";

		CHECK_EQ(port_conf_parse(t[i].spec, buf, sizeof(buf), &c, why, sizeof(why)), 0);
		CHECK(strcmp(c.spec, t[i].spec) == 0);
		CHECK(strcmp(c.driver, t[i].driver) == 0);
		CHECK(strcmp(c.args, t[i].args) == 0);
		CHECK(c.spec >= buf && c.args < buf + sizeof(buf));
		CHECK_EQ(c.ip_mtu, 1234);
		CHECK(why[0] == '\0');
	}
}

static void
port_conf_parse__refuses(void)
{
	static const struct {
		const char *spec;
		int ret;
		const char *says;
	} t[] = {
		{ "", -EINVAL, "no such kind" },
		{ "lo", -EINVAL, "no such kind" },
		{ "loops", -EINVAL, "no such kind" },
		{ "LOOP", -EINVAL, "no such kind" },
		{ "loop:x", -EINVAL, "nothing behind" },
		{ "memif", -EINVAL, "memif:SOCKET" },
		{ "memif:", -EINVAL, "memif:SOCKET" },
		{ "memif:/a", -EINVAL, "memif:SOCKET" },
		{ "memif:,server", -EINVAL, "SOCKET is" },
		{ "memif:@,server", -EINVAL, "SOCKET is" },
		{ "memif:/a,", -EINVAL, "server" },
		{ "memif:/a,master", -EINVAL, "master" },
		{ "memif:/a,servers", -EINVAL, "\"s\"" },
		{ "memif:/a,client,", -EINVAL, "\",\"" },
		{ "memif:/a,client,zc,", -EINVAL, ",zc," },
		{ "memif:/a,server,zc", -EINVAL, "client's" },
		{ "af_packet", -EINVAL, "IFACE" },
		{ "af_packet:", -EINVAL, "IFACE" },
		{ "af_packet:a,b", -EINVAL, "IFACE" },
		{ "af_packet:../x", -EINVAL, "IFACE" },
		{ "af_packet:sixteen_letters_", -EINVAL, "IFACE" },
		{ "vdev", -EINVAL, "vdev:NAME" },
		{ "vdev:", -EINVAL, "vdev:NAME" },
		{ "vdev:,x", -EINVAL, "vdev:NAME" },
		{ "vdev:a b", -EINVAL, "vdev:NAME" },
		{ "af_xdp:", -EINVAL, "IFACE" },
		{ "vhost", -EINVAL, "vhost:SOCKET" },
		{ "vhost:a", -EINVAL, "vhost:SOCKET" },
		{ "vhost:/a,client=1", -EINVAL, "vhost:SOCKET" },
		{ "virtio:", -EINVAL, "virtio:SOCKET" },
		{ "pci:", -EINVAL, "0000:01:00.0" },
		{ "pci:01:00", -EINVAL, "0000:01:00.0" },
		{ "pci:0000:01:00.00", -EINVAL, "0000:01:00.0" },
		{ "pci:0000:01:00.0,x", -EINVAL, "0000:01:00.0" },
		{ "pci:+000:01:00.0", -EINVAL, "0000:01:00.0" },
		{ "pci:0x00:01:00.0", -EINVAL, "0000:01:00.0" },
		{ "pci: 000:01:00.0", -EINVAL, "0000:01:00.0" },
		{ "pci:0000:0g:00.0", -EINVAL, "0000:01:00.0" },
		{ "pci:+1:00.0", -EINVAL, "0000:01:00.0" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct port_conf c = { 0 };
		char buf[200], why[200] = "";
		int ret = port_conf_parse(t[i].spec, buf, sizeof(buf), &c, why, sizeof(why));

		if (ret != t[i].ret || !strstr(why, t[i].says))
			printf("\"%s\": %d: %s\n", t[i].spec, ret, why);
		CHECK(ret == t[i].ret && strstr(why, t[i].says));
		CHECK(!strchr(why, '\n'));
	}
}

/* The buffer holds SPEC twice; one byte less is too little, and nothing is written beyond it. */
static void
port_conf_parse__buffer(void)
{
	static const char spec[] = "vdev:net_ring0";
	struct port_conf c = { 0 };
	char why[200] = "", *buf = malloc(2 * sizeof(spec));

	CHECK(buf);
	CHECK(port_conf_parse(spec, buf, 2 * sizeof(spec) - 1, &c, why, sizeof(why)) == -EINVAL);
	CHECK(strstr(why, "longer"));
	CHECK_EQ(port_conf_parse(spec, buf, 2 * sizeof(spec), &c, why, sizeof(why)), 0);
	CHECK(strcmp(c.args, "net_ring0") == 0);
	free(buf);
}

static void
port_memif_parse__socket(void)
{
	struct port_memif m;
	char why[200] = "", args[256], name[120];

	CHECK_EQ(port_memif_parse("@wire,client,zc", &m, why, sizeof(why)), 0);
	CHECK(m.abstract && !m.server && m.zero_copy && strcmp(m.socket, "wire") == 0);
	CHECK_EQ(port_memif_parse("/a/b,server", &m, why, sizeof(why)), 0);
	CHECK(!m.abstract && m.server && !m.zero_copy && strcmp(m.socket, "/a/b") == 0);
	/* the longest name that a socket takes, and one more */
	memset(name, 'x', sizeof(name));
	snprintf(args, sizeof(args), "%.107s,server", name);
	CHECK_EQ(port_memif_parse(args, &m, why, sizeof(why)), 0);
	CHECK_EQ(strlen(m.socket), 107);
	snprintf(args, sizeof(args), "%.108s,server", name);
	CHECK(port_memif_parse(args, &m, why, sizeof(why)) == -EINVAL && strstr(why, "107"));
}

static const struct check_case cases[] = {
	CHECK_CASE(port_conf_parse__splits),
	CHECK_CASE(port_conf_parse__refuses),
	CHECK_CASE(port_conf_parse__buffer),
	CHECK_CASE(port_memif_parse__socket),
};
CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/* af_xdp on both ends of a veth. */
#include "veth.h"

/* No more than a page carries, and the interface is left as it was. */
static int
too_long(struct rig *r)
{
	r->conf.ip_mtu = 4200;
	RIG_CHECK(rig_open(r, "af_xdp:plxa", false) == -EINVAL);
	RIG_CHECK(strstr(r->why, "MTU 4200 is more than the"));
	r->conf.ip_mtu = 0;	/* veth's driver refuses what its XDP could not hold */
	RIG_CHECK(rig_open(r, "af_xdp:plxa", false) == -EINVAL);
	RIG_CHECK(strstr(r->why, "is its MTU"));
	RIG_CHECK(sh("ip link set plxa mtu 3000; ip link set plxb mtu 3000") == 0);
	RIG_CHECK(rig_open(r, "af_xdp:plxa", true) == 0);
	RIG_CHECK(r->port.ip_mtu == 3000);
	port_close(&r->port);
	return sh("ip link show plxa | grep -q 'mtu 3000'");
}

static void
port_af_xdp__exchange(void)
{
	static const uint32_t mtus[] = { 1500, 3400 };

	for (int i = 0; i < 2; i++) {
		CHECK_EQ(make_veth("af_xdp", mtus[i]), 0);
		CHECK_EQ(rig_pair(talk, talk), 0);
	}
	CHECK_EQ(make_veth("af_xdp", 4200), 0);
	CHECK_EQ(rig_alone(too_long), 0);
}

/* The kernel gives an interface's queue back some time after its socket is closed. */
static int
again_at_once(struct rig *r)
{
	RIG_CHECK(rig_open(r, "af_xdp:plxa", false) == 0);
	for (int i = 0; i < 8; i++) {
		port_close(&r->port);
		RIG_CHECK(rig_open(r, "af_xdp:plxa", true) == 0);
	}
	port_close(&r->port);
	return 0;
}

static int
dies_with_xdp(struct rig *r)
{
	RIG_CHECK(rig_open(r, "af_xdp:plxa", false) == 0);
	raise(SIGKILL);
	return 1;
}

static void
port_af_xdp__again_at_once(void)
{
	CHECK_EQ(make_veth("af_xdp", 3400), 0);
	CHECK_EQ(rig_alone(again_at_once), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(rig_alone(dies_with_xdp), 128 + SIGKILL);
	CHECK_EQ(rig_alone(again_at_once), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(port_af_xdp__exchange),
	CHECK_CASE(port_af_xdp__again_at_once),
};

int
main(int argc, char **argv)
{
	return veth_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}

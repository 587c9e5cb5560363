/* SPDX-License-Identifier: BSD-3-Clause */
/* Any vdev: DPDK's ring and null devices. */
#include "port_rig.h"

/* net_ring's default is a wire from itself to itself. */
static int
ring(struct rig *r)
{
	static const uint32_t sizes[] = { 64, 1500, 4170 };

	r->conf.ip_mtu = 4200;
	RIG_CHECK(rig_open(r, "vdev:net_ring0", false) == 0);
	RIG_CHECK(r->port.ip_mtu == 4200 && r->port.max_frame == 4218);
	memcpy(r->peer_mac, r->port.mac, 6);
	for (int i = 0; i < 3; i++) {
		struct rte_mbuf *m = rig_frame(r, r->port.mac, 7, sizes[i]), *back[4];

		RIG_CHECK(m && port_tx(&r->port, 0, &m, 1) == 1);
		RIG_CHECK(port_rx(&r->port, 0, back, 4) == 1);
		RIG_CHECK(rig_judge(r, back[0], 0, 7, sizes[i]) == 1);
		rte_pktmbuf_free(back[0]);
	}
	RIG_CHECK(rig_in_use(r) == 0);
	port_close(&r->port);
	return 0;
}

/* net_null swallows; then another device in the same process, after EAL's start. */
static int
null(struct rig *r)
{
	struct rte_mbuf *m;

	RIG_CHECK(rig_open(r, "vdev:net_null0,no-rx=1", false) == 0);
	RIG_CHECK(r->port.ip_mtu == 1500);
	m = rig_frame(r, r->port.mac, 1, 1514);
	RIG_CHECK(m && port_tx(&r->port, 0, &m, 1) == 1);
	RIG_CHECK(port_rx(&r->port, 0, &m, 1) == 0);
	RIG_CHECK(rig_in_use(r) == 0);
	RIG_CHECK(r->port.drv->wait_fd(&r->port) == -1);
	port_close(&r->port);
	memcpy(r->conf.mac, "\2\1\2\3\4\5", 6);
	RIG_CHECK(rig_open(r, "vdev:net_ring1", true) == 0);
	RIG_CHECK(memcmp(r->port.mac, "\2\1\2\3\4\5", 6) == 0);
	port_close(&r->port);
	RIG_CHECK(rig_open(r, "vdev:net_null0,no-rx=1", true) == 0);
	port_close(&r->port);
	RIG_CHECK(rig_open(r, "vdev:net_nosuch0", true) != 0);
	RIG_CHECK(strstr(r->why, "net_nosuch0"));
	return 0;
}

static void
port_vdev__ring(void)
{
	CHECK_EQ(rig_alone(ring), 0);
}

static void
port_vdev__null(void)
{
	CHECK_EQ(rig_alone(null), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(port_vdev__ring),
	CHECK_CASE(port_vdev__null),
};
CHECK_MAIN(cases)

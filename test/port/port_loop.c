/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop driver: what goes out comes in. */
#include "port_rig.h"

static int
exchange(struct rig *r)
{
	static const uint32_t sizes[] = { 64, 1500, 4170, 4218 };
	uint8_t mac[6];

	RIG_CHECK(rig_open(r, "loop", false) == 0);
	RIG_CHECK(r->port.ip_mtu == 4200 && r->port.max_frame == 4218);
	RIG_CHECK((r->port.mac[0] & 3) == 2);
	RIG_CHECK(r->port.drv->link_up(&r->port));
	memcpy(r->peer_mac, r->port.mac, 6);
	memcpy(mac, r->port.mac, 6);
	r->side = 0;
	for (int i = 0; i < 4; i++) {
		struct rte_mbuf *m[3], *back[4];

		for (uint32_t k = 0; k < 3; k++) {
			m[k] = rig_frame(r, mac, k, sizes[i]);
			RIG_CHECK(m[k]);
		}
		RIG_CHECK(port_tx(&r->port, 0, m, 3) == 3);
		RIG_CHECK(port_rx(&r->port, 0, back, 4) == 3);
		for (uint32_t k = 0; k < 3; k++)
			RIG_CHECK(rig_judge(r, back[k], 0, k, sizes[i]) == 1);
		rte_pktmbuf_free_bulk(back, 3);
		RIG_CHECK(port_rx(&r->port, 0, back, 4) == 0);
	}
	RIG_CHECK(rig_in_use(r) == 0);
	port_close(&r->port);
	RIG_CHECK(rig_open(r, "loop", true) == 0);
	RIG_CHECK(memcmp(mac, r->port.mac, 6) == 0);
	port_close(&r->port);
	return 0;
}

/* A full ring takes what fits and no more; the rest stays the caller's. */
static int
full(struct rig *r)
{
	unsigned int taken = 0;

	r->conf.ip_mtu = 1500;
	memcpy(r->conf.mac, "\2\1\2\3\4\5", 6);
	RIG_CHECK(rig_open(r, "loop", false) == 0);
	RIG_CHECK(memcmp(r->port.mac, "\2\1\2\3\4\5", 6) == 0);
	RIG_CHECK(r->port.ip_mtu == 1500);
	for (;;) {
		struct rte_mbuf *m = rig_frame(r, r->port.mac, taken, 64);

		RIG_CHECK(m);
		if (port_tx(&r->port, 0, &m, 1) == 0) {
			rte_pktmbuf_free(m);
			break;
		}
		taken++;
	}
	RIG_CHECK(taken >= 512 && taken <= 1024);
	RIG_CHECK(rig_in_use(r) == taken);
	port_close(&r->port);
	return 0;
}

static int
refuses(struct rig *r)
{
	RIG_CHECK(rig_open(r, "loop", false) == 0);
	port_close(&r->port);
	r->conf.ip_mtu = 500;
	RIG_CHECK(rig_open(r, "loop", true) == -EINVAL && strstr(r->why, "500"));
	r->conf.ip_mtu = 9217;
	RIG_CHECK(rig_open(r, "loop", true) == -EINVAL);
	r->conf.ip_mtu = 0;
	r->conf.num_queues = 2;
	RIG_CHECK(rig_open(r, "loop", true) == -EOPNOTSUPP);
	return 0;
}

static void
port_loop__exchange(void)
{
	CHECK_EQ(rig_alone(exchange), 0);
}

static void
port_loop__full(void)
{
	CHECK_EQ(rig_alone(full), 0);
}

static void
port_open__refuses(void)
{
	CHECK_EQ(rig_alone(refuses), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(port_loop__exchange),
	CHECK_CASE(port_loop__full),
	CHECK_CASE(port_open__refuses),
};
CHECK_MAIN(cases)

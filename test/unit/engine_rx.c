/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose is a frame that the port brings? The engine on a loop, which is given frames of others. */
#include "engine_fixture.h"

#include "wire_frame.h"

static uint64_t
drops(enum drop_reason why)
{
	return cnt_read(&core->cnt.drop[why]);
}

/* A right one, to `mac`; its address is nobody's. How many the core took. */
static unsigned int
bring(const uint8_t mac[6], uint16_t vlan_tci)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(core->port->pool);
	struct wire_tmpl_conf conf = frame_conf(false);
	const struct wire_bth bth = { .opcode = 0x04, .pkey = 0xffff, .dest_qpn = 0x11 };
	static struct frame f;
	unsigned int n = 0;

	if (!m)
		return 0;
	memcpy(conf.dst_mac, mac, 6);
	conf.vlan_tci = vlan_tci;
	frame_make_conf(&f, &conf, &bth, "abcd", 4);
	memcpy(rte_pktmbuf_append(m, (uint16_t)f.len), f.bytes, f.len);
	while (!core_try(core, true))
		;
	while (core_tx(core) + core_rx(core))	/* what the core says of itself comes back from a loop */
		;
	if (port_tx(core->port, 0, &m, 1) == 1)
		n = core_rx(core);
	while (core_leave(core))
		core_round(core, CORE_ROUND_WHOLE);
	return n;
}

/* Each bit counts; what comes behind the MAC does not. */
static void
core_rx__roce_to_another_mac(void)
{
	static const uint8_t groups[][6] = {
		{ 0xff, 0xff, 0xff, 0xff, 0xff, 0xff }, { 0x01, 0x00, 0x5e, 0, 0, 1 },
		{ 0x33, 0x33, 0, 0, 0, 1 }, { 0 },
	};
	uint64_t others = 0;
	uint8_t mac[6];

	CHECK_EQ(start_with("loop", true), 0);
	for (int bit = 0; bit < 48; bit++) {
		memcpy(mac, core->port->mac, 6);
		mac[bit / 8] ^= (uint8_t)(1 << bit % 8);
		CHECK_EQ(bring(mac, bit & 1 ? 5 : 0), 1);
		CHECK_EQ(drops(DROP_DST_MAC), ++others);
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		CHECK_EQ(bring(groups[i], 0), 1);
		CHECK_EQ(drops(DROP_DST_MAC), ++others);
	}
	CHECK_EQ(drops(DROP_DST_GID), 0);
	CHECK_EQ(bring(core->port->mac, 0), 1);
	CHECK_EQ(bring(core->port->mac, 5), 1);
	CHECK_EQ(drops(DROP_DST_MAC), others);
	CHECK_EQ(drops(DROP_DST_GID), 2);
	stop();
}

static const struct check_case cases[] = {
	CHECK_CASE(core_rx__roce_to_another_mac),
};
CHECK_MAIN(cases)

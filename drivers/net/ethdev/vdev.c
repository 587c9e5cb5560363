/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any virtual device of DPDK, with the arguments that DPDK gives it: for what Pollux has no kind of
 * its own for. Control thread.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ethdev.h"

#define VDEV_RING 1024u
#define VDEV_MBUFS (2 * VDEV_RING + 1024u)

static int
vdev_eal_args(const struct port_conf *conf, char *out, size_t out_len, char *why, size_t why_len)
{
	if (snprintf(out, out_len, ETHDEV_ARG "%s", conf->args) < (int)out_len)
		return 0;
	snprintf(why, why_len, "vdev: its arguments are longer than %zu characters", out_len);
	return -ENAMETOOLONG;
}

static int
vdev_open(struct port *p, const struct port_conf *conf, char *why, size_t why_len)
{
	const struct ethdev_conf eth = {
		.devargs = conf->args,
		.ip_mtu = conf->ip_mtu,
		.rx_ring = VDEV_RING,
		.tx_ring = VDEV_RING,
		.num_mbufs = VDEV_MBUFS + conf->more_mbufs,
	};
	int ret = ethdev_open(p, &eth, why, why_len);

	if (ret == 0 && ethdev_mac_given(conf->mac))
		memcpy(p->mac, conf->mac, 6);
	return ret;
}

const struct port_driver drv_vdev = {
	.name = "vdev",
	.open = vdev_open,
	.close = ethdev_close,
	.rx = ethdev_rx,
	.tx = ethdev_tx,
	.link_up = ethdev_link_up,
	.wait_fd = ethdev_wait_fd,
	.wait_clear = ethdev_wait_clear,
	.tx_clean = ethdev_tx_clean,
	.eal_args = vdev_eal_args,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An Ethernet interface of the kernel whose frames we take before the kernel sees them, by XDP:
 * faster than packet sockets, on any driver that can XDP. While the port is open the kernel receives
 * nothing there, so the port has the interface's own MAC. Control thread.
 *
 * Buffers are lent to the kernel, which wants one in a page, with room in front: frames of some 3,500
 * bytes at most.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "ethdev.h"

#define AF_XDP_NAME "net_af_xdp0"
#define AF_XDP_RING 2048u
#define AF_XDP_MBUFS 8191u		/* DPDK fills the kernel's ring and asks for as many again */
#define AF_XDP_PAGE 4096u
#define AF_XDP_HEADROOM 256u		/* the kernel's, in front of a frame */
#define AF_XDP_MBUF 384u			/* a buffer's own head, the usual headroom, and a line
					 * with which DPDK spreads them over memory channels */
#define AF_XDP_MTU_MAX (AF_XDP_PAGE - AF_XDP_HEADROOM - AF_XDP_MBUF - PORT_L2_LEN)

/* The lines of libxdp and libbpf, for people who ask for all there is. */
static int
say(int level, const char *format, va_list args)
{
	char line[256];
	size_t len;

	(void)level;
	vsnprintf(line, sizeof(line), format, args);
	len = strcspn(line, "\n");
	line[len] = 0;
	log_line(PLX_LOG_DBG, "%s", line);
	return 0;
}

/* Weak: where DPDK's drivers are loaded at its start, the libraries come later. */
int (*libxdp_set_print(int (*fn)(int, const char *, va_list)))(int, const char *, va_list)
	__attribute__((weak));
int (*libbpf_set_print(int (*fn)(int, const char *, va_list)))(int, const char *, va_list)
	__attribute__((weak));

static int
query(const struct port_conf *conf, uint32_t *ip_mtu, char *why, size_t why_len)
{
	struct port_iface iface;
	int ret = port_iface_query(conf->args, &iface, why, why_len);

	if (ret != 0)
		return ret;
	*ip_mtu = conf->ip_mtu ? conf->ip_mtu : iface.mtu < AF_XDP_MTU_MAX ? iface.mtu : AF_XDP_MTU_MAX;
	if (*ip_mtu > iface.mtu || *ip_mtu > AF_XDP_MTU_MAX) {
		snprintf(why, why_len, "af_xdp: MTU %u is more than the %u that %s carries", *ip_mtu,
			 iface.mtu < AF_XDP_MTU_MAX ? iface.mtu : AF_XDP_MTU_MAX,
			 iface.mtu < AF_XDP_MTU_MAX ? conf->args : "a page");
		return -EINVAL;
	}
	if (*ip_mtu >= PORT_MTU_MIN)
		return 0;
	snprintf(why, why_len, "interface \"%s\" has an MTU of %u: at least %u is needed", conf->args,
		 *ip_mtu, PORT_MTU_MIN);
	return -EINVAL;
}

static int
write_devargs(const struct port_conf *conf, const char *lead, char *out, size_t len)
{
	int n = snprintf(out, len, "%s" AF_XDP_NAME ",iface=%s,start_queue=0,queue_count=1", lead,
			 conf->args);

	return n < (int)len ? 0 : -ENAMETOOLONG;
}

static int
af_xdp_eal_args(const struct port_conf *conf, char *out, size_t out_len, char *why, size_t why_len)
{
	uint32_t ip_mtu;
	int ret = query(conf, &ip_mtu, why, why_len);

	return ret ? ret : write_devargs(conf, ETHDEV_ARG, out, out_len);
}

static int
af_xdp_open(struct port *p, const struct port_conf *conf, char *why, size_t why_len)
{
	char devargs[128] = AF_XDP_NAME;
	struct ethdev_conf eth = {
		.devargs = devargs,
		.rx_ring = AF_XDP_RING,
		.tx_ring = AF_XDP_RING,
		.num_mbufs = AF_XDP_MBUFS + conf->more_mbufs,
		.keep_mtu = true,	/* telling DPDK would change the interface's */
	};
	int ret = query(conf, &eth.ip_mtu, why, why_len);

	if (ret == 0 && !ethdev_exists(devargs))
		ret = write_devargs(conf, "", devargs, sizeof(devargs));
	eth.room = eth.ip_mtu + PORT_L2_LEN + AF_XDP_HEADROOM;
	if (libxdp_set_print)
		libxdp_set_print(say);
	if (libbpf_set_print)
		libbpf_set_print(say);
	if (ret == 0)
		ret = ethdev_open(p, &eth, why, why_len);
	if (ret == -EINVAL || ret == -EPERM)	/* DPDK's words for whatever failed */
		snprintf(why, why_len, "af_xdp: the kernel does not give the frames of \"%s\": is its MTU,"
			 " or its peer's, more than %u, does another program have its XDP, are"
			 " CAP_NET_ADMIN, CAP_NET_RAW and CAP_BPF there?", conf->args, AF_XDP_MTU_MAX);
	if (ret == 0 && ethdev_set_iface(p, conf->args) != 0) {
		ethdev_close(p);
		return -EMFILE;
	}
	if (ret == 0 && ethdev_mac_given(conf->mac))
		memcpy(p->mac, conf->mac, 6);
	return ret;
}

const struct port_driver drv_af_xdp = {
	.name = "af_xdp",
	.open = af_xdp_open,
	.close = ethdev_close,
	.rx = ethdev_rx,
	.tx = ethdev_tx,
	.link_up = ethdev_carrier,
	.wait_fd = ethdev_wait_fd,
	.wait_clear = ethdev_wait_clear,
	.eal_args = af_xdp_eal_args,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A memif: shared memory between two processes of one machine, found by a socket. Which end makes
 * the socket (server) and which calls (client, again and again until it is answered), and what DPDK
 * is told of it. Control thread.
 *
 * One frame always fits one buffer: DPDK's memif has faults with chains of them.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ethdev.h"

#define MEMIF_NAME "net_memif0"
#define MEMIF_RING_LOG2 10u
#define MEMIF_RING (1u << MEMIF_RING_LOG2)
#define MEMIF_BUF_MIN 4352u
/* Zero-copy keeps both rings full of buffers; the core and its cache hold the rest. */
#define MEMIF_MBUFS (2 * MEMIF_RING + 1024u)

/* Room for a frame in whole cache lines. The same on both sides, for the client makes the memory. */
static uint32_t
buf_size(uint32_t ip_mtu)
{
	uint32_t size = (ip_mtu + PORT_L2_LEN + 127) & ~127u;

	return size < MEMIF_BUF_MIN ? MEMIF_BUF_MIN : size;
}

static uint32_t
mtu_of(const struct port_conf *conf)
{
	return conf->ip_mtu ? conf->ip_mtu : PORT_MTU_DEFAULT;
}

static int
write_devargs(const struct port_conf *conf, const struct port_memif *m, char *out, size_t len)
{
	char mac[24] = "";
	int n;

	if (ethdev_mac_given(conf->mac))
		snprintf(mac, sizeof(mac), ",mac=%02x:%02x:%02x:%02x:%02x:%02x", conf->mac[0],
			 conf->mac[1], conf->mac[2], conf->mac[3], conf->mac[4], conf->mac[5]);
	n = snprintf(out, len, MEMIF_NAME ",role=%s,id=0,socket=%s,socket-abstract=%s,bsize=%u,"
		     "rsize=%u%s%s", m->server ? "server" : "client", m->socket,
		     m->abstract ? "yes" : "no", buf_size(mtu_of(conf)), MEMIF_RING_LOG2,
		     m->zero_copy ? ",zero-copy=yes" : "", mac);
	return n < (int)len ? 0 : -ENAMETOOLONG;
}

/* Does somebody listen on this path? 1, 0, or -errno. */
static int
listens(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int ret;

	if (fd < 0)
		return -errno;
	memcpy(un.sun_path, path, strnlen(path, sizeof(un.sun_path) - 1));
	ret = connect(fd, (const struct sockaddr *)&un, sizeof(un)) == 0 ? 1 : -errno;
	close(fd);
	if (ret == -EAGAIN)	/* its queue is full */
		return 1;
	return ret == -ECONNREFUSED ? 0 : ret;
}

/* A server that was killed leaves its socket; one that lives keeps it. */
static int
clear_path(const char *path, char *why, size_t why_len)
{
	struct stat st;
	int ret;

	if (lstat(path, &st) != 0)
		return 0;	/* a bad directory shows when the socket is made */
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(why, why_len, "memif: %s exists and is no socket: choose another path", path);
		return -EEXIST;
	}
	ret = listens(path);
	if (ret == 1) {
		snprintf(why, why_len, "memif: a server has %s already: make this end the client, or"
			 " choose another path", path);
		return -EADDRINUSE;
	}
	if (ret == 0 && unlink(path) != 0)
		ret = -errno;
	if (ret != 0)
		snprintf(why, why_len, "memif: %s: %s", path, strerror(-ret));
	return ret;
}

static int
prepare(const struct port_conf *conf, char *devargs, size_t len, char *why, size_t why_len)
{
	struct port_memif m;
	int ret = port_memif_parse(conf->args, &m, why, why_len);

	if (ret != 0)
		return ret;
	ret = write_devargs(conf, &m, devargs, len);
	if (ret != 0) {
		snprintf(why, why_len, "memif: socket name too long");
		return ret;
	}
	return m.server && !m.abstract ? clear_path(m.socket, why, why_len) : 0;
}

static int
memif_eal_args(const struct port_conf *conf, char *out, size_t out_len, char *why, size_t why_len)
{
	const size_t lead = sizeof(ETHDEV_ARG) - 1;

	if (out_len <= lead)
		return -EINVAL;
	memcpy(out, ETHDEV_ARG, lead);
	return prepare(conf, out + lead, out_len - lead, why, why_len);
}

static int
memif_open(struct port *p, const struct port_conf *conf, char *why, size_t why_len)
{
	char devargs[512] = MEMIF_NAME;
	const struct ethdev_conf eth = {
		.devargs = devargs,
		.ip_mtu = mtu_of(conf),
		.room = buf_size(mtu_of(conf)),
		.rx_ring = MEMIF_RING,
		.tx_ring = MEMIF_RING,
		.num_mbufs = MEMIF_MBUFS,
	};

	if (!ethdev_exists(devargs)) {
		int ret = prepare(conf, devargs, sizeof(devargs), why, why_len);

		if (ret != 0)
			return ret;
	}
	return ethdev_open(p, &eth, why, why_len);
}

const struct port_driver drv_memif = {
	.name = "memif",
	.open = memif_open,
	.close = ethdev_close,
	.rx = ethdev_rx,
	.tx = ethdev_tx,
	.link_up = ethdev_link_up,
	.wait_fd = ethdev_wait_fd,
	.wait_clear = ethdev_wait_clear,
	.eal_args = memif_eal_args,
};

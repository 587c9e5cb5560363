/* SPDX-License-Identifier: BSD-3-Clause */
/* vhost and virtio: two processes, the bell of each end, a peer that goes away, and refusals. */
#include "port_rig.h"

#include <sys/un.h>

#define LAST_WORDS 200u

static char dir[] = "/tmp/port_virtio.XXXXXX";
static uint32_t mtu;
static bool by_kill;

static const char *
path(void)
{
	static char p[64];

	snprintf(p, sizeof(p), "%s/wire.sock", dir);
	return p;
}

/* The server's end first. */
static int
open_mine(struct rig *r)
{
	char spec[128];

	snprintf(spec, sizeof(spec), "%s:%s", r->side ? "virtio" : "vhost", path());
	r->conf.ip_mtu = mtu;
	if (r->side == 1)
		RIG_CHECK(rig_meet(r));
	RIG_CHECK(rig_open(r, spec, false) == 0);
	if (r->side == 0)
		RIG_CHECK(rig_meet(r));
	RIG_CHECK(r->port.ip_mtu == (mtu ? mtu : 4200));
	RIG_CHECK((r->port.mac[0] & 3) == 2);
	RIG_CHECK(rig_swap_macs(r));
	RIG_CHECK(memcmp(r->port.mac, r->peer_mac, 6) != 0);
	RIG_CHECK(rig_link(r));
	return rig_meet(r) ? 0 : 1;
}

static int
talk(struct rig *r)
{
	static const uint32_t sizes[] = { 64, 1500, 4170, UINT32_MAX };

	RIG_CHECK(open_mine(r) == 0);
	for (int i = 0; i < 4; i++) {
		uint32_t longest = r->port.ip_mtu + 14;

		RIG_CHECK(rig_exchange(r, 2000, sizes[i] < longest ? sizes[i] : longest));
		RIG_CHECK(rig_meet(r));
	}
	port_close(&r->port);
	return 0;
}

static void
port_virtio__exchange(void)
{
	static const uint32_t mtus[] = { 0, 1500, 9000 };

	for (int i = 0; i < 3; i++) {
		mtu = mtus[i];
		CHECK_EQ(rig_pair(talk, talk), 0);
		CHECK(access(path(), F_OK) != 0);
	}
	mtu = 0;
}

static bool
rings(struct rig *r, int ms)
{
	struct pollfd p = { .fd = r->port.drv->wait_fd(&r->port), .events = POLLIN };

	return poll(&p, 1, ms) == 1;
}

static uint32_t
receive_all(struct rig *r)
{
	struct rte_mbuf *bufs[RIG_BURST];
	uint32_t n = 0, k;

	while ((k = port_rx(&r->port, 0, bufs, RIG_BURST)) > 0) {
		rte_pktmbuf_free_bulk(bufs, k);
		n += k;
	}
	return n;
}

static bool
send_one(struct rig *r)
{
	struct rte_mbuf *m = rig_frame(r, r->peer_mac, 0, 64);

	return m && port_tx(&r->port, 0, &m, 1) == 1;
}

/* Armed it rings for a frame and not without one; not armed it stays silent. */
static int
listen_end(struct rig *r)
{
	const struct port_driver *d = r->port.drv;

	RIG_CHECK(d->wait_fd(&r->port) >= 0);
	RIG_CHECK(d->wait_arm(&r->port, true));
	receive_all(r);
	d->wait_clear(&r->port);
	RIG_CHECK(!rings(r, 50));
	for (int i = 0; i < 3; i++) {
		RIG_CHECK(rig_meet(r));		/* the peer sends one */
		RIG_CHECK(rings(r, 5000));
		d->wait_clear(&r->port);
		RIG_CHECK(d->wait_arm(&r->port, false));
		RIG_CHECK(receive_all(r) == 1);
		RIG_CHECK(!rings(r, 0));
		RIG_CHECK(rig_meet(r));
		RIG_CHECK(rig_meet(r));		/* and another, unheard */
		RIG_CHECK(!rings(r, 50));
		RIG_CHECK(receive_all(r) == 1);
		RIG_CHECK(d->wait_arm(&r->port, true));
		RIG_CHECK(receive_all(r) == 0);
	}
	RIG_CHECK(d->wait_arm(&r->port, false));
	return rig_meet(r) ? 0 : 1;
}

static int
send_end(struct rig *r)
{
	for (int i = 0; i < 3; i++) {
		RIG_CHECK(rig_meet(r) && send_one(r));
		RIG_CHECK(rig_meet(r) && send_one(r));
		RIG_CHECK(rig_meet(r));
	}
	return rig_meet(r) ? 0 : 1;
}

static int
bell(struct rig *r)
{
	RIG_CHECK(open_mine(r) == 0);
	for (int listener = 0; listener < 2; listener++)
		RIG_CHECK((listener == r->side ? listen_end(r) : send_end(r)) == 0);
	port_close(&r->port);
	return 0;
}

static void
port_virtio__bell(void)
{
	CHECK_EQ(rig_pair(bell, bell), 0);
}

/* The server outlives its peer, says so, and takes another. */
static int
survives(struct rig *r)
{
	uint64_t end = rig_ms() + 10000;

	RIG_CHECK(open_mine(r) == 0);
	RIG_CHECK(rig_exchange(r, 100, 64));
	while (r->port.drv->link_up(&r->port) && rig_ms() < end) {
		receive_all(r);
		rig_nap(1);
	}
	RIG_CHECK(!r->port.drv->link_up(&r->port));
	RIG_CHECK(!r->port.drv->wait_arm(&r->port, true));
	port_close(&r->port);
	return 0;
}

static int
dies(struct rig *r)
{
	RIG_CHECK(open_mine(r) == 0);
	RIG_CHECK(rig_exchange(r, 100, 64));
	_exit(0);
}

static void
port_virtio__peer_dies(void)
{
	CHECK_EQ(rig_pair(survives, dies), 0);
}

/* DPDK's connection to the peer, from the server's socket; -1: there is none. */
static int
connection(void)
{
	for (int fd = 3; fd < 256; fd++) {
		struct sockaddr_un un = { 0 };
		socklen_t len = sizeof(un), int_len = sizeof(int);
		int listens = 1;

		if (getsockname(fd, (struct sockaddr *)&un, &len) == 0 && un.sun_family == AF_UNIX &&
		    strncmp(un.sun_path, path(), sizeof(un.sun_path)) == 0 &&
		    getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &int_len) == 0 && !listens)
			return fd;
	}
	return -1;
}

/* Closes just when the peer hangs up, a little sooner or later each time. */
#define TOGETHER 60
static int
hangs_up(struct rig *r)
{
	char spec[128];

	snprintf(spec, sizeof(spec), "vhost:%s", path());
	RIG_CHECK(rig_open(r, spec, false) == 0);
	for (int i = 0; i < TOGETHER; i++) {
		int fd;

		RIG_CHECK(rig_meet(r) && rig_meet(r));
		fd = connection();
		RIG_CHECK(fd >= 0 && rig_meet(r));
		usleep((unsigned int)i % 3 * 20);
		(void)shutdown(fd, SHUT_RDWR);	/* the peer may have been first */
		while (connection() >= 0)
			rig_nap(1);
		RIG_CHECK(rig_meet(r));
	}
	port_close(&r->port);
	return 0;
}

static int
closes_meanwhile(struct rig *r)
{
	char spec[128];

	snprintf(spec, sizeof(spec), "virtio:%s", path());
	for (int i = 0; i < TOGETHER; i++) {
		RIG_CHECK(rig_meet(r));
		RIG_CHECK(rig_open(r, spec, i > 0) == 0);
		RIG_CHECK(rig_link(r) && rig_meet(r) && rig_meet(r));
		usleep((unsigned int)i * 5);
		r->port.drv->link_up(&r->port);
		port_close(&r->port);
		RIG_CHECK(rig_meet(r));
	}
	return 0;
}

static void
port_virtio__close_together(void)
{
	CHECK_EQ(rig_pair(hangs_up, closes_meanwhile), 0);
}

/* More than one burst that nobody reads, and then the end. */
static int
speaks_last(struct rig *r)
{
	RIG_CHECK(open_mine(r) == 0);
	RIG_CHECK(rig_exchange(r, 100, 1500) && rig_meet(r));
	RIG_CHECK(rig_speak(r, LAST_WORDS));
	if (by_kill)
		raise(SIGKILL);
	port_close(&r->port);
	return 0;
}

static int
listens_late(struct rig *r)
{
	RIG_CHECK(open_mine(r) == 0);
	RIG_CHECK(rig_exchange(r, 100, 1500) && rig_meet(r));
	RIG_CHECK(rig_listen_late(r, LAST_WORDS));
	port_close(&r->port);
	return 0;
}

/* What vhost sent before its end virtio receives after it. */
static void
port_virtio__last_words(void)
{
	for (int how = 0; how < 2; how++) {
		by_kill = how & 1;
		unlink(path());
		CHECK_EQ(rig_outlive(speaks_last, 0, listens_late), 0);
	}
}

static int
refused(struct rig *r)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	char spec[128];
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(spec, sizeof(spec), "virtio:%s", path());
	RIG_CHECK(rig_open(r, spec, false) == -ENOENT);
	RIG_CHECK(strstr(r->why, "start the other end first"));
	RIG_CHECK(rig_open(r, "vhost:/absent/x", false) == -ENOENT);
	RIG_CHECK(strstr(r->why, "directory /absent"));
	snprintf(spec, sizeof(spec), "vhost:%s", path());
	snprintf(un.sun_path, sizeof(un.sun_path), "%s", path());
	RIG_CHECK(bind(fd, (const struct sockaddr *)&un, sizeof(un)) == 0 && listen(fd, 1) == 0);
	RIG_CHECK(rig_open(r, spec, false) == -EADDRINUSE);
	close(fd);	/* what a server leaves that was killed goes away */
	RIG_CHECK(rig_open(r, spec, false) == 0);
	port_close(&r->port);
	return 0;
}

static void
port_virtio__refuses(void)
{
	CHECK_EQ(rig_alone(refused), 0);
}

static int
no_card(struct rig *r)
{
	RIG_CHECK(rig_open(r, "pci:fffe:1f:1f.7", false) == -ENODEV);
	RIG_CHECK(strstr(r->why, "no device fffe:1f:1f.7 here"));
	return 0;
}

static void
port_pci__no_such_card(void)
{
	CHECK_EQ(rig_alone(no_card), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(port_virtio__exchange),
	CHECK_CASE(port_virtio__bell),
	CHECK_CASE(port_virtio__peer_dies),
	CHECK_CASE(port_virtio__last_words),
	CHECK_CASE(port_virtio__close_together),
	CHECK_CASE(port_virtio__refuses),
	CHECK_CASE(port_pci__no_such_card),
};

int
main(int argc, char **argv)
{
	int status;

	if (!mkdtemp(dir))
		return 1;
	status = check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
	unlink(path());
	rmdir(dir);
	return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* memif: two processes, in either order, by path and by abstract name, and what a kill leaves. */
#include "port_rig.h"

#include "ethdev.h"

#define LAST_WORDS 500u

static char dir[] = "/tmp/port_memif.XXXXXX";
static char name_server[128], name_client[128];	/* SPECs */
static unsigned int late[2];			/* ms that each side comes later */
static uint32_t mtu;
static bool by_kill;

static const char *
my_spec(const struct rig *r)
{
	return r->side == 0 ? name_server : name_client;
}

static const char *
path(void)
{
	static char p[64];

	snprintf(p, sizeof(p), "%s/wire.sock", dir);
	return p;
}

static void
use(const char *socket, const char *client_more)
{
	snprintf(name_server, sizeof(name_server), "memif:%s,server", socket);
	snprintf(name_client, sizeof(name_client), "memif:%s,client%s", socket, client_more);
	/* a case that failed leaves its socket */
	unlink(path());
	late[0] = late[1] = 0;
	mtu = 0;
}

static int
talk(struct rig *r)
{
	static const uint32_t sizes[] = { 64, 1500, 4170 };

	rig_nap(late[r->side]);
	r->conf.ip_mtu = mtu;
	RIG_CHECK(rig_open(r, my_spec(r), false) == 0);
	RIG_CHECK(r->port.ip_mtu == (mtu ? mtu : 4200));
	RIG_CHECK(rig_swap_macs(r));
	RIG_CHECK(memcmp(r->port.mac, r->peer_mac, 6) != 0);
	RIG_CHECK(rig_link(r));
	RIG_CHECK(rig_meet(r));
	for (int i = 0; i < 3; i++) {
		RIG_CHECK(rig_exchange(r, 3000, sizes[i]));
		RIG_CHECK(rig_meet(r));
	}
	/* the longest that the MTU lets through */
	RIG_CHECK(rig_exchange(r, 3000, r->port.max_frame));
	RIG_CHECK(rig_meet(r));
	port_close(&r->port);
	return 0;
}

static void
port_memif__exchange(void)
{
	use(path(), "");
	CHECK_EQ(rig_pair(talk, talk), 0);
	CHECK(access(path(), F_OK) != 0); /* nothing stays behind */
}

static void
port_memif__client_first(void)
{
	use(path(), "");
	late[0] = 700;
	CHECK_EQ(rig_pair(talk, talk), 0);
}

static void
port_memif__server_first(void)
{
	use(path(), "");
	late[1] = 700;
	CHECK_EQ(rig_pair(talk, talk), 0);
}

static void
port_memif__abstract(void)
{
	char name[32];

	snprintf(name, sizeof(name), "@port_memif_%d", getpid());
	use(name, "");
	CHECK_EQ(rig_pair(talk, talk), 0);
}

static void
port_memif__zero_copy(void)
{
	use(path(), ",zc");
	CHECK_EQ(rig_pair(talk, talk), 0);
}

static void
port_memif__jumbo(void)
{
	use(path(), "");
	mtu = 9000;
	CHECK_EQ(rig_pair(talk, talk), 0);
}

/* Before there is a peer frames are lost or refused, and no buffer with them. */
static int
lonely(struct rig *r)
{
	unsigned int before;

	memcpy(r->conf.mac, "\2\1\2\3\4\5", 6);
	RIG_CHECK(rig_open(r, my_spec(r), false) == 0);
	RIG_CHECK(memcmp(r->port.mac, "\2\1\2\3\4\5", 6) == 0);
	RIG_CHECK(!r->port.drv->link_up(&r->port));
	before = rig_in_use(r);
	for (uint32_t i = 0; i < 5000; i++) {
		struct rte_mbuf *m = rig_frame(r, r->port.mac, i, 64);

		RIG_CHECK(m);
		if (port_tx(&r->port, 0, &m, 1) == 0)
			rte_pktmbuf_free(m);
		RIG_CHECK(port_rx(&r->port, 0, &m, 1) == 0);
	}
	RIG_CHECK(rig_in_use(r) == before);
	port_close(&r->port);
	return 0;
}

static int
lonely_client(struct rig *r)
{
	r->side = 1;
	return lonely(r);
}

static void
port_memif__without_peer(void)
{
	use(path(), "");
	CHECK_EQ(rig_alone(lonely), 0);
	CHECK_EQ(rig_alone(lonely_client), 0);
}

/* Is killed when both ends have the link. */
static int
killed_when_met(struct rig *r)
{
	RIG_CHECK(rig_open(r, my_spec(r), false) == 0);
	RIG_CHECK(rig_link(r));
	RIG_CHECK(rig_meet(r));
	raise(SIGKILL);
	return 1;
}

/* The first peer gets killed; its successor is met on the same wire. */
static int
survivor(struct rig *r)
{
	uint64_t end = rig_ms() + RIG_WAIT_MS;

	RIG_CHECK(rig_open(r, my_spec(r), false) == 0);
	RIG_CHECK(rig_link(r));
	RIG_CHECK(rig_meet(r));
	/* the link goes down when the peer dies */
	while (r->port.drv->link_up(&r->port) && rig_ms() < end) {
		struct rte_mbuf *m;

		if (port_rx(&r->port, 0, &m, 1))
			rte_pktmbuf_free(m);
	}
	RIG_CHECK(!r->port.drv->link_up(&r->port));
	RIG_CHECK(rig_swap_macs(r));
	RIG_CHECK(rig_link(r));
	RIG_CHECK(rig_meet(r));
	RIG_CHECK(rig_exchange(r, 1000, 1500));
	RIG_CHECK(rig_meet(r));
	port_close(&r->port);
	return 0;
}

static int
successor(struct rig *r)
{
	RIG_CHECK(rig_open(r, my_spec(r), false) == 0);
	RIG_CHECK(rig_swap_macs(r));
	RIG_CHECK(rig_link(r));
	RIG_CHECK(rig_meet(r));
	RIG_CHECK(rig_exchange(r, 1000, 1500));
	RIG_CHECK(rig_meet(r));
	port_close(&r->port);
	return 0;
}

static int
kill_one(int side_killed)
{
	int sv[2], status;
	pid_t stays, killed;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) != 0)
		return 255;
	stays = rig_fork(survivor, 1 - side_killed, sv[0]);
	killed = rig_fork(killed_when_met, side_killed, sv[1]);
	if (rig_join(killed) != 128 + SIGKILL)
		return 254;
	killed = rig_fork(successor, side_killed, sv[1]);
	close(sv[0]);
	close(sv[1]);
	status = rig_join(stays);
	return status ? status : rig_join(killed);
}

static void
port_memif__client_killed(void)
{
	use(path(), "");
	CHECK_EQ(kill_one(1), 0);
}

/* The socket that a killed server left is no obstacle. */
static void
port_memif__server_killed(void)
{
	use(path(), "");
	CHECK_EQ(kill_one(0), 0);
}

static void
port_memif__server_killed_zero_copy(void)
{
	use(path(), ",zc");
	CHECK_EQ(kill_one(0), 0);
}

/* More than one burst that nobody reads, and then the end. */
static int
speaks_last(struct rig *r)
{
	RIG_CHECK(rig_open(r, my_spec(r), false) == 0);
	RIG_CHECK(rig_swap_macs(r) && rig_link(r) && rig_exchange(r, 100, 1500) && rig_meet(r));
	RIG_CHECK(rig_speak(r, LAST_WORDS));
	if (by_kill)
		raise(SIGKILL);
	port_close(&r->port);
	return 0;
}

static int
listens_late(struct rig *r)
{
	uint64_t end = rig_ms() + RIG_WAIT_MS;
	struct rte_mbuf *m;

	RIG_CHECK(rig_open(r, my_spec(r), false) == 0);
	RIG_CHECK(rig_swap_macs(r) && rig_link(r) && rig_exchange(r, 100, 1500) && rig_meet(r));
	RIG_CHECK(rig_listen_late(r, LAST_WORDS));
	/* while the peer's memory is unmapped it might be more */
	while (r->port.drv->due(&r->port) == 0 && rig_ms() < end)
		rig_nap(1);
	RIG_CHECK(r->port.drv->due(&r->port) == UINT64_MAX);
	RIG_CHECK(port_rx(&r->port, 0, &m, 1) == 0);
	port_close(&r->port);
	return 0;
}

/* What a peer sent before its end is received after it. */
static void
port_memif__last_words(void)
{
	for (int how = 0; how < 8; how++) {
		by_kill = how & 1;
		use(path(), how & 2 ? ",zc" : "");
		CHECK_EQ(rig_outlive(speaks_last, how >> 2, listens_late), 0);
	}
}

static int
arg_of(struct rig *r)
{
	char arg[512];
	int ret = rig_parse(r, my_spec(r));

	return ret ? ret : port_driver_find("memif")->eal_args(&r->conf, arg, sizeof(arg), r->why,
							       sizeof(r->why));
}

static int
second_server(struct rig *r)
{
	struct stat st;

	RIG_CHECK(arg_of(r) == -EADDRINUSE && strstr(r->why, path()));
	RIG_CHECK(stat(path(), &st) == 0 && S_ISSOCK(st.st_mode));
	return rig_meet(r) ? 0 : 1;
}

static int
first_server(struct rig *r)
{
	RIG_CHECK(rig_open(r, my_spec(r), false) == 0);
	RIG_CHECK(rig_meet(r));
	port_close(&r->port);
	return 0;
}

static int
second_server_late(struct rig *r)
{
	uint64_t end = rig_ms() + RIG_WAIT_MS;

	r->side = 0;
	while (access(path(), F_OK) != 0 && rig_ms() < end)
		rig_nap(1);
	rig_nap(50);
	return second_server(r);
}

/* A socket that a live server has is not taken, nor a file that is no socket. */
static void
port_memif__path_taken(void)
{
	struct rig r = { 0 };
	FILE *f;

	use(path(), "");
	CHECK_EQ(rig_pair(first_server, second_server_late), 0);
	f = fopen(path(), "w");
	CHECK(f);
	fclose(f);
	CHECK(arg_of(&r) == -EEXIST && strstr(r.why, "no socket"));
	CHECK(access(path(), F_OK) == 0);
	unlink(path());
	CHECK(arg_of(&r) == 0);
}

/* The client calls again and again, at any moment of the greeting that DPDK's interrupt thread is
 * busy with; the server sees it hang up as often. Then both meet. */
static int
call_again(struct rig *r)
{
	struct ethdev *e;
	struct rte_mbuf *m;

	RIG_CHECK(rig_open(r, my_spec(r), false) == 0);
	e = r->port.priv;
	for (uint32_t i = 0; r->side == 1 && i < 500; i++) {
		struct timespec ts = { .tv_nsec = (long)(i * 7919 % 1500) * 1000 };

		__atomic_store_n(&e->retry, 1, __ATOMIC_RELEASE);
		if (port_rx(&r->port, 0, &m, 1))
			rte_pktmbuf_free(m);
		nanosleep(&ts, NULL);
	}
	RIG_CHECK(rig_meet(r));
	RIG_CHECK(rig_swap_macs(r) && rig_link(r) && rig_meet(r));
	RIG_CHECK(rig_exchange(r, 1000, 1500));
	RIG_CHECK(rig_meet(r));
	port_close(&r->port);
	return 0;
}

static void
port_memif__calls_in_a_greeting(void)
{
	use(path(), "");
	CHECK_EQ(rig_pair(call_again, call_again), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(port_memif__exchange),
	CHECK_CASE(port_memif__client_first),
	CHECK_CASE(port_memif__server_first),
	CHECK_CASE(port_memif__abstract),
	CHECK_CASE(port_memif__zero_copy),
	CHECK_CASE(port_memif__jumbo),
	CHECK_CASE(port_memif__without_peer),
	CHECK_CASE(port_memif__client_killed),
	CHECK_CASE(port_memif__server_killed),
	CHECK_CASE(port_memif__server_killed_zero_copy),
	CHECK_CASE(port_memif__last_words),
	CHECK_CASE(port_memif__calls_in_a_greeting),
	CHECK_CASE(port_memif__path_taken),
};

int
main(int argc, char **argv)
{
	int ret;

	if (!mkdtemp(dir)) {
		perror(dir);
		return 1;
	}
	ret = check_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
	unlink(path()); /* of a case that failed */
	rmdir(dir);
	return ret;
}

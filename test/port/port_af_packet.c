/* SPDX-License-Identifier: BSD-3-Clause */
/* af_packet on both ends of a veth. */
#include "veth.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <arpa/inet.h>

static void
port_af_packet__exchange(void)
{
	static const uint32_t mtus[] = { 1500, 4200, 9000 };

	for (int i = 0; i < 3; i++) {
		CHECK_EQ(make_veth("af_packet", mtus[i]), 0);
		CHECK_EQ(rig_pair(talk, talk), 0);
	}
}

/* The next frame of ours, within a second; NULL: none came. */
static struct rte_mbuf *
next_frame(struct rig *r)
{
	uint64_t end = rig_ms() + 1000;
	struct rte_mbuf *m;

	while (rig_ms() < end) {
		if (port_rx(&r->port, 0, &m, 1) == 0)
			continue;
		if (rte_pktmbuf_mtod(m, uint8_t *)[12] != 0x86) /* not IPv6 */
			return m;
		rte_pktmbuf_free(m);
	}
	return NULL;
}

/* A tag goes through as it is, though the kernel takes it out on the way. */
static int
tagged(struct rig *r)
{
	static const uint8_t tag[] = { 0x81, 0x00, 0xa0, 0x05, 0x88, 0xb5 };
	struct rte_mbuf *m;

	RIG_CHECK(open_mine(r) == 0);
	m = rig_frame(r, r->peer_mac, 9, want_mtu + 18);
	RIG_CHECK(m);
	memcpy(rte_pktmbuf_mtod(m, uint8_t *) + 12, tag, sizeof(tag));
	RIG_CHECK(port_tx(&r->port, 0, &m, 1) == 1);
	m = next_frame(r);
	RIG_CHECK(m && m->data_len == want_mtu + 18 && m->pkt_len == want_mtu + 18);
	RIG_CHECK(memcmp(rte_pktmbuf_mtod(m, uint8_t *) + 12, tag, sizeof(tag)) == 0);
	for (uint32_t i = 18; i < want_mtu + 18; i++)
		RIG_CHECK(rte_pktmbuf_mtod(m, uint8_t *)[i] == rig_byte(1 - r->side, 9, i));
	rte_pktmbuf_free(m);
	RIG_CHECK(rig_meet(r));
	port_close(&r->port);
	return 0;
}

static void
port_af_packet__vlan(void)
{
	CHECK_EQ(make_veth("af_packet", 4200), 0);
	CHECK_EQ(rig_pair(tagged, tagged), 0);
}

static int
send_to(struct rig *r, const uint8_t mac[6])
{
	struct rte_mbuf *m = rig_frame(r, mac, 1, 64);

	return m ? port_tx(&r->port, 0, &m, 1) : -1;
}

/* What is still on its way through the kernel may ring again; then there is silence. */
static bool
falls_silent(struct rig *r, struct pollfd *p)
{
	for (int i = 0; i < 20; i++) {
		r->port.drv->wait_clear(&r->port);
		if (poll(p, 1, 100) == 0)
			return true;
	}
	return false;
}

/* The bell rings for frames to us and to groups, not for others and not for what we send. */
static int
listener(struct rig *r)
{
	struct pollfd p = { .events = POLLIN };

	RIG_CHECK(open_mine(r) == 0);
	p.fd = r->port.drv->wait_fd(&r->port);
	RIG_CHECK(p.fd >= 0);
	r->port.drv->wait_clear(&r->port);
	RIG_CHECK(rig_meet(r) && rig_meet(r)); /* to us */
	RIG_CHECK(poll(&p, 1, 1000) == 1);
	RIG_CHECK(falls_silent(r, &p));
	RIG_CHECK(rig_meet(r) && rig_meet(r)); /* to everybody */
	RIG_CHECK(poll(&p, 1, 1000) == 1);
	RIG_CHECK(falls_silent(r, &p));
	RIG_CHECK(rig_meet(r) && rig_meet(r)); /* to another */
	RIG_CHECK(poll(&p, 1, 100) == 0);
	RIG_CHECK(send_to(r, (const uint8_t *)"\xff\xff\xff\xff\xff\xff") == 1);
	RIG_CHECK(poll(&p, 1, 100) == 0);
	RIG_CHECK(rig_meet(r) && rig_meet(r)); /* 1000 to us: full */
	RIG_CHECK(poll(&p, 1, 1000) == 1);
	RIG_CHECK(falls_silent(r, &p));
	port_close(&r->port);
	return 0;
}

static int
ringer(struct rig *r)
{
	RIG_CHECK(open_mine(r) == 0);
	RIG_CHECK(rig_meet(r));
	RIG_CHECK(send_to(r, r->peer_mac) == 1);
	RIG_CHECK(rig_meet(r) && rig_meet(r));
	RIG_CHECK(send_to(r, (const uint8_t *)"\xff\xff\xff\xff\xff\xff") == 1);
	RIG_CHECK(rig_meet(r) && rig_meet(r));
	RIG_CHECK(send_to(r, (const uint8_t *)"\2\1\1\1\1\1") == 1);
	RIG_CHECK(rig_meet(r) && rig_meet(r));
	for (int i = 0; i < 1000; i++)
		RIG_CHECK(send_to(r, r->peer_mac) == 1);
	RIG_CHECK(rig_meet(r));
	port_close(&r->port);
	return 0;
}

static void
port_af_packet__bell(void)
{
	CHECK_EQ(make_veth("af_packet", 4200), 0);
	CHECK_EQ(rig_pair(listener, ringer), 0);
}

/* The bell rings when the frame is there, not before: who looks and finds nothing sleeps again. */
#define RINGS 2000

static int
finder(struct rig *r)
{
	struct pollfd p = { .events = POLLIN };
	int late = 0;

	RIG_CHECK(open_mine(r) == 0);
	p.fd = r->port.drv->wait_fd(&r->port);
	r->port.drv->wait_clear(&r->port);
	for (int i = 0; i < RINGS; i++) {
		struct rte_mbuf *m = NULL;

		RIG_CHECK(rig_meet(r));
		while (poll(&p, 1, 0) == 0)	/* asleep it would come too late to see it */
			;
		r->port.drv->wait_clear(&r->port);
		late += port_rx(&r->port, 0, &m, 1) == 0;
		while (!m)
			port_rx(&r->port, 0, &m, 1);
		rte_pktmbuf_free(m);
	}
	port_close(&r->port);
	if (late)
		printf("%d of %d frames came after their ring\n", late, RINGS);
	return late != 0;
}

static int
one_by_one(struct rig *r)
{
	RIG_CHECK(open_mine(r) == 0);
	for (int i = 0; i < RINGS; i++) {
		RIG_CHECK(rig_meet(r));
		RIG_CHECK(send_to(r, r->peer_mac) == 1);
	}
	port_close(&r->port);
	return 0;
}

static void
port_af_packet__rings_after_the_frame(void)
{
	CHECK_EQ(make_veth("af_packet", 4200), 0);
	CHECK_EQ(rig_pair(finder, one_by_one), 0);
}

/* The same interface gives the same MAC; a killed process leaves no promiscuous mode behind. */
static int
killed(struct rig *r)
{
	char spec[] = "af_packet:plxa";

	RIG_CHECK(rig_open(r, spec, false) == 0);
	RIG_CHECK(write(r->sync, r->port.mac, 6) == 6);
	RIG_CHECK(sh("ip -d link show plxa | grep -q 'promiscuity [1-9]'") == 0);
	raise(SIGKILL);
	return 1;
}

static void
port_af_packet__kill_leaves_nothing(void)
{
	uint8_t mac[2][6];
	int fds[2];

	CHECK_EQ(make_veth("af_packet", 4200), 0);
	CHECK(pipe(fds) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(rig_join(rig_fork(killed, 0, fds[1])), 128 + SIGKILL);
		CHECK(read(fds[0], mac[i], 6) == 6);
	}
	CHECK_MEM(mac[0], mac[1], 6);
	CHECK(sh("ip -d link show plxa | grep -q 'promiscuity 0'") == 0);
	CHECK(sh("! ip link show plxa | grep -q PROMISC") == 0);
	close(fds[0]);
	close(fds[1]);
}

/* The group's number of the other packet socket of ours that has a group; -1: there is none. */
static int
group_beside(int held)
{
	for (int fd = 3; fd < 256; fd++) {
		int arg = 0;
		socklen_t len = sizeof(arg);

		if (fd != held && getsockopt(fd, SOL_PACKET, PACKET_FANOUT, &arg, &len) == 0 && arg)
			return arg & 0xffff;
	}
	return -1;
}

/* The number that DPDK would give its fanout group is taken, on the interface or on another one. */
static int
second_of_its_number(struct rig *r)
{
	static const char *const held_on[] = { "plxb", "plxa" };
	char spec[] = "af_packet:plxa";
	unsigned int number = ((unsigned int)getpid() ^ if_nametoindex("plxa")) & 0xffff;
	unsigned int how = PACKET_FANOUT_HASH | PACKET_FANOUT_FLAG_DEFRAG |
			   PACKET_FANOUT_FLAG_ROLLOVER;
	unsigned int arg = number | how << 16;

	for (int i = 0; i < 2; i++) {
		struct sockaddr_ll ll = {
			.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
			.sll_ifindex = (int)if_nametoindex(held_on[i]),
		};
		int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));

		RIG_CHECK(fd >= 0 && bind(fd, (const struct sockaddr *)&ll, sizeof(ll)) == 0);
		RIG_CHECK(setsockopt(fd, SOL_PACKET, PACKET_FANOUT, &arg, sizeof(arg)) == 0);
		RIG_CHECK(rig_open(r, spec, i > 0) == 0);
		RIG_CHECK(group_beside(fd) != (int)number);
		port_close(&r->port);
		close(fd);
	}
	return 0;
}

static void
port_af_packet__number_taken(void)
{
	CHECK_EQ(make_veth("af_packet", 4200), 0);
	CHECK_EQ(rig_alone(second_of_its_number), 0);
}

/* A second process may not take the same interface with the same MAC while the first has it. */
static int
holder(struct rig *r)
{
	char spec[] = "af_packet:plxa";

	RIG_CHECK(rig_open(r, spec, false) == 0);
	RIG_CHECK(rig_meet(r) && rig_meet(r));
	port_close(&r->port);
	return 0;
}

static int
intruder(struct rig *r)
{
	char spec[] = "af_packet:plxa";

	RIG_CHECK(rig_meet(r));
	RIG_CHECK(rig_open(r, spec, false) == -EBUSY);
	RIG_CHECK(strstr(r->why, "another --mac"));
	RIG_CHECK(rig_meet(r));
	return 0;
}

static void
port_af_packet__one_owner(void)
{
	CHECK_EQ(make_veth("af_packet", 4200), 0);
	CHECK_EQ(rig_pair(holder, intruder), 0);
}

/* Everything that can be wrong with an interface is said before EAL starts. */
static void
port_af_packet__refuses(void)
{
	static const struct {
		const char *spec, *before, *says;
		uint32_t mtu;
		int ret;
	} t[] = {
		{ "af_packet:plxnone", NULL, "ip link", 0, -ENODEV },
		{ "af_packet:plxa", "ip link set plxa down", "set plxa up", 0, -ENETDOWN },
		{ "af_packet:plxa", "ip link set plxa up", "mtu 9000", 9000, -EINVAL },
		{ "af_packet:lo", "ip link set lo up", "not Ethernet", 0, -EINVAL },
		{ "af_packet:plxa", "ip link set plxa mtu 300", "at least 576", 0, -EINVAL },
		{ "af_packet:plxa", "ip link set plxa mtu 4200", "", 1500, 0 },
	};

	CHECK_EQ(make_veth("af_packet", 4200), 0);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct rig r = { .conf.ip_mtu = t[i].mtu };
		char arg[512];
		int ret;

		if (t[i].before)
			CHECK_EQ(sh(t[i].before), 0);
		CHECK_EQ(rig_parse(&r, t[i].spec), 0);
		ret = port_driver_find("af_packet")->eal_args(&r.conf, arg, sizeof(arg), r.why,
							      sizeof(r.why));
		if (ret != t[i].ret || !strstr(r.why, t[i].says))
			printf("%zu: %d: %s\n", i, ret, r.why);
		CHECK(ret == t[i].ret && strstr(r.why, t[i].says));
	}
}

static void
port_iface_has_addr__both_families(void)
{
	static const struct {
		const char *iface, *addr;
		int has;
	} t[] = {
		{ "plxa", "::ffff:10.99.0.1", 1 }, { "plxa", "::ffff:10.99.0.2", 0 },
		{ "plxb", "::ffff:10.99.0.1", 0 }, { "plxa", "fd99::1", 1 },
		{ "plxa", "fd99::2", 0 },
	};

	CHECK_EQ(make_veth("af_packet", 4200), 0);
	(void)!system("echo 0 2>/dev/null >/proc/sys/net/ipv6/conf/plxa/disable_ipv6");
	CHECK_EQ(sh("ip addr add 10.99.0.1/24 dev plxa && ip addr add fd99::1/64 dev plxa"), 0);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		uint8_t gid[16];

		CHECK(inet_pton(AF_INET6, t[i].addr, gid) == 1);
		CHECK(port_iface_has_addr(t[i].iface, gid) == t[i].has);
	}
}

static const struct check_case cases[] = {
	CHECK_CASE(port_af_packet__exchange),
	CHECK_CASE(port_af_packet__vlan),
	CHECK_CASE(port_af_packet__bell),
	CHECK_CASE(port_af_packet__rings_after_the_frame),
	CHECK_CASE(port_af_packet__kill_leaves_nothing),
	CHECK_CASE(port_af_packet__number_taken),
	CHECK_CASE(port_af_packet__one_owner),
	CHECK_CASE(port_af_packet__refuses),
	CHECK_CASE(port_iface_has_addr__both_families),
};

int
main(int argc, char **argv)
{
	return veth_main(cases, sizeof(cases) / sizeof(cases[0]), argc, argv);
}

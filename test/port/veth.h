/* SPDX-License-Identifier: BSD-3-Clause */
/* Both ends of a veth for ports of the kernel's interfaces, in network namespaces that end with the test. */
#ifndef PORT_VETH_H
#define PORT_VETH_H

#include "port_rig.h"

static uint32_t want_mtu;
static const char *kind;

static inline const char *
my_iface(const struct rig *r)
{
	return r->side == 0 ? "plxa" : "plxb";
}

static inline int
sh(const char *command)
{
	int ret = system(command);

	if (ret != 0)
		printf("%s: %d\n", command, ret);
	return ret;
}

/* The kernel of this namespace is not to talk on new interfaces of its own accord. */
static inline void
silence(void)
{
	(void)!system("echo 1 2>/dev/null >/proc/sys/net/ipv6/conf/default/disable_ipv6");
}

/* A veth with the MTU, up, for ports of that kind: every case begins with this, whatever another left. */
static inline int
make_veth(const char *port_kind, uint32_t ip_mtu)
{
	char command[512];

	kind = port_kind;
	want_mtu = ip_mtu;
	silence();
	(void)!system("ip link del plxa 2>/dev/null");
	snprintf(command, sizeof(command),
		 "ip link add plxa mtu %u type veth peer name plxb mtu %u &&"
		 " ip link set plxa up && ip link set plxb up", ip_mtu, ip_mtu);
	return sh(command);
}

/* The second end goes into a namespace of its own, as a second host would. */
static inline int
move_apart(struct rig *r)
{
	char command[128];
	pid_t peer = getpid();

	if (r->side == 1) {
		RIG_CHECK(unshare(CLONE_NEWNET) == 0);
		silence();
		RIG_CHECK(write(r->sync, &peer, sizeof(peer)) == sizeof(peer));
		RIG_CHECK(rig_meet(r));
		return sh("ip link set plxb up");
	}
	RIG_CHECK(read(r->sync, &peer, sizeof(peer)) == sizeof(peer));
	snprintf(command, sizeof(command), "ip link set plxb netns %d", peer);
	RIG_CHECK(sh(command) == 0);
	RIG_CHECK(rig_meet(r));
	return 0;
}

static inline int
open_mine(struct rig *r)
{
	char spec[64];

	RIG_CHECK(move_apart(r) == 0);
	snprintf(spec, sizeof(spec), "%s:%s", kind, my_iface(r));
	RIG_CHECK(rig_open(r, spec, false) == 0);
	RIG_CHECK(r->port.ip_mtu == want_mtu);
	RIG_CHECK((r->port.mac[0] & 3) == 2);
	RIG_CHECK(rig_swap_macs(r));
	RIG_CHECK(memcmp(r->port.mac, r->peer_mac, 6) != 0);
	RIG_CHECK(rig_link(r));
	return rig_meet(r) ? 0 : 1;
}

static inline int
talk(struct rig *r)
{
	static const uint32_t sizes[] = { 64, 1500, 4170, 0 };

	RIG_CHECK(open_mine(r) == 0);
	for (int i = 0; i < 4; i++) {
		uint32_t len = sizes[i] ? sizes[i] : want_mtu + 14;

		if (len > want_mtu + 14)
			continue;
		RIG_CHECK(rig_exchange(r, 2000, len));
		RIG_CHECK(rig_meet(r));
	}
	/* af_xdp lends buffers to the kernel */
	RIG_CHECK(rig_in_use(r) == 0 || strcmp(kind, "af_packet") != 0);
	port_close(&r->port);
	return 0;
}

/* Runs the cases in a namespace of their own, or says why they cannot run here. */
static inline int
veth_main(const struct check_case *cases, size_t n, int argc, char **argv)
{
	if (unshare(CLONE_NEWNET) != 0) {
		printf("skipped: no network namespace of its own (%s): run as root\n",
		       strerror(errno));
		return RIG_SKIP;
	}
	if (system("ip link add plxa type veth peer name plxb 2>/dev/null") != 0) {
		printf("skipped: this kernel or `ip` makes no veth\n");
		return RIG_SKIP;
	}
	return check_main(cases, n, argc, argv);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does the kernel know of an interface that we share with it? Called before a port on it is
 * opened; control thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port/spec.h"

/* One request on any socket; errno as ioctl left it. */
static int
ask(int fd, unsigned long request, const char *name, struct ifreq *r)
{
	memset(r, 0, sizeof(*r));
	snprintf(r->ifr_name, sizeof(r->ifr_name), "%s", name);
	return ioctl(fd, request, r) == 0 ? 0 : -errno;
}

static int
query(int fd, const char *name, struct port_iface *out, char *why, size_t why_len)
{
	struct ifreq r;
	int ret = ask(fd, SIOCGIFINDEX, name, &r);

	out->index = r.ifr_ifindex;
	if (ret != 0) {
		snprintf(why, why_len, "no interface \"%s\" here: `ip link` lists what there is in"
			 " this network namespace", name);
		return ret;
	}
	ret = ask(fd, SIOCGIFHWADDR, name, &r);
	if (ret != 0 || r.ifr_hwaddr.sa_family != ARPHRD_ETHER) {
		snprintf(why, why_len, "interface \"%s\" is not Ethernet", name);
		return ret ? ret : -EINVAL;
	}
	memcpy(out->mac, r.ifr_hwaddr.sa_data, 6);
	ret = ask(fd, SIOCGIFFLAGS, name, &r);
	if (ret == 0 && !(r.ifr_flags & IFF_UP)) {
		snprintf(why, why_len, "interface \"%s\" is down: `ip link set %s up`", name, name);
		return -ENETDOWN;
	}
	if (ret == 0)
		ret = ask(fd, SIOCGIFMTU, name, &r);
	out->mtu = (uint32_t)r.ifr_mtu;
	if (ret != 0)
		snprintf(why, why_len, "interface \"%s\": %s", name, strerror(-ret));
	return ret;
}

int
port_iface_query(const char *name, struct port_iface *out, char *why, size_t why_len)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int ret;

	if (fd < 0) {
		ret = -errno;
		snprintf(why, why_len, "interface \"%s\": %s", name, strerror(-ret));
		return ret;
	}
	ret = query(fd, name, out, why, why_len);
	close(fd);
	return ret;
}

static bool
is_gid(const struct sockaddr *sa, const uint8_t gid[16])
{
	static const uint8_t ip4_prefix[12] = { [10] = 0xff, [11] = 0xff };
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)sa;
	const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)sa;

	if (sa->sa_family == AF_INET6)
		return memcmp(&in6->sin6_addr, gid, 16) == 0;
	return sa->sa_family == AF_INET && memcmp(gid, ip4_prefix, 12) == 0 &&
	       memcmp(&in->sin_addr, gid + 12, 4) == 0;
}

int
port_iface_has_addr(const char *iface, const uint8_t gid[16])
{
	struct ifaddrs *all;
	int found = 0;

	if (getifaddrs(&all) != 0)
		return -errno;
	for (struct ifaddrs *a = all; a && !found; a = a->ifa_next)
		found = a->ifa_addr && strcmp(a->ifa_name, iface) == 0 && is_gid(a->ifa_addr, gid);
	freeifaddrs(all);
	return found;
}

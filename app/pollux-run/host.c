/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: does this machine have the interface and the CPUs that the options name, and may we use
 * them? Called by the checks in option.c, on the launcher's only thread, before the program starts.
 */
#include "host.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* One SIOCGIF… of `iface`; 0 or -errno. */
static int
iface_ioctl(const char *iface, unsigned long request, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	memset(ifr, 0, sizeof(*ifr));
	memcpy(ifr->ifr_name, iface, strnlen(iface, IFNAMSIZ - 1));
	rc = ioctl(fd, request, ifr) ? -errno : 0;
	close(fd);
	return rc;
}

static int
packet_socket(const char *iface, struct why *w)
{
	/* protocol 0: the socket receives nothing, so it costs the interface nothing */
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd >= 0) {
		close(fd);
		return 0;
	}
	if (errno == EPERM || errno == EACCES)
		return why(w, "a packet socket on %s needs CAP_NET_RAW: run as root, or give the "
			   "program that capability", iface);
	return why(w, "no packet socket on %s: %s", iface, strerror(errno));
}

int
host_af_packet(const struct value_port *port, struct why *w)
{
	struct ifreq ifr;

	if (!if_nametoindex(port->name))
		return why(w, "there is no interface %s here; `ip link` lists them", port->name);
	if (iface_ioctl(port->name, SIOCGIFHWADDR, &ifr) ||
	    ifr.ifr_hwaddr.sa_family != ARPHRD_ETHER)
		return why(w, "%s is no Ethernet interface; name another (`ip link`)", port->name);
	if (iface_ioctl(port->name, SIOCGIFFLAGS, &ifr) || !(ifr.ifr_flags & IFF_UP))
		return why(w, "%s is down; `ip link set %s up` first", port->name, port->name);
	return packet_socket(port->name, w);
}

int
host_iface_mtu(const char *iface, unsigned int mtu, struct why *w)
{
	struct ifreq ifr;
	int rc = iface_ioctl(iface, SIOCGIFMTU, &ifr);

	if (rc)
		return why(w, "the MTU of %s cannot be read: %s", iface, strerror(-rc));
	if (ifr.ifr_mtu >= 0 && (unsigned int)ifr.ifr_mtu < mtu)
		return why(w, "%s carries %d bytes: give that or less, or "
			   "`ip link set %s mtu %u` first", iface, ifr.ifr_mtu, iface, mtu);
	return 0;
}

static int
same_addr(const struct sockaddr *sa, const struct kv_ip *a)
{
	if (!sa || sa->sa_family != (a->ip4 ? AF_INET : AF_INET6))
		return 0;
	if (a->ip4)
		return !memcmp(&((const struct sockaddr_in *)sa)->sin_addr, a->gid + 12, 4);
	return !memcmp(&((const struct sockaddr_in6 *)sa)->sin6_addr, a->gid, 16);
}

int
host_addrs_free(const struct kv_ip *addrs, size_t n, struct why *w)
{
	struct ifaddrs *list, *i;
	int rc = 0;

	if (getifaddrs(&list))
		return why(w, "the kernel's addresses cannot be read: %s", strerror(errno));
	for (i = list; i && !rc; i = i->ifa_next)
		for (size_t k = 0; k < n && !rc; k++)
			if (same_addr(i->ifa_addr, &addrs[k]))
				rc = why(w, "the kernel holds that address on %s and would answer "
					 "RoCE packets with ICMP errors: take it off with "
					 "`ip addr del`, or give another", i->ifa_name);
	freeifaddrs(list);
	return rc;
}

uint32_t
host_num_cores(void)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	return n > 0 ? (uint32_t)n : 1;
}

int
host_cores(const struct value_cores *cores, struct why *w)
{
	cpu_set_t ours;

	if (sched_getaffinity(0, sizeof(ours), &ours))
		return why(w, "our own affinity cannot be read: %s", strerror(errno));
	for (size_t i = 0; i < cores->n; i++)
		if (!CPU_ISSET(cores->cpu[i], &ours))
			return why(w, "CPU %u is not among those we may run on "
				   "(`taskset -p $$`)", cores->cpu[i]);
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: does this machine have the interface and the CPUs that the options name, and may we use
 * them? Called by the checks in check.c, on the launcher's only thread, before the program starts.
 */
#include "host.h"

#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int
host_af_packet(const char *iface, struct why *w)
{
	struct port_iface known;
	int fd;

	if (port_iface_query(iface, &known, w->text, sizeof(w->text)))
		return -EINVAL;
	/* protocol 0: the socket receives nothing, so it costs the interface nothing */
	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
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
host_iface_mtu(const char *iface, unsigned int mtu, struct why *w)
{
	struct port_iface known;

	if (port_iface_query(iface, &known, w->text, sizeof(w->text)))
		return -EINVAL;
	if (known.mtu < mtu)
		return why(w, "%s carries %u bytes: give that or less, or "
			   "`ip link set %s mtu %u` first", iface, known.mtu, iface, mtu);
	return 0;
}

/* On whichever interface the kernel holds it, it would answer for it on all. */
int
host_addr_free(const struct kv_ip *addr, struct why *w)
{
	struct if_nameindex *list = if_nameindex();
	int rc = 0;

	if (!list)
		return why(w, "the interfaces cannot be listed: %s", strerror(errno));
	for (struct if_nameindex *i = list; i->if_name && !rc; i++)
		if (port_iface_has_addr(i->if_name, addr->gid) > 0)
			rc = why(w, "the kernel holds that address on %s and would answer RoCE "
				 "packets with ICMP errors: take it off with `ip addr del`, or "
				 "give another", i->if_name);
	if_freenameindex(list);
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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What this machine has of what the options name. Looks, opens and closes; changes nothing.
 * Every function returns 0, or -EINVAL with the reason and what to do in `w`.
 */
#ifndef POLLUX_RUN_HOST_H
#define POLLUX_RUN_HOST_H

#include "port/spec.h"
#include "value.h"

/* The socket's directory can be used by this end, and no other server holds the socket. */
int host_memif(const struct port_memif *memif, struct why *w);
/* The interface exists, is Ethernet and up, and an AF_PACKET socket may be opened. */
int host_af_packet(const char *iface, struct why *w);
/* `mtu` fits the interface. */
int host_iface_mtu(const char *iface, unsigned int mtu, struct why *w);
/* No interface of the kernel holds the address. */
int host_addr_free(const struct kv_ip *addr, struct why *w);
/* How many CPUs this machine has. */
uint32_t host_num_cores(void);
/* This process may run on the CPUs. */
int host_cores(const struct value_cores *cores, struct why *w);

#endif

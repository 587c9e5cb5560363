/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The grammar of the launcher's values. Pure: looks at nothing but the text it is given.
 * Every function returns 0, or -EINVAL with the reason in `w`.
 */
#ifndef POLLUX_RUN_VALUE_H
#define POLLUX_RUN_VALUE_H

#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#include "why.h"

/* 256 bytes of payload, the smallest path MTU, and the 80 that rule A32 keeps for headers */
#define VALUE_MTU_MIN 336u
#define VALUE_MTU_MAX 9000u
/* A table of 256 GIDs, the first of which is the link-local one */
#define VALUE_MAX_ADDRS 255u

struct value_addr {
	int family;		/* AF_INET or AF_INET6 */
	uint8_t bytes[16];	/* network order; 4 or 16 of them */
	unsigned int prefix;	/* bits */
};

struct value_port {
	enum value_port_kind {
		VALUE_PORT_LOOP,
		VALUE_PORT_MEMIF,
		VALUE_PORT_AF_PACKET,
		VALUE_PORT_VDEV,
	} kind;
	char name[108];		/* memif: socket path or @name; af_packet: the interface */
	int server;		/* memif */
	int zero_copy;		/* memif */
};

int value_port(const char *text, struct value_port *out, struct why *w);
/* ADDR/LEN; refuses what no interface can have */
int value_addr_len(const char *text, struct value_addr *out, struct why *w);
/* "ADDR/LEN,ADDR/LEN…", at most VALUE_MAX_ADDRS and none twice; *n of them in `out` */
int value_addr_list(const char *text, struct value_addr *out, size_t *n, struct why *w);
/* ADDR; prefix is set to the family's width */
int value_addr(const char *text, struct value_addr *out, struct why *w);
/* 1 when `addr` lies in the network of `net` */
int value_addr_in(const struct value_addr *addr, const struct value_addr *net);
int value_mtu(const char *text, unsigned int *out, struct why *w);
int value_mac(const char *text, uint8_t out[6], struct why *w);
/* ID[:PCP]; `out` is the tag control word: PCP in the top three bits */
int value_vlan(const char *text, uint16_t *out, struct why *w);
/* "0", "0-3", "0-6:2,9" as in taskset; `inline` gives the empty set */
int value_cores(const char *text, cpu_set_t *out, struct why *w);
/* decimal or 0x…, up to `max` */
int value_number(const char *text, uint64_t max, uint64_t *out, struct why *w);

#endif

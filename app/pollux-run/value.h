/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The grammar of the launcher's values, on top of base/kv.h; that of a port is port/spec.h's. Pure:
 * looks at nothing but the text it is given. Every function returns 0, or -EINVAL with the reason in `w`.
 */
#ifndef POLLUX_RUN_VALUE_H
#define POLLUX_RUN_VALUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/kv.h"
#include "why.h"

/* A table of 256 GIDs, the first of which is the link-local one */
#define VALUE_MAX_ADDRS 255u
#define VALUE_MAX_CORES 64u

struct value_cores {
	uint32_t cpu[VALUE_MAX_CORES];
	size_t n;		/* 0: inline */
};

/* ADDR/LEN; refuses what no port can have */
int value_addr_len(const char *text, struct kv_ip *out, struct why *w);
/* "ADDR/LEN,ADDR/LEN…", at most VALUE_MAX_ADDRS and none twice; *n of them in `out` */
int value_addr_list(const char *text, struct kv_ip *out, size_t *n, struct why *w);
/* ADDR, without a length */
int value_addr(const char *text, struct kv_ip *out, struct why *w);
/* ADDR or ADDR,ADDR: at most one of each family; *n of them in `out` */
int value_gateways(const char *text, struct kv_ip out[2], size_t *n, struct why *w);
/* 1 when `addr` lies in the network of `net` */
int value_addr_in(const struct kv_ip *addr, const struct kv_ip *net);
int value_mtu(const char *text, unsigned int *out, struct why *w);
int value_mac(const char *text, uint8_t out[6], struct why *w);
/* ID[:PCP]; `out` is the tag control word: PCP in the top three bits */
int value_vlan(const char *text, uint16_t *out, struct why *w);
/* `inline`, or a list as in taskset of CPUs below `limit` */
int value_cores(const char *text, uint32_t limit, struct value_cores *out, struct why *w);
/* a number of 32 bits, decimal or 0x… */
int value_id(const char *text, uint32_t *out, struct why *w);

#endif

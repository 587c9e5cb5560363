/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a stack is to be, as people write it: the launcher's options, which are also variables and
 * members of struct plx_stack_config. Control thread.
 */
#ifndef SERVE_CONF_H
#define SERVE_CONF_H

#include <stddef.h>
#include <stdint.h>

#include "engine/engine.h"

/* X(member, variable, what it is called in an error line) */
#define SETTING_LIST(X) \
	X(port, "POLLUX_PORT", "port") \
	X(ip, "POLLUX_IP", "ip") \
	X(gw, "POLLUX_GW", "gw") \
	X(mtu, "POLLUX_MTU", "mtu") \
	X(mac, "POLLUX_MAC", "mac") \
	X(vlan, "POLLUX_VLAN", "vlan") \
	X(cores, "POLLUX_CORES", "cores") \
	X(impair, "POLLUX_IMPAIR", "impair") \
	X(record, "POLLUX_RECORD", "record") \
	X(counters, "POLLUX_COUNTERS", "counters") \
	X(socket, "POLLUX_SOCKET", "socket") \
	X(zero_copy, "POLLUX_ZERO_COPY", "zero_copy") \
	X(explain, "POLLUX_EXPLAIN", "explain") \
	X(dm_size, "POLLUX_DM_SIZE", "dm_size") \
	X(vendor_id, "POLLUX_VENDOR_ID", "vendor_id") \
	X(vendor_part_id, "POLLUX_VENDOR_PART_ID", "vendor_part_id")

/* NULL or "": not set. */
struct setting_text {
#define SETTING_MEMBER(member, variable, name) const char *member;
	SETTING_LIST(SETTING_MEMBER)
#undef SETTING_MEMBER
};

struct serve_conf {
	/* what it says of the port points into `port`; its other strings, and `counters`, are those
	 * that were parsed */
	struct eng_conf eng;
	const char *counters;	/* a file for what was counted, or NULL */
	uint64_t dm_size;	/* bytes of device memory */
	uint32_t vendor_id;
	uint32_t vendor_part_id;
	char port[512];
};

/* From the environment; the strings are getenv()'s. */
void setting_from_env(struct setting_text *t);

/* 0, or -EINVAL / -EOPNOTSUPP with one line in `why` that says what to do. Checks the words, not
 * whether this machine has what they name. */
int conf_parse(struct serve_conf *c, const struct setting_text *t, char *why, size_t why_len);

#endif

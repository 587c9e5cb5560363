/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of a stack: each one option of the launcher and one POLLUX_* variable. The list
 * stands here once; parser, environment, --help and checks are made from it.
 */
#ifndef POLLUX_RUN_SETTING_H
#define POLLUX_RUN_SETTING_H

#include <stdio.h>

#include "port/port.h"
#include "value.h"

/*
 * X(id, option or NULL, variable, argument, help). The order is that of the checks: what a later
 * one is compared with comes first.
 */
#define SETTING_LIST(X) \
	X(SOCKET, "attach", "POLLUX_SOCKET", "[SOCKET]", "attach to a running stack") \
	X(PORT, "port", "POLLUX_PORT", "SPEC", "the port to use (default loop), see below") \
	X(IP, "ip", "POLLUX_IP", "ADDR/LEN", "an address of the port; may be repeated") \
	X(GW, "gw", "POLLUX_GW", "ADDR", "gateway for what is in no network of --ip") \
	X(MTU, "mtu", "POLLUX_MTU", "N", "IP MTU (4200; on af_packet the interface's)") \
	X(MAC, "mac", "POLLUX_MAC", "MAC", "MAC address of the port") \
	X(VLAN, "vlan", "POLLUX_VLAN", "ID[:PCP]", "tag all frames with this VLAN") \
	X(CORES, "cores", "POLLUX_CORES", "LIST|inline", \
	  "CPUs that run the stack; inline: the program's threads (default)") \
	X(IMPAIR, "impair", "POLLUX_IMPAIR", "SPEC", "drop, delay or reorder frames") \
	X(RECORD, "record", "POLLUX_RECORD", "FILE", "write all frames to a pcapng file") \
	X(COUNTERS, "counters", "POLLUX_COUNTERS", "FILE", "write all counters to a file at the end") \
	X(ZERO_COPY, NULL, "POLLUX_ZERO_COPY", "0|1", "send payloads from where they lie (1)") \
	X(EXPLAIN, NULL, "POLLUX_EXPLAIN", "0|1", "say on standard error why queue pairs fail (0)") \
	X(DM_SIZE, NULL, "POLLUX_DM_SIZE", "MIB", "device memory that programs may take in all (16)") \
	X(VENDOR_ID, NULL, "POLLUX_VENDOR_ID", "N", "vendor_id that the device reports") \
	X(VENDOR_PART_ID, NULL, "POLLUX_VENDOR_PART_ID", "N", "vendor_part_id it reports")

enum setting_id {
#define SETTING_ENUM(id, option, variable, arg, help) SETTING_##id,
	SETTING_LIST(SETTING_ENUM)
#undef SETTING_ENUM
	SETTING_COUNT
};

struct plan {
	char *value[SETTING_COUNT];	/* NULL: not set; owned */
	const char *from[SETTING_COUNT];	/* "--mtu" or "POLLUX_MTU", for the error line */
	char **program;			/* what stands behind -- */
	int help, version;		/* --help, --version: print and be done */

	/* filled by plan_check */
	struct port_conf port;
	char port_words[1024];	/* what `port` points into */
	const char *iface;	/* of an af_packet port, else NULL */
	struct kv_ip addr[VALUE_MAX_ADDRS];
	size_t num_addrs;
};

/* Takes the options from the command line. 0, or -EINVAL with the line in `w`. */
int plan_read_args(struct plan *p, char **argv, struct why *w);
/* Takes what no option gave from the environment; an empty variable counts as none. 0, -ENOMEM. */
int plan_read_env(struct plan *p, struct why *w);
/* Checks every value against its grammar and against this machine. 0, or -EINVAL. */
int plan_check(struct plan *p, struct why *w);
/* Puts the settings and POLLUX_LAUNCHED=1 into the environment. 0, or -EINVAL. */
int plan_export(const struct plan *p, struct why *w);

void setting_usage(FILE *out);

#endif

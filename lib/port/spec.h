/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the words of a port SPEC mean, for the drivers that take them. Pure but port_iface_*, which
 * ask the kernel, and port_record_create(); control thread.
 */
#ifndef PORT_SPEC_H
#define PORT_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an IP MTU may be: IPv4's least, and a jumbo frame. */
#define PORT_MTU_MIN 576u
#define PORT_MTU_MAX 9216u
#define PORT_MTU_DEFAULT 4200u	/* of wires without an MTU of their own: path MTU 4096 fits (A32) */
#define PORT_SOCKET_LEN 108u	/* of a UNIX socket's path, with its end */
#define PORT_L2_LEN 18u		/* Ethernet header with a VLAN tag */

/* "memif:" SOCKET,server|client[,zc] */
struct port_memif {
	char socket[108];	/* a path, or the name without its @ */
	bool abstract;
	bool server;
	bool zero_copy;
};

/* 0 or -EINVAL and a line in `why`. */
int port_memif_parse(const char *args, struct port_memif *out, char *why, size_t why_len);

/*
 * What happens to received frames: "drop=P,dup=P,reorder=P[:K],delay=US[:JITTER],corrupt=P,ecn=P,
 * seed=N", each once at most and in any order. P is a fraction from 0 to 1.
 */
struct port_impair {
	uint64_t drop, dup, reorder, corrupt, ecn;	/* chances, in parts of PORT_CHANCE_ONE */
	uint32_t reorder_by;	/* later frames that pass a held one, 1 to PORT_REORDER_MAX */
	uint32_t delay_us, jitter_us;	/* delay +- jitter, uniform; jitter is at most the delay */
	uint64_t seed;
	bool has_seed;
};

#define PORT_CHANCE_ONE (UINT64_C(1) << 32)
#define PORT_REORDER_BY 3u
#define PORT_REORDER_MAX 64u
#define PORT_DELAY_MAX_US 1000000u

/* 0 or -EINVAL and a line in `why`. */
int port_impair_parse(const char *args, struct port_impair *out, char *why, size_t why_len);

/* Makes FILE, or empties it, for frames to be written to: the fd, or -errno with a line in `why`. A
 * pipe, socket or directory is refused with -EINVAL: a core must not wait for a reader. */
int port_record_create(const char *file, char *why, size_t why_len);

/* An interface of the kernel, in the network namespace of the caller. */
struct port_iface {
	int index;
	uint32_t mtu;
	uint8_t mac[6];
};

/* 0, or -ENODEV (none of that name), -ENETDOWN, -EINVAL (not Ethernet), -errno, with a line in `why`
 * that says what to do. */
int port_iface_query(const char *name, struct port_iface *out, char *why, size_t why_len);

/* 1 when the kernel holds this address on the interface, 0 when not, or -errno. IPv4 as
 * ::ffff:a.b.c.d. */
int port_iface_has_addr(const char *iface, const uint8_t gid[16]);

#endif

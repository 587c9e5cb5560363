/* SPDX-License-Identifier: BSD-3-Clause */
/* Path MTUs: the enumeration of the verbs and the CM, 1..5, and bytes (A32). Pure. */
#ifndef WIRE_MTU_H
#define WIRE_MTU_H

#include <stdint.h>

#define MTU_ENUM_MIN 1u
#define MTU_ENUM_MAX 5u

/* What the largest set of headers behind the IP MTU takes, rounded up as others do. */
#define MTU_PORT_OVERHEAD 80u

/* 1..5: 256, 512, 1024, 2048, 4096 bytes. 0 for any other value. */
static inline uint32_t
mtu_bytes(unsigned int mtu_enum)
{
	return mtu_enum >= MTU_ENUM_MIN && mtu_enum <= MTU_ENUM_MAX ? 128u << mtu_enum : 0;
}

/* 1..5 for exactly those numbers of bytes, else 0. */
static inline unsigned int
mtu_enum(uint32_t bytes)
{
	for (unsigned int e = MTU_ENUM_MIN; e <= MTU_ENUM_MAX; e++)
		if (mtu_bytes(e) == bytes)
			return e;
	return 0;
}

/* The largest that a port of this IP MTU carries: 1500 -> 3 (1024), 4200 -> 5 (4096). 0: none. */
static inline unsigned int
mtu_enum_for_port(uint32_t ip_mtu)
{
	unsigned int e = MTU_ENUM_MAX;

	while (e && mtu_bytes(e) + MTU_PORT_OVERHEAD > ip_mtu)
		e--;
	return e;
}

#endif

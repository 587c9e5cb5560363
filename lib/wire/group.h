/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast groups as addresses (F9). Pure. */
#ifndef WIRE_GROUP_H
#define WIRE_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Of an IPv4 address, or of a group of those. */
static inline bool
wire_gid_is_ip4(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

/* ::ffff:224.0.0.0/100 or ff00::/8 */
static inline bool
wire_gid_is_group(const uint8_t gid[16])
{
	return wire_gid_is_ip4(gid) ? gid[12] >> 4 == 0xe : gid[0] == 0xff;
}

/* The MAC to which frames for a group go: 01:00:5e and 23 bits (RFC 1112, 6.4), or 33:33 and 32 bits
 * (RFC 2464, 7). */
static inline void
wire_group_mac(const uint8_t gid[16], uint8_t mac[6])
{
	const uint8_t ip4[6] = { 0x01, 0x00, 0x5e, gid[13] & 0x7f, gid[14], gid[15] };
	const uint8_t ip6[6] = { 0x33, 0x33, gid[12], gid[13], gid[14], gid[15] };

	memcpy(mac, wire_gid_is_ip4(gid) ? ip4 : ip6, 6);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What an address is: families, scopes, prefixes and text of GIDs. All pure, any thread. */
#ifndef NET_GID_H
#define NET_GID_H

#include <stdbool.h>
#include <stdint.h>

#define GID_TEXT_LEN 46u	/* longest text of an address with its end */

/* ::ffff:a.b.c.d */
bool gid_is_ip4(const uint8_t gid[16]);
bool gid_is_zero(const uint8_t gid[16]);
/* fe80::/10 */
bool gid_is_link_local(const uint8_t gid[16]);
/* Can be one host on the wire: not unspecified, loopback, multicast or 255.255.255.255. */
bool gid_is_unicast(const uint8_t gid[16]);
bool gid_equal(const uint8_t a[16], const uint8_t b[16]);
/* Both of one family and equal in the first `prefix_len` bits of the family's address. */
bool gid_same_prefix(const uint8_t a[16], const uint8_t b[16], uint8_t prefix_len);

void gid_from_ip4(uint8_t gid[16], const uint8_t ip[4]);
/* fe80:: with the EUI-64 of the MAC (RFC 4291, appendix A). */
void gid_from_mac(uint8_t gid[16], const uint8_t mac[6]);
/* "10.11.0.2" or "fe80::1" */
void gid_text(const uint8_t gid[16], char text[GID_TEXT_LEN]);

#endif

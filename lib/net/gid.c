/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which addresses are ours, and what is an address? The GID table of a port: the link-local GID of
 * the MAC first, then the configured ones. Called by everything in lib/net; owning core, the pure
 * functions on any thread.
 */
#include "net/gid.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "net/net_priv.h"

static const uint8_t ip4_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

bool
gid_is_ip4(const uint8_t gid[16])
{
	return memcmp(gid, ip4_prefix, sizeof(ip4_prefix)) == 0;
}

bool
gid_is_zero(const uint8_t gid[16])
{
	static const uint8_t zero[16];

	return memcmp(gid, zero, sizeof(zero)) == 0;
}

bool
gid_is_link_local(const uint8_t gid[16])
{
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

static bool
ip4_is_unicast(const uint8_t ip[4])
{
	return ip[0] != 0 && ip[0] != 127 && ip[0] < 224;
}

bool
gid_is_unicast(const uint8_t gid[16])
{
	static const uint8_t loopback[16] = { [15] = 1 };

	if (gid_is_ip4(gid))
		return ip4_is_unicast(gid + 12);
	return !gid_is_zero(gid) && gid[0] != 0xff && !gid_equal(gid, loopback);
}

bool
gid_equal(const uint8_t a[16], const uint8_t b[16])
{
	return memcmp(a, b, 16) == 0;
}

bool
gid_same_prefix(const uint8_t a[16], const uint8_t b[16], uint8_t prefix_len)
{
	uint32_t bits = prefix_len;

	if (gid_is_ip4(a) != gid_is_ip4(b))
		return false;
	if (gid_is_ip4(a))
		bits += 96;
	if (memcmp(a, b, bits / 8) != 0)
		return false;
	/* the rest of a byte: only when bits < 128, so the index stays inside */
	return bits % 8 == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - bits % 8) == 0;
}

void
gid_from_ip4(uint8_t gid[16], const uint8_t ip[4])
{
	memcpy(gid, ip4_prefix, sizeof(ip4_prefix));
	memcpy(gid + 12, ip, 4);
}

void
gid_from_mac(uint8_t gid[16], const uint8_t mac[6])
{
	const uint8_t made[16] = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0, mac[0] ^ 2, mac[1], mac[2], 0xff,
				   0xfe, mac[3], mac[4], mac[5] };

	memcpy(gid, made, sizeof(made));
}

void
gid_text(const uint8_t gid[16], char text[GID_TEXT_LEN])
{
	bool ip4 = gid_is_ip4(gid);

	if (!inet_ntop(ip4 ? AF_INET : AF_INET6, ip4 ? gid + 12 : gid, text, GID_TEXT_LEN))
		text[0] = '\0';
}

int
gid_get(const struct net *n, uint32_t index, uint8_t gid[16])
{
	if (index >= NET_MAX_GIDS)
		return -EINVAL;
	if (index >= n->num_gids)
		return -ENODATA;
	memcpy(gid, n->gid[index].gid, 16);
	return 0;
}

int
gid_find(const struct net *n, const uint8_t gid[16])
{
	for (uint32_t i = 0; i < n->num_gids; i++)
		if (gid_equal(n->gid[i].gid, gid))
			return (int)i;
	return -1;
}

bool
gid_on_link(const struct net *n, const uint8_t gid[16])
{
	if (gid_is_link_local(gid))
		return true;
	for (uint32_t i = 1; i < n->num_gids; i++)
		if (gid_same_prefix(n->gid[i].gid, gid, n->gid[i].prefix_len))
			return true;
	return false;
}

/* The last address of an IPv4 subnet of ours is everybody there (not in a /31 or /32). */
bool
gid_is_subnet_broadcast(const struct net *n, const uint8_t gid[16])
{
	if (!gid_is_ip4(gid))
		return false;
	for (uint32_t i = 1; i < n->num_gids; i++) {
		uint8_t len = n->gid[i].prefix_len;

		if (gid_is_ip4(n->gid[i].gid) && len < 31 &&
		    gid_same_prefix(n->gid[i].gid, gid, len) &&
		    (get_be32(gid + 12) | (uint32_t)((UINT64_C(0xffffffff) << (32 - len)))) ==
			    UINT32_MAX)
			return true;
	}
	return false;
}

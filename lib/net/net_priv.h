/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of lib/net share: the port's net, a frame's second layer, bytes. Owning core. */
#ifndef NET_NET_PRIV_H
#define NET_NET_PRIV_H

#include "net/gid.h"
#include "net/group.h"
#include "net/neigh.h"
#include "net/net.h"
#include "wire/group.h"

#define ETH_LEN 14u
#define VLAN_LEN 4u
#define ETH_TYPE_IP4 0x0800u
#define ETH_TYPE_ARP 0x0806u
#define ETH_TYPE_VLAN 0x8100u
#define ETH_TYPE_IP6 0x86ddu
#define IP6_LEN 40u
#define IP4_LEN 20u
#define IP4_FRAGMENT 0x3fffu	/* more fragments, or an offset */
#define IP_PROTO_ICMP 1u
#define IP_PROTO_IGMP 2u
#define IP_PROTO_HOP_BY_HOP 0u
#define IP_PROTO_ICMP6 58u

struct net {
	uint8_t mac[6];
	uint16_t vlan_tci;
	uint32_t ip_mtu;
	struct net_out out;
	uint32_t num_gids;
	struct net_addr gid[NET_MAX_GIDS];
	uint8_t gw4[16], gw6[16];
	bool conflict_said;
	struct neigh_table neigh;
	struct groups groups;
	uint8_t *echo;		/* room for the longest frame: answers to echo requests */
};

/* A received frame behind its Ethernet header and tag. */
struct net_frame {
	const uint8_t *dst_mac, *src_mac;
	uint16_t type;
	const uint8_t *l3;
	size_t l3_len;
};

static inline uint16_t
get_be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static inline uint32_t
get_be32(const uint8_t *at)
{
	return (uint32_t)get_be16(at) << 16 | get_be16(at + 2);
}

static inline uint8_t *
put_be16(uint8_t *at, uint16_t v)
{
	at[0] = (uint8_t)(v >> 8);
	at[1] = (uint8_t)v;
	return at + 2;
}

/* A host's MAC: not a group's, not all zero. */
bool mac_is_unicast(const uint8_t mac[6]);

/* On a link of ours: by prefix, or link-local. */
bool gid_on_link(const struct net *n, const uint8_t gid[16]);
bool gid_is_subnet_broadcast(const struct net *n, const uint8_t gid[16]);

/* Writes our Ethernet header (and tag); returns the byte after it. At most ETH_LEN + VLAN_LEN. */
uint8_t *net_put_l2(const struct net *n, uint8_t *frame, const uint8_t dst_mac[6], uint16_t type);

/* Somebody else says that one of our addresses is his: one line, once a port. */
void net_conflict(struct net *n, const uint8_t gid[16], const uint8_t mac[6]);

/* One's complement sum, to be folded by csum_fold(). An odd byte counts as followed by 0. */
uint32_t csum_add(uint32_t sum, const uint8_t *bytes, size_t len);
/* The checksum as it is written; 0 when the summed bytes hold a right one. */
uint16_t csum_fold(uint32_t sum);
/* Checksum of an ICMPv6 message with its pseudo header (RFC 8200, 8.1); ip6 is the IPv6 header. */
uint16_t csum_icmp6(const uint8_t *ip6, const uint8_t *msg, size_t len);

/* Each: DROP_NONE when it was ours. A frame passed down has been checked up to its layer. */
enum drop_reason arp_rx(struct net *n, const struct net_frame *f, uint64_t now,
			struct cnt_block *cnt);
enum drop_reason icmp4_rx(struct net *n, const struct net_frame *f, struct cnt_block *cnt);
enum drop_reason icmp6_rx(struct net *n, const struct net_frame *f, uint64_t now,
			  struct cnt_block *cnt);
/* `msg` is an ICMPv6 message of type 135 or 136 with a right checksum; its IPv6 header is f->l3. */
enum drop_reason nd_rx(struct net *n, const struct net_frame *f, const uint8_t *msg, size_t len,
		       uint64_t now, struct cnt_block *cnt);

/* Queries of routers and switches: which groups have receivers here? */
enum drop_reason igmp_rx(struct net *n, const struct net_frame *f, uint64_t now,
			 struct cnt_block *cnt);
enum drop_reason mld_rx(struct net *n, const struct net_frame *f, uint64_t now,
			struct cnt_block *cnt);

/* Asks who has `target`: everybody (mac NULL), or the one who is thought to have it. */
void arp_ask(struct net *n, const uint8_t src[16], const uint8_t target[16], const uint8_t *mac);
void nd_ask(struct net *n, const uint8_t src[16], const uint8_t target[16], const uint8_t *mac);
/* Tells everybody that `gid` is ours. */
void arp_announce(struct net *n, const uint8_t gid[16]);
void nd_announce(struct net *n, const uint8_t gid[16]);

#endif

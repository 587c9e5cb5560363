/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Headers for sending. A path (lib/net, or a test) makes a template of Ethernet [VLAN] IP UDP once;
 * each packet copies it, and these functions patch the lengths and write BTH and extension headers
 * behind it. Offsets are the caller's; nothing here checks room: a slot has at least
 * WIRE_MAX_HEADERS bytes before the payload.
 */
#ifndef WIRE_BUILD_H
#define WIRE_BUILD_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/opcode.h"
#include "wire/psn.h"

#define WIRE_ROCE_PORT 4791u
#define WIRE_BTH_LEN 12u
#define WIRE_ICRC_LEN 4u
#define WIRE_MAX_L2L4 (14u + 4u + 40u + 8u)
#define WIRE_MAX_HEADERS (WIRE_MAX_L2L4 + WIRE_BTH_LEN + 40u)

/* Everything in front of the BTH, ready to copy. UDP and IP lengths are 0 in it. */
struct wire_tmpl {
	uint8_t bytes[WIRE_MAX_L2L4];
	uint8_t len;		/* bytes used: where the BTH starts */
	uint8_t l3;		/* offset of the IP header: 14 or 18 */
	bool ip6;
};

/* What wire_tmpl_make() needs. GIDs of IPv4 are ::ffff:a.b.c.d; both must be of one family. */
struct wire_tmpl_conf {
	uint8_t dst_mac[6], src_mac[6];
	uint8_t src_gid[16], dst_gid[16];
	uint16_t vlan_tci;	/* 0: untagged */
	uint16_t udp_sport;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint32_t flow_label;
};

void wire_tmpl_make(struct wire_tmpl *t, const struct wire_tmpl_conf *conf);

struct wire_bth {
	uint8_t opcode;
	bool se, mig_req, ack_req;
	uint8_t pad;
	uint16_t pkey;
	uint32_t dest_qpn;
	struct psn psn;
};

/* Copies the template to `frame`, writes the L3 and L4 lengths for `ib_len` bytes (BTH … pad,
 * without ICRC) and the IPv4 header checksum. Returns where the BTH goes. */
uint8_t *wire_put_tmpl(uint8_t *frame, const struct wire_tmpl *t, uint32_t ib_len);

/* Each writes one header at `at` and returns the byte after it. Host order in, but imm. */
uint8_t *wire_put_bth(uint8_t *at, const struct wire_bth *bth);
uint8_t *wire_put_xrceth(uint8_t *at, uint32_t srqn);
uint8_t *wire_put_deth(uint8_t *at, uint32_t qkey, uint32_t src_qpn);
uint8_t *wire_put_feth(uint8_t *at, uint32_t type, uint32_t level);
uint8_t *wire_put_reth(uint8_t *at, uint64_t va, uint32_t rkey, uint32_t len);
uint8_t *wire_put_atomic(uint8_t *at, uint64_t va, uint32_t rkey, uint64_t swap_add,
			 uint64_t compare);
uint8_t *wire_put_aeth(uint8_t *at, uint8_t syndrome, uint32_t msn);
uint8_t *wire_put_atomic_ack(uint8_t *at, uint64_t orig);
uint8_t *wire_put_imm(uint8_t *at, uint32_t imm);
uint8_t *wire_put_ieth(uint8_t *at, uint32_t rkey);

#endif

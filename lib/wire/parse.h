/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A received frame as values. wire_parse() is total: it accepts any bytes and either gives every
 * field or a reason to drop; all length tests come before any subtraction (A12, A13). It reads no
 * byte outside [frame, frame + len) and does not check the ICRC.
 */
#ifndef WIRE_PARSE_H
#define WIRE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "telemetry/counters.h"
#include "wire/opcode.h"
#include "wire/psn.h"

struct wire_pkt {
	const uint8_t *frame;		/* the Ethernet header */
	const uint8_t *l3;		/* the IPv4 or IPv6 header */
	const uint8_t *bth;
	const uint8_t *payload;
	uint32_t payload_len;		/* without pad */
	const uint8_t *icrc;		/* the 4 bytes; what they cover ends here */

	const struct wire_op_info *info;
	uint8_t opcode;
	bool se, mig_req, ack_req, becn, fecn;
	bool ip6;
	bool ce;			/* the IP header is CE-marked */
	uint8_t pad;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint16_t vlan_tci;		/* 0: untagged */
	uint16_t udp_sport;
	uint16_t pkey;
	uint32_t dest_qpn;
	struct psn psn;
	uint8_t src_gid[16];		/* ::ffff:a.b.c.d for IPv4 */
	uint8_t dst_gid[16];

	/* Extension headers that info->ext names; the others are not set. Host order, but imm. */
	struct {
		uint8_t type, level;
	} feth;
	struct {
		uint64_t va;
		uint32_t rkey;
		uint32_t len;
	} reth;
	struct {
		uint64_t va;
		uint32_t rkey;
		uint64_t swap_add;
		uint64_t compare;
	} atomic;
	struct {
		uint8_t syndrome;
		uint32_t msn;		/* 24 bits */
	} aeth;
	uint64_t atomic_orig;
	uint32_t imm;			/* network order (A22) */
	uint32_t inv_rkey;
	struct {
		uint32_t qkey;
		uint32_t src_qpn;
	} deth;
	uint32_t xrc_srqn;
};

/* What a frame is, before RoCE is looked at. */
enum wire_kind {
	WIRE_KIND_ROCE,			/* IPv4 or IPv6, UDP port 4791: for wire_parse() */
	WIRE_KIND_OTHER,		/* ARP, ICMP, everything else: for lib/net or nobody */
};

/* Cheap look at the first bytes of any frame. Any thread. */
enum wire_kind wire_classify(const uint8_t *frame, size_t len);

/*
 * Any thread. DROP_NONE and *out filled, or the reason to drop; out's fields are then undefined.
 * Bytes after the L3 length are ignored (A5). Reasons: DROP_SHORT, DROP_L2, DROP_L3, DROP_FRAGMENT,
 * DROP_LENGTH, DROP_TVER, DROP_OPCODE, DROP_NOT_ROCE (another UDP port).
 */
enum drop_reason wire_parse(const uint8_t *frame, size_t len, struct wire_pkt *out);

#endif

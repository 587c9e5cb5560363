/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A RoCEv2 frame as values, with an encoder and a decoder of the runner's own. They are written from
 * section 1.A of the catalogue alone and share nothing with lib/wire, so that a mistake made there
 * cannot hide behind itself.
 */
#ifndef SCRIPT_PKT_H
#define SCRIPT_PKT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PKT_MAX 9216u

enum pkt_ext {		/* in the order in which they stand (A21) */
	EXT_XRC = 1, EXT_DETH = 2, EXT_RETH = 4, EXT_ATOMIC = 8, EXT_AETH = 16, EXT_ORIG = 32,
	EXT_IMM = 64, EXT_IETH = 128, EXT_FETH = 256,	/* this one before the RETH */
};

enum pkt_class {
	CLASS_RC, CLASS_UC, CLASS_RD, CLASS_UD, CLASS_CNP, CLASS_XRC,
};

/* A row of the opcode table. */
struct pkt_op {
	const char *name;
	uint8_t op;		/* the low five bits */
	uint8_t classes;	/* bit c: class c has it */
	uint16_t ext;		/* enum pkt_ext, for RC */
	bool response;
	bool payload;
};

struct pkt {
	/* Ethernet, IP, UDP */
	uint8_t dst_mac[6], src_mac[6];
	uint16_t ethertype;	/* 0: what the family says */
	uint16_t vlan;		/* TCI, 0: untagged */
	bool ip6;
	uint8_t src[16], dst[16];	/* GID form, ::ffff:a.b.c.d for IPv4 */
	uint8_t tos, ttl, proto;
	uint8_t ihl;		/* IPv4: 5 */
	uint16_t ip_id, frag;	/* frag: the flags and offset word, DF alone is 0x4000 */
	uint32_t flow;
	uint16_t sport, dport, udp_csum;
	/* BTH */
	uint8_t opcode;
	bool se, mig, ackreq, fecn, becn;
	uint8_t tver, resv6, resv7;
	int pad;		/* -1: as the payload asks (A11) */
	uint16_t pkey;
	uint32_t dqpn, psn;
	/* extension headers */
	uint64_t va, swap_add, compare, orig;
	uint8_t plt, sel;
	uint32_t rkey, len;
	uint8_t syndrome;
	uint32_t msn, imm, ieth, qkey, src_qpn, xrc_srqn;
	const uint8_t *payload;
	uint32_t payload_len;
	/* faults that the encoder puts in, 0: none */
	uint32_t icrc_xor;
	int ip_len_add, udp_len_add;
	uint32_t cut;		/* bytes taken off before the ICRC */
	uint32_t trail;		/* bytes after the packet */
	const uint8_t *body;	/* instead of all between BTH and ICRC, when not NULL */
	uint32_t body_len;
	uint32_t flip;		/* 1 + number of a bit of the frame that flips on the way */
	uint8_t pad_byte;
	/* what the decoder found */
	bool icrc_ok, ip_sum_ok;
};

/* An otherwise empty packet with the values that every frame of ours has: TTL 64, DF, ports, P_Key
 * 0xffff, MigReq 1. */
void pkt_defaults(struct pkt *p);

/* Row of an opcode byte, NULL without one. CNP (0x81) has a row too. */
const struct pkt_op *pkt_op(uint8_t opcode);
/* Opcode byte by its name, "SEND_FIRST", "UC.SEND_ONLY", "CNP"; -1: no such name. */
int pkt_opcode(const char *name);
/* Extension headers of an opcode byte, enum pkt_ext. */
uint16_t pkt_exts(uint8_t opcode);

/* Bytes written to out (room for PKT_MAX). */
size_t pkt_encode(const struct pkt *p, uint8_t *out);
/* NULL and *p filled (its payload points into frame), or why it is not a RoCEv2 packet. */
const char *pkt_decode(const uint8_t *frame, size_t len, struct pkt *p);

/* One readable line. `base`: the PSN that the script calls 0. */
void pkt_print(const struct pkt *p, uint32_t base, char *buf, size_t size);

#endif

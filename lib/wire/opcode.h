/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * BTH opcodes: class (bits 7-5) and operation (bits 4-0), and one table row for each of the 256
 * values. A value without a row is dropped before anything else is looked at (A13).
 */
#ifndef WIRE_OPCODE_H
#define WIRE_OPCODE_H

#include <stdint.h>

enum wire_class {
	WIRE_RC = 0,
	WIRE_UC = 1,
	WIRE_RD = 2,
	WIRE_UD = 3,
	WIRE_CNP = 4,
	WIRE_XRC = 5,
};

/* X(name, operation) */
#define WIRE_OP_LIST(X) \
	X(SEND_FIRST, 0x00) \
	X(SEND_MIDDLE, 0x01) \
	X(SEND_LAST, 0x02) \
	X(SEND_LAST_IMM, 0x03) \
	X(SEND_ONLY, 0x04) \
	X(SEND_ONLY_IMM, 0x05) \
	X(WRITE_FIRST, 0x06) \
	X(WRITE_MIDDLE, 0x07) \
	X(WRITE_LAST, 0x08) \
	X(WRITE_LAST_IMM, 0x09) \
	X(WRITE_ONLY, 0x0a) \
	X(WRITE_ONLY_IMM, 0x0b) \
	X(READ_REQUEST, 0x0c) \
	X(READ_RESP_FIRST, 0x0d) \
	X(READ_RESP_MIDDLE, 0x0e) \
	X(READ_RESP_LAST, 0x0f) \
	X(READ_RESP_ONLY, 0x10) \
	X(ACKNOWLEDGE, 0x11) \
	X(ATOMIC_ACK, 0x12) \
	X(CMP_SWAP, 0x13) \
	X(FETCH_ADD, 0x14) \
	X(SEND_LAST_INV, 0x16) \
	X(SEND_ONLY_INV, 0x17) \
	X(FLUSH, 0x1c) \
	X(ATOMIC_WRITE, 0x1d)

enum wire_op {
#define WIRE_ENUM(name, value) WIRE_##name = value,
	WIRE_OP_LIST(WIRE_ENUM)
#undef WIRE_ENUM
};

/* Extension headers, in the order in which they stand on the wire (A21). */
enum wire_ext {
	WIRE_EXT_XRCETH = 1 << 0,
	WIRE_EXT_DETH = 1 << 1,
	WIRE_EXT_FETH = 1 << 2,
	WIRE_EXT_RETH = 1 << 3,
	WIRE_EXT_ATOMICETH = 1 << 4,
	WIRE_EXT_AETH = 1 << 5,
	WIRE_EXT_ATOMICACKETH = 1 << 6,
	WIRE_EXT_IMM = 1 << 7,
	WIRE_EXT_IETH = 1 << 8,
};

enum wire_trait {
	WIRE_REQUEST = 1 << 0,		/* travels requester -> responder */
	WIRE_RESPONSE = 1 << 1,		/* travels responder -> requester */
	WIRE_FIRST = 1 << 2,		/* position in its message; ONLY has FIRST and LAST */
	WIRE_LAST = 1 << 3,
	WIRE_SEND = 1 << 4,		/* kinds */
	WIRE_WRITE = 1 << 5,
	WIRE_READ = 1 << 6,
	WIRE_ATOMIC = 1 << 7,
	WIRE_ACK = 1 << 8,		/* ACKNOWLEDGE only */
	WIRE_PAYLOAD = 1 << 9,		/* may carry payload */
	WIRE_TAKES_WQE = 1 << 10,	/* responder consumes a receive WQE at this packet
					 * (SEND_FIRST and ONLY, WRITE with immediate) */
	WIRE_IS_FLUSH = 1 << 11,	/* two more kinds; the opcodes have the plain names */
	WIRE_IS_ATOMIC_WRITE = 1 << 12,
	WIRE_ANSWERED = 1 << 13,	/* a request whose answer is not an ACK: it takes one of the
					 * resources that max_dest_rd_atomic counts (C9) */
};

struct wire_op_info {
	const char *name;	/* NULL: no such opcode */
	uint16_t ext;		/* enum wire_ext bits */
	uint16_t traits;	/* enum wire_trait bits */
	uint8_t ext_len;	/* bytes of the extension headers together */
};

extern const struct wire_op_info wire_op_info[256];

static inline uint8_t
wire_opcode(enum wire_class c, enum wire_op op)
{
	return (uint8_t)((unsigned int)c << 5 | (unsigned int)op);
}

static inline enum wire_class
wire_opcode_class(uint8_t opcode)
{
	return (enum wire_class)(opcode >> 5);
}

static inline enum wire_op
wire_opcode_op(uint8_t opcode)
{
	return (enum wire_op)(opcode & 0x1f);
}

#endif

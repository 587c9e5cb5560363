/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which headers follow the BTH of each opcode, and what part the packet plays in its message?
 * One row for each operation, written once, spread over the classes that have it (table 1.A). Read
 * by wire_parse() and by transport, on any thread; constant.
 */
#include "wire/opcode.h"

#include "wire/hdr.h"

/* X(operation, extension headers, traits). XRC requests have an XRCETH in front (A21). */
#define SEND_ROWS(X) \
	X(SEND_FIRST, 0, REQUEST | FIRST | SEND | PAYLOAD | TAKES_WQE) \
	X(SEND_MIDDLE, 0, REQUEST | SEND | PAYLOAD) \
	X(SEND_LAST, 0, REQUEST | LAST | SEND | PAYLOAD) \
	X(SEND_LAST_IMM, IMM, REQUEST | LAST | SEND | PAYLOAD)

#define SEND_ONLY_ROWS(X) \
	X(SEND_ONLY, 0, REQUEST | ONLY | SEND | PAYLOAD | TAKES_WQE) \
	X(SEND_ONLY_IMM, IMM, REQUEST | ONLY | SEND | PAYLOAD | TAKES_WQE)

#define WRITE_ROWS(X) \
	X(WRITE_FIRST, RETH, REQUEST | FIRST | WRITE | PAYLOAD) \
	X(WRITE_MIDDLE, 0, REQUEST | WRITE | PAYLOAD) \
	X(WRITE_LAST, 0, REQUEST | LAST | WRITE | PAYLOAD) \
	X(WRITE_LAST_IMM, IMM, REQUEST | LAST | WRITE | PAYLOAD | TAKES_WQE) \
	X(WRITE_ONLY, RETH, REQUEST | ONLY | WRITE | PAYLOAD) \
	X(WRITE_ONLY_IMM, RETH | IMM, REQUEST | ONLY | WRITE | PAYLOAD | TAKES_WQE)

#define RELIABLE_REQUEST_ROWS(X) \
	X(READ_REQUEST, RETH, REQUEST | ONLY | READ | ANSWERED) \
	X(CMP_SWAP, ATOMICETH, REQUEST | ONLY | ATOMIC | ANSWERED) \
	X(FETCH_ADD, ATOMICETH, REQUEST | ONLY | ATOMIC | ANSWERED) \
	X(SEND_LAST_INV, IETH, REQUEST | LAST | SEND | PAYLOAD) \
	X(SEND_ONLY_INV, IETH, REQUEST | ONLY | SEND | PAYLOAD | TAKES_WQE)

/* Answered by a READ_RESP_ONLY without payload. Of RC alone. */
#define RC_REQUEST_ROWS(X) \
	X(FLUSH, FETH | RETH, REQUEST | ONLY | IS_FLUSH | ANSWERED) \
	X(ATOMIC_WRITE, RETH, REQUEST | ONLY | IS_ATOMIC_WRITE | PAYLOAD | ANSWERED)

/* Responses have no XRCETH in any class. */
#define RESPONSE_ROWS(X) \
	X(READ_RESP_FIRST, AETH, RESPONSE | FIRST | READ | PAYLOAD) \
	X(READ_RESP_MIDDLE, 0, RESPONSE | READ | PAYLOAD) \
	X(READ_RESP_LAST, AETH, RESPONSE | LAST | READ | PAYLOAD) \
	X(READ_RESP_ONLY, AETH, RESPONSE | ONLY | READ | PAYLOAD) \
	X(ACKNOWLEDGE, AETH, RESPONSE | ONLY | ACK) \
	X(ATOMIC_ACK, AETH | ATOMICACKETH, RESPONSE | ONLY | ATOMIC)

/* Short names for the rows above; this file alone sees them. */
enum {
	XRCETH = WIRE_EXT_XRCETH, DETH = WIRE_EXT_DETH, FETH = WIRE_EXT_FETH,
	RETH = WIRE_EXT_RETH, ATOMICETH = WIRE_EXT_ATOMICETH, AETH = WIRE_EXT_AETH,
	ATOMICACKETH = WIRE_EXT_ATOMICACKETH, IMM = WIRE_EXT_IMM, IETH = WIRE_EXT_IETH,
};

enum {
	REQUEST = WIRE_REQUEST, RESPONSE = WIRE_RESPONSE, FIRST = WIRE_FIRST, LAST = WIRE_LAST,
	ONLY = WIRE_FIRST | WIRE_LAST, SEND = WIRE_SEND, WRITE = WIRE_WRITE, READ = WIRE_READ,
	ATOMIC = WIRE_ATOMIC, ACK = WIRE_ACK, PAYLOAD = WIRE_PAYLOAD, TAKES_WQE = WIRE_TAKES_WQE,
	IS_FLUSH = WIRE_IS_FLUSH, IS_ATOMIC_WRITE = WIRE_IS_ATOMIC_WRITE, ANSWERED = WIRE_ANSWERED,
};

#define EXT_LEN(e) \
	((((e) & XRCETH) ? WIRE_LEN_XRCETH : 0) + (((e) & DETH) ? WIRE_LEN_DETH : 0) + \
	 (((e) & FETH) ? WIRE_LEN_FETH : 0) + \
	 (((e) & RETH) ? WIRE_LEN_RETH : 0) + (((e) & ATOMICETH) ? WIRE_LEN_ATOMICETH : 0) + \
	 (((e) & AETH) ? WIRE_LEN_AETH : 0) + (((e) & ATOMICACKETH) ? WIRE_LEN_ATOMICACKETH : 0) + \
	 (((e) & IMM) ? WIRE_LEN_IMM : 0) + (((e) & IETH) ? WIRE_LEN_IETH : 0))

#define ROW(cls, op, e, t) \
	[WIRE_##cls << 5 | WIRE_##op] = { \
		.name = #cls "_" #op, .ext = (e), .ext_len = EXT_LEN(e), .traits = (t) },
#define RC_ROW(op, e, t) ROW(RC, op, e, t)
#define UC_ROW(op, e, t) ROW(UC, op, e, t)
#define UD_ROW(op, e, t) ROW(UD, op, DETH | (e), t)
#define XRC_REQUEST_ROW(op, e, t) ROW(XRC, op, XRCETH | (e), t)
#define XRC_RESPONSE_ROW(op, e, t) ROW(XRC, op, e, t)

const struct wire_op_info wire_op_info[256] = {
	SEND_ROWS(RC_ROW)
	SEND_ONLY_ROWS(RC_ROW)
	WRITE_ROWS(RC_ROW)
	RELIABLE_REQUEST_ROWS(RC_ROW)
	RC_REQUEST_ROWS(RC_ROW)
	RESPONSE_ROWS(RC_ROW)

	SEND_ROWS(UC_ROW)
	SEND_ONLY_ROWS(UC_ROW)
	WRITE_ROWS(UC_ROW)

	SEND_ONLY_ROWS(UD_ROW)

	/* A CNP is no message; its 16 reserved bytes count as a header, so that a shorter one is
	 * dropped (A29). */
	[WIRE_CNP << 5 | 1] = { .name = "CNP", .ext_len = WIRE_CNP_BODY_LEN },

	SEND_ROWS(XRC_REQUEST_ROW)
	SEND_ONLY_ROWS(XRC_REQUEST_ROW)
	WRITE_ROWS(XRC_REQUEST_ROW)
	RELIABLE_REQUEST_ROWS(XRC_REQUEST_ROW)
	RESPONSE_ROWS(XRC_RESPONSE_ROW)
};

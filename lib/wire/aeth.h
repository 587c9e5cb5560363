/* SPDX-License-Identifier: BSD-3-Clause */
/* The AETH syndrome and the two encoded times of RC (table 1.F). Pure. */
#ifndef WIRE_AETH_H
#define WIRE_AETH_H

#include <stdint.h>

enum aeth_kind {
	AETH_ACK,		/* value: credit code */
	AETH_RNR,		/* value: RNR timer code */
	AETH_NAK,		/* value: enum aeth_nak & 0x1f; may be one we do not know */
	AETH_RESERVED,		/* to be dropped */
};

/* Whole syndromes, as they are sent. */
enum aeth_nak {
	AETH_NAK_SEQ = 0x60,		/* PSN sequence error */
	AETH_NAK_INV_REQ = 0x61,	/* invalid request */
	AETH_NAK_REM_ACCESS = 0x62,	/* remote access error */
	AETH_NAK_REM_OP = 0x63,		/* remote operational error */
	AETH_NAK_INV_RD = 0x64,		/* invalid RD request: not sent by us */
};

#define AETH_VALUE_MASK 0x1fu
#define AETH_NO_CREDIT_LIMIT 0x1fu	/* what we send in each ACK */
#define AETH_ACK_UNLIMITED AETH_NO_CREDIT_LIMIT

static inline enum aeth_kind
aeth_kind(uint8_t syndrome)
{
	static const uint8_t kinds[4] = { AETH_ACK, AETH_RNR, AETH_RESERVED, AETH_NAK };

	return syndrome & 0x80 ? AETH_RESERVED : (enum aeth_kind)kinds[syndrome >> 5];
}

/* Credit code, RNR timer code or NAK code. */
static inline uint8_t
aeth_value(uint8_t syndrome)
{
	return syndrome & AETH_VALUE_MASK;
}

static inline uint8_t
aeth_rnr(uint8_t timer_code)
{
	return (uint8_t)(0x20u | (timer_code & AETH_VALUE_MASK));
}

/* How long a requester waits at least after an RNR NAK with this code, in ns. 0 is the longest. */
extern const uint64_t rnr_timer_ns[32];

/* Local ACK timeout: 4.096 us * 2^t in ns for t in 1..31; 0 for t = 0, which means never. */
static inline uint64_t
ack_timeout_ns(uint8_t t)
{
	return t & 31 ? UINT64_C(4096) << (t & 31) : 0;
}

#endif

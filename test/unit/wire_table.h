/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The opcode table again, read out of the specification's table by hand and kept apart from
 * lib/wire/opcode.c, so that a slip in one of them shows.
 */
#ifndef UNIT_WIRE_TABLE_H
#define UNIT_WIRE_TABLE_H

#include <stdint.h>

/* For each opcode the bytes from the BTH to the payload; 0: no such opcode. */
static const uint8_t table_hdr_bytes[256] = {
	/* RC */
	[0x00] = 12, [0x01] = 12, [0x02] = 12, [0x03] = 16, [0x04] = 12, [0x05] = 16,
	[0x06] = 28, [0x07] = 12, [0x08] = 12, [0x09] = 16, [0x0a] = 28, [0x0b] = 32,
	[0x0c] = 28, [0x0d] = 16, [0x0e] = 12, [0x0f] = 16, [0x10] = 16, [0x11] = 16,
	[0x12] = 24, [0x13] = 40, [0x14] = 40, [0x16] = 16, [0x17] = 16,
	[0x1c] = 32, [0x1d] = 28,
	/* UC */
	[0x20] = 12, [0x21] = 12, [0x22] = 12, [0x23] = 16, [0x24] = 12, [0x25] = 16,
	[0x26] = 28, [0x27] = 12, [0x28] = 12, [0x29] = 16, [0x2a] = 28, [0x2b] = 32,
	/* UD */
	[0x64] = 20, [0x65] = 24,
	/* CNP: its 16 reserved bytes stand before the (empty) payload */
	[0x81] = 28,
	/* XRC: four more in requests */
	[0xa0] = 16, [0xa1] = 16, [0xa2] = 16, [0xa3] = 20, [0xa4] = 16, [0xa5] = 20,
	[0xa6] = 32, [0xa7] = 16, [0xa8] = 16, [0xa9] = 20, [0xaa] = 32, [0xab] = 36,
	[0xac] = 32, [0xad] = 16, [0xae] = 12, [0xaf] = 16, [0xb0] = 16, [0xb1] = 16,
	[0xb2] = 24, [0xb3] = 44, [0xb4] = 44, [0xb6] = 20, [0xb7] = 20,
};

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What does a recorded frame look like in the file? Called by the record driver. Pure. */
#include "pcapng.h"

#include <string.h>

#define BLOCK_SECTION 0x0a0d0d0au
#define BLOCK_INTERFACE 1u
#define BLOCK_PACKET 6u
#define BYTE_ORDER 0x1a2b3c4du
#define LINKTYPE_ETHERNET 1u
#define NAME_MAX_LEN 200u

#define OPT_END 0u
#define OPT_SECTION_PROGRAM 4u
#define OPT_IFACE_NAME 2u
#define OPT_IFACE_TSRESOL 9u
#define OPT_PACKET_FLAGS 2u
#define TSRESOL_NS 9u			/* 10^-9 s */

static uint8_t *
put16(uint8_t *at, uint32_t v)
{
	uint16_t half = (uint16_t)v;

	memcpy(at, &half, sizeof(half));
	return at + sizeof(half);
}

static uint8_t *
put32(uint8_t *at, uint32_t v)
{
	memcpy(at, &v, sizeof(v));
	return at + sizeof(v);
}

static uint8_t *
pad4(uint8_t *at, size_t len)
{
	while (len++ & 3)
		*at++ = 0;
	return at;
}

static uint8_t *
put_option(uint8_t *at, uint32_t code, const void *value, size_t len)
{
	at = put16(at, code);
	at = put16(at, (uint32_t)len);
	memcpy(at, value, len);
	return pad4(at + len, len);
}

static uint8_t *
put_name(uint8_t *at, uint32_t code, const char *name)
{
	return put_option(at, code, name, strnlen(name, NAME_MAX_LEN));
}

/* The length at both ends of the block that ends at `at`. */
static uint8_t *
close_block(uint8_t *block, uint8_t *at)
{
	uint32_t len = (uint32_t)(at + 4 - block);

	put32(block + 4, len);
	return put32(at, len);
}

size_t
pcapng_head(uint8_t *out, const char *program, const char *iface)
{
	const uint8_t resolution = TSRESOL_NS;
	uint8_t *block = out, *at;

	at = put32(block, BLOCK_SECTION) + 4;
	at = put32(at, BYTE_ORDER);
	at = put16(put16(at, 1), 0);			/* version 1.0 */
	at = put32(put32(at, UINT32_MAX), UINT32_MAX);	/* the section's length: not known */
	at = put_name(at, OPT_SECTION_PROGRAM, program);
	at = put32(at, OPT_END);
	block = close_block(block, at);

	at = put32(block, BLOCK_INTERFACE) + 4;
	at = put16(put16(at, LINKTYPE_ETHERNET), 0);
	at = put32(at, 0);				/* whole frames, however long */
	at = put_name(at, OPT_IFACE_NAME, iface);
	at = put_option(at, OPT_IFACE_TSRESOL, &resolution, 1);
	at = put32(at, OPT_END);
	return (size_t)(close_block(block, at) - out);
}

size_t
pcapng_frame(uint8_t *block, uint64_t ns, uint32_t len, enum pcapng_direction direction)
{
	const uint32_t flags = direction;
	uint8_t *at = put32(block, BLOCK_PACKET) + 4;

	at = put32(at, 0);				/* the only interface */
	at = put32(at, (uint32_t)(ns >> 32));
	at = put32(at, (uint32_t)ns);
	at = put32(put32(at, len), len);		/* kept, and long */
	at = pad4(at + len, len);
	at = put_option(at, OPT_PACKET_FLAGS, &flags, sizeof(flags));
	at = put32(at, OPT_END);
	return (size_t)(close_block(block, at) - block);
}

size_t
pcapng_whole(const uint8_t *at, size_t len)
{
	size_t whole = 0;
	uint32_t block;

	while (whole + 8 <= len) {
		memcpy(&block, at + whole + 4, sizeof(block));
		if (block > len - whole)
			break;
		whole += block;
	}
	return whole;
}

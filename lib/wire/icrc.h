/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The invariant CRC (A23-A27): CRC-32 over eight 0xff bytes, then from the IP header to the end of
 * the pad, with the fields that routers change read as ones. Stored least significant byte first.
 */
#ifndef WIRE_ICRC_H
#define WIRE_ICRC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/parse.h"

/* CRC state after the masked L3, UDP and BTH headers; `l3` points at 20 (40 for IPv6) + 8 + 12
 * bytes. Continue with wire_icrc_update(), end with wire_icrc_store(). Pure. */
uint32_t wire_icrc_start(const uint8_t *l3, bool ip6);
/* Those bytes. */
size_t wire_icrc_masked_len(bool ip6);
uint32_t wire_icrc_update(uint32_t crc, const void *data, size_t len);

/* Copy `len` bytes and give the CRC state that goes on over them. */
uint32_t wire_icrc_copy(uint32_t crc, void *dst, const void *src, size_t len);

static inline void
wire_icrc_store(uint8_t *at, uint32_t crc)
{
	at[0] = (uint8_t)crc;
	at[1] = (uint8_t)(crc >> 8);
	at[2] = (uint8_t)(crc >> 16);
	at[3] = (uint8_t)(crc >> 24);
}

/* The stored ICRC of a parsed packet is right. */
bool wire_icrc_ok(const struct wire_pkt *pkt);

/* Compute and store the ICRC of a whole frame: from `l3`, `len` bytes up to the end of the pad; the
 * four bytes after them are written. */
void wire_icrc_seal(uint8_t *l3, bool ip6, size_t len);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The runner's own CRC-32 (A23), one bit at a time: shares nothing with lib/wire. */
#ifndef SCRIPT_CRC_H
#define SCRIPT_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Register after `len` bytes; the register before the first byte of all is 0xffffffff. The CRC is
 * the complement of the last register. */
uint32_t crc_run(uint32_t reg, const uint8_t *data, size_t len);

/* ICRC of a packet that starts at its IP header and whose pad ends `len` bytes later. */
uint32_t crc_icrc(const uint8_t *l3, size_t len);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What every byte of a simulation's memory must be: a function of stream and offset, or poison where
 * nothing may have been written. Pure. */
#ifndef SIM_BYTES_H
#define SIM_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#define BYTES_POISON 0xa5u

void bytes_fill(uint8_t *at, uint32_t len, uint64_t stream);
/* The offset of the first byte that is not the stream's, or `len`. */
uint32_t bytes_wrong(const uint8_t *at, uint32_t len, uint64_t stream);

void bytes_poison(uint8_t *at, uint32_t len);
/* The offset of the first byte that was written to, or `len`. */
uint32_t bytes_written(const uint8_t *at, uint32_t len);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Damage to a frame: by accident, and by somebody who can compute an ICRC. Pure. */
#ifndef SIM_FORGE_H
#define SIM_FORGE_H

#include <stdint.h>

/* Turns one bit behind the Ethernet header, chosen by `number`. */
void forge_flip(uint8_t *frame, uint32_t len, uint64_t number);

/* Turns one bit of a header field for which every value but the right one must be refused, and puts
 * the ICRC right. A frame of ours: no VLAN tag, no bytes behind the ICRC. */
void forge_header(uint8_t *frame, uint32_t len, uint64_t number);

#endif

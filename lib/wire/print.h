/* SPDX-License-Identifier: BSD-3-Clause */
/* One line of text for a packet, for logs of the control side and for tests. Pure. */
#ifndef WIRE_PRINT_H
#define WIRE_PRINT_H

#include <stddef.h>

#include "wire/parse.h"

/* Long enough for any packet. */
#define WIRE_TEXT_MAX 320

/*
 * `10.0.0.1 > 10.0.0.2 RC_WRITE_ONLY qpn 0x000012 psn 5 ack pad 1 len 1023 reth(va 0x10 rkey 0x2
 * len 1023)`; cut to `size` bytes with the final 0. Returns buf.
 */
char *wire_text(char *buf, size_t size, const struct wire_pkt *pkt);

/* The same for any frame: its packet, or `dropped: reason (n bytes)`. */
char *wire_frame_text(char *buf, size_t size, const uint8_t *frame, size_t len);

#endif

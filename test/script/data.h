/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes that scripts speak of: every region starts with a pattern of its own, and the peer has
 * an endless stream. */
#ifndef SCRIPT_DATA_H
#define SCRIPT_DATA_H

#include <stddef.h>
#include <stdint.h>

struct run;

/* Byte `i` of the pattern called `name`; all of "zero" is 0. Pure. */
uint8_t data_pattern(const char *name, size_t i);

/*
 * Parts with commas between them: "text", hex:00ff, u64:EXPR (8 bytes, host order), NAME[+EXPR]:EXPR
 * (that many bytes of "peer", "zero", or of what region NAME should hold now). The bytes live as
 * long as the run; the script fails when the text is none of these.
 */
const uint8_t *data_parse(struct run *r, const char *text, uint32_t *len);

#endif

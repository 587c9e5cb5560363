/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a peer's end must not take away. See memif_mend.c.
 */
#ifndef ETHDEV_MEMIF_MEND_H
#define ETHDEV_MEMIF_MEND_H

#include <stdbool.h>

/* Control thread: what the peer sent is saved (last.h) before its end is heard of. */
void memif_hear(bool on);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What DPDK's memif does wrong when a peer hangs up, mended from outside. See memif_mend.c.
 */
#ifndef ETHDEV_MEMIF_MEND_H
#define ETHDEV_MEMIF_MEND_H

#include <stdbool.h>

/*
 * Owning core, around each burst, which must not run when begin says false: the peer's memory is being
 * unmapped. One core at a time bursts on a memif, and a process has one memif.
 */
bool memif_burst_begin(void);
void memif_burst_end(void);

/*
 * Any thread but the interrupt thread: while it is held DPDK's memif does nothing there. Around what
 * starts or stops the device.
 */
void memif_lock(void);
void memif_unlock(void);

#endif

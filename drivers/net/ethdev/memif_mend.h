/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A burst and the end of the peer's memory, one at a time. See memif_mend.c.
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

/* Any other thread, with intr_lock(): between the two no burst runs or begins. */
void memif_cut(void);
void memif_uncut(void);
bool memif_is_cut(void);

#endif

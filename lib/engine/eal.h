/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting DPDK's environment inside somebody else's program. */
#ifndef ENGINE_EAL_H
#define ENGINE_EAL_H

#include <stddef.h>
#include <stdint.h>

#define EAL_MB 192u		/* enough for one port and core */
#define EAL_CORE_MB 48u		/* for each core more */

/*
 * Control thread. EAL with that much memory: hugepages when there are enough free ones, else
 * ordinary pages. The program's threads keep their affinity and their signals. `port_arg` is one
 * more argument, or "". EAL can be started once in a process and stays until its end: a second call
 * does nothing when it was us who started it.
 * 0, or -errno with one line in `why`.
 */
int eal_start(const char *port_arg, uint32_t mem_mb, char *why, size_t why_len);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where do frames lie? Pools of packet buffers, one segment for a whole frame. Called by drivers
 * when they open a port; control thread.
 */
#include <rte_mbuf.h>

#include "port/port_driver.h"

/* Kept back per core, so that most allocations touch no shared line; a pool must hold well over
 * twice as many, for they are not there for others. */
#define POOL_CACHE 128u

struct rte_mempool *
port_pool_new(const char *name, uint32_t n, uint32_t room, int numa)
{
	uint32_t data = room + RTE_PKTMBUF_HEADROOM;

	if (data > UINT16_MAX)
		return NULL;
	return rte_pktmbuf_pool_create(name, n, n >= 4 * POOL_CACHE ? POOL_CACHE : 0, 0,
				       (uint16_t)data, numa < 0 ? SOCKET_ID_ANY : numa);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a peer sent before it hung up. See memif_last.c.
 */
#ifndef ETHDEV_MEMIF_LAST_H
#define ETHDEV_MEMIF_LAST_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;

/* Control thread, before the device of that number starts, and after it stopped. 0 or -ENOMEM. */
int memif_last_open(uint16_t port_id);
void memif_last_close(void);
/* Owning core. Is there something, or will there be in a moment? Then nothing is to be had of the device
 * before memif_last_take() gave all of it. */
bool memif_last_waits(void);
uint16_t memif_last_take(struct rte_mbuf **bufs, uint16_t n);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a peer sent before it hung up, and who may look for it. See last.c.
 */
#ifndef ETHDEV_LAST_H
#define ETHDEV_LAST_H

#include <stdbool.h>
#include <stdint.h>

struct rte_mbuf;

/*
 * Owning core, around each burst, which must not run when begin says false: the peer's memory is being
 * read or unmapped elsewhere. One core at a time bursts on a device that has a peer, and a process has one
 * such device.
 */
bool last_burst_begin(void);
void last_burst_end(void);

/* Any other thread, one at a time: between the two no burst runs or begins. */
void last_cut(void);
void last_uncut(void);

/* Control thread, when the device of that number is open, and when it is halted. 0 or -ENOMEM. */
int last_open(uint16_t port_id);
void last_close(void);

/* The thread that hears of the peer, before it does anything about that. */
void last_save(void);

/* Owning core. Is there something, or will there be in a moment? */
bool last_waits(void);
/* Owning core, with the device started or last_waits(): what is left of a peer that went, else a burst. */
uint16_t last_rx(uint16_t queue, struct rte_mbuf **bufs, uint16_t n);

#endif

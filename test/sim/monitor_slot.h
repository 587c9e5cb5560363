/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the two halves of the monitor. */
#ifndef SIM_MONITOR_SLOT_H
#define SIM_MONITOR_SLOT_H

#include "monitor.h"

static inline struct mon_slot *
slot_at(struct monitor *m, struct psn psn)
{
	return &m->slot[psn.v % MON_SLOTS];
}

static inline uint32_t
dist(struct psn from, struct psn to)
{
	return (to.v - from.v) & PSN_MASK;
}

#endif

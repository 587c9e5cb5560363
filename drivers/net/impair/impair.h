/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the impair driver share. Owning core. */
#ifndef IMPAIR_IMPAIR_H
#define IMPAIR_IMPAIR_H

#include "fate.h"

struct rte_mbuf;
struct rte_mempool;

/*
 * change.c: CE in the IP header of *m, or one bit behind its Ethernet header flipped, which `number`
 * chooses. Where other threads or the program may see the bytes, *m becomes a copy from `pool` first.
 * False when there is nothing to change, or no buffer; *m can be given on in every case.
 */
bool change_mark_ce(struct rte_mbuf **m, struct rte_mempool *pool);
bool change_flip_bit(struct rte_mbuf **m, struct rte_mempool *pool, uint64_t number);

#endif

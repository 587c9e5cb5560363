/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A walk over a checked scatter/gather list: from SGEs (each checked once against the table) to
 * pointers. Owning core only; a cursor is valid while the WQE is being worked on, and every SGE is
 * checked again when a later packet of the message goes on with it (C13, dereg in flight).
 */
#ifndef MEM_CURSOR_H
#define MEM_CURSOR_H

#include <stdint.h>

#include "mem/mr.h"
#include <pollux/abi/wqe.h>

struct mem_sgl {
	const struct plx_sge *sge;	/* the core's own copy */
	uint32_t num_sge;
	uint32_t pd;
	uint32_t need;			/* enum mem_access that every SGE must give */
};

/* Bytes of the list in all; at most 32 * (2^32 - 1). */
uint64_t mem_sgl_length(const struct mem_sgl *l);

/* Every SGE that is not empty is usable. MEM_OK or what the first bad one lacks. */
enum mem_result mem_sgl_check(const struct mr_table *t, const struct mem_sgl *l);

/* Where the `len` bytes that start `offset` bytes into the list lie, when they lie in one SGE and may
 * be used; *key is its region's. Else NULL. */
const uint8_t *mem_sgl_whole(const struct mr_table *t, const struct mem_sgl *l, uint64_t offset,
			     uint32_t len, uint32_t *key);

/* Copies `len` bytes that start `offset` bytes into the list, out of it or into it, checking the
 * SGEs on the way. MEM_BAD_RANGE when the list is shorter; then nothing beyond it was touched. */
enum mem_result mem_sgl_read(const struct mr_table *t, const struct mem_sgl *l, uint64_t offset,
			     void *dst, uint32_t len);
enum mem_result mem_sgl_write(const struct mr_table *t, const struct mem_sgl *l, uint64_t offset,
			      const void *src, uint32_t len);

#endif

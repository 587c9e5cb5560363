/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions and the table that turns a key into one. The control side adds and removes (one
 * thread at a time, its own lock); cores look up without a lock. A removed region may still be in
 * the hands of a core: it is unpublished first and freed when every core has passed a quiet point.
 *
 * A key is 24 bits of a keyed permutation of the table index and 8 random bits, so that neither
 * index nor order of registration can be read from it (threats.md 3.2). lkey and rkey are equal.
 */
#ifndef MEM_MR_H
#define MEM_MR_H

#include <stddef.h>
#include <stdint.h>

enum mem_access {		/* the values of enum ibv_access_flags */
	MEM_LOCAL_WRITE = 1 << 0,
	MEM_REMOTE_WRITE = 1 << 1,
	MEM_REMOTE_READ = 1 << 2,
	MEM_REMOTE_ATOMIC = 1 << 3,
};

struct mr {
	uint32_t key;
	uint32_t pd;
	uint32_t access;	/* enum mem_access */
	uint32_t index;		/* in the table; the handle that the application knows */
	uint64_t iova;		/* the address by which the first byte is named */
	uint64_t length;	/* at least 1 */
	uint8_t *base;		/* where the first byte lies for this process */
};

enum mem_result {
	MEM_OK,
	MEM_BAD_KEY,		/* no such key, or its tag is another's */
	MEM_BAD_PD,
	MEM_BAD_ACCESS,
	MEM_BAD_RANGE,
};

struct mr_table;

/* Control thread. A table for at most `max` regions, or NULL without memory. */
struct mr_table *mr_table_new(uint32_t max);
void mr_table_free(struct mr_table *t);

/* Control thread. Copies *desc (all but key and index), gives it a key and publishes it.
 * 0, -ENOMEM when the table is full or memory is out, -EINVAL for an empty or a wrapping range. */
int mr_add(struct mr_table *t, const struct mr *desc, struct mr **out);

/* Control thread. By the handle; NULL when there is none. */
struct mr *mr_by_index(const struct mr_table *t, uint32_t index);

/* Control thread. After mr_unpublish no new look-up finds it; mr_release frees it and is called
 * when all cores have passed a quiet point. Its key is not used again for a while. */
void mr_unpublish(struct mr_table *t, struct mr *mr);
void mr_release(struct mr_table *t, struct mr *mr);

/* Core. Region of a key, or NULL; valid until the core's next quiet point. */
const struct mr *mr_find(const struct mr_table *t, uint32_t key);

/*
 * Core. May `len` bytes at `va` be used by `key` from protection domain `pd` with the rights `need`
 * (enum mem_access)? The range test cannot overflow (C12). On MEM_OK *ptr is the first byte.
 */
enum mem_result mr_check(const struct mr_table *t, uint32_t key, uint32_t pd, uint32_t need,
			 uint64_t va, uint64_t len, uint8_t **ptr);

#endif

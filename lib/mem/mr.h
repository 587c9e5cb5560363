/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions and the table that turns a key into one. The control side adds and removes (one
 * thread at a time, its own lock); cores look up without a lock. A removed region may still be in
 * the hands of a core: it is unpublished first and freed when every core has passed a quiet point.
 *
 * A key is 24 bits of a keyed permutation of an index and 8 random bits, so that neither index nor
 * order of registration can be read from it (threats.md 3.2). lkey and rkey are equal. Memory windows
 * (mem/mw.h) have their keys from the same table; what is asked here never finds one.
 */
#ifndef MEM_MR_H
#define MEM_MR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mem_access {		/* the values of enum ibv_access_flags */
	MEM_LOCAL_WRITE = 1 << 0,
	MEM_REMOTE_WRITE = 1 << 1,
	MEM_REMOTE_READ = 1 << 2,
	MEM_REMOTE_ATOMIC = 1 << 3,
	MEM_MW_BIND = 1 << 4,
	MEM_ZERO_BASED = 1 << 5,	/* the iova says it all; but no window is bound to it (F18) */
	MEM_FLUSH_GLOBAL = 1 << 8,	/* ... of later versions of rdma-core */
	MEM_FLUSH_PERSISTENT = 1 << 9,
};

enum mem_result {
	MEM_OK,
	MEM_BAD_KEY,		/* no such key, or its tag is another's */
	MEM_BAD_PD,
	MEM_BAD_ACCESS,
	MEM_BAD_RANGE,
	/* Allowed, and no pointer to be followed. */
	MEM_NOWHERE,		/* reads as zeros, what is written is lost; with local rights alone */
	MEM_ASK,		/* at *ptr, by guarded.h alone: it may not be mapped any more, or not yet */
};

struct mr {
	uint32_t key;
	uint32_t pd;
	uint32_t access;	/* enum mem_access */
	uint32_t windows;	/* bound to it; atomic: any core binds. Or MR_CLOSED */
	uint64_t iova;		/* the address by which the first byte is named */
	uint64_t direct;	/* bytes reached by following a pointer: `length`, or none */
	uint8_t *base;		/* where the first byte lies for this process */
	/* What is not reached so. MEM_OK in a description: MEM_BAD_RANGE. MEM_ASK: the bytes of the region;
	 * what is not its own is MEM_BAD_RANGE there too */
	enum mem_result outside;
	uint64_t length;	/* at least 1, or 0 where `outside` is MEM_NOWHERE or MEM_BAD_RANGE */
	void *owner;		/* the control side's, who may look by mr_find() too */
};
#define MR_CLOSED UINT32_MAX

struct mr_table;

/* Control thread. A table for at most `max` regions and windows, or NULL without memory. */
struct mr_table *mr_table_new(uint32_t max);
/* With all that is in it. */
void mr_table_free(struct mr_table *t);

/* Control thread. Copies *desc (all but key, windows and direct), gives it a key and publishes it.
 * 0, -ENOMEM when the table is full or memory is out, -EINVAL for an empty or a wrapping range. */
int mr_add(struct mr_table *t, const struct mr *desc, struct mr **out);

/*
 * Control thread. Puts a region as *desc says (all but key, windows and direct) into the place of `mr`, with
 * the same key or one of another tag. One store: every look-up finds the one or the other, whole.
 * A core may still use `mr` until it passes a quiet point; then mr_discard() frees it. 0, -ENOMEM, -EINVAL as
 * mr_add(), or -EBUSY: a window is bound to it; and nothing has changed.
 */
int mr_replace(struct mr_table *t, struct mr *mr, const struct mr *desc, bool new_key, struct mr **out);
void mr_discard(struct mr *mr);

/* Control thread. No window can be bound to it from now on. 0, or -EBUSY and nothing has changed: one is
 * (F22). What must end even so, ends with its windows before. mr_open() takes it back. */
int mr_close(struct mr *mr);
void mr_open(struct mr *mr);

/* Control thread. After mr_unpublish no new look-up finds it; mr_release frees it and is called
 * when all cores have passed a quiet point. Its key is not used again for a while. */
void mr_unpublish(struct mr_table *t, struct mr *mr);
void mr_release(struct mr_table *t, struct mr *mr);

/* Core. Region of a key, or NULL; valid until the core's next quiet point. */
struct mr *mr_find(const struct mr_table *t, uint32_t key);

/*
 * Core. May `len` bytes at `va` be used by `key` from protection domain `pd` with the rights `need`
 * (enum mem_access)? The range test cannot overflow (C12). On MEM_OK and MEM_ASK *ptr is the first byte; any
 * other result leaves it alone. What a peer names may be a window's key, and then this is MEM_BAD_KEY: see
 * mw_enter().
 */
enum mem_result mr_check(const struct mr_table *t, uint32_t key, uint32_t pd, uint32_t need,
			 uint64_t va, uint64_t len, uint8_t **ptr);

/* Core. The same for all that the key names, whatever its range is. */
enum mem_result mr_check_whole(const struct mr_table *t, uint32_t key, uint32_t pd, uint32_t need);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory windows: rights on a part of a region, given by a work request and taken back by another.
 *
 * Who owns a window's state. The control side makes and frees windows, as regions. Between, every core may
 * bind one: type 1 is reached through all QPs of its PD, and a free one of type 2 is anybody's of the PD.
 * So what it is bound to stands under a lock of its own (base/rwspin.h). Who binds or invalidates writes;
 * who reaches memory by it reads, from the check to the last byte copied. Hence, when mw_bind() or
 * mw_invalidate() returns, no access by the old key is under way and none will succeed. A bound window
 * counts in its region, which cannot go meanwhile (F22); of type 2, it stands in the list of the QP that
 * bound it too, and is free again when the QP ends or is reset. Locks are taken in the order window, user.
 */
#ifndef MEM_MW_H
#define MEM_MW_H

#include "base/list.h"
#include "base/rwspin.h"
#include "mem/mr.h"

enum mw_type {			/* enum ibv_mw_type */
	MW_TYPE_1 = 1,
	MW_TYPE_2 = 2,		/* 2B: belongs to the QP that bound it (F20) */
};

/* Who binds windows and reaches memory by them: one in each QP. Only its core uses it, but for the list. */
struct mw_user {
	struct rwspin lock;	/* the list: mw_close() takes windows out of it */
	struct list bound;	/* of type 2, by it */
};

struct mw {
	struct mr face;		/* what look-ups for regions see: a key that nobody names. First */
	uint32_t base;		/* of all its keys: upper 24 bits */
	uint32_t pd;
	uint32_t type;		/* enum mw_type */
	struct rwspin lock;
	/* under the lock */
	uint32_t key;		/* the last one */
	uint32_t access;	/* enum mem_access */
	uint64_t va;		/* by which its first byte is named */
	uint64_t length;	/* 0: it is bound to nothing */
	uint8_t *ptr;		/* where the first byte lies */
	enum mem_result reached;	/* MEM_OK or MEM_ASK, as the region is */
	struct mr *mr;
	struct mw_user *user;	/* who bound it, of type 2 */
	struct list_node node;	/* in user->bound */
	bool closed;
};

/* Control thread. A window, not bound, with a first key in (*out)->key. 0 or -ENOMEM. */
int mw_add(struct mr_table *t, uint32_t pd, enum mw_type type, struct mw **out);

/* Control thread. It is bound to nothing any more, and found no more; mw_release frees it and is called
 * when all cores have passed a quiet point. Its place is not used again for a while. */
void mw_close(struct mr_table *t, struct mw *mw);
void mw_release(struct mr_table *t, struct mw *mw);

/* Control thread. Is it a window's key, whatever its tag? */
bool mw_named(const struct mr_table *t, uint32_t key);

void mw_user_init(struct mw_user *u);
/* On the user's core. All that it has bound is free again. */
void mw_user_end(struct mw_user *u);

struct mw_bind {
	uint32_t key;		/* which window, and the tag that it has from now on (F19) */
	uint32_t lkey;		/* of the region */
	uint32_t access;	/* REMOTE_... and ZERO_BASED of enum mem_access; LOCAL_WRITE gives nothing */
	uint64_t va, length;	/* 0 bytes: type 1 is bound to nothing */
};

/*
 * On the user's core. Binds a window of `pd` to a part of a region of it (F18). MEM_OK, or what is wrong;
 * then it is bound to what it was before. MEM_BAD_KEY: no such window or region, or the window, of type 2,
 * is not free. MEM_BAD_ACCESS: the region does not allow it, or there are no such rights.
 */
enum mem_result mw_bind(const struct mr_table *t, struct mw_user *u, uint32_t pd,
			const struct mw_bind *b);

/*
 * On the user's core. A window of type 2 is free again (F21). MEM_OK, or MEM_BAD_KEY: no such window, or
 * not one that this user has bound; MEM_BAD_PD; MEM_BAD_ACCESS: it is of type 1. Of one's own windows
 * (`mine`: a local work request asks) a free one may be named too.
 */
enum mem_result mw_invalidate(const struct mr_table *t, struct mw_user *u, uint32_t pd, uint32_t key,
			      bool mine);

/*
 * On the user's core. What mr_check() is for a region's key. On MEM_OK and MEM_ASK nobody can bind or
 * invalidate it until mw_leave(*in), which must follow within the same packet, before anything else is done
 * with windows.
 */
enum mem_result mw_enter(const struct mr_table *t, const struct mw_user *u, uint32_t pd, uint32_t key,
			 uint32_t need, uint64_t va, uint64_t len, uint8_t **ptr, struct mw **in);
void mw_leave(struct mw *in);

#endif

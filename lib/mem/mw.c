/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does a window reach now, and who may change that? Made and freed by the control thread; bound,
 * invalidated and used by cores, which share windows: see mw.h.
 */
#include "mem/mw.h"

#include <errno.h>
#include <stdlib.h>

#include "mem/key.h"

#define RIGHTS_REMOTE (MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC)

_Static_assert(offsetof(struct mw, face) == 0, "the table frees it by its face");

int
mw_add(struct mr_table *t, uint32_t pd, enum mw_type type, struct mw **out)
{
	struct mw *mw = calloc(1, sizeof(*mw));
	uint8_t last;

	if (!mw)
		return -ENOMEM;
	if (key_take(t, &mw->base, &last)) {
		free(mw);
		return -ENOMEM;
	}
	/* of all that is looked up at its place nothing has these upper bits */
	mw->face.key = ~mw->base;
	mw->pd = pd;
	mw->type = type;
	mw->key = mw->base | (random_u32() & KEY_TAG_MASK);
	key_publish(t, mw->base, &mw->face);
	*out = mw;
	return 0;
}

/* The window of a key, whatever its tag, or NULL. */
static struct mw *
window_at(const struct mr_table *t, uint32_t key)
{
	struct mr *at = key_at(t, key);

	return at && (at->key ^ key) & ~KEY_TAG_MASK ? container_of(at, struct mw, face) : NULL;
}

bool
mw_named(const struct mr_table *t, uint32_t key)
{
	return window_at(t, key) != NULL;
}

/* Under its lock. */
static void
unbind(struct mw *mw)
{
	if (!mw->length)
		return;
	mw->length = 0;
	__atomic_fetch_sub(&mw->mr->windows, 1u, __ATOMIC_RELEASE);
	mw->mr = NULL;
	if (!mw->user)
		return;
	rwspin_write(&mw->user->lock);
	list_del(&mw->node);
	rwspin_write_end(&mw->user->lock);
	mw->user = NULL;
}

void
mw_close(struct mr_table *t, struct mw *mw)
{
	rwspin_write(&mw->lock);
	unbind(mw);
	mw->closed = true;
	rwspin_write_end(&mw->lock);
	key_publish(t, mw->base, NULL);
}

void
mw_release(struct mr_table *t, struct mw *mw)
{
	key_give(t, mw->key, mw);
}

void
mw_user_init(struct mw_user *u)
{
	u->lock = (struct rwspin){ 0 };
	list_init(&u->bound);
}

/* One that is bound by it, or NULL. It may be closed meanwhile; its memory stays until this core is quiet. */
static struct mw *
any_bound(struct mw_user *u)
{
	struct list_node *n;

	rwspin_read(&u->lock);
	n = list_first(&u->bound);
	rwspin_read_end(&u->lock);
	return n ? container_of(n, struct mw, node) : NULL;
}

void
mw_user_end(struct mw_user *u)
{
	struct mw *mw;

	while ((mw = any_bound(u))) {
		rwspin_write(&mw->lock);
		if (mw->user == u)
			unbind(mw);
		rwspin_write_end(&mw->lock);
	}
}

/* May the region be bound to so, and stay until it is let go (F18)? */
static enum mem_result
hold_region(struct mr *mr, uint32_t pd, const struct mw_bind *b)
{
	uint32_t n = __atomic_load_n(&mr->windows, __ATOMIC_RELAXED);

	if (mr->pd != pd)
		return MEM_BAD_PD;
	if (!(mr->access & MEM_MW_BIND) || (mr->access & MEM_ZERO_BASED))
		return MEM_BAD_ACCESS;
	if ((b->access & (MEM_REMOTE_WRITE | MEM_REMOTE_ATOMIC)) && !(mr->access & MEM_LOCAL_WRITE))
		return MEM_BAD_ACCESS;
	if (b->length > mr->length || b->va < mr->iova || b->va - mr->iova > mr->length - b->length)
		return MEM_BAD_RANGE;
	do {
		if (n >= MR_CLOSED - 1)
			return MEM_BAD_KEY;	/* it is going */
	} while (!__atomic_compare_exchange_n(&mr->windows, &n, n + 1, false, __ATOMIC_ACQUIRE,
					      __ATOMIC_RELAXED));
	return MEM_OK;
}

/* Under its lock: may it be bound so at all (F18)? */
static enum mem_result
may_bind(const struct mw *mw, const struct mw_bind *b)
{
	if (mw->closed)
		return MEM_BAD_KEY;
	/* programs ask for LOCAL_WRITE too, which means nothing here: a window's key is no lkey */
	if (b->access & ~(uint32_t)(RIGHTS_REMOTE | MEM_ZERO_BASED | MEM_LOCAL_WRITE))
		return MEM_BAD_ACCESS;
	if (mw->type == MW_TYPE_1)
		return b->access & MEM_ZERO_BASED ? MEM_BAD_ACCESS : MEM_OK;
	if (mw->length)
		return MEM_BAD_KEY;	/* not free */
	return b->length ? MEM_OK : MEM_BAD_RANGE;
}

/* Under its lock, with the region held. */
static void
bind(struct mw *mw, struct mw_user *u, struct mr *mr, const struct mw_bind *b)
{
	unbind(mw);
	mw->access = b->access & RIGHTS_REMOTE;
	mw->va = b->access & MEM_ZERO_BASED ? 0 : b->va;
	mw->length = b->length;
	mw->ptr = mr->base + (b->va - mr->iova);
	mw->reached = mr->direct ? MEM_OK : MEM_ASK;
	mw->mr = mr;
	if (mw->type != MW_TYPE_2)
		return;
	mw->user = u;
	rwspin_write(&u->lock);
	list_push(&u->bound, &mw->node);
	rwspin_write_end(&u->lock);
}

static enum mem_result
bind_locked(const struct mr_table *t, struct mw *mw, struct mw_user *u, const struct mw_bind *b)
{
	enum mem_result res = may_bind(mw, b);
	struct mr *mr;

	if (res != MEM_OK)
		return res;
	if (b->length) {
		mr = mr_find(t, b->lkey);
		res = mr ? hold_region(mr, mw->pd, b) : MEM_BAD_KEY;
		if (res != MEM_OK)
			return res;
		bind(mw, u, mr, b);
	} else {
		unbind(mw);
	}
	mw->key = b->key;
	return MEM_OK;
}

enum mem_result
mw_bind(const struct mr_table *t, struct mw_user *u, uint32_t pd, const struct mw_bind *b)
{
	struct mw *mw = window_at(t, b->key);
	enum mem_result res;

	if (!mw)
		return MEM_BAD_KEY;
	if (mw->pd != pd)
		return MEM_BAD_PD;
	rwspin_write(&mw->lock);
	res = bind_locked(t, mw, u, b);
	rwspin_write_end(&mw->lock);
	return res;
}

enum mem_result
mw_invalidate(const struct mr_table *t, struct mw_user *u, uint32_t pd, uint32_t key, bool mine)
{
	struct mw *mw = window_at(t, key);
	enum mem_result res = MEM_BAD_KEY;

	if (!mw)
		return MEM_BAD_KEY;
	if (mw->pd != pd)
		return MEM_BAD_PD;
	if (mw->type != MW_TYPE_2)
		return MEM_BAD_ACCESS;
	rwspin_write(&mw->lock);
	if (mw->key == key && !mw->closed && (mw->length ? mw->user == u : mine)) {
		unbind(mw);
		res = MEM_OK;
	}
	rwspin_write_end(&mw->lock);
	return res;
}

/* Under its lock. */
static enum mem_result
check(const struct mw *mw, const struct mw_user *u, uint32_t key, uint32_t need, uint64_t va, uint64_t len)
{
	if (mw->key != key || !mw->length || (mw->type == MW_TYPE_2 && mw->user != u))
		return MEM_BAD_KEY;
	if ((mw->access & need) != need)
		return MEM_BAD_ACCESS;
	if (len > mw->length || va < mw->va || va - mw->va > mw->length - len)
		return MEM_BAD_RANGE;
	return mw->reached;
}

enum mem_result
mw_enter(const struct mr_table *t, const struct mw_user *u, uint32_t pd, uint32_t key, uint32_t need,
	 uint64_t va, uint64_t len, uint8_t **ptr, struct mw **in)
{
	struct mw *mw = window_at(t, key);
	enum mem_result res;

	if (!mw)
		return MEM_BAD_KEY;
	if (mw->pd != pd)
		return MEM_BAD_PD;
	rwspin_read(&mw->lock);
	res = check(mw, u, key, need, va, len);
	if (res != MEM_OK && res != MEM_ASK) {
		rwspin_read_end(&mw->lock);
		return res;
	}
	*ptr = mw->ptr + (va - mw->va);
	*in = mw;
	return res;
}

void
mw_leave(struct mw *in)
{
	rwspin_read_end(&in->lock);
}

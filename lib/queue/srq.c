/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where does the next SEND go, when several QPs share what was posted? Asked by the responders of all
 * cores; armed and resized by control threads. The lock is the stack's own memory, held for one copy:
 * a client that dies, or lies, holds nothing up. Nothing in the ring is believed.
 */
#include "queue/srq.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#define LOCK_SPINS 256	/* the holder was preempted: let it run */

static void
lock(struct srq *s)
{
	unsigned int spins = 0;

	while (__atomic_exchange_n(&s->lock, 1u, __ATOMIC_ACQUIRE)) {
		while (__atomic_load_n(&s->lock, __ATOMIC_RELAXED)) {
			if (++spins % LOCK_SPINS == 0)
				sched_yield();
#if defined(__x86_64__) || defined(__i386__)
			else
				__builtin_ia32_pause();
#endif
		}
	}
}

static void
unlock(struct srq *s)
{
	__atomic_store_n(&s->lock, 0u, __ATOMIC_RELEASE);
}

void
srq_init(struct srq *s, const struct wq_conf *conf, uint32_t pd,
	 void (*raise)(struct srq *srq, enum srq_event event))
{
	assert(conf->max_wr && conf->max_wr <= 1u << conf->log2_size);
	*s = (struct srq){ .c = *conf, .pd = pd, .raise = raise };
}

/* A fresh look at the ring. False: its tail went back, or further than the queue holds; it never does
 * again. */
static bool
look(struct srq *s)
{
	uint32_t known = s->tail - s->head;
	uint32_t now = __atomic_load_n(&s->c.ctl->tail, __ATOMIC_ACQUIRE) - s->head;

	if (now < known || now > s->c.max_wr)
		return false;
	s->tail = s->head + now;
	return true;
}

/* Under the lock: looks if `fresh`, or if nothing is known to wait. True: SRQ_BROKEN is to be raised. */
static bool
refresh(struct srq *s, bool fresh)
{
	if (s->broken || (!fresh && s->tail != s->head) || look(s))
		return false;
	s->broken = true;
	return true;
}

static bool
fell_below(struct srq *s)
{
	if (s->tail - s->head >= s->limit)
		return false;
	s->limit = 0;
	return true;
}

int
srq_take(struct srq *s, struct rq_wqe *out)
{
	bool broke, fell = false;
	int taken = 0;

	lock(s);
	broke = refresh(s, s->limit != 0);
	if (s->tail != s->head && !s->broken) {
		taken = rq_copy(&s->c, s->head, out);
		s->head++;
		/* the poster may write the slot from here on */
		__atomic_store_n(&s->c.ctl->head, s->head, __ATOMIC_RELEASE);
		fell = fell_below(s);
	}
	unlock(s);
	if (__builtin_expect(fell, 0))
		s->raise(s, SRQ_LIMIT_REACHED);
	if (__builtin_expect(broke, 0))
		s->raise(s, SRQ_BROKEN);
	return taken;
}

int
srq_arm(struct srq *s, uint32_t limit)
{
	bool broke, fell;

	lock(s);
	if (limit > s->c.max_wr) {
		unlock(s);
		return -EINVAL;
	}
	broke = refresh(s, true);
	s->limit = limit;
	fell = fell_below(s);
	unlock(s);
	if (fell)
		s->raise(s, SRQ_LIMIT_REACHED);
	if (broke)
		s->raise(s, SRQ_BROKEN);
	return 0;
}

uint32_t
srq_limit(struct srq *s)
{
	uint32_t limit;

	lock(s);
	limit = s->limit;
	unlock(s);
	return limit;
}

static uint8_t *
slot_of(const struct wq_conf *c, uint32_t index)
{
	return c->slots + (size_t)(index & ((1u << c->log2_size) - 1)) * c->stride;
}

/* WQEs keep their numbers, so the poster's counter goes on as it is. */
static void
move(struct srq *s, const struct wq_conf *to)
{
	for (uint32_t i = s->head; i != s->tail; i++)
		memcpy(slot_of(to, i), slot_of(&s->c, i), to->stride);
	to->ctl->tail = s->tail;
	to->ctl->head = s->head;
	s->c = *to;
}

int
srq_resize(struct srq *s, const struct wq_conf *conf, uint32_t asked, const uint32_t *limit)
{
	bool broke, fell = false;
	int rc = -EINVAL;

	assert(conf->stride == s->c.stride && asked <= conf->max_wr);
	lock(s);
	broke = refresh(s, true);
	if (!s->broken && s->tail - s->head <= asked && (limit ? *limit : s->limit) <= asked) {
		move(s, conf);
		s->limit = limit ? *limit : s->limit;
		fell = fell_below(s);
		rc = 0;
	}
	unlock(s);
	if (fell)
		s->raise(s, SRQ_LIMIT_REACHED);
	if (broke)
		s->raise(s, SRQ_BROKEN);
	return rc;
}

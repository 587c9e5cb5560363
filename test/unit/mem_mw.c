/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of lib/mem/mw.c that no packet tells: what closes while it is bound, and two cores at one
 * window. Everything that a packet can tell is in test/script/rc/mw-*.pkt.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include "check.h"
#include "mem/mw.h"

#define PD 7u
#define ALL (MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC)

struct scene {
	struct mr_table *t;
	struct mr *mr;
	struct mw_user qp[2];
	uint8_t memory[512];
};

static void
scene_open(struct scene *s)
{
	struct mr d = { .pd = PD, .access = MEM_LOCAL_WRITE | MEM_MW_BIND, .length = sizeof(s->memory),
			.base = s->memory };

	memset(s, 0, sizeof(*s));
	s->t = mr_table_new(64);
	mr_add(s->t, &d, &s->mr);
	mw_user_init(&s->qp[0]);
	mw_user_init(&s->qp[1]);
}

static enum mem_result
bind(struct scene *s, struct mw_user *u, uint32_t key, uint64_t va, uint64_t len)
{
	struct mw_bind b = { .key = key, .lkey = s->mr->key, .access = ALL, .va = va, .length = len };

	return mw_bind(s->t, u, PD, &b);
}

static bool
reaches(struct scene *s, struct mw_user *u, uint32_t key)
{
	struct mw *in;
	uint8_t *p;

	if (mw_enter(s->t, u, PD, key, MEM_REMOTE_WRITE, 0, 1, &p, &in) != MEM_OK)
		return false;
	mw_leave(in);
	return true;
}

static void
mw_close__while_bound(void)
{
	struct scene s;
	struct mw *one = NULL, *two = NULL;
	uint32_t key_one, key_two;

	scene_open(&s);
	CHECK_EQ(mw_add(s.t, PD, MW_TYPE_1, &one), 0);
	CHECK_EQ(mw_add(s.t, PD, MW_TYPE_2, &two), 0);
	key_one = one->key;
	key_two = two->key;
	CHECK_EQ(bind(&s, &s.qp[0], key_one, 0, 64), MEM_OK);
	CHECK_EQ(bind(&s, &s.qp[0], key_two, 0, 64), MEM_OK);
	CHECK(reaches(&s, &s.qp[0], key_one) && reaches(&s, &s.qp[1], key_one));
	CHECK(reaches(&s, &s.qp[0], key_two) && !reaches(&s, &s.qp[1], key_two));
	CHECK_EQ(s.mr->windows, 2);
	CHECK_EQ(mr_close(s.mr), -EBUSY);
	mw_close(s.t, one);
	mw_close(s.t, two);
	CHECK(!reaches(&s, &s.qp[0], key_one) && !reaches(&s, &s.qp[0], key_two));
	CHECK_EQ(bind(&s, &s.qp[0], key_one, 0, 64), MEM_BAD_KEY);
	CHECK_EQ(mw_invalidate(s.t, &s.qp[0], PD, key_two, true), MEM_BAD_KEY);
	CHECK(list_empty(&s.qp[0].bound));
	CHECK_EQ(mr_close(s.mr), 0);
	mw_release(s.t, one);
	mw_release(s.t, two);
	mr_table_free(s.t);
}

/* To what is going to be deregistered nobody binds; if it stays, all do. What is bound is not replaced. */
static void
mr_close__then_bind(void)
{
	struct mr *other = NULL;
	struct scene s;
	struct mw *mw = NULL;

	scene_open(&s);
	CHECK_EQ(mw_add(s.t, PD, MW_TYPE_1, &mw), 0);
	CHECK_EQ(mr_close(s.mr), 0);
	CHECK_EQ(bind(&s, &s.qp[0], mw->key, 0, 64), MEM_BAD_KEY);
	mr_open(s.mr);
	CHECK_EQ(bind(&s, &s.qp[0], mw->key, 0, 64), MEM_OK);
	CHECK_EQ(mr_close(s.mr), -EBUSY);
	CHECK_EQ(mr_replace(s.t, s.mr, &(struct mr){ .length = 1, .base = s.memory }, false, &other), -EBUSY);
	CHECK(!other && mr_find(s.t, s.mr->key) == s.mr && reaches(&s, &s.qp[0], mw->key));
	mr_table_free(s.t);
}

static void
mw_user_end__all_free(void)
{
	enum { N = 20 };
	struct scene s;
	struct mw *mw[N];

	scene_open(&s);
	for (int i = 0; i < N; i++) {
		CHECK_EQ(mw_add(s.t, PD, MW_TYPE_2, &mw[i]), 0);
		CHECK_EQ(bind(&s, &s.qp[i % 2], mw[i]->key, 0, 8), MEM_OK);
	}
	mw_user_end(&s.qp[0]);
	for (int i = 0; i < N; i++)
		CHECK_EQ(reaches(&s, &s.qp[i % 2], mw[i]->key), i % 2);
	CHECK_EQ(s.mr->windows, N / 2);
	CHECK_EQ(bind(&s, &s.qp[1], mw[0]->key, 0, 8), MEM_OK);
	mw_user_end(&s.qp[1]);
	CHECK_EQ(s.mr->windows, 0);
	mr_table_free(s.t);
}

/* Any key at any place: the tags of a window, a place that nothing is at, a region's. */
static void
mw_enter__no_such(void)
{
	struct scene s;
	struct mw *mw = NULL;

	scene_open(&s);
	CHECK_EQ(mw_add(s.t, PD, MW_TYPE_1, &mw), 0);
	CHECK(!reaches(&s, &s.qp[0], mw->key));		/* not bound yet */
	CHECK_EQ(bind(&s, &s.qp[0], mw->key, 0, 64), MEM_OK);
	for (uint32_t tag = 1; tag < 256; tag++)
		CHECK(!reaches(&s, &s.qp[0], mw->key ^ tag));
	for (uint32_t bit = 8; bit < 32; bit++)
		CHECK(!reaches(&s, &s.qp[0], mw->key ^ (1u << bit)));
	CHECK(!reaches(&s, &s.qp[0], s.mr->key));
	CHECK_EQ(bind(&s, &s.qp[0], s.mr->key, 0, 64), MEM_BAD_KEY);
	CHECK_EQ(mw_invalidate(s.t, &s.qp[0], PD, s.mr->key, true), MEM_BAD_KEY);
	CHECK(!reaches(&s, &s.qp[0], ~mw->base));	/* what its face is called */
	mr_table_free(s.t);
}

/*
 * Two cores: one writes by whatever key it was told last, the other binds the window anew, now to one half
 * of the memory, now to the other. Once a bind has returned nothing is written by the old key, and nothing is
 * under way: the binder uses that half as its own, without a lock. The thread sanitizer would see it.
 */
#define ROUNDS 2000
#define HALF 256u

struct cores {
	struct scene s;
	uint32_t key;		/* atomic: what the writer is told */
	uint32_t reached;	/* atomic: writes that succeeded */
	bool stop;		/* atomic */
};

static void *
writer(void *arg)
{
	struct cores *c = arg;
	uint8_t n = 0;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		uint32_t key = __atomic_load_n(&c->key, __ATOMIC_RELAXED);

		for (uint64_t half = 0; half < 2; half++) {
			struct mw *in;
			uint8_t *p;

			if (mw_enter(c->s.t, &c->s.qp[1], PD, key, MEM_REMOTE_WRITE, half * HALF, HALF, &p,
				     &in) != MEM_OK)
				continue;
			memset(p, ++n | 1, HALF / 2);
			if (n % 8 == 0)
				sched_yield();	/* a long copy: the binder waits for its end */
			memset(p + HALF / 2, n | 1, HALF / 2);
			mw_leave(in);
			__atomic_fetch_add(&c->reached, 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

/* The half that no key reaches any more is the program's. */
static bool
use(uint8_t *half)
{
	memset(half, 0, HALF);
	for (unsigned int spin = 0; spin < 50; spin++)
		for (uint32_t i = 0; i < HALF; i++)
			if (half[i])
				return false;
	return true;
}

static void
mw_bind__beside_another_core(void)
{
	static struct cores c;
	struct mw *mw = NULL;
	bool own = true;
	pthread_t th;

	scene_open(&c.s);
	c.stop = false;
	c.reached = 0;
	CHECK_EQ(mw_add(c.s.t, PD, MW_TYPE_1, &mw), 0);
	c.key = mw->base;
	CHECK_EQ(bind(&c.s, &c.s.qp[0], c.key, 0, HALF), MEM_OK);
	CHECK_EQ(pthread_create(&th, NULL, writer, &c), 0);
	for (uint32_t i = 1; own && i < ROUNDS; i++) {
		uint64_t half = i & 1;
		uint32_t before = __atomic_load_n(&c.reached, __ATOMIC_RELAXED);

		own = bind(&c.s, &c.s.qp[0], mw->base | (i & 0xff), half * HALF, HALF) == MEM_OK;
		/* the old key is still what the writer tries */
		own = own && use(c.s.memory + (1 - half) * HALF);
		__atomic_store_n(&c.key, mw->base | (i & 0xff), __ATOMIC_RELAXED);
		while (i < 4 && __atomic_load_n(&c.reached, __ATOMIC_RELAXED) == before)
			sched_yield();	/* until it has written by the new one */
	}
	__atomic_store_n(&c.stop, true, __ATOMIC_RELAXED);
	pthread_join(th, NULL);
	CHECK(own);
	CHECK_EQ(c.s.mr->windows, 1);
	mr_table_free(c.s.t);
}

/* Four threads bind and take back the same windows of type 2, and a fifth closes one: each is somebody's or
 * nobody's, and the region counts them. */
#define USERS 4
#define WINDOWS 3

struct crowd {
	struct scene s;
	struct mw_user user[USERS];
	uint32_t key[WINDOWS];
	uint32_t bound;		/* atomic: by all, in all */
};

struct one_of {
	struct crowd *c;
	struct mw_user *u;
};

static void *
binder(void *arg)
{
	struct one_of *me = arg;
	struct crowd *c = me->c;

	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t key = c->key[i % WINDOWS];

		if (bind(&c->s, me->u, key, 0, 8) == MEM_OK) {
			__atomic_fetch_add(&c->bound, 1, __ATOMIC_RELAXED);
			if (i % 16 == 0)
				mw_user_end(me->u);
			else
				mw_invalidate(c->s.t, me->u, PD, key, true);
		}
		reaches(&c->s, me->u, key);
	}
	mw_user_end(me->u);
	return NULL;
}

static void
mw_bind__many_at_once(void)
{
	static struct crowd c;
	struct one_of who[USERS];
	struct mw *mw[WINDOWS];
	pthread_t th[USERS];

	scene_open(&c.s);
	c.bound = 0;
	for (int i = 0; i < WINDOWS; i++) {
		CHECK_EQ(mw_add(c.s.t, PD, MW_TYPE_2, &mw[i]), 0);
		c.key[i] = mw[i]->key;
	}
	for (int i = 0; i < USERS; i++) {
		mw_user_init(&c.user[i]);
		who[i] = (struct one_of){ &c, &c.user[i] };
		CHECK_EQ(pthread_create(&th[i], NULL, binder, &who[i]), 0);
	}
	while (__atomic_load_n(&c.bound, __ATOMIC_RELAXED) < 100)
		sched_yield();
	mw_close(c.s.t, mw[0]);
	for (int i = 0; i < USERS; i++)
		pthread_join(th[i], NULL);
	CHECK_EQ(c.s.mr->windows, 0);
	for (int i = 0; i < USERS; i++)
		CHECK(list_empty(&c.user[i].bound));
	CHECK_EQ(mr_close(c.s.mr), 0);
	mw_release(c.s.t, mw[0]);
	mr_table_free(c.s.t);
}

static const struct check_case cases[] = {
	CHECK_CASE(mw_close__while_bound),
	CHECK_CASE(mr_close__then_bind),
	CHECK_CASE(mw_user_end__all_free),
	CHECK_CASE(mw_enter__no_such),
	CHECK_CASE(mw_bind__beside_another_core),
	CHECK_CASE(mw_bind__many_at_once),
};

CHECK_MAIN(cases)

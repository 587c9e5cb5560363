/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A word that many readers, or one writer, hold for the time of a copy. Any thread; no system call but to
 * let a holder run that lost its CPU. Who holds it may not take it again. All zero: nobody holds it.
 */
#ifndef BASE_RWSPIN_H
#define BASE_RWSPIN_H

#include <sched.h>
#include <stdint.h>

#define RWSPIN_WRITER 0x80000000u	/* the other bits: how many readers */
#define RWSPIN_TURNS 256u

struct rwspin {
	uint32_t word;
};

static inline void
rwspin_turn(unsigned int *turns)
{
	if (++*turns % RWSPIN_TURNS == 0)
		sched_yield();
#if defined(__x86_64__) || defined(__i386__)
	else
		__builtin_ia32_pause();
#endif
}

static inline void
rwspin_read(struct rwspin *s)
{
	uint32_t was = __atomic_load_n(&s->word, __ATOMIC_RELAXED);
	unsigned int turns = 0;

	for (;;) {
		if (!(was & RWSPIN_WRITER) &&
		    __atomic_compare_exchange_n(&s->word, &was, was + 1, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return;
		if (!(was & RWSPIN_WRITER))
			continue;
		rwspin_turn(&turns);
		was = __atomic_load_n(&s->word, __ATOMIC_RELAXED);
	}
}

static inline void
rwspin_read_end(struct rwspin *s)
{
	__atomic_fetch_sub(&s->word, 1u, __ATOMIC_RELEASE);
}

/* New readers wait from now on; returns when those before are done. */
static inline void
rwspin_write(struct rwspin *s)
{
	unsigned int turns = 0;

	while (__atomic_fetch_or(&s->word, RWSPIN_WRITER, __ATOMIC_ACQUIRE) & RWSPIN_WRITER)
		rwspin_turn(&turns);
	while (__atomic_load_n(&s->word, __ATOMIC_ACQUIRE) != RWSPIN_WRITER)
		rwspin_turn(&turns);
}

static inline void
rwspin_write_end(struct rwspin *s)
{
	__atomic_store_n(&s->word, 0u, __ATOMIC_RELEASE);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small struct that one thread publishes and many read whole, without a lock: the control side
 * writes a path or a neighbour, cores read it per packet. A reader that meets a writer reads again;
 * a writer never waits.
 *
 * Each word is copied by an atomic operation, so that the race is none for the memory model (and
 * for TSan). No fences: the writer's words are stored with release, so they cannot be seen before the
 * odd number in front of them; the reader's are loaded with acquire, so the second look at the
 * number cannot come before them. On x86 all of it is plain moves.
 */
#ifndef BASE_SEQCELL_H
#define BASE_SEQCELL_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A cell for a value of `type`; zeroed memory is a cell that holds a zeroed value. */
#define SEQCELL(type) \
	struct { \
		uint32_t seq;	/* odd while it is written */ \
		uint64_t words[(sizeof(type) + 7) / 8]; \
	}

/* The one writer. */
static inline void
seqcell_write(uint32_t *seq, uint64_t *words, const void *value, size_t size)
{
	uint32_t s = __atomic_load_n(seq, __ATOMIC_RELAXED);

	__atomic_store_n(seq, s + 1, __ATOMIC_RELAXED);
	for (size_t at = 0; at < size; at += 8) {
		uint64_t w = 0;

		memcpy(&w, (const char *)value + at, size - at < 8 ? size - at : 8);
		__atomic_store_n(&words[at / 8], w, __ATOMIC_RELEASE);
	}
	__atomic_store_n(seq, s + 2, __ATOMIC_RELEASE);
}

/* Any thread. Waits while the writer is between its first and its last word, a few ns. */
static inline void
seqcell_read(const uint32_t *seq, const uint64_t *words, void *value, size_t size)
{
	uint32_t s;

	do {
		while ((s = __atomic_load_n(seq, __ATOMIC_ACQUIRE)) & 1)
			;
		for (size_t at = 0; at < size; at += 8) {
			uint64_t w = __atomic_load_n(&words[at / 8], __ATOMIC_ACQUIRE);

			memcpy((char *)value + at, &w, size - at < 8 ? size - at : 8);
		}
	} while (__atomic_load_n(seq, __ATOMIC_RELAXED) != s);
}

/* cell: SEQCELL(type) *; value: type *. */
#define seqcell_set(cell, value) \
	do { \
		_Static_assert(sizeof((cell)->words) == (sizeof(*(value)) + 7) / 8 * 8, \
			       "cell of another type"); \
		seqcell_write(&(cell)->seq, (cell)->words, (value), sizeof(*(value))); \
	} while (0)

#define seqcell_get(cell, value) \
	do { \
		_Static_assert(sizeof((cell)->words) == (sizeof(*(value)) + 7) / 8 * 8, \
			       "cell of another type"); \
		seqcell_read(&(cell)->seq, (cell)->words, (value), sizeof(*(value))); \
	} while (0)

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes from the wire into memory that a program may be looking at: in ascending order, the last of
 * them after all that stand before. Programs poll the last byte of a WRITE. Any thread.
 */
#ifndef MEM_PLACE_H
#define MEM_PLACE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MEM_PLACE_TAIL 64u

/* The last bytes, at most MEM_PLACE_TAIL of them: an aligned word is never seen half written. */
static inline void
mem_place_tail(uint8_t *dst, const uint8_t *src, size_t len)
{
	uint64_t word;

	for (; len && ((uintptr_t)dst & 7); len--)
		__atomic_store_n(dst++, *src++, __ATOMIC_RELEASE);
	for (; len >= sizeof(word); len -= sizeof(word)) {
		memcpy(&word, src, sizeof(word));
		__atomic_store_n((uint64_t *)(void *)dst, word, __ATOMIC_RELEASE);
		dst += sizeof(word);
		src += sizeof(word);
	}
	for (; len; len--)
		__atomic_store_n(dst++, *src++, __ATOMIC_RELEASE);
}

static inline void
mem_place(void *dst, const void *src, size_t len)
{
	size_t tail = len < MEM_PLACE_TAIL ? len : MEM_PLACE_TAIL;
	size_t body = len - tail;

	if (body)
		memcpy(dst, src, body);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	mem_place_tail((uint8_t *)dst + body, (const uint8_t *)src + body, tail);
}

#endif

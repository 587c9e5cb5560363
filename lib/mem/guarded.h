/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * This process's memory at addresses that it may not have mapped: the kernel copies, and says so where there
 * is nothing, instead of a signal. A system call or two, some 300 ns each. Any thread.
 */
#ifndef MEM_GUARDED_H
#define MEM_GUARDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does the kernel let us? A sandbox may not. */
bool mem_guarded_works(void);

/* True when all of it was copied; a part of it may have been when not. Written as by mem_place(): in
 * ascending order, the last bytes after all that stand before. */
bool mem_guarded_read(const void *mem, void *dst, size_t len);
bool mem_guarded_write(void *mem, const void *src, size_t len);

/* The aligned word could be written a moment ago, and is what it was. No system call does 64 bits as one, so
 * who then uses it by its pointer is safe from all but a program that unmaps it in that very moment. */
bool mem_guarded_word(uint64_t *word);

#endif

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
bool mem_guarded_read(uint64_t va, void *dst, size_t len);
bool mem_guarded_write(uint64_t va, const void *src, size_t len);

#endif

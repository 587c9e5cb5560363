/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where do the rings lie that the application and the core share? In one process: on pages of their
 * own, outside of the heap. Control threads.
 */
#include <errno.h>
#include <sys/mman.h>

#include "serve/object.h"

#define POPULATE_MAX (1u << 20)	/* larger ones are touched as they are used */
#define PAGE 4096u

int
rings_new(struct rings *r, size_t len)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	len = (len + PAGE - 1) & ~(size_t)(PAGE - 1);
	if (len <= POPULATE_MAX)
		flags |= MAP_POPULATE;
	r->at = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (r->at == MAP_FAILED) {
		r->at = NULL;
		return -ENOMEM;
	}
	r->len = len;
	/* a child's copy would be a ring that nobody serves */
	madvise(r->at, len, MADV_DONTFORK);
	return 0;
}

void
rings_free(struct rings *r)
{
	if (r->at)
		munmap(r->at, r->len);
	r->at = NULL;
}

struct ctl_seg
rings_seg(const void *at, size_t len)
{
	return (struct ctl_seg){ .offset = (uintptr_t)at, .length = len };
}

uint32_t
rings_log2(uint32_t n)
{
	return n <= 1 ? 0 : 32u - (uint32_t)__builtin_clz(n - 1);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where do the rings lie that the application and the core share? In one process: on pages of their
 * own, outside of the heap. Control threads.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/log.h"
#include "serve/object.h"

#define POPULATE_MAX (1u << 20)	/* larger ones are touched as they are used */
#define PAGE 4096u

/*
 * A process may have vm.max_map_count mappings, and the device has more objects. Neighbours count as one
 * when they are alike from the first touch on: so a child is kept away before the pages are touched. (One
 * of them would be a ring there that nobody serves.)
 */
static void
prepare(struct rings *r)
{
	madvise(r->at, r->len, MADV_DONTFORK);
	if (r->len <= POPULATE_MAX)
		madvise(r->at, r->len, MADV_POPULATE_WRITE);	/* where it fails they are touched later */
}

int
rings_new(struct rings *r, size_t len)
{
	r->len = len > SIZE_MAX - PAGE ? len : (len + PAGE - 1) & ~(size_t)(PAGE - 1);
	r->at = mmap(NULL, r->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (r->at == MAP_FAILED) {
		r->at = NULL;
		log_line(PLX_LOG_WARN, "no room for a queue of %zu bytes: raise vm.max_map_count (sysctl) "
			 "if this process has so many mappings, else free memory or lift its limits", len);
		return -ENOMEM;
	}
	prepare(r);
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

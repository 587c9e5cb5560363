/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May a copy go wrong without harm? Asked for regions that name the whole address space. Owning core; the
 * first question of all, whether it works here, on control threads.
 */
#include <sys/uio.h>
#include <unistd.h>

#include "mem/guarded.h"
#include "mem/place.h"

static bool
copied(ssize_t (*fn)(pid_t pid, const struct iovec *lvec, unsigned long liovcnt, const struct iovec *rvec,
		     unsigned long riovcnt, unsigned long flags), uint64_t va, void *buf, size_t len)
{
	struct iovec ours = { buf, len }, theirs = { (void *)(uintptr_t)va, len };

	return fn(getpid(), &ours, 1, &theirs, 1, 0) == (ssize_t)len;
}

bool
mem_guarded_works(void)
{
	uint8_t from = 1, to = 0;

	return mem_guarded_read((uintptr_t)&from, &to, 1) && to &&
	       mem_guarded_write((uintptr_t)&to, &from, 1);
}

bool
mem_guarded_read(uint64_t va, void *dst, size_t len)
{
	return copied(process_vm_readv, va, dst, len);
}

bool
mem_guarded_write(uint64_t va, const void *src, size_t len)
{
	size_t tail = len < MEM_PLACE_TAIL ? len : MEM_PLACE_TAIL;
	uint8_t *from = (uint8_t *)(uintptr_t)src;

	return (len == tail || copied(process_vm_writev, va, from, len - tail)) &&
	       copied(process_vm_writev, va + (len - tail), from + (len - tail), tail);
}

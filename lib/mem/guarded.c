/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May a copy go wrong without harm? Asked for on-demand regions. Owning core; the first question of all,
 * whether it works here, on control threads.
 */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "mem/guarded.h"
#include "mem/place.h"

static bool
copied(ssize_t (*fn)(pid_t pid, const struct iovec *lvec, unsigned long liovcnt, const struct iovec *rvec,
		     unsigned long riovcnt, unsigned long flags), void *mem, void *buf, size_t len)
{
	struct iovec ours = { buf, len }, theirs = { mem, len };

	return fn(getpid(), &ours, 1, &theirs, 1, 0) == (ssize_t)len;
}

bool
mem_guarded_works(void)
{
	uint8_t from = 1, to = 0;

	return mem_guarded_read(&from, &to, 1) && to && mem_guarded_write(&to, &from, 1);
}

bool
mem_guarded_read(const void *mem, void *dst, size_t len)
{
	return copied(process_vm_readv, (void *)(uintptr_t)mem, dst, len);
}

bool
mem_guarded_write(void *mem, const void *src, size_t len)
{
	size_t tail = len < MEM_PLACE_TAIL ? len : MEM_PLACE_TAIL;
	uint8_t *from = (uint8_t *)(uintptr_t)src, *to = mem;

	return (len == tail || copied(process_vm_writev, to, from, len - tail)) &&
	       copied(process_vm_writev, to + (len - tail), from + (len - tail), tail);
}

/* An atomic OR with 0, of half the word, by the kernel; nobody is woken by it. */
bool
mem_guarded_word(uint64_t *word)
{
	uint32_t nobody = 0;

	return syscall(SYS_futex, &nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0UL, word,
		       FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, -2048)) >= 0;
}

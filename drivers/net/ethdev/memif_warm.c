/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What makes the first frames through a memif as quick as all others? The memory that both ends map is
 * new, and each end's first touch of a page is a fault: tens of microseconds of a burst for every slot
 * of the ring, and with a thousand slots some 60 ms until the first lap is over. So all of it is
 * touched when it is mapped, on EAL's interrupt thread, before the link is up.
 *
 * As in memif_mend.c the linker puts ours between (--wrap); without that the first lap is slow.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#define FRAMES_MAX (64u << 20)	/* what is larger is a peer's whole heap (zero-copy), not rings and frames */

struct rte_eth_dev;

int __real_memif_connect(struct rte_eth_dev *dev) __attribute__((weak));
int __real_memif_init_regions_and_queues(struct rte_eth_dev *dev) __attribute__((weak));
void *__real_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
	__attribute__((weak));

int __wrap_memif_connect(struct rte_eth_dev *dev);
int __wrap_memif_init_regions_and_queues(struct rte_eth_dev *dev);
void *__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset);

static __thread bool of_memif;	/* this thread maps memif's memory */

/* Who was called maps the caller's memory. */
int
__wrap_memif_connect(struct rte_eth_dev *dev)
{
	int ret;

	of_memif = true;
	ret = __real_memif_connect(dev);
	of_memif = false;
	return ret;
}

/* Who calls makes it. */
int
__wrap_memif_init_regions_and_queues(struct rte_eth_dev *dev)
{
	int ret;

	of_memif = true;
	ret = __real_memif_init_regions_and_queues(dev);
	of_memif = false;
	return ret;
}

/* Any thread. A kernel before 5.14 refuses, and so does memory that is shorter than the peer said. */
void *
__wrap_mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *at = __real_mmap64(addr, len, prot, flags, fd, offset);

	if (of_memif && at != MAP_FAILED && (flags & MAP_SHARED) && fd >= 0 && len <= FRAMES_MAX)
		(void)madvise(at, len, MADV_POPULATE_WRITE);
	return at;
}

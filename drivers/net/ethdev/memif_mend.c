/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What must a peer's end not take away? DPDK 22.11's memif hangs up on EAL's interrupt thread
 *
 * - and unmaps there what a burst on the core may be reading (SIGSEGV): here the one waits for the other;
 * - and what the core has not read yet: it is read before;
 * - and, with zero-copy, closes the fds of EAL's own memory, so that the next peer is given others, or none:
 *   it gets copies of them.
 *
 * Put between two of DPDK's objects by the linker, as intr_mend.c says.
 */
#include "memif_mend.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>

#include "intr_mend.h"
#include "last.h"

struct rte_eth_dev;
struct rte_memseg;

/* Weak: the originals, which only a link with --wrap has. */
void __real_memif_free_regions(struct rte_eth_dev *dev) __attribute__((weak));

int __real_rte_memseg_get_fd(const struct rte_memseg *ms) __attribute__((weak));

void __wrap_memif_free_regions(struct rte_eth_dev *dev);
int __wrap_rte_memseg_get_fd(const struct rte_memseg *ms);

/* Interrupt thread, or the core between two bursts. memif has cleared its "connected" flag: a burst
 * that begins after this one returns finds nothing to do. */
void
__wrap_memif_free_regions(struct rte_eth_dev *dev)
{
	last_cut();
	__real_memif_free_regions(dev);
	last_uncut();
}

/* Who connects; memif alone asks. It closes what it is given. */
int
__wrap_rte_memseg_get_fd(const struct rte_memseg *ms)
{
	int fd = __real_rte_memseg_get_fd(ms);

	return fd < 0 ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/* Interrupt thread. With a link there is but one thing that a socket has to say: the peer is going. Other
 * fds are timers. */
static void
hear(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
		last_save();
}

void
memif_hear(bool on)
{
	intr_before(on ? hear : NULL);
}

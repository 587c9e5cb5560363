/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May every page of a range be read, or written? Asked before memory is registered: what pins pages asks the
 * same of each. Here the mappings are looked at instead, of which a range has few: their rights, and of those
 * of files their last page, which may be behind the file's end. No page but these and the range's first and
 * last is touched. Control threads.
 *
 * The kernel tells one mapping for an ioctl of /proc/self/maps (since 6.11), else that file is read.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "serve/pages.h"

#define PAGE UINT64_C(4096)

struct query {			/* struct procmap_query of <linux/fs.h>, which older headers lack */
	uint64_t size, flags, addr;
	uint64_t start, end, rights, page_size, offset, inode;
	uint32_t major, minor, name_size, build_id_size;
	uint64_t name, build_id;
};
_Static_assert(sizeof(struct query) == 104, "as the kernel has it");
#define QUERY _IOWR('f', 17, struct query)
#define QUERY_OR_NEXT 0x10u
#define QUERY_READABLE 0x01u
#define QUERY_WRITABLE 0x02u

struct map {
	uint64_t start, end;	/* end: of its last byte + 1 */
	bool readable, writable, of_file;
};

/* The page at `addr` can be read, or written: 0, else a positive errno. */
static int
touch(uint64_t addr, bool write)
{
	int advice = write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	return madvise((void *)(uintptr_t)(addr & ~(PAGE - 1)), PAGE, advice) ? errno : 0;
}

static bool
page_usable(uint64_t addr, bool write)
{
	int err = touch(addr, write);

	/* a kernel that cannot say (before 5.14) gives EINVAL for our own stack too */
	return !err || (err == EINVAL && touch((uintptr_t)&err, true) == EINVAL);
}

/* The mapping at `addr` or the next: 0, -ENOENT: there is none, or -ENOTTY: it cannot be asked so. */
static int
ask(int fd, uint64_t addr, struct map *m)
{
	struct query q = { .size = sizeof(q), .flags = QUERY_OR_NEXT, .addr = addr };

	if (ioctl(fd, QUERY, &q) < 0)
		return errno == ENOENT ? -ENOENT : -ENOTTY;
	*m = (struct map){ .start = q.start, .end = q.end, .readable = q.rights & QUERY_READABLE,
			   .writable = q.rights & QUERY_WRITABLE, .of_file = q.inode };
	return 0;
}

/* The part of a mapping that the range has; *at: up to where all is well so far. 0 or -EFAULT. */
static int
judge(const struct map *m, uint64_t *at, uint64_t last, bool write)
{
	uint64_t end = m->end - 1 < last ? m->end - 1 : last;

	if (m->start > *at || !(write ? m->writable : m->readable))
		return -EFAULT;
	if (m->of_file && !page_usable(end, false))
		return -EFAULT;
	*at = end + 1;
	return 0;
}

static int
check_asking(int fd, uint64_t at, uint64_t last, bool write)
{
	struct map m;
	int rc = 0;

	while (rc == 0 && at <= last && at) {
		rc = ask(fd, at, &m);
		if (rc == 0)
			rc = judge(&m, &at, last, write);
	}
	return rc == -ENOENT ? -EFAULT : rc;
}

/* "55d0c1a00000-55d0c1a21000 rw-p 00000000 08:02 173521 /name" */
static bool
parse(const char *line, struct map *m)
{
	unsigned long inode;
	char rights[5];

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %lu", &m->start, &m->end, rights, &inode) != 4)
		return false;
	m->readable = rights[0] == 'r';
	m->writable = rights[1] == 'w';
	m->of_file = inode;
	return true;
}

static int
check_reading(FILE *maps, uint64_t at, uint64_t last, bool write)
{
	char line[4096 + 128];		/* with the longest name */
	struct map m;
	int rc = 0;

	while (rc == 0 && at <= last && at) {
		if (!fgets(line, sizeof(line), maps) || !parse(line, &m))
			return -EFAULT;
		if (m.end - 1 >= at)
			rc = judge(&m, &at, last, write);
	}
	return rc;
}

/* The mappings of the pages between. 0, -EFAULT, or another: who cannot open a file must not register. */
static int
check_mappings(uint64_t at, uint64_t last, bool write, bool may_ask)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	int rc = -ENOTTY;

	if (!maps && (errno == ENOENT || errno == EACCES))	/* no /proc: of holes alone one can know */
		return msync((void *)(uintptr_t)at, last - at + 1, MS_ASYNC) ? -EFAULT : 0;
	if (!maps)
		return -errno;
	if (may_ask)
		rc = check_asking(fileno(maps), at, last, write);
	if (rc == -ENOTTY)
		rc = check_reading(maps, at, last, write);
	fclose(maps);
	return rc;
}

int
pages_check_so(uint64_t addr, uint64_t length, bool write, bool may_ask)
{
	uint64_t from = addr & ~(PAGE - 1), last = addr + length - 1;

	if (!page_usable(addr, write) || !page_usable(last, write))
		return -EFAULT;
	if ((last - from) / PAGE < 2)
		return 0;
	return check_mappings(from, last, write, may_ask);
}

int
pages_check(uint64_t addr, uint64_t length, bool write)
{
	return pages_check_so(addr, length, write, true);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How is memory of another device reached? As every byte is moved by a CPU, by a mapping of its dma-buf, for
 * which the exporter must let itself be mapped. Control verbs, on application threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verbs/verbs_priv.h"

#define DMABUF_ACCESS \
	((unsigned int)(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
			IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING))

struct mapping {
	void *at;
	size_t len;
	size_t skip;		/* of the first page */
	int fd;
};

/* The exporter is told that CPUs use it, for as long as it is registered. -EINVAL: it is no dma-buf. */
static int
sync_dmabuf(int fd, uint64_t when)
{
	struct dma_buf_sync sync = { .flags = when | DMA_BUF_SYNC_RW };
	int rc;

	do
		rc = ioctl(fd, DMA_BUF_IOCTL_SYNC, &sync);
	while (rc < 0 && (errno == EINTR || errno == EAGAIN));
	return rc < 0 ? errno == ENOTTY ? -EINVAL : -errno : 0;
}

static int
map(struct mapping *m, uint64_t offset, size_t length, bool write)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	m->skip = offset & (page - 1);
	if (!length || length > SIZE_MAX - page || offset + length < offset)
		return -EINVAL;
	m->len = m->skip + length;
	m->at = mmap(NULL, m->len, write ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, m->fd,
		     (off_t)(offset - m->skip));
	if (m->at != MAP_FAILED)
		return 0;
	/* beyond its end is EINVAL too */
	return errno == ENODEV || errno == ENXIO || errno == EPERM ? -EOPNOTSUPP : -errno;
}

static int
open_mapping(struct mapping *m, int fd, uint64_t offset, size_t length, bool write)
{
	int err;

	m->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (m->fd < 0)
		return -errno;
	err = sync_dmabuf(m->fd, DMA_BUF_SYNC_START);
	if (err)
		goto close_fd;
	err = map(m, offset, length, write);
	if (!err)
		return 0;
	sync_dmabuf(m->fd, DMA_BUF_SYNC_END);
close_fd:
	close(m->fd);
	return err;
}

static void
close_mapping(const struct mapping *m)
{
	munmap(m->at, m->len);
	sync_dmabuf(m->fd, DMA_BUF_SYNC_END);
	close(m->fd);
}

void
verbs_dmabuf_unmap(struct verbs_mr *mr)
{
	if (mr->map)
		close_mapping(&(struct mapping){ .at = mr->map, .len = mr->map_len, .fd = mr->fd });
}

static int
check(uint64_t offset, uint64_t iova, unsigned int access)
{
	uint64_t within = (uint64_t)sysconf(_SC_PAGESIZE) - 1;

	return (access & ~DMABUF_ACCESS) || (offset & within) != (iova & within) ? -EINVAL : 0;
}

struct ibv_mr *
plx_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	struct mapping m = { .fd = -1 };
	struct ibv_mr *mr;
	int err = check(offset, iova, (unsigned int)access);

	if (!err)
		err = open_mapping(&m, fd, offset, length, access & IBV_ACCESS_LOCAL_WRITE);
	if (err) {
		errno = -err;
		return NULL;
	}
	mr = verbs_mr_register(pd, &(struct ctl_reg_mr){
		.pd = pd->handle,
		.access = (unsigned int)access,
		.addr = (uintptr_t)m.at + m.skip,
		.length = length,
		.iova = iova,
		.kind = CTL_MAPPED,
	}, NULL, length);
	if (!mr) {
		err = errno;
		close_mapping(&m);
		errno = err;
		return NULL;
	}
	verbs_mr_of(mr)->map = m.at;
	verbs_mr_of(mr)->map_len = m.len;
	verbs_mr_of(mr)->fd = m.fd;
	return mr;
}

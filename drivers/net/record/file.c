/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How do blocks get into the file, and what when they do not? Called by the record driver.
 *
 * The one line that is logged on the owning core is the one that says why the recording ends.
 */
#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "pcapng.h"
#include "port/port_driver.h"

/* The kernel kills who exceeds it. */
static uint64_t
size_limit(void)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_FSIZE, &r) != 0 || r.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return r.rlim_cur;
}

/* All of it, or how much the file took, with errno. */
static size_t
write_all(const struct rec_file *f)
{
	uint64_t room = f->limit - f->written;
	size_t done = 0, len = room < f->used ? (size_t)room : f->used;

	while (done < len) {
		ssize_t n = write(f->fd, f->buf + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return done;
		done += (size_t)n;
	}
	errno = len < f->used ? EFBIG : 0;
	return done;
}

/* Also shows at once whether there is room at all. */
static int
begin(struct rec_file *f, const char *iface, char *why, size_t why_len)
{
	f->used = pcapng_head(f->buf, "Pollux", iface);
	if (write_all(f) != f->used) {
		int ret = -errno;

		snprintf(why, why_len, "record: %s: %s", f->name, strerror(-ret));
		return ret;
	}
	f->written = f->used;
	f->used = 0;
	return 0;
}

int
rec_file_open(struct rec_file *f, const char *name, const char *iface, char *why, size_t why_len)
{
	int ret;

	memset(f, 0, sizeof(*f));
	f->name = name;
	f->limit = size_limit();
	f->fd = port_record_create(name, why, why_len);
	if (f->fd < 0)
		return f->fd;
	f->buf = malloc(FILE_BUF);
	ret = f->buf ? begin(f, iface, why, why_len) : -ENOMEM;
	if (ret == 0)
		return 0;
	if (!f->buf)
		snprintf(why, why_len, "record: out of memory");
	free(f->buf);
	close(f->fd);
	return ret;
}

static void
stop(struct rec_file *f, size_t took)
{
	int err = errno;
	size_t whole = pcapng_whole(f->buf, took);

	f->stopped = true;
	f->written += whole;
	if (took != whole && ftruncate(f->fd, (off_t)f->written) != 0)
		err = errno;
	log_line(PLX_LOG_WARN, "record: %s: %s: the recording ends here, with %llu bytes", f->name,
		 strerror(err), (unsigned long long)f->written);
}

void
rec_file_flush(struct rec_file *f)
{
	size_t took;

	if (!f->used || f->stopped)
		return;
	took = write_all(f);
	if (took == f->used)
		f->written += took;
	else
		stop(f, took);
	f->used = 0;
}

bool
rec_file_room(struct rec_file *f, size_t len)
{
	if (FILE_BUF - f->used < len)
		rec_file_flush(f);
	return !f->stopped && FILE_BUF - f->used >= len;
}

void
rec_file_close(struct rec_file *f)
{
	rec_file_flush(f);
	if (close(f->fd) != 0 && !f->stopped)
		log_line(PLX_LOG_WARN, "record: %s: %s: the end may be missing", f->name,
			 strerror(errno));
	free(f->buf);
	f->buf = NULL;
}

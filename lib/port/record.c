/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Can frames be written to this file? Called before a recording begins, and by whoever wants to know
 * that early; control thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "port/spec.h"

static bool
takes_frames(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (S_ISREG(st.st_mode) || S_ISCHR(st.st_mode));
}

int
port_record_create(const char *file, char *why, size_t why_len)
{
	/* non-blocking, for the sake of pipes without a reader */
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
	int ret = fd < 0 ? -errno : 0;

	if (fd >= 0 && takes_frames(fd))
		return fd;
	if (fd >= 0)
		close(fd);
	if (ret == 0 || ret == -EISDIR || ret == -ENXIO) {
		snprintf(why, why_len, "%s is no plain file: give the name of one that may be made or"
			 " overwritten", file);
		return -EINVAL;
	}
	snprintf(why, why_len, "%s cannot be written: %s: choose another file", file, strerror(-ret));
	return ret;
}

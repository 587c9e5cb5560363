/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where do programs look for what the kernel says of a device? Two functions that librdmacm and
 * others take from this library; on application threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "adapt.h"

const char *
ibv_get_sysfs_path(void)
{
	const char *env = secure_getenv("SYSFS_PATH");

	return env && *env ? env : "/sys";
}

/* The file's first `size` bytes as a string without its last newline. Its length, or -1 and errno. */
int
ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[PATH_MAX];
	ssize_t len;
	int fd;

	if (size == 0 || snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path)) {
		errno = EINVAL;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	len = read(fd, buf, size - 1);
	close(fd);
	if (len < 0)
		return -1;
	if (len > 0 && buf[len - 1] == '\n')
		len--;
	buf[len] = '\0';
	return (int)len;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * May a server make its socket at this path, may a client hope to find one? For the drivers of DPDK's
 * that meet their peer at a UNIX socket; before the device is made. Control thread.
 */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ethdev.h"

/* Does a living process have this path? 1, 0, or -errno. A socket of another type is refused in
 * either case, but with another reason; a real call, hung up at once, can end a server of DPDK's. */
static int
is_alive(const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int ret;

	if (fd < 0)
		return -errno;
	memcpy(un.sun_path, path, strnlen(path, sizeof(un.sun_path) - 1));
	ret = connect(fd, (const struct sockaddr *)&un, sizeof(un)) == 0 ? 0 : -errno;
	close(fd);
	if (ret == 0 || ret == -EPROTOTYPE)
		return 1;
	return ret == -ECONNREFUSED ? 0 : ret;
}

/* DPDK would say "Invalid argument", or nothing. */
static int
check_dir(const char *kind, const char *path, bool makes, char *why, size_t why_len)
{
	char copy[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat st;
	const char *dir;

	snprintf(copy, sizeof(copy), "%s", path);
	dir = dirname(copy);
	if (stat(dir, &st) != 0) {
		int ret = -errno;

		snprintf(why, why_len, "%s: directory %s: %s: make it first", kind, dir, strerror(-ret));
		return ret;
	}
	if (!S_ISDIR(st.st_mode)) {
		snprintf(why, why_len, "%s: %s is no directory: choose another path", kind, dir);
		return -ENOTDIR;
	}
	if (access(dir, makes ? W_OK | X_OK : X_OK) == 0)
		return 0;
	snprintf(why, why_len, "%s: directory %s: %s: choose one that you may %s", kind, dir,
		 strerror(EACCES), makes ? "write to" : "enter");
	return -EACCES;
}

/* A server that was killed leaves its socket; one that lives keeps it. */
int
sock_clear(const char *kind, const char *path, char *why, size_t why_len)
{
	struct stat st;
	int ret = check_dir(kind, path, true, why, why_len);

	if (ret != 0)
		return ret;
	if (lstat(path, &st) != 0)
		return 0;
	if (!S_ISSOCK(st.st_mode)) {
		snprintf(why, why_len, "%s: %s exists and is no socket: choose another path", kind,
			 path);
		return -EEXIST;
	}
	ret = is_alive(path);
	if (ret == 1) {
		snprintf(why, why_len, "%s: a server has %s already: make this end the client, or"
			 " choose another path", kind, path);
		return -EADDRINUSE;
	}
	if (ret == 0 && unlink(path) != 0)
		ret = -errno;
	if (ret != 0)
		snprintf(why, why_len, "%s: %s: %s", kind, path, strerror(-ret));
	return ret;
}

int
sock_check(const char *kind, const char *path, bool must_live, char *why, size_t why_len)
{
	int ret = check_dir(kind, path, false, why, why_len);

	if (ret != 0 || !must_live)
		return ret;
	ret = is_alive(path);
	if (ret == 1)
		return 0;
	if (ret == 0)
		ret = -ECONNREFUSED;
	snprintf(why, why_len, "%s: nobody answers at %s (%s): start the other end first", kind, path,
		 strerror(-ret));
	return ret;
}

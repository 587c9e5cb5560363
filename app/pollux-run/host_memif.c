/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Answers: can a memif end be opened at this socket? Called by the check of --port in option.c, on
 * the launcher's only thread. Never connects: a memif server would take that for a peer.
 */
#include "host.h"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* __SO_ACCEPTCON, the flag that /proc/net/unix shows for a socket that listens */
#define UNIX_LISTENS 0x10000ul

/* 1 when a socket of that name listens in this network namespace. */
static int
somebody_listens(const char *name)
{
	FILE *f = fopen("/proc/net/unix", "re");
	char line[512], path[256];
	unsigned long flags;
	int found = 0;

	if (!f)
		return 0;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %*s %*s %lx %*s %*s %*s %255s", &flags, path) == 2 &&
			flags & UNIX_LISTENS && !strcmp(path, name);
	fclose(f);
	return found;
}

static int
check_directory(const struct port_memif *memif, struct why *w)
{
	char copy[sizeof(memif->socket)];
	const char *dir;
	struct stat st;

	strcpy(copy, memif->socket);
	dir = dirname(copy);
	if (stat(dir, &st))
		return why(w, "directory %s: %s; make it first", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return why(w, "%s is no directory; choose another socket path", dir);
	if (access(dir, memif->server ? W_OK | X_OK : X_OK))
		return why(w, "directory %s: %s; choose one that you may %s", dir, strerror(errno),
			   memif->server ? "write to" : "enter");
	return 0;
}

static int
check_existing(const struct port_memif *memif, struct why *w)
{
	struct stat st;

	if (lstat(memif->socket, &st))
		return errno == ENOENT ? 0 : why(w, "%s: %s", memif->socket, strerror(errno));
	if (!S_ISSOCK(st.st_mode))
		return why(w, "%s exists and is no socket; choose another path", memif->socket);
	if (!memif->server && access(memif->socket, W_OK))
		return why(w, "%s: %s; run as the user that started the server", memif->socket,
			   strerror(errno));
	return 0;
}

int
host_memif(const struct port_memif *memif, struct why *w)
{
	const char *at = memif->abstract ? "@" : "";
	char name[sizeof(memif->socket) + 1];

	if (!memif->abstract) {
		int rc = check_directory(memif, w);

		if (!rc)
			rc = check_existing(memif, w);
		if (rc)
			return rc;
	}
	snprintf(name, sizeof(name), "%s%s", at, memif->socket);
	if (memif->server && somebody_listens(name))
		return why(w, "a server has %s already: make this end the client, or choose "
			   "another socket", name);
	return 0;
}

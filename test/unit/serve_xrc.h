/* SPDX-License-Identifier: BSD-3-Clause */
/* Domains of XRC, for the tests of a whole stack. */
#ifndef UNIT_SERVE_XRC_H
#define UNIT_SERVE_XRC_H

#include <fcntl.h>

#include "serve_fixture.h"

#define MAKE O_CREAT
#define MAKE_NEW (O_CREAT | O_EXCL)

static int
open_xrcd(const struct ctl_client *cl, int fd, int oflags, uint32_t *xrcd)
{
	struct ctl_xrcd m = { .fd = fd, .oflags = oflags };
	int rc = local->call(cl->handle, CTL_OPEN_XRCD, &m);

	*xrcd = m.xrcd;
	return rc;
}

static int
close_xrcd(const struct ctl_client *cl, uint32_t xrcd)
{
	struct ctl_xrcd m = { .xrcd = xrcd };

	return local->call(cl->handle, CTL_CLOSE_XRCD, &m);
}

/* A file without a name; its inode's number may be another file's as soon as nobody has it open. */
static int
some_file(void)
{
	char name[] = "/tmp/pollux-xrcd-XXXXXX";
	int fd = mkstemp(name);

	if (fd >= 0)
		unlink(name);
	return fd;
}

#endif

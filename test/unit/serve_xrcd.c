/* SPDX-License-Identifier: BSD-3-Clause */
/* XRC domains of a whole stack: who finds which, and when they end. */
#include <sys/stat.h>

#include "serve_xrc.h"

static void
serve_open_xrcd__flags(void)
{
	uint32_t a, b;
	int fd = some_file();

	CHECK(fd >= 0);
	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(open_xrcd(&w.cl, fd, 0, &a), -EAGAIN);
	CHECK_EQ(open_xrcd(&w.cl, fd, O_EXCL, &a), -EAGAIN);
	CHECK_EQ(open_xrcd(&w.cl, fd, MAKE_NEW, &a), 0);
	CHECK_EQ(open_xrcd(&w.cl, fd, MAKE_NEW, &b), -EINVAL);
	CHECK_EQ(open_xrcd(&w.cl, fd, 0, &b), 0);
	CHECK(a && b && a != b);
	CHECK_EQ(close_xrcd(&w.cl, a), 0);
	CHECK_EQ(close_xrcd(&w.cl, a), -EINVAL);
	CHECK_EQ(open_xrcd(&w.cl, fd, MAKE_NEW, &a), -EINVAL);	/* the other has it */
	CHECK_EQ(close_xrcd(&w.cl, b), 0);
	CHECK_EQ(open_xrcd(&w.cl, fd, 0, &a), -EAGAIN);	/* gone with the last */
	CHECK_EQ(open_xrcd(&w.cl, fd, MAKE, &a), 0);
	close(fd);
	CHECK_EQ(open_xrcd(&w.cl, fd, MAKE, &b), -EBADF);
	CHECK_EQ(open_xrcd(&w.cl, -2, MAKE, &b), -EBADF);
	CHECK_EQ(open_xrcd(&w.cl, -1, MAKE, &b), 0);
	CHECK_EQ(close_xrcd(&w.cl, 0), -EINVAL);
	CHECK_EQ(close_xrcd(&w.cl, 1000), -EINVAL);
	CHECK_EQ(end_world(), 0);	/* and a is reclaimed */
}

/* A file that is gone from its folder still names its domain, and no other file gets its number. */
static void
serve_open_xrcd__holds_the_file(void)
{
	uint32_t xrcd[2];
	struct stat st[2];
	int fd = some_file();

	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(open_xrcd(&w.cl, fd, MAKE, &xrcd[0]), 0);
	fstat(fd, &st[0]);
	close(fd);
	for (int i = 0; i < 100; i++) {
		fd = some_file();
		fstat(fd, &st[1]);
		CHECK(st[0].st_dev != st[1].st_dev || st[0].st_ino != st[1].st_ino);
		CHECK_EQ(open_xrcd(&w.cl, fd, 0, &xrcd[1]), -EAGAIN);
		close(fd);
	}
	CHECK_EQ(end_world(), 0);
}

/* Two contexts share a domain by a file; one's handle means nothing to the other. */
static void
serve_open_xrcd__of_two_contexts(void)
{
	struct ctl_client other;
	uint32_t a, b;
	int fd = some_file();

	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(local->open(0, CTL_ABI_VERSION, &other), 0);
	CHECK_EQ(open_xrcd(&w.cl, fd, MAKE_NEW, &a), 0);
	CHECK_EQ(open_xrcd(&other, fd, 0, &b), 0);
	CHECK_EQ(close_xrcd(&other, a), -EINVAL);
	CHECK_EQ(close_xrcd(&w.cl, b), -EINVAL);
	local->close(&other);
	CHECK_EQ(open_xrcd(&w.cl, fd, MAKE_NEW, &b), -EINVAL);
	CHECK_EQ(close_xrcd(&w.cl, a), 0);
	CHECK_EQ(open_xrcd(&w.cl, fd, MAKE_NEW, &b), 0);
	close(fd);
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(serve_open_xrcd__flags),
	CHECK_CASE(serve_open_xrcd__holds_the_file),
	CHECK_CASE(serve_open_xrcd__of_two_contexts),
};

CHECK_MAIN(cases)

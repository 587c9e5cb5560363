/* SPDX-License-Identifier: BSD-3-Clause */
/* What a verb answered, in one form whatever its own is; for tables of what is refused. */
#ifndef UNIT_SERVE_REFUSED_H
#define UNIT_SERVE_REFUSED_H

#include "serve_verbs.h"

/* Of a verb that makes something. */
static inline int
made(const void *object)
{
	return object ? 0 : errno;
}

/* Of a verb that returns -1 and sets errno. */
static inline int
minus(int rc)
{
	return rc == -1 ? errno : rc == 0 ? 0 : -rc;
}

static inline void
refused(const char *what, int rc, int want)
{
	if (rc != want)
		printf("%s: %d, not %d\n", what, rc, want);
	CHECK(rc == want);
}

/* Does the call of each row X(what, the call, errno) of a list. */
#define REFUSED_TRY(what, call, want) refused(what, call, want);

/* One write, as proof that all that it needs is whole. */
static inline bool
whole(void)
{
	struct ibv_wc wc = { 0 };

	return post_write(v.a, 42) == 0 && poll_one(v.cq, &wc) && wc.wr_id == 42 && !wc.status;
}

#endif

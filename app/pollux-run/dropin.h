/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef POLLUX_RUN_DROPIN_H
#define POLLUX_RUN_DROPIN_H

#include <limits.h>
#include <stddef.h>

#include "why.h"

/*
 * The directory of the drop-in libibverbs.so.1 that belongs to the launcher `exe`: beside it in an
 * installed tree, or in the build tree that it was built in. 0, or -EINVAL with the reason.
 */
int dropin_find(const char *exe, char dir[PATH_MAX], struct why *w);
/* Puts `dir`, and the one above it, in front of LD_LIBRARY_PATH and keeps what stood there. 0, or
 * -EINVAL. */
int dropin_prefer(const char *dir, struct why *w);

#endif

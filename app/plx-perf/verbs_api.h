/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which verbs this program is built on. The source uses the standard names alone: over
 * <pollux/verbs.h> they are inline functions; with PLX_PERF_PLAIN they are those of whatever
 * libibverbs.so.1 is found at run time, the distribution's or the drop-in.
 */
#ifndef PLX_PERF_VERBS_API_H
#define PLX_PERF_VERBS_API_H

#ifdef PLX_PERF_PLAIN
#include <infiniband/verbs.h>
#define VERBS_LAYER "libibverbs"
#else
#include <pollux/verbs.h>
#define VERBS_LAYER "pollux inline"
#endif

#endif

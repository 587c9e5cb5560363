/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stands before rdma-core's header of the same name on the include path that pollux-verbs.pc gives,
 * so that verbs source gets Pollux's inline data path unchanged.
 */
#ifndef POLLUX_STD_INFINIBAND_VERBS_H
#define POLLUX_STD_INFINIBAND_VERBS_H

#pragma GCC system_header /* #include_next is GNU C */

#include_next <infiniband/verbs.h>
#include <pollux/verbs.h>

#endif

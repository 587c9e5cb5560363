/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What registering and changing a region ask alike. Private to lib/serve; control threads, under the stack's
 * lock.
 */
#ifndef SERVE_MEMORY_H
#define SERVE_MEMORY_H

#include "serve/object.h"

enum access_flag {		/* the other values of enum ibv_access_flags */
	ACCESS_ON_DEMAND = 1 << 6,
	ACCESS_HUGETLB = 1 << 7,
};
#define ACCESS_OPTIONAL 0x3ff00000u	/* a device may ignore these */
#define ACCESS_RIGHTS \
	(MEM_LOCAL_WRITE | MEM_REMOTE_WRITE | MEM_REMOTE_READ | MEM_REMOTE_ATOMIC | MEM_FLUSH_GLOBAL | \
	 MEM_MW_BIND | MEM_ZERO_BASED)

/* May a region of that kind have this `access`? 0, -EINVAL, -EOPNOTSUPP. */
int memory_check_access(enum ctl_region kind, uint32_t access);

/* What is not reached by following a pointer. */
enum mem_result memory_outside(enum ctl_region kind, uint32_t access);

/* Is that memory there, as the region describes it? 0, -EINVAL (a range that is none), -EFAULT. */
int memory_check(enum ctl_region kind, const struct mr *mr);

#endif

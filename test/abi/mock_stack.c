/* SPDX-License-Identifier: BSD-3-Clause */
/* The mock of the unit tests as a stack that libpollux loads (POLLUX_STACK_LIB). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "../unit/verbs_mock.h"

int
__plx_stack_start_env(char *why, size_t why_len)
{
	if (getenv("POLLUX_MOCK_FAIL")) {
		snprintf(why, why_len, "the mock was told to fail: unset POLLUX_MOCK_FAIL");
		return -ENXIO;
	}
	mock_start(false);
	return 0;
}

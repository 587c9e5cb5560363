/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pollux and another provider in one program: with PLX_NO_STANDARD_NAMES an ibv_ name is rdma-core's
 * and a plx_ name is ours. A link is the test; an object file must refer to both.
 */
#define PLX_NO_STANDARD_NAMES
#include <pollux/verbs.h>

int main(void);

int
main(void)
{
	int n = -1;

	plx_free_device_list(plx_get_device_list(&n));
	ibv_free_device_list(ibv_get_device_list(&n));
	return n < 0;
}

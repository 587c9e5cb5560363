/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program for dpdk_port.py that asks for verbs devices as DPDK's Mellanox drivers do: with EAL
 * running in the process when its argument is "dpdk", else without.
 */
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>

#include <infiniband/verbs.h>

int
main(int argc, char **argv)
{
	char line[] = "dpdk_port\0--no-huge\0--no-shconf\0--no-pci\0--no-telemetry\0-m16\0--log-level=4";
	char *eal[8], *word = line;
	int words = 0;
	struct ibv_device **list;
	int n = 0;

	for (; word < line + sizeof(line); word += strlen(word) + 1)
		eal[words++] = word;
	if (argc > 1 && !strcmp(argv[1], "dpdk") && rte_eal_init(words, eal) < 0)
		return 1;
	for (int i = 0; i < 2; i++) {
		list = ibv_get_device_list(&n);
		if (!list)
			return 2;
		ibv_free_device_list(list);
	}
	printf("%d devices\n", n);
	return 0;
}

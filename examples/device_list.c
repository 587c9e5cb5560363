/* SPDX-License-Identifier: BSD-3-Clause */
/* Which devices are there, and what are their GUIDs? The output is that of rdma-core's ibv_devices. */
#include <endian.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <infiniband/verbs.h>

int
main(int argc, char **argv)
{
	struct ibv_device **list;
	int n;

	if (argc > 1) {
		bool help = strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0;

		fprintf(help ? stdout : stderr, "Usage: %s             print the devices and their GUIDs\n",
			argv[0]);
		return !help;
	}
	list = ibv_get_device_list(&n);
	if (!list) {
		perror("Failed to get IB devices list");
		return 1;
	}
	printf("    %-16s\t   node GUID\n    %-16s\t----------------\n", "device", "------");
	for (int i = 0; i < n; i++)
		printf("    %-16s\t%016" PRIx64 "\n", ibv_get_device_name(list[i]),
		       (uint64_t)be64toh(ibv_get_device_guid(list[i])));
	ibv_free_device_list(list);
	return 0;
}

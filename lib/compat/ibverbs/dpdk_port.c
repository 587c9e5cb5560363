/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a DPDK program lose a port of its own to this library? DPDK's drivers for Mellanox NICs find
 * their device through libibverbs, and here they find Pollux's. Called by ibv_get_device_list, on the
 * program's thread.
 */
#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "adapt.h"

/* Kernel drivers whose devices DPDK shares with the kernel through libibverbs. */
static const char *const bifurcated[] = { "mlx5_core", "mlx4_core" };

static bool
has_device(const char *driver)
{
	char path[64];
	struct dirent *entry;
	bool found = false;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s", driver);
	dir = opendir(path);
	while (dir && !found && (entry = readdir(dir)))
		found = strchr(entry->d_name, ':') != NULL;	/* 0000:01:00.0 */
	if (dir)
		closedir(dir);
	return found;
}

static bool
is_eal_thread(const char *tid)
{
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm", tid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(name, sizeof(name), f))
		name[0] = '\0';
	fclose(f);
	/* the interrupt thread: before DPDK 23.11, and since */
	return !strncmp(name, "eal-intr-thread", 15) || !strncmp(name, "dpdk-intr", 9);
}

/* Pollux's own EAL does not run before the first list of devices. */
static bool
runs_dpdk(void)
{
	struct dirent *entry;
	bool found = false;
	DIR *dir = opendir("/proc/self/task");

	while (dir && !found && (entry = readdir(dir)))
		found = is_eal_thread(entry->d_name);
	if (dir)
		closedir(dir);
	return found;
}

static void
warn(void)
{
	for (size_t i = 0; i < sizeof(bifurcated) / sizeof(bifurcated[0]); i++)
		if (has_device(bifurcated[i]) && runs_dpdk()) {
			fprintf(stderr, "pollux: this DPDK program sees Pollux's libibverbs instead of "
				"the system's, so DPDK finds no port on this machine's %s devices: run it "
				"without pollux-run and link it with libpollux-stack\n", bifurcated[i]);
			return;
		}
}

struct ibv_device **
ibv_get_device_list(int *n)
{
	static atomic_flag looked = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&looked))
		warn();
	return plx_get_device_list(n);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A network card on the PCI bus, or a function of one, that the kernel gave up for DPDK. Only that
 * device is shown to EAL. Control thread.
 */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ethdev.h"

#define ADDRESS_LEN 24
#define LINK_LOOK_US 50000u
#define LINK_LASTS 6u		/* looks at a link that is there to stay */
#define LINK_LOOKS 180u		/* 9 s */
#define PCI_RING 1024u
#define PCI_MBUFS (2 * PCI_RING + 1024u)

/* Drivers of the kernel that hand a device to a program. */
static const char *const user_drivers[] = { "vfio-pci", "uio_pci_generic", "igb_uio" };

/* "0000:01:00.0", also from "01:00.0". */
static void
full_address(const char *args, char out[ADDRESS_LEN])
{
	snprintf(out, ADDRESS_LEN, "%s%.12s", strchr(args, ':') == strrchr(args, ':') ? "0000:" : "", args);
}

static int
check_device(const char *address, char *why, size_t why_len)
{
	char path[64], target[PATH_MAX];
	const char *driver;
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", address);
	if (access(path, F_OK) != 0) {
		snprintf(why, why_len, "pci: there is no device %s here: `lspci -D` lists them", address);
		return -ENODEV;
	}
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", address);
	n = readlink(path, target, sizeof(target) - 1);
	target[n < 0 ? 0 : n] = '\0';
	driver = n < 0 ? "no driver" : basename(target);
	for (size_t i = 0; i < sizeof(user_drivers) / sizeof(user_drivers[0]); i++)
		if (strcmp(driver, user_drivers[i]) == 0)
			return 0;
	snprintf(why, why_len, "pci: %s belongs to %s of the kernel: `dpdk-devbind.py -b vfio-pci %s` gives"
		 " it to DPDK", address, driver, address);
	return -EBUSY;
}

static int
pci_eal_args(const struct port_conf *conf, char *out, size_t out_len, char *why, size_t why_len)
{
	char address[ADDRESS_LEN];
	int ret;

	full_address(conf->args, address);
	ret = check_device(address, why, why_len);
	if (ret == 0 && snprintf(out, out_len, PORT_EAL_PCI "%s", address) >= (int)out_len)
		ret = -ENAMETOOLONG;
	return ret;
}

/* A card agrees with its neighbour first, loses the link once more meanwhile (e1000e), and programs look
 * at the state of a port once: so the link must last. Without one the port opens all the same. */
static void
await_link(struct port *p)
{
	for (unsigned int looks = 0, up = 0; looks < LINK_LOOKS && up < LINK_LASTS; looks++) {
		up = ethdev_link_up(p) ? up + 1 : 0;
		usleep(LINK_LOOK_US);
	}
}

static int
pci_open(struct port *p, const struct port_conf *conf, char *why, size_t why_len)
{
	char address[ADDRESS_LEN];
	const struct ethdev_conf eth = {
		.devargs = address,
		.ip_mtu = conf->ip_mtu,
		.rx_ring = PCI_RING,
		.tx_ring = PCI_RING,
		.num_mbufs = PCI_MBUFS + conf->more_mbufs,
		.foreign = ethdev_mac_given(conf->mac),
		.round_room = true,
	};
	int ret;

	full_address(conf->args, address);
	ret = ethdev_open(p, &eth, why, why_len);
	p->carrier = true;
	if (ret == 0)
		await_link(p);
	if (ret == 0 && ethdev_mac_given(conf->mac))
		memcpy(p->mac, conf->mac, 6);
	return ret;
}

const struct port_driver drv_pci = {
	.name = "pci",
	.open = pci_open,
	.close = ethdev_close,
	.rx = ethdev_rx,
	.tx = ethdev_tx,
	.link_up = ethdev_link_up,
	.wait_fd = ethdev_wait_fd,
	.wait_clear = ethdev_wait_clear,
	.eal_args = pci_eal_args,
};

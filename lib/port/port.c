/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which driver has this port? Finds it in the table that the build writes, opens and closes ports.
 * Called by the engine; control thread.
 */
#include "port/port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "port/spec.h"

const struct port_driver *
port_driver_find(const char *name)
{
	for (const struct port_driver *const *d = port_drivers; *d; d++)
		if (strcmp((*d)->name, name) == 0)
			return *d;
	return NULL;
}

int
port_open(struct port *p, const struct port_conf *conf, char *why, size_t why_len)
{
	const struct port_driver *drv = port_driver_find(conf->driver);
	int ret;

	memset(p, 0, sizeof(*p));
	p->numa = -1;
	if (!drv) {
		snprintf(why, why_len, "port %s: its driver is not built in", conf->spec);
		return -EOPNOTSUPP;
	}
	if (conf->ip_mtu && (conf->ip_mtu < PORT_MTU_MIN || conf->ip_mtu > PORT_MTU_MAX)) {
		snprintf(why, why_len, "the MTU %u is not between %u and %u", conf->ip_mtu,
			 PORT_MTU_MIN, PORT_MTU_MAX);
		return -EINVAL;
	}
	if (conf->num_queues > 1) {
		snprintf(why, why_len, "port %s: more than one queue is not in this version",
			 conf->spec);
		return -EOPNOTSUPP;
	}
	snprintf(p->name, sizeof(p->name), "%s", conf->spec);
	ret = drv->open(p, conf, why, why_len);
	if (ret == 0)
		p->drv = drv;
	return ret;
}

void
port_close(struct port *p)
{
	if (!p->drv)
		return;
	p->drv->close(p);
	p->drv = NULL;
}

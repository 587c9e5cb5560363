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
	if (!drv || !drv->open) {
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

int
port_stack(struct port *upper, const char *driver, struct port *lower, const char *args, char *why,
	   size_t why_len)
{
	const struct port_driver *drv = port_driver_find(driver);
	int ret;

	memset(upper, 0, sizeof(*upper));
	if (!drv || !drv->stack) {
		snprintf(why, why_len, "%s: nothing of that name stands on a port in this build", driver);
		return -EOPNOTSUPP;
	}
	*upper = *lower;
	upper->priv = NULL;
	upper->lower = lower;
	upper->drv = drv;
	ret = drv->stack(upper, args, why, why_len);
	if (ret != 0)
		upper->drv = NULL;
	return ret;
}

void
port_close(struct port *p)
{
	while (p && p->drv) {
		struct port *lower = p->lower;

		p->drv->close(p);
		p->drv = NULL;
		p = lower;
	}
}

bool
port_lower_link_up(struct port *p)
{
	return p->lower->drv->link_up(p->lower);
}

int
port_lower_wait_fd(struct port *p)
{
	struct port *lower = p->lower;

	return lower->drv->wait_fd ? lower->drv->wait_fd(lower) : -1;
}

bool
port_lower_wait_arm(struct port *p, bool on)
{
	struct port *lower = p->lower;

	return !lower->drv->wait_arm || lower->drv->wait_arm(lower, on);
}

void
port_lower_wait_clear(struct port *p)
{
	struct port *lower = p->lower;

	if (lower->drv->wait_clear)
		lower->drv->wait_clear(lower);
}

uint64_t
port_lower_due(struct port *p)
{
	struct port *lower = p->lower;

	return lower->drv->due ? lower->drv->due(lower) : UINT64_MAX;
}

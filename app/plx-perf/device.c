/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers: which device, port and GID does this end use? Called once, before the peer is met. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conn.h"
#include "say.h"

#define PORT 1
#define GIDS_LOOKED_AT 256

static struct ibv_device *
find(struct ibv_device **list, int n, const char *name)
{
	for (int i = 0; i < n; i++) {
		if (!name || !strcmp(ibv_get_device_name(list[i]), name))
			return list[i];
	}
	return NULL;
}

static int
open_one(struct device *d, const char *name)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n), *found;

	if (!list || !n) {
		int err = errno;

		if (list)
			ibv_free_device_list(list);
		return fail("there is no RDMA device%s%s; run it as `pollux-run --port ... -- plx-perf "
			    "...`, or set POLLUX_PORT", list ? "" : ": ", list ? "" : strerror(err));
	}
	found = find(list, n, name);
	if (found) {
		snprintf(d->name, sizeof(d->name), "%s", ibv_get_device_name(found));
		d->ctx = ibv_open_device(found);
	}
	ibv_free_device_list(list);
	if (!found)
		return fail("there is no RDMA device %s; leave --device out to take the first", name);
	if (!d->ctx)
		return fail("cannot open %s: %s", d->name, strerror(errno));
	return 0;
}

static int
is_zero(const union ibv_gid *gid)
{
	return !gid->global.subnet_prefix && !gid->global.interface_id;
}

static int
is_ipv4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid->raw, mapped, sizeof(mapped));
}

/* The first IPv4-mapped GID; without one, GID 0. */
static uint32_t
choose_gid(struct device *d)
{
	int n = d->port.gid_tbl_len < GIDS_LOOKED_AT ? d->port.gid_tbl_len : GIDS_LOOKED_AT;

	for (int i = 0; i < n; i++) {
		if (!ibv_query_gid(d->ctx, PORT, i, &d->gid) && is_ipv4(&d->gid))
			return (uint32_t)i;
	}
	return 0;
}

int
device_open(struct device *d, const char *name, uint64_t gid_index)
{
	int rc;

	memset(d, 0, sizeof(*d));
	if (open_one(d, name))
		return -1;
	rc = ibv_query_device(d->ctx, &d->attr);
	if (!rc)
		rc = ibv_query_port(d->ctx, PORT, &d->port);
	if (rc)
		return fail("cannot query %s: %s", d->name, strerror(rc));
	d->gid_index = gid_index == TEST_AUTO ? choose_gid(d) : (uint32_t)gid_index;
	if (ibv_query_gid(d->ctx, PORT, (int)d->gid_index, &d->gid) || is_zero(&d->gid))
		return fail("%s has no GID %u; `ibv_devinfo -v` lists them", d->name, d->gid_index);
	return 0;
}

uint8_t
device_rd_atom(const struct device *d)
{
	int n = d->attr.max_qp_rd_atom;

	return (uint8_t)(n < 0 ? 0 : n > 128 ? 128 : n);
}

void
device_close(struct device *d)
{
	if (d->ctx)
		ibv_close_device(d->ctx);
	d->ctx = NULL;
}

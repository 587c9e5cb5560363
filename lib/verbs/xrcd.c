/* SPDX-License-Identifier: BSD-3-Clause */
/* Which shared queues may a peer name? XRC domains; control verbs, on application threads. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/verbs_priv.h"

#define XRCD_ATTR (IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS)

static int
attr_check(const struct ibv_xrcd_init_attr *attr)
{
	if (attr->comp_mask & ~(uint32_t)XRCD_ATTR)
		return -EOPNOTSUPP;
	return attr->comp_mask == XRCD_ATTR ? 0 : -EINVAL;
}

struct ibv_xrcd *
plx_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct ctl_xrcd msg = { .fd = attr->fd, .oflags = attr->oflags };
	struct verbs_xrcd *xrcd = calloc(1, sizeof(*xrcd));
	int err = xrcd ? attr_check(attr) : -ENOMEM;

	if (!err)
		err = verbs_call(context, CTL_OPEN_XRCD, &msg);
	if (err) {
		free(xrcd);
		errno = -err;
		return NULL;
	}
	xrcd->xrcd.context = context;
	xrcd->handle = msg.xrcd;
	return &xrcd->xrcd;
}

int
plx_close_xrcd(struct ibv_xrcd *ibxrcd)
{
	struct verbs_xrcd *xrcd = verbs_xrcd_of(ibxrcd);
	struct ctl_xrcd msg = { .xrcd = xrcd->handle };
	int err = verbs_call(ibxrcd->context, CTL_CLOSE_XRCD, &msg);

	if (err)
		return -err;
	free(xrcd);
	return 0;
}

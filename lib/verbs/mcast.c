/* SPDX-License-Identifier: BSD-3-Clause */
/* Which groups does a QP hear? Control verbs, on application threads. */
#include <errno.h>
#include <string.h>

#include "verbs/verbs_priv.h"

static int
mcast_call(struct ibv_qp *qp, enum ctl_msg_type type, const union ibv_gid *gid)
{
	struct ctl_mcast msg = { .qp = qp->handle };

	if (qp->qp_type != IBV_QPT_UD)
		return EINVAL;
	memcpy(msg.gid, gid->raw, 16);
	return -verbs_call(qp->context, type, &msg);
}

int
plx_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;	/* Ethernet has none */
	return mcast_call(qp, CTL_ATTACH_MCAST, gid);
}

int
plx_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
	(void)lid;
	return mcast_call(qp, CTL_DETACH_MCAST, gid);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What remains when a client is gone? Nothing: users go before what they use. Control threads, under
 * the stack's lock.
 */
#include "serve/xrcd.h"

#define RECLAIM(list, type, drop) \
	do { \
		struct list_node *n; \
		while ((n = list_first(&(list)))) \
			drop(container_of(n, type, node)); \
	} while (0)

void
client_reclaim(struct client *cl)
{
	RECLAIM(cl->qps, struct qpair, qp_free);
	RECLAIM(cl->srqs, struct squeue, srq_free);
	RECLAIM(cl->xrcds, struct xrcd_open, xrcd_free);
	RECLAIM(cl->cqs, struct cqueue, cq_free);
	RECLAIM(cl->channels, struct channel, channel_free);
	RECLAIM(cl->ahs, struct ahandle, ah_free);
	RECLAIM(cl->windows, struct window, window_free);
	RECLAIM(cl->regions, struct region, region_free);
	RECLAIM(cl->dms, struct dmem, dm_free);
	RECLAIM(cl->pds, struct pd, pd_free);
}

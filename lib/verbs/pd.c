/* SPDX-License-Identifier: BSD-3-Clause */
/* What belongs together? Protection domains; control verbs, on application threads. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/verbs_priv.h"

struct ibv_pd *
plx_alloc_pd(struct ibv_context *context)
{
	struct verbs_pd *pd = calloc(1, sizeof(*pd));
	struct ctl_pd msg = { 0 };
	int err = pd ? verbs_call(context, CTL_ALLOC_PD, &msg) : -ENOMEM;

	if (err) {
		free(pd);
		errno = -err;
		return NULL;
	}
	pd->pd.context = context;
	pd->pd.handle = msg.pd;
	return &pd->pd;
}

int
plx_dealloc_pd(struct ibv_pd *pd)
{
	struct ctl_pd msg = { .pd = pd->handle };
	int err = verbs_call(pd->context, CTL_DEALLOC_PD, &msg);

	if (!err)
		free(pd);
	return -err;
}

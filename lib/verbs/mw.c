/* SPDX-License-Identifier: BSD-3-Clause */
/* Which part of a region may be reached, for how long? Memory windows; on application threads. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/verbs_priv.h"

struct ibv_mw *
plx_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ctl_mw msg = { .pd = pd->handle, .type = type };
	struct ibv_mw *mw = calloc(1, sizeof(*mw));
	int err = mw ? verbs_call(pd->context, CTL_ALLOC_MW, &msg) : -ENOMEM;

	if (err) {
		free(mw);
		errno = -err;
		return NULL;
	}
	*mw = (struct ibv_mw){
		.context = pd->context,
		.pd = pd,
		.rkey = msg.rkey,
		.handle = msg.mw,
		.type = type,
	};
	verbs_pd_hold(pd);	/* a parent domain, of which the stack knows nothing, must stay too */
	return mw;
}

int
plx_dealloc_mw(struct ibv_mw *mw)
{
	struct ctl_mw msg = { .mw = mw->handle };
	int err = verbs_call(mw->context, CTL_DEALLOC_MW, &msg);

	if (err)
		return -err;
	verbs_pd_let_go(mw->pd);
	free(mw);
	return 0;
}

static int
bind_check(struct plx_qp *qp, const struct ibv_mw *mw, const struct ibv_mw_bind_info *info)
{
	int err = __plx_send_allowed(qp);

	if (err)
		return err;
	if (mw->type != IBV_MW_TYPE_1 || !(qp->local_opcodes & __PLX_OP(IBV_WR_BIND_MW)))
		return EINVAL;
	if (!info->mr)
		return info->addr || info->length ? EINVAL : 0;
	return mw->pd->handle == info->mr->pd->handle ? 0 : EPERM;
}

/* On the data path: a window of type 1 is bound as one of type 2, but its next key is for us to choose. */
int
plx_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct plx_qp *qp = __plx_qp_of(ibqp);
	int err = bind_check(qp, mw, &bind->bind_info), asleep = 0;
	enum plx_drive how = PLX_DRIVE_POST;
	struct plx_sq_wqe *wqe;
	uint32_t tail, rkey;

	if (err)
		return err;
	__plx_wq_lock(&qp->sq);
	tail = qp->sq.tail;
	if (__plx_wq_full(&qp->sq, tail)) {
		err = ENOMEM;
	} else {
		rkey = ibv_inc_rkey(mw->rkey);
		wqe = __plx_local_begin(qp, tail, bind->wr_id, IBV_WR_BIND_MW, bind->send_flags);
		__plx_bind_put(wqe, rkey, &bind->bind_info);
		mw->rkey = rkey;
		asleep = __plx_send_publish(qp, tail + 1, &how);
	}
	__plx_wq_unlock(&qp->sq);
	if (!err)
		__plx_kick(qp->core, qp->sq.ctl, asleep, how);
	return err;
}

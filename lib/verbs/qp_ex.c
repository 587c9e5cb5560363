/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may be asked of a queue pair beyond ibv_create_qp()? Extended attributes, the work request builder,
 * the order of its data; control verbs, on application threads.
 */
#include <errno.h>

#include "verbs/verbs_priv.h"

/* The bits of send_ops_flags have the names of the opcodes. */
#define SEND_OPS(X) \
	X(RDMA_WRITE) X(RDMA_WRITE_WITH_IMM) X(SEND) X(SEND_WITH_IMM) X(RDMA_READ) X(ATOMIC_CMP_AND_SWP) \
	X(ATOMIC_FETCH_AND_ADD) X(LOCAL_INV) X(BIND_MW) X(SEND_WITH_INV) X(TSO) X(ATOMIC_WRITE)

/* Opcodes of send_ops_flags. 0, or -EOPNOTSUPP: a bit that is none, or that the type does not have. */
static int
ops_wanted(enum ibv_qp_type type, uint64_t flags, uint32_t *opcodes)
{
	uint32_t built = verbs_type_opcodes(type);

	if (built & 1u << IBV_WR_ATOMIC_WRITE)
		built |= 1u << PLX_WR_FLUSH;	/* the builder alone has it: no struct ibv_send_wr does */
	*opcodes = 0;
#define TAKE(name) \
	if (flags & IBV_QP_EX_WITH_##name) \
		*opcodes |= 1u << IBV_WR_##name; \
	flags &= ~(uint64_t)IBV_QP_EX_WITH_##name;
	SEND_OPS(TAKE)
#undef TAKE
	if (flags & PLX_QP_EX_WITH_FLUSH)
		*opcodes |= 1u << PLX_WR_FLUSH;
	flags &= ~(uint64_t)PLX_QP_EX_WITH_FLUSH;
	return flags || (*opcodes & ~built) ? -EOPNOTSUPP : 0;
}

/* An XRC target has a domain and no PD, all others a PD and no domain. */
static int
init_check(struct ibv_context *context, const struct ibv_qp_init_attr_ex *init, uint32_t *opcodes)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
			       IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	uint32_t mask = init->comp_mask;
	bool target = init->qp_type == IBV_QPT_XRC_RECV;

	if ((mask & ~known) || ((mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && init->create_flags) ||
	    ops_wanted(init->qp_type, mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? init->send_ops_flags : 0,
		       opcodes))
		return -EOPNOTSUPP;
	if (target != !!(mask & IBV_QP_INIT_ATTR_XRCD))
		return -EINVAL;
	if (target)
		return init->xrcd && init->xrcd->context == context ? 0 : -EINVAL;
	if (!(mask & IBV_QP_INIT_ATTR_PD) || !init->pd || init->pd->context != context)
		return -EINVAL;
	return 0;
}

static struct ibv_qp *
extended(struct ibv_qp *ibqp, uint32_t opcodes)
{
	struct verbs_qp *qp;

	if (!ibqp)
		return NULL;
	qp = verbs_qp_of(ibqp);
	qp->extended = true;
	qp->pub.wr_opcodes = opcodes;
	verbs_wr_fill(&qp->pub.v.ex);
	return ibqp;
}

struct ibv_qp *
plx_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
	uint32_t opcodes;
	int err = init_check(context, init, &opcodes);
	struct ibv_qp *qp;

	if (err) {
		errno = -err;
		return NULL;
	}
	if (init->qp_type == IBV_QPT_XRC_RECV)
		return verbs_target_create(context, init);
	/* the plain attributes are the beginning of the extended ones */
	qp = plx_create_qp(init->pd, (struct ibv_qp_init_attr *)init);
	return init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ? extended(qp, opcodes) : qp;
}

struct ibv_qp_ex *
plx_qp_to_qp_ex(struct ibv_qp *ibqp)
{
	struct verbs_qp *qp = verbs_qp_of(ibqp);

	return qp->extended ? &qp->pub.v.ex : NULL;
}

/*
 * The last 64 bytes of what a packet brings come after all that stand before them, but those before are
 * copied in no order that anybody promises (mem/place.h): a program may poll the last byte, not any.
 */
int
plx_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* An extended CQ on the mock, for the tests of its poller and of its making. */
#ifndef UNIT_VERBS_CQ_EX_H
#define UNIT_VERBS_CQ_EX_H

#include "check.h"
#include "verbs_world.h"

#define ALL_FLAGS (IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | \
		   IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static struct ibv_poll_cq_attr none;

static inline struct ibv_cq_ex *
new_cq(struct world *w, uint32_t cqe, uint32_t flags)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = cqe, .cq_context = w, .wc_flags = ALL_FLAGS, .flags = flags,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(w->ctx, &init);

	if (!cq)
		abort();
	return cq;
}

static inline void
free_cq(struct ibv_cq_ex *cq)
{
	CHECK_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

#endif

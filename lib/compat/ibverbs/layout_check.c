/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is the ABI of the headers that this is built with the one that unmodified programs were built with?
 * Nothing runs here: a build answers.
 */
#include "adapt.h"

#define SAME(a, b) _Static_assert((a) == (b), #a " is " #b)

#ifdef __x86_64__
SAME(sizeof(struct ibv_device), 664);
SAME(sizeof(struct ibv_context), 328);
SAME(sizeof(struct verbs_context), 648);
SAME(offsetof(struct verbs_context, context), 320);
SAME(offsetof(struct verbs_context, sz), 312);
SAME(sizeof(struct ibv_cq), 128);
SAME(sizeof(struct ibv_cq_ex), 288);
SAME(sizeof(struct ibv_qp), 160);
SAME(sizeof(struct ibv_qp_ex), 352);
SAME(sizeof(struct ibv_srq), 128);
SAME(sizeof(struct ibv_port_attr), 52);
SAME(sizeof(struct ibv_device_attr_ex), 400);
SAME(sizeof(struct ibv_wc), 48);
SAME(sizeof(struct ibv_gid_entry), 32);
#endif

/* programs hold the context, the library finds the rest around it */
SAME(offsetof(struct plx_context, vctx), 0);
_Static_assert(offsetof(struct verbs_context, context) + sizeof(struct ibv_context) ==
	       sizeof(struct verbs_context), "the context is the last field");
/* memory of a QP and a CQ serves both of their forms */
SAME(sizeof(((struct plx_qp *)0)->v), sizeof(struct plx_qp_ex_later));
SAME(offsetof(struct plx_qp_ex_later, wr_flush), sizeof(struct ibv_qp_ex));
SAME(sizeof(((struct plx_cq *)0)->v), sizeof(struct ibv_cq_ex));

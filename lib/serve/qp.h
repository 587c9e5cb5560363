/* SPDX-License-Identifier: BSD-3-Clause */
/* A QP's attributes as messages carry them and as transport takes them. Pure. */
#ifndef SERVE_QP_H
#define SERVE_QP_H

#include "ctl/msg.h"
#include "transport/qp.h"

/* All but the path, which the address vector and lib/net make. */
void attr_to_core(struct qp_attr *to, const struct ctl_qp_attr *from);
void attr_from_core(struct ctl_qp_attr *to, const struct qp_attr *from);

#endif

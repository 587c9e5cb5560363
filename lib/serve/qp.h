/* SPDX-License-Identifier: BSD-3-Clause */
/* QPs: a QP's attributes as messages carry them and as transport takes them, which is pure; and what the
 * making of every kind of QP has in common. Control threads, under the stack's lock. */
#ifndef SERVE_QP_H
#define SERVE_QP_H

#include "serve/object.h"
#include "transport/qp.h"

/* All but the path, which the address vector and lib/net make. */
void attr_to_core(struct qp_attr *to, const struct ctl_qp_attr *from);
void attr_from_core(struct ctl_qp_attr *to, const struct qp_attr *from);

/* qp.c */
/* Zeroed, with the core's half. NULL without memory. */
struct qpair *qp_alloc(void);
/* It has joined no core, or left it. */
void qp_memory_free(struct qpair *q);
/* What the message and the device say: no PD, no queues yet. */
struct qp_conf qp_conf_of(struct stack *s, const struct ctl_create_qp *m);
/* Rings for what the message grants, to the message and to the conf. 0 or -ENOMEM. */
int qp_rings(struct qpair *q, struct ctl_create_qp *m, struct qp_conf *conf);
/* Gives it a number and lets it join its core. 0 or -ENOMEM. */
int qp_number_and_join(struct stack *s, struct qpair *q, struct qp_conf *conf);

/* target.c: CREATE_QP of an XRC target. */
int target_create(struct client *cl, struct ctl_create_qp *m);
/* A client gives its handle back. */
void target_close(struct qpair *handle);

#endif

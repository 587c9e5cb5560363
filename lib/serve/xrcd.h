/* SPDX-License-Identifier: BSD-3-Clause */
/* XRC domains, and what clients hold of them. Under the stack's lock. */
#ifndef SERVE_XRCD_H
#define SERVE_XRCD_H

#include "serve/object.h"

/* A domain. Contexts of one process share it, and so will processes: it belongs to no client. */
struct xrcd {
	struct stack *stack;
	struct list_node node;		/* of the stack's */
	int fd;				/* a file by which it is found, -1: by nothing */
	dev_t dev;
	ino_t ino;
	uint32_t refs;			/* openings, targets and SRQs */
	struct list targets;		/* struct qpair.node: the QPs that requests come in by */
};

/* One opening by a client: what its handle means. */
struct xrcd_open {
	struct client *client;
	struct list_node node;
	uint32_t handle;
	uint32_t users;			/* SRQs, and handles of QPs */
	struct xrcd *xrcd;
};

/* The opening of a handle of msg.h, or NULL. */
struct xrcd_open *xrcd_get(struct client *cl, uint32_t handle);
void xrcd_hold(struct xrcd *d);
/* The last one frees it. */
void xrcd_drop(struct xrcd *d);
/* An SRQ of type XRC joins the domain, whose targets find it from now on. 0, -EINVAL, -ENOMEM. */
int xrcd_join(struct client *cl, struct squeue *s, struct ctl_create_srq *m);
/* It is in no table any more; when this returns no target knows it. */
void xrcd_leave(struct squeue *s);

/* target.c. The SRQ is unpublished: when this returns no core knows it any more. */
void target_forget_srq(struct xrcd *d, struct srq *srq);
/* Nobody uses the opening any more. */
void xrcd_free(struct xrcd_open *o);

#endif

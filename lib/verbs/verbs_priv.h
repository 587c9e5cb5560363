/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's part of each object, behind the part that the inline layer sees. A pointer to the
 * verbs structure is a pointer to the whole.
 */
#ifndef VERBS_PRIV_H
#define VERBS_PRIV_H

#ifndef PLX_NO_STANDARD_NAMES
#define PLX_NO_STANDARD_NAMES	/* here ibv_* is what rdma-core's header says */
#endif

#include <pthread.h>
#include <stdbool.h>

#include <pollux/abi/event.h>
#include <pollux/objects.h>
#include <pollux/verbs.h>

#include "base/list.h"
#include "ctl/backend.h"

struct verbs_device {
	struct ibv_device dev;
	/* Some providers' tools look behind an ibv_device for their own operations: there are none. */
	const void *provider_ops;
	int index;
	uint64_t guid;
};

/*
 * Events that the stack sends over a socket pair, and the end of it that the program may poll. Every
 * reader takes `lock`, so that an event of an object that is gone can be looked at and dropped.
 */
struct verbs_evq {
	int fd;
	size_t size;			/* of a record */
	bool stale;			/* records of destroyed objects may still be queued */
	pthread_mutex_t lock;
	struct ibv_context *context;
	/* Is the record's subject alive? Then, with `out`, counts it as delivered and fills *out. */
	bool (*deliver)(struct ibv_context *context, const void *record, void *out);
};

struct verbs_cq;
struct verbs_srq;

struct verbs_ctx {
	struct plx_context pub;
	const struct ctl_backend *backend;
	struct ctl_client client;
	struct ctl_query_device limits;	/* as the device said at open */
	pthread_mutex_t lock;		/* tables, and the `delivered` counts of objects */
	struct verbs_cq **cq_table;	/* by CQ handle */
	uint32_t cq_table_size;
	struct verbs_srq **srq_table;	/* by SRQ handle */
	uint32_t srq_table_size;
	struct verbs_evq async;
	struct list_node node;		/* open contexts of the process */
};

struct verbs_td {
	struct ibv_td td;
	uint32_t users;			/* parent domains; atomic */
};

struct verbs_pd {
	struct ibv_pd pd;
	uint32_t users;			/* parent domains and objects on it; atomic */
	/* of a parent domain, which has the handle of its PD */
	struct ibv_pd *base;		/* what it was made of; NULL: a PD itself */
	struct verbs_td *td;		/* or NULL */
	/* the program's allocator, or NULL */
	void *(*alloc)(struct ibv_pd *pd, void *pd_context, size_t size, size_t alignment,
		       uint64_t resource_type);
	void (*free)(struct ibv_pd *pd, void *pd_context, void *ptr, uint64_t resource_type);
	void *pd_context;
};

struct verbs_ah {
	struct plx_ah pub;
};

struct verbs_mr {
	struct ibv_mr mr;
	unsigned int access;		/* as registered */
	void *map;			/* of a dma-buf, or NULL */
	size_t map_len;
	int fd;				/* of it; held open */
};

struct verbs_dm {
	struct ibv_dm dm;
	uint8_t *at;
	size_t length;
	bool own;			/* of a forked child: on its heap */
};

struct verbs_xrcd {
	struct ibv_xrcd xrcd;
	uint32_t handle;
};

struct verbs_channel {
	struct ibv_comp_channel channel;
	uint32_t handle;
	struct verbs_evq events;
};

struct verbs_cq {
	struct plx_cq pub;
	bool extended;			/* made by plx_create_cq_ex() */
	bool theirs;			/* its memory is of the program's allocator */
	struct ibv_pd *parent;		/* domain on which it was made, or NULL */
	uint32_t comp_delivered;
	uint32_t async_delivered;
};

struct verbs_qp {
	struct plx_qp pub;
	struct ibv_qp_init_attr init;	/* as granted, for query_qp */
	uint32_t async_delivered;
	bool theirs;			/* its memory is of the program's allocator */
	bool extended;			/* made with send_ops_flags: it has a struct ibv_qp_ex to be used */
};

struct verbs_srq {
	struct plx_srq pub;
	bool xrc;
	bool theirs;			/* its memory is of the program's allocator */
	uint32_t number;		/* XRC: by which peers name it */
	uint32_t async_delivered;
};

static inline struct verbs_ctx *
verbs_ctx_of(struct ibv_context *context)
{
	return (struct verbs_ctx *)__plx_context_of(context);
}

static inline struct verbs_cq *
verbs_cq_of(struct ibv_cq *cq)
{
	return (struct verbs_cq *)cq;
}

static inline struct verbs_mr *
verbs_mr_of(struct ibv_mr *mr)
{
	return (struct verbs_mr *)mr;
}

static inline struct verbs_dm *
verbs_dm_of(struct ibv_dm *dm)
{
	return (struct verbs_dm *)dm;
}

static inline struct verbs_xrcd *
verbs_xrcd_of(struct ibv_xrcd *xrcd)
{
	return (struct verbs_xrcd *)xrcd;
}

static inline struct verbs_qp *
verbs_qp_of(struct ibv_qp *qp)
{
	return (struct verbs_qp *)qp;
}

static inline struct verbs_srq *
verbs_srq_of(struct ibv_srq *srq)
{
	return (struct verbs_srq *)srq;
}

/* stack.c */

/* The stack of this process, started if need be. 0 or -errno; any thread. */
int verbs_stack_get(const struct ctl_backend **out);
/* Contexts that a fork must mark in the child. verbs_stack_join: -EIO in a forked child. */
int verbs_stack_join(struct verbs_ctx *ctx);
void verbs_stack_leave(struct verbs_ctx *ctx);
/* One control call. 0 or -errno; -EIO in a forked child. */
int verbs_call(struct ibv_context *context, enum ctl_msg_type type, void *msg);

/* mr.c */

/* Registers what the message says, and makes of the answer an MR with that addr and length. NULL: errno. */
struct ibv_mr *verbs_mr_register(struct ibv_pd *pd, struct ctl_reg_mr *msg, void *addr, size_t length);
/* Of the program's own memory: 0, -EINVAL, -EFAULT. */
int verbs_mr_check(uint64_t addr, uint64_t length, unsigned int access);

/* dmabuf.c. Nothing for a region of another kind. */
void verbs_dmabuf_unmap(struct verbs_mr *mr);

/* config.c */

/* Path number `n` at which the private stack may lie; false after the last. */
bool verbs_stack_path(unsigned int n, char *out, size_t out_len);
/* Was the program started by pollux-run? */
bool verbs_launched(void);

/* event.c */

int verbs_evq_init(struct verbs_evq *q, struct ibv_context *context, int fd, size_t size,
		   bool (*deliver)(struct ibv_context *context, const void *record, void *out));
void verbs_evq_fini(struct verbs_evq *q);
/* Waits for the next event of a living object. 0; -EAGAIN on a non-blocking fd; -errno. */
int verbs_evq_get(struct verbs_evq *q, void *out);
/* After an object was destroyed: an event of it must not keep the fd readable. */
void verbs_evq_purge(struct verbs_evq *q);
/* The `deliver` of a context's async fd: struct plx_async_event to struct ibv_async_event. */
bool verbs_async_deliver(struct ibv_context *context, const void *record, void *out);

/* pd.c */

static inline struct verbs_pd *
verbs_pd_of(struct ibv_pd *pd)
{
	return (struct verbs_pd *)pd;
}

/* An object on the PD, or parent domain, begins and ends; it cannot be freed between. Any thread. */
void verbs_pd_hold(struct ibv_pd *pd);
void verbs_pd_let_go(struct ibv_pd *pd);
/* Are its objects used by one thread at a time, so that they need no locks? False for NULL. */
bool verbs_pd_single(struct ibv_pd *pd);
/*
 * Zeroed memory for an object on `pd` (which it holds; NULL: on none), by the allocator of a parent domain
 * that has one: then *theirs. NULL: out of memory, or the allocator gave none.
 */
void *verbs_pd_new(struct ibv_pd *pd, size_t size, size_t alignment, enum plx_resource type, bool *theirs);
void verbs_pd_free(struct ibv_pd *pd, void *object, enum plx_resource type, bool theirs);

/* qp.c */

struct verbs_qp *verbs_qp_find(struct verbs_ctx *ctx, uint32_t handle, uint32_t gen);
/* Zeroed, aligned; then what the program said of it, and the context's table knows it by its handle. 0 or
 * -ENOMEM. verbs_qp_free() for one that is filled and not published. `pd` may be NULL. */
struct verbs_qp *verbs_qp_new(struct ibv_pd *pd);
void verbs_qp_fill(struct verbs_qp *qp, struct ibv_context *context, const struct ibv_qp_init_attr *init);
int verbs_qp_publish(struct verbs_ctx *ctx, struct verbs_qp *qp);
void verbs_qp_free(struct verbs_qp *qp);
/* What may be posted on a QP of a type: bit n is IBV_WR_n; 0: that type is not in this version. */
uint32_t verbs_type_opcodes(enum ibv_qp_type type);
/* xrc.c: plx_create_qp_ex() of an XRC target. */
struct ibv_qp *verbs_target_create(struct ibv_context *context, struct ibv_qp_init_attr_ex *init);
void verbs_attr_to_ctl(const struct ibv_qp_attr *attr, struct ctl_qp_attr *out);
void verbs_ah_to_ctl(const struct ibv_ah_attr *ah, struct ctl_ah_attr *out);
void verbs_attr_from_ctl(const struct ctl_qp_attr *attr, struct ibv_qp_attr *out);

/* cq.c */

struct verbs_cq *verbs_cq_find(struct verbs_ctx *ctx, uint32_t handle, uint32_t gen);

/* What both ways to make one have in common: attr without wc_flags, comp_mask and flags, and parent_domain
 * NULL without one; `msg` comes with what is the caller's own. 0 or -errno. */
int verbs_cq_make(struct ibv_context *context, const struct ibv_cq_init_attr_ex *attr,
		  struct ctl_create_cq *msg, struct verbs_cq **out);

/* clock.c: the time stamp counter, which the cores read too. */
uint64_t verbs_ticks(void);

/* cq_forget.c: nobody finds a failure of that QP, which was reset, in the CQ any more. */
void verbs_cq_forget(struct ibv_cq *cq, const struct plx_qp *qp);

/* srq.c */

struct verbs_srq *verbs_srq_find(struct verbs_ctx *ctx, uint32_t handle, uint32_t gen);

/* query.c */

int verbs_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		     size_t attr_len);
int verbs_query_device_ex(struct ibv_context *context,
			  const struct ibv_query_device_ex_input *input,
			  struct ibv_device_attr_ex *attr, size_t attr_size);

/* ffi.c: the operations that rdma-core's inline functions call through a context. */
void verbs_ops_fill(struct verbs_context *vctx);
/* And through a QP. */
void verbs_wr_fill(struct ibv_qp_ex *ex);
/* And those that they call through an extended CQ: all of them, whatever its wc_flags. */
void verbs_cq_ops_fill(struct ibv_cq_ex *cq);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stack and what its clients hold. Private to lib/serve. Everything is guarded by the stack's
 * lock; what a core sees of it changes inside eng_call() only.
 */
#ifndef SERVE_OBJECT_H
#define SERVE_OBJECT_H

#include <pthread.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/random.h"
#include "ctl/backend.h"
#include "engine/engine.h"
#include "serve/conf.h"
#include "serve/table.h"

#define MAX_PD 32768u
#define MAX_MR 1048576u
#define MAX_MW 1048576u
#define MAX_DM 65536u
#define MAX_CQ 65536u
#define MAX_QP 65536u
#define MAX_SRQ 65536u
#define MAX_CHANNEL 65536u
#define MAX_XRCD 65536u
#define MAX_MCAST_GRP NET_MAX_GROUPS
#define MAX_MCAST_QP 256u		/* of one group */
#define MAX_AH 65536u
#define MAX_CQE 4194303u
#define MAX_RD_ATOMIC 16u

_Static_assert(ENG_MAX_CORES == CTL_MAX_CORES, "what the engine runs, a client can be told of");

/* The application's half of an object: zeroed, on pages of its own, not carried over a fork. */
struct rings {
	void *at;
	size_t len;
};

struct xrcd;
struct xrcd_open;

struct pd {
	struct client *client;
	struct list_node node;		/* of the client's */
	uint32_t handle;		/* also the number by which cores know it */
	uint32_t users;
};

struct ahandle {
	struct eng_ah e;
	struct client *client;
	struct list_node node;
	uint32_t handle;
	struct pd *pd;
};

struct region {
	struct client *client;
	struct list_node node;
	uint32_t handle;
	struct pd *pd;
	struct mr *mr;
	enum ctl_region kind;
	uint32_t access;		/* as registered, with what no core asks for */
	struct dmem *dm;		/* of CTL_DEVICE */
};

struct dmem {				/* device memory */
	struct client *client;
	struct list_node node;
	uint32_t handle;
	uint8_t *at;
	uint64_t length;		/* as asked for */
	size_t mapped;			/* bytes at `at`: a whole number of pages */
	uint32_t users;			/* regions in it */
};

struct window {
	struct client *client;
	struct list_node node;
	uint32_t handle;
	struct pd *pd;
	struct mw *mw;
};

struct channel {
	struct client *client;
	struct list_node node;
	uint32_t handle;
	int fd;				/* the stack's end */
	uint32_t users;
};

struct cqueue {
	struct eng_cq e;
	struct client *client;
	struct list_node node;
	struct channel *channel;
	struct rings rings;		/* its control words, and the ring that it was made with */
	struct rings moved;		/* the ring since it was resized */
	uint32_t users;
	uint32_t vector;		/* as given: a core's index, 0: any */
	struct core *home;		/* who fills it; NULL: it has had no QP yet */
	struct annex *annex[ENG_MAX_CORES];	/* of other cores by which their QPs complete on it */
};

struct squeue {			/* a shared receive queue */
	struct eng_srq e;
	struct client *client;
	struct list_node node;
	struct pd *pd;
	struct rings rings;
	uint32_t users;
	/* XRC alone */
	struct xrcd_open *open;
	struct cqueue *cq;
	uint32_t number;		/* by which peers name it: handle and part of the generation */
	struct xrc_srq *at;		/* as each core sees it; atomic: once all is there */
};
#define SRQN_HANDLE 0xffffu
_Static_assert(MAX_SRQ == SRQN_HANDLE + 1, "a number holds a handle");

struct qpair {
	struct eng_qp e;
	struct eng_ear ear;		/* its client's */
	struct client *client;
	struct list_node node;
	struct core *core;
	uint32_t handle, gen;
	struct pd *pd;
	struct cqueue *send_cq, *recv_cq;
	struct squeue *srq;		/* NULL: it has a receive queue of its own */
	struct rings rings;
	struct ctl_qp_cap cap;
	struct ctl_ah_attr ah;		/* as last set */
	struct list mcasts;		/* struct membership */
	/* XRC targets. They stand in no table; what clients hold is a qpair that has no QP of its own. */
	struct xrcd *xrcd;		/* of a target */
	uint32_t handles;		/* on it */
	struct qpair *target;		/* of a handle */
	struct xrcd_open *open;		/* by which a handle was got */
};

/* A client as one core knows it. */
struct seat {
	struct core_client on;
	struct client *client;
	struct core *core;
	struct rings bell;
};

struct client {
	struct stack *stack;
	struct list_node node;
	struct seat *seat;		/* one for each core, by its index */
	int async_fd;			/* the stack's end */
	struct list pds, ahs, regions, windows, dms, channels, cqs, srqs, qps, xrcds;
};

struct stack {
	pthread_mutex_t lock;
	struct serve_conf conf;
	struct engine *eng;
	struct mr_table *mrs;
	struct table pds, ahs, regions, windows, dms, channels, cqs, srqs, qps, xrcds;
	uint64_t dm_used;		/* of conf.dm_size */
	struct list domains;		/* struct xrcd.node */
	struct perm qpns;		/* number of creation on a core -> QPN without the core's bits */
	uint32_t num_created[ENG_MAX_CORES];
	struct list clients;
	struct list mgroups;		/* struct mgroup: groups with QPs */
	uint32_t num_mgroups;
	pid_t pid;
	bool forked;			/* this is a child of the process that started it */
	bool said_mtu, said_route, said_neighbours, said_memory;
	int tally_fd;			/* where counters go at the end, or -1 */
};

/* rings.c. 0 or -ENOMEM. */
int rings_new(struct rings *r, size_t len);
void rings_free(struct rings *r);
struct ctl_seg rings_seg(const void *at, size_t len);
/* log2 of the smallest ring with room for n. */
uint32_t rings_log2(uint32_t n);

/* The calls of msg.h; each with the stack's lock, for an object of this client. 0 or -errno. */
int serve_query_device(struct client *cl, struct ctl_query_device *m);
int serve_query_port(struct client *cl, struct ctl_query_port *m);
int serve_query_gid(struct client *cl, struct ctl_query_gid *m);
int serve_alloc_pd(struct client *cl, struct ctl_pd *m);
int serve_dealloc_pd(struct client *cl, struct ctl_pd *m);
int serve_create_ah(struct client *cl, struct ctl_create_ah *m);
int serve_destroy_ah(struct client *cl, struct ctl_destroy_ah *m);
/* The path of the handle that this made still waits for its neighbour. */
bool serve_ah_waits(struct client *cl, const struct ctl_create_ah *m);
int serve_reg_mr(struct client *cl, struct ctl_reg_mr *m);
int serve_rereg_mr(struct client *cl, struct ctl_rereg_mr *m);
int serve_advise_mr(struct client *cl, struct ctl_advise_mr *m);
int serve_dereg_mr(struct client *cl, struct ctl_dereg_mr *m);
int serve_alloc_mw(struct client *cl, struct ctl_mw *m);
int serve_dealloc_mw(struct client *cl, struct ctl_mw *m);
int serve_alloc_dm(struct client *cl, struct ctl_alloc_dm *m);
int serve_free_dm(struct client *cl, struct ctl_free_dm *m);
int serve_open_xrcd(struct client *cl, struct ctl_xrcd *m);
int serve_close_xrcd(struct client *cl, struct ctl_xrcd *m);
int serve_create_channel(struct client *cl, struct ctl_channel *m);
int serve_destroy_channel(struct client *cl, struct ctl_channel *m);
int serve_create_cq(struct client *cl, struct ctl_create_cq *m);
int serve_resize_cq(struct client *cl, struct ctl_resize_cq *m);
int serve_moderate_cq(struct client *cl, struct ctl_moderate_cq *m);
int serve_destroy_cq(struct client *cl, struct ctl_destroy_cq *m);
int serve_create_qp(struct client *cl, struct ctl_create_qp *m);
int serve_open_qp(struct client *cl, struct ctl_open_qp *m);
int serve_modify_qp(struct client *cl, struct ctl_modify_qp *m);
/* The path that this gave the QP still waits for its neighbour. */
bool serve_path_waits(struct client *cl, const struct ctl_modify_qp *m);
int serve_query_qp(struct client *cl, struct ctl_query_qp *m);
int serve_explain_qp(struct client *cl, struct ctl_explain_qp *m);
int serve_destroy_qp(struct client *cl, struct ctl_destroy_qp *m);
int serve_attach_mcast(struct client *cl, struct ctl_mcast *m);
int serve_detach_mcast(struct client *cl, struct ctl_mcast *m);
int serve_create_srq(struct client *cl, struct ctl_create_srq *m);
int serve_modify_srq(struct client *cl, struct ctl_modify_srq *m);
int serve_query_srq(struct client *cl, struct ctl_query_srq *m);
int serve_destroy_srq(struct client *cl, struct ctl_destroy_srq *m);

/* Objects of a handle, or NULL when it is no such object of this client. */
struct pd *pd_get(struct client *cl, uint32_t handle);
struct region *region_get(struct client *cl, uint32_t handle);
struct dmem *dm_get(struct client *cl, uint32_t handle);
struct cqueue *cq_get(struct client *cl, uint32_t handle);
struct qpair *qp_get(struct client *cl, uint32_t handle);
struct squeue *srq_get(struct client *cl, uint32_t handle);

/* What the calls above do once nobody uses the object any more. */
void pd_free(struct pd *pd);
/* After a wait of eng_wait_qps() or eng_wait_region(): says once that it was in vain. */
void memory_is_back(struct stack *s, int frames);
void region_free(struct region *r);
void window_free(struct window *w);
void dm_free(struct dmem *dm);
void ah_free(struct ahandle *a);
void channel_free(struct channel *ch);
void cq_free(struct cqueue *cq);
void qp_free(struct qpair *q);
/* mcast.c: it hears no group any more. */
void mcast_leave_all(struct qpair *q);
void srq_free(struct squeue *s);

/* RoCE: there is one port, and no path without a GRH. 0 or -EINVAL. */
int ah_check(const struct ctl_ah_attr *ah);
/* After a path that was not opened: says once what a person must do. */
void ah_explain(struct stack *s, int rc);
/* ah.c: struct eng_conf.ah_of of a struct stack. */
const struct ah *ah_of_handle(void *stack, uint32_t handle);

/* home.c. The core of a new QP with these CQs. */
uint32_t home_place(struct stack *s, const struct cqueue *scq, const struct cqueue *rcq);
/* What a QP of that core completes on; a CQ that lives nowhere yet lives there from now on. 0 or
 * -ENOMEM. */
int home_join(struct cqueue *cq, struct core *core, struct cq **out);
/* What other cores feed the CQ by is to have 2^log2_size places. home_widen() makes the memory, `spare`
 * has one for each core: 0 or -ENOMEM. home_widened() then frees what is not in use any more. */
int home_widen(const struct cqueue *cq, uint32_t log2_size, struct rings *spare);
void home_widened(struct cqueue *cq, uint32_t log2_size, struct rings *spare);
/* What QPs of that core completed before its last answer stands in the CQ. */
void home_settle(const struct cqueue *cq, const struct core *core);
/* No core knows the CQ any more; it has no QPs. */
void home_leave(struct cqueue *cq);

/* reclaim.c: all that a client holds. */
void client_reclaim(struct client *cl);

/* client.c. 0 or -errno; stack's lock held. */
int client_open(struct stack *s, struct client **out, int *app_async_fd);
void client_close(struct client *cl);
/* May the caller set a Q_Key that is controlled (F2)? As a kernel: who has CAP_NET_RAW. */
bool client_may_control(const struct client *cl);

#endif

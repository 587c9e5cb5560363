/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the fuzzer of libpollux has at hand: the objects of a context of its own, wrong ones that look like
 * them, and another context whose program does nothing wrong (api_other.c). One thread.
 */
#ifndef TEST_FUZZ_API_H
#define TEST_FUZZ_API_H

#include <errno.h>

#include "verbs/verbs_priv.h"

#include "fuzz.h"

enum kind { PD, MR, DM, CHANNEL, CQ, SRQ, QP, AH, XRCD, TD, MW, KINDS };

#define MAX_LIVE 12

struct api {
	struct ibv_device *dev;
	struct ibv_context *ctx;
	union ibv_gid gid;
	uint8_t *buf;			/* in the middle of address space that nobody may touch */
	void *live[KINDS][MAX_LIVE];
	unsigned int num[KINDS];
	bool wrong;			/* an object that the call was given makes it one that must fail */
};

extern struct api api;

#define API_BUF_LEN (1u << 20)
#define SKIP (-1)			/* there is nothing to call it with */
#define NO_ERRNO 9999			/* it failed and did not say why */

/* api_pool.c */

/* A living one, or NULL. */
void *pick(enum kind kind);
/* Mostly a living one; else a copy with a handle that is none of the context's. For control calls. */
void *pick_any(enum kind kind);
/* One of these, or one of the other context, or NULL: an object that another one is to use. */
void *pick_use(enum kind kind);
/* The result of a call that makes one. */
int made(enum kind kind, void *object);
/* The result of a call that ends one. */
int ended(enum kind kind, void *object, int err);
/* All that the fuzzer has must end in the right order. 0, or what does not. */
int end_all(void);
uint32_t handle_of(enum kind kind, const void *object);

/* Part of the buffer, or what is none of it. */
void *any_addr(void);
size_t any_len(void);
/* Mostly the rights that are there. */
unsigned int any_access(void);

/* api_qp.c: those that the fuzzer knows; a QP that is in one stays. */
void leave_groups(struct ibv_qp *qp);

/* What else these files share. */
void rnd_area(struct ibv_grh *grh, struct ibv_wc *wc);
void rnd_ah_attr(struct ibv_ah_attr *attr);

/* api_window.c */
void rnd_bind_info(struct ibv_mw_bind_info *info);

/* api_other.c: the program that does nothing wrong. 0 when all is well. */
int other_begin(const char *cores);
int other_still_works(void);
int other_end(void);
void *other_object(enum kind kind);	/* NULL: it has none of these */

/* api_device.c, api_object.c, api_memory.c, api_qp.c, api_window.c, api_builder.c, api_data.c: each calls a
 * function of libpollux. 0, what it failed with, or SKIP. */
#define API_CALLS(X) \
	X(get_device_list) X(get_device_info) X(open_device) X(open_device_version) X(query_device) \
	X(query_device_ex) X(query_rt_values_ex) X(wallclock) X(query_port) X(query_gid) X(query_gid_ex) \
	X(query_gid_ex_sized) X(query_gid_table) X(query_gid_table_sized) X(query_pkey) X(get_pkey_index) \
	X(names) X(rates) X(fork_init) X(absent) X(init_ah_from_wc) X(alloc_pd) X(dealloc_pd) X(alloc_td) \
	X(dealloc_td) X(alloc_parent_domain) X(reg_mr) X(reg_mr_iova) X(reg_mr_iova2) X(rereg_mr) \
	X(dereg_mr) X(reg_dmabuf_mr) X(alloc_null_mr) X(advise_mr) X(alloc_dm) X(free_dm) X(copy_dm) \
	X(reg_dm_mr) X(open_xrcd) X(close_xrcd) X(create_comp_channel) X(destroy_comp_channel) \
	X(create_cq) X(create_cq_ex) X(resize_cq) X(modify_cq) X(destroy_cq) X(create_srq) \
	X(create_srq_ex) X(get_srq_num) X(modify_srq) X(query_srq) X(destroy_srq) X(create_ah) \
	X(create_ah_from_wc) X(destroy_ah) X(alloc_mw) X(dealloc_mw) X(bind_mw) \
	X(create_qp) X(create_qp_ex) X(open_qp) X(modify_qp) \
	X(query_qp) X(explain_qp) X(query_qp_about) X(destroy_qp) X(attach_mcast) X(detach_mcast) \
	X(build) X(post_send) X(post_recv) X(post_srq_recv) X(poll_cq) X(poll_extended) X(req_notify_cq) \
	X(get_cq_event) X(get_async_event)
#define API_DECLARE(name) int call_##name(void);
API_CALLS(API_DECLARE)
#undef API_DECLARE

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tools of the adapters: Pollux's names beside rdma-core's, and what rdma-core exports without a
 * declaration in its packaged headers.
 */
#ifndef COMPAT_IBVERBS_ADAPT_H
#define COMPAT_IBVERBS_ADAPT_H

#define PLX_NO_STANDARD_NAMES
#include <pollux/verbs.h>

#include <infiniband/sa.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

/* here these are functions, not macros */
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* A function `decl` that answers with `call`. */
#define ADAPT(type, decl, call) \
	type \
	decl \
	{ \
		return call; \
	}

#define ADAPT_VOID(decl, call) \
	void \
	decl \
	{ \
		call; \
	}

int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
		       int *type);
const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);
void ibv_copy_ah_attr_from_kern(struct ibv_ah_attr *dst, struct ib_uverbs_ah_attr *src);
void ibv_copy_qp_attr_from_kern(struct ibv_qp_attr *dst, struct ib_uverbs_qp_attr *src);
void ibv_copy_path_rec_from_kern(struct ibv_sa_path_rec *dst, struct ib_user_path_rec *src);
void ibv_copy_path_rec_to_kern(struct ib_user_path_rec *dst, struct ibv_sa_path_rec *src);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which verbs does this version not have? Each answers EOPNOTSUPP in its own convention, never
 * ENOSYS: programs take the first for "no" and the second for a fault. On application threads.
 */
#include <errno.h>
#include <stddef.h>

#include "verbs/verbs_priv.h"

/* X(declarator): returns EOPNOTSUPP */
#define RETURN_ERRNO(X) \
	X(plx_set_ece(struct ibv_qp *a, struct ibv_ece *b), (void)a, (void)b) \
	X(plx_query_ece(struct ibv_qp *a, struct ibv_ece *b), (void)a, (void)b) \
	X(plx_resolve_eth_l2_from_gid(struct ibv_context *a, struct ibv_ah_attr *b, \
				      uint8_t c[ETHERNET_LL_SIZE], uint16_t *d), \
	  (void)a, (void)b, (void)c, (void)d)

/* X(type, declarator): returns NULL and sets errno */
#define RETURN_NULL(X) \
	X(struct ibv_context *, plx_import_device(int a), (void)a) \
	X(struct ibv_pd *, plx_import_pd(struct ibv_context *a, uint32_t b), (void)a, (void)b) \
	X(struct ibv_mr *, plx_import_mr(struct ibv_pd *a, uint32_t b), (void)a, (void)b) \
	X(struct ibv_dm *, plx_import_dm(struct ibv_context *a, uint32_t b), (void)a, (void)b)

/* X(declarator): there is nothing that it could be called with */
#define RETURN_VOID(X) \
	X(plx_unimport_pd(struct ibv_pd *a), (void)a) \
	X(plx_unimport_mr(struct ibv_mr *a), (void)a) \
	X(plx_unimport_dm(struct ibv_dm *a), (void)a)

#define UNSUPPORTED_ERRNO(decl, ...) \
	int \
	decl \
	{ \
		__VA_ARGS__; \
		return EOPNOTSUPP; \
	}
RETURN_ERRNO(UNSUPPORTED_ERRNO)

#define UNSUPPORTED_NULL(type, decl, ...) \
	type \
	decl \
	{ \
		__VA_ARGS__; \
		errno = EOPNOTSUPP; \
		return NULL; \
	}
RETURN_NULL(UNSUPPORTED_NULL)

#define UNSUPPORTED_VOID(decl, ...) \
	void \
	decl \
	{ \
		__VA_ARGS__; \
	}
RETURN_VOID(UNSUPPORTED_VOID)

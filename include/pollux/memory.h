/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs of memory, which <pollux/verbs.h> includes and whose rules hold here too: domains, regions,
 * windows, device memory. Control calls, from any thread, but for the copies and plx_bind_mw().
 */
#ifndef POLLUX_MEMORY_H
#define POLLUX_MEMORY_H

#include <infiniband/verbs.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- protection domains and memory ---- */

struct ibv_pd *plx_alloc_pd(struct ibv_context *context);
/* Also of a parent domain. EBUSY while an object, or a parent domain, uses it. */
int plx_dealloc_pd(struct ibv_pd *pd);

/*
 * The word that what is made with it is used by one thread at a time: its queues take no locks. It counts in
 * a parent domain. NULL: errno EINVAL (comp_mask is not 0), ENOMEM.
 */
struct ibv_td *plx_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init_attr);
/* EBUSY while a parent domain uses it. */
int plx_dealloc_td(struct ibv_td *td);

/* What an allocator of a parent domain is asked for: the memory of the object itself. Its rings are the
 * stack's. */
enum plx_resource {
	PLX_RESOURCE_QP = 1,
	PLX_RESOURCE_CQ = 2,
	PLX_RESOURCE_SRQ = 3,
};

/*
 * One that is used wherever attr->pd is, with which it shares everything, and has a thread domain (or none)
 * and perhaps an allocator: QPs, SRQs and extended CQs on it lie in memory that alloc() gives, and free()
 * gets back when they are destroyed. IBV_ALLOCATOR_USE_DEFAULT leaves one to the library; NULL, or an
 * address that is not of the alignment asked for, fails its creation with ENOMEM. NULL: errno EINVAL (no PD,
 * PD or TD of another context, unknown bits, ALLOCATORS without both functions), ENOMEM.
 */
struct ibv_pd *plx_alloc_parent_domain(struct ibv_context *context,
				       struct ibv_parent_domain_init_attr *attr);

/*
 * Any memory. Optional access bits (IBV_ACCESS_OPTIONAL_RANGE) are accepted, and IBV_ACCESS_HUGETLB. With
 * IBV_ACCESS_ZERO_BASED WRs and peers name the first byte by 0, else by `addr`. No memory is pinned, and
 * every page faults as it is used; the program leaves them mapped until plx_dereg_mr(). Pages of a region
 * with IBV_ACCESS_ON_DEMAND may go: what is not there ends a WR, or a peer's request, with an error as a bad
 * address does (of peers' atomics see plx_reg_mr(3)), and each packet costs a system call or two. With it,
 * addr NULL and length SIZE_MAX make a region of all that the program has mapped: for local access alone.
 * NULL: errno EINVAL (length 0, range past the end of the address space, REMOTE_WRITE or REMOTE_ATOMIC
 * without LOCAL_WRITE, unknown bits, an iova for all memory), EFAULT (a page that is not mapped, or may not
 * be read, or with LOCAL_WRITE written), EOPNOTSUPP (remote rights to all memory; ON_DEMAND where no such
 * system calls are let through), ENOMEM.
 */
struct ibv_mr *plx_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access);
/* `iova` is the address by which WRs and peers name the first byte. */
struct ibv_mr *plx_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			       int access);
struct ibv_mr *plx_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access);
/*
 * The memory behind a dma-buf, from `offset` on; `iova` must have the same offset in its page. It is mapped
 * until plx_dereg_mr(); fd may be closed. access: rights and IBV_ACCESS_RELAXED_ORDERING. NULL: errno EINVAL
 * (that, other bits, a range beyond the end, an fd that is no dma-buf), EBADF, EOPNOTSUPP (its exporter does
 * not let it be mapped), ENOMEM.
 */
struct ibv_mr *plx_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access);
/*
 * No memory: reads as zeros, forgets what is written, at any address and length. For the lkey of local SGEs
 * alone; no peer has a right to it, and it cannot be changed. NULL: errno ENOMEM.
 */
struct ibv_mr *plx_alloc_null_mr(struct ibv_pd *pd);
/*
 * Changes what `flags` (enum ibv_rereg_mr_flags, at least one) name. Beside traffic: an access sees the
 * region wholly as it was or wholly as it is now, and when this returns, as it is now; the next packet of a
 * message that had begun is judged anew. With CHANGE_TRANSLATION the region has new keys, in mr->lkey and
 * mr->rkey, and is named by 0 when its access (the new one, with CHANGE_ACCESS) has IBV_ACCESS_ZERO_BASED,
 * else by `addr`; without it the keys and names stay. 0; else IBV_REREG_MR_ERR_INPUT, the region is as it was
 * and errno says why: EBUSY (a window is bound to it), EINVAL (flags, a PD of another context, access without
 * CHANGE_ACCESS, what plx_reg_mr() refuses, another place for device memory, a dma-buf or all memory,
 * anything for a null region), EFAULT, ENOMEM, EOPNOTSUPP; or IBV_REREG_MR_ERR_CMD, EIO: in a forked child.
 */
int plx_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length,
		 int access);
/*
 * Makes pages of IBV_ACCESS_ON_DEMAND regions present before they are used: to be read, or with
 * PREFETCH_WRITE to be written; with PREFETCH_NO_FAULT none are, and only the list is checked. It is done
 * when this returns, with IBV_ADVISE_MR_FLAG_FLUSH or without. What stands before an SGE that is refused has
 * been done. EOPNOTSUPP: another advice; EINVAL: flags, no SGE, a PD that is none, a region that is not on
 * demand; ENOENT: no such lkey; EPERM: a region of another PD, or PREFETCH_WRITE without LOCAL_WRITE; EFAULT:
 * a range beyond the region or not mapped.
 */
int plx_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg_list, uint32_t num_sge);
/* When it returns nobody can reach the memory by the MR any more. EBUSY: a window is bound to it, and nothing
 * has changed. */
int plx_dereg_mr(struct ibv_mr *mr);

/*
 * A memory window, bound to nothing. IBV_MW_TYPE_1 is bound by plx_bind_mw() and reached through every QP
 * of the PD; IBV_MW_TYPE_2 (2B) is bound by IBV_WR_BIND_MW and reached through the QP that did that, until
 * IBV_WR_LOCAL_INV, or a SEND with invalidate of the peer. NULL: errno EINVAL (another type), ENOMEM.
 */
struct ibv_mw *plx_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
/* Bound or not. When it returns nobody can reach memory by it any more. */
int plx_dealloc_mw(struct ibv_mw *mw);
/*
 * Posts the bind of a window of type 1 to the send queue of an RC, UC or XRC_SEND QP of its PD; mw->rkey is
 * its new key, by which no access succeeds before the bind is done, and by the old one none after. The MR
 * needs IBV_ACCESS_MW_BIND, and IBV_ACCESS_LOCAL_WRITE for writes and atomics; a length of 0, without an MR,
 * binds it to nothing. What cannot be bound completes with IBV_WC_MW_BIND_ERR. EINVAL: type 2, the QP's type
 * or state, or bytes without an MR; EPERM: an MR of another PD; ENOMEM: the queue is full; EIO: in a forked
 * child. Any thread.
 */
int plx_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *mw_bind);

/* ---- device memory ---- */

/*
 * Memory that the program has no pointer to, all zeros; in hugepages from 2 MiB on where some are free. All
 * programs together get max_dm_size of plx_query_device_ex(). Freed with the context. A forked child gets
 * memory of its own, which it can copy to and from. NULL: errno EINVAL (length 0, log_align_req above 12,
 * comp_mask), ENOMEM (more than there is).
 */
struct ibv_dm *plx_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
/* EBUSY while a region is in it. */
int plx_free_dm(struct ibv_dm *dm);
/*
 * Copies between the program and device memory; any thread, no control call. Offset and length count whole
 * 32-bit words. EINVAL: they do not; EFAULT: beyond its end.
 */
int plx_memcpy_to_dm(struct ibv_dm *dm, uint64_t dm_offset, const void *host_addr, size_t length);
int plx_memcpy_from_dm(void *host_addr, struct ibv_dm *dm, uint64_t dm_offset, size_t length);
/*
 * A region of device memory; access must have IBV_ACCESS_ZERO_BASED. WRs and peers name its first byte by 0;
 * mr->addr is NULL. NULL: errno EINVAL (no ZERO_BASED, other bits than rights and optional ones, a range
 * beyond the memory, another context's), ENOMEM.
 */
struct ibv_mr *plx_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t dm_offset, size_t length,
			     unsigned int access);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif

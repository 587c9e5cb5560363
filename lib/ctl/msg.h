/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control messages between libpollux and the stack: one fixed-size structure each, request and
 * reply in one. The same structures are passed by pointer to a stack in the process and, byte for
 * byte, over the socket to one that is not. Numbers that verbs defines (access flags, QP types,
 * states, attribute bits, opcodes) have their verbs values; lib/verbs asserts it.
 *
 * Fields under "in" are read by the stack, fields under "out" are written by it on success.
 * Every call gives 0 or a negative errno; nothing has changed on an error.
 */
#ifndef CTL_MSG_H
#define CTL_MSG_H

#include <stdint.h>

/* X(name, structure, what it does) */
#define CTL_MSG_LIST(X) \
	X(QUERY_DEVICE, ctl_query_device, "limits and identity of the device") \
	X(QUERY_PORT, ctl_query_port, "state of the port") \
	X(QUERY_GID, ctl_query_gid, "one entry of the GID table") \
	X(ALLOC_PD, ctl_pd, "make a protection domain") \
	X(DEALLOC_PD, ctl_pd, "free a protection domain; EBUSY while used") \
	X(CREATE_AH, ctl_create_ah, "make an address handle; begins to look for its neighbour") \
	X(DESTROY_AH, ctl_destroy_ah, "free an address handle; returns when no core can touch it any more") \
	X(REG_MR, ctl_reg_mr, "register memory") \
	X(REREG_MR, ctl_rereg_mr, "change a region; accesses see the old one or the new one, whole") \
	X(ADVISE_MR, ctl_advise_mr, "where the range of an on-demand region lies, and may be touched") \
	X(DEREG_MR, ctl_dereg_mr, "deregister memory; returns when no core can touch it any more") \
	X(ALLOC_MW, ctl_mw, "make a memory window") \
	X(DEALLOC_MW, ctl_mw, "free a memory window; returns when no core can touch it any more") \
	X(ALLOC_DM, ctl_alloc_dm, "take some of the device's memory") \
	X(FREE_DM, ctl_free_dm, "give it back; EBUSY while a region is in it") \
	X(OPEN_XRCD, ctl_xrcd, "open an XRC domain, or make one") \
	X(CLOSE_XRCD, ctl_xrcd, "close an XRC domain; EBUSY while a QP or SRQ of this opening is there") \
	X(CREATE_CHANNEL, ctl_channel, "make a completion channel") \
	X(DESTROY_CHANNEL, ctl_channel, "free a channel; EBUSY while a CQ uses it") \
	X(CREATE_CQ, ctl_create_cq, "make a completion queue") \
	X(RESIZE_CQ, ctl_resize_cq, "give a completion queue another ring; nobody polls it meanwhile") \
	X(MODERATE_CQ, ctl_moderate_cq, "when its events are sent") \
	X(DESTROY_CQ, ctl_destroy_cq, "free a completion queue; EBUSY while a QP uses it") \
	X(CREATE_QP, ctl_create_qp, "make a queue pair") \
	X(OPEN_QP, ctl_open_qp, "one more handle on an XRC target; it ends with the last") \
	X(MODIFY_QP, ctl_modify_qp, "change attributes and state of a queue pair") \
	X(QUERY_QP, ctl_query_qp, "attributes and state of a queue pair") \
	X(EXPLAIN_QP, ctl_explain_qp, "why a queue pair is in ERR or SQE; ENODATA when it is not") \
	X(DESTROY_QP, ctl_destroy_qp, "free a queue pair; returns when no core can touch it any more") \
	X(ATTACH_MCAST, ctl_mcast, "attach a queue pair to a multicast group") \
	X(DETACH_MCAST, ctl_mcast, "detach it") \
	X(CREATE_SRQ, ctl_create_srq, "make a shared receive queue") \
	X(MODIFY_SRQ, ctl_modify_srq, "arm the limit of a shared receive queue, or resize it") \
	X(QUERY_SRQ, ctl_query_srq, "attributes of a shared receive queue") \
	X(DESTROY_SRQ, ctl_destroy_srq, "free a shared receive queue; EBUSY while a QP uses it")

enum ctl_msg_type {
#define CTL_ENUM(name, type, text) CTL_##name,
	CTL_MSG_LIST(CTL_ENUM)
#undef CTL_ENUM
	CTL_MSG_COUNT
};

/* Where a ring lies: a segment that both sides map and an offset in it. In the stack's own process
 * segment 0 is the address space and the offset an address. */
struct ctl_seg {
	uint32_t seg;
	uint32_t reserved;
	uint64_t offset;
	uint64_t length;
};

struct ctl_query_device {
	/* out */
	char fw_ver[32];
	uint64_t node_guid;		/* big-endian, EUI-64 of the MAC */
	uint64_t max_mr_size;
	uint64_t page_size_cap;
	uint64_t device_cap_flags;	/* enum ibv_device_cap_flags */
	uint64_t hca_core_clock;	/* kHz; 0 when unknown */
	uint64_t max_dm_size;		/* bytes of device memory, in all */
	/* enum ibv_odp_general_caps, and enum ibv_odp_transport_cap_bits of each service */
	uint32_t odp_general;
	uint32_t odp_rc;
	uint32_t odp_uc;
	uint32_t odp_ud;
	uint32_t odp_xrc;
	uint32_t vendor_id;
	uint32_t vendor_part_id;
	uint32_t hw_ver;
	uint32_t max_qp;
	uint32_t max_qp_wr;
	uint32_t max_sge;
	uint32_t max_inline_data;
	uint32_t max_cq;
	uint32_t max_cqe;
	uint32_t max_mr;
	uint32_t max_mw;
	uint32_t max_pd;
	uint32_t max_qp_rd_atom;
	uint32_t max_qp_init_rd_atom;
	uint32_t max_res_rd_atom;
	uint32_t atomic_cap;		/* enum ibv_atomic_cap */
	uint32_t max_srq;
	uint32_t max_srq_wr;
	uint32_t max_srq_sge;
	uint32_t max_ah;
	uint32_t max_mcast_grp;
	uint32_t max_mcast_qp_attach;
	uint32_t max_total_mcast_qp_attach;
	uint32_t max_pkeys;
	uint32_t phys_port_cnt;
	uint32_t num_comp_vectors;
};

struct ctl_query_port {
	/* in */
	uint32_t port;
	/* out */
	uint32_t state;			/* enum ibv_port_state */
	uint32_t max_mtu;		/* enum ibv_mtu */
	uint32_t active_mtu;
	uint32_t gid_tbl_len;
	uint32_t pkey_tbl_len;
	uint32_t port_cap_flags;
	uint32_t max_msg_sz;
	uint32_t bad_pkey_cntr;
	uint32_t qkey_viol_cntr;
	uint8_t active_width;
	uint8_t active_speed;
	uint8_t phys_state;
	uint8_t link_layer;
	uint8_t flags;			/* IBV_QPF_GRH_REQUIRED */
	uint8_t reserved[3];
};

struct ctl_query_gid {
	/* in */
	uint32_t port;
	uint32_t index;
	/* out; -ENODATA for an empty slot */
	uint8_t gid[16];
	uint32_t gid_type;		/* enum ibv_gid_type of <infiniband/verbs.h> */
	uint32_t ndev_ifindex;		/* 0: none */
};

struct ctl_pd {
	uint32_t pd;			/* out of ALLOC_PD, in of DEALLOC_PD */
	uint32_t reserved;
};

struct ctl_ah_attr {
	uint8_t dgid[16];
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t sl;
	uint8_t is_global;
	uint8_t port_num;
	uint8_t static_rate;
	uint8_t src_path_bits;
	uint32_t dlid;
};

struct ctl_create_ah {
	/* in */
	uint32_t pd;
	uint32_t reserved;
	struct ctl_ah_attr attr;
	/* out */
	uint32_t ah;			/* what plx_sq_wqe.ud names it by, with */
	uint32_t ah_gen;
};

struct ctl_destroy_ah {
	uint32_t ah;			/* in */
	uint32_t reserved;
};

enum ctl_region {
	CTL_MEMORY,		/* of the program, at addr */
	CTL_MAPPED,		/* the same, mapped by libpollux just now: that needs no look */
	CTL_DEVICE,		/* device memory `dm`; addr is an offset in it; iova 0 */
	CTL_NULL,		/* reads as zeros, forgets what is written; addr, length, iova and access 0 */
	CTL_IMPLICIT,		/* whatever the program has mapped when it is used; addr, length and iova 0 */
};

struct ctl_reg_mr {
	/* in */
	uint32_t pd;
	uint32_t access;		/* enum ibv_access_flags; the optional bits may be ignored */
	uint64_t addr;
	uint64_t length;
	uint64_t iova;			/* address by which WRs and peers name the first byte */
	uint32_t kind;			/* enum ctl_region */
	uint32_t dm;			/* of CTL_DEVICE */
	/* out */
	uint32_t mr;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t reserved;
};

struct ctl_rereg_mr {
	/* in */
	uint32_t mr;
	uint32_t flags;			/* enum ibv_rereg_mr_flags */
	uint32_t pd;			/* with PD */
	uint32_t access;		/* with ACCESS */
	uint64_t addr;			/* with TRANSLATION, of CTL_MEMORY alone; so are the next two */
	uint64_t length;
	uint64_t iova;
	/* out: new ones with TRANSLATION, else as they were */
	uint32_t lkey;
	uint32_t rkey;
};

struct ctl_advise_mr {
	/* in: -ENOENT for an lkey that is none, -EPERM for one of another domain or without the right,
	 * -EINVAL when it is no on-demand region, -EFAULT beyond its range */
	uint32_t pd;
	uint32_t lkey;
	uint64_t addr;
	uint64_t length;
	uint32_t write;			/* the right to write is needed */
	uint32_t reserved;
	/* out */
	uint64_t at;			/* where it lies in the program */
};

struct ctl_dereg_mr {
	uint32_t mr;			/* in; -EBUSY: a window is bound to it */
	uint32_t reserved;
};

struct ctl_mw {
	/* in of ALLOC */
	uint32_t pd;
	uint32_t type;			/* enum ibv_mw_type */
	/* out of ALLOC, in of DEALLOC */
	uint32_t mw;
	uint32_t rkey;			/* its first key, which reaches nothing; out of ALLOC alone */
};

struct ctl_alloc_dm {
	/* in */
	uint64_t length;		/* at least 1 */
	uint32_t log2_align;		/* at most CTL_DM_MAX_ALIGN */
	/* out */
	uint32_t dm;
	struct ctl_seg mem;		/* zeros */
};
#define CTL_DM_MAX_ALIGN 12u

struct ctl_free_dm {
	uint32_t dm;			/* in */
	uint32_t reserved;
};

struct ctl_xrcd {
	/* in of OPEN: -EAGAIN when there is none and no O_CREAT, -EINVAL when there is one and O_EXCL */
	int32_t fd;			/* a file; all of one inode have the same domain. -1: none */
	int32_t oflags;			/* O_CREAT, O_EXCL of <fcntl.h> */
	/* out of OPEN, in of CLOSE */
	uint32_t xrcd;			/* never 0 */
	uint32_t reserved;
};

struct ctl_channel {
	uint32_t channel;		/* out of CREATE, in of DESTROY; never 0 */
	int32_t fd;			/* out of CREATE: the application's end, CLOEXEC; its to close */
};

struct ctl_create_cq {
	/* in */
	uint32_t cqe;			/* at least 1 */
	uint32_t channel;		/* 0: none */
	uint32_t comp_vector;
	uint32_t flags;			/* enum ibv_create_cq_attr_flags: IGNORE_OVERRUN counts */
	uint32_t held;			/* CQEs that a poller may read in the ring, beside `cqe`: 0 or 1 */
	uint32_t stamped;		/* 1: its CQEs have timestamps */
	/* out */
	uint32_t cq;
	uint32_t cq_gen;
	uint32_t log2_size;		/* ring slots; log2 */
	uint32_t core;			/* the core that fills it */
	struct ctl_seg ctl;		/* struct plx_cq_ctl */
	struct ctl_seg ring;		/* struct plx_cqe[1 << log2_size] */
};

struct ctl_resize_cq {
	/* in */
	uint32_t cq;
	uint32_t cqe;			/* at least 1, and what is not polled: else -EINVAL */
	/* out: what is not polled stands in the new ring from 0 on; plx_cq_ctl.head is 0 */
	uint32_t log2_size;
	uint32_t held;			/* in: as at CREATE_CQ */
	struct ctl_seg ring;
};

struct ctl_moderate_cq {
	/* in */
	uint32_t cq;
	uint32_t count;			/* CQEs since the last event at which the next one is sent; 0: any */
	uint32_t period;		/* us after which it is sent without so many; 0: the longest */
	uint32_t reserved;
};
#define CTL_MODERATE_MAX 65535u		/* of both */

struct ctl_destroy_cq {
	uint32_t cq;			/* in */
	uint32_t reserved;
};

struct ctl_qp_cap {
	uint32_t max_send_wr;
	uint32_t max_recv_wr;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t max_inline_data;
};

struct ctl_wq {
	uint32_t log2_size;		/* ring slots; log2; the queue's limit is the cap, not this */
	uint32_t stride;		/* bytes a slot */
	struct ctl_seg ctl;		/* struct plx_wq_ctl */
	struct ctl_seg slots;
};

struct ctl_create_qp {
	/* in */
	uint32_t pd;
	uint32_t type;			/* enum ibv_qp_type */
	uint32_t send_cq;
	uint32_t recv_cq;
	uint32_t srq;			/* 0: none, else handle + 1 */
	uint32_t create_flags;
	/* in and out: granted is at least what was asked */
	struct ctl_qp_cap cap;
	uint32_t xrcd;			/* of an XRC target, which has neither PD nor CQs; else 0 */
	/* out */
	uint32_t qp;
	uint32_t qp_gen;
	uint32_t qp_num;
	uint32_t core;			/* the core that owns it: whose doorbell ring to use */
	struct ctl_wq sq;
	struct ctl_wq rq;
};

struct ctl_open_qp {
	/* in; -EINVAL: the domain has no target of that number */
	uint32_t xrcd;
	uint32_t qp_num;
	/* out */
	uint32_t qp;
	uint32_t qp_gen;
	uint32_t core;
	uint32_t reserved;
};

struct ctl_qp_attr {			/* struct ibv_qp_attr in fixed widths */
	uint32_t qp_state;
	uint32_t cur_qp_state;
	uint32_t path_mtu;		/* enum ibv_mtu */
	uint32_t path_mig_state;
	uint32_t qkey;
	uint32_t rq_psn;
	uint32_t sq_psn;
	uint32_t dest_qp_num;
	uint32_t qp_access_flags;
	struct ctl_qp_cap cap;
	struct ctl_ah_attr ah;
	struct ctl_ah_attr alt_ah;
	uint16_t pkey_index;
	uint16_t alt_pkey_index;
	uint8_t en_sqd_async_notify;
	uint8_t sq_draining;
	uint8_t max_rd_atomic;
	uint8_t max_dest_rd_atomic;
	uint8_t min_rnr_timer;
	uint8_t port_num;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t alt_port_num;
	uint8_t alt_timeout;
	uint8_t reserved;
	uint32_t rate_limit;
};

struct ctl_modify_qp {
	/* in */
	uint32_t qp;
	uint32_t mask;			/* enum ibv_qp_attr_mask */
	struct ctl_qp_attr attr;
	/* out */
	uint32_t state;			/* the QP's state now */
	uint32_t reserved;
};

struct ctl_query_qp {
	/* in */
	uint32_t qp;
	uint32_t reserved;
	/* out */
	struct ctl_qp_attr attr;
};

#define CTL_EXPLAIN_TEXT 448u

struct ctl_explain_qp {
	/* in */
	uint32_t qp;
	/* out */
	uint32_t vendor_err;		/* of the first completion with an error */
	char text[CTL_EXPLAIN_TEXT];	/* one sentence, ends with a NUL */
};

struct ctl_mcast {
	/* in */
	uint32_t qp;			/* of type UD */
	uint32_t reserved;
	uint8_t gid[16];		/* a multicast group: ::ffff:224.0.0.0/100 or ff00::/8 */
};

struct ctl_destroy_qp {
	uint32_t qp;			/* in */
	uint32_t reserved;
};

struct ctl_create_srq {
	/* in */
	uint32_t pd;
	uint32_t type;			/* enum ibv_srq_type */
	uint32_t xrcd;			/* XRC: by whose targets it is reached */
	uint32_t cq;			/* XRC: what its receives complete on */
	/* in and out: granted is at least what was asked */
	uint32_t max_wr;
	uint32_t max_sge;
	/* out */
	uint32_t srq;
	uint32_t srq_gen;
	uint32_t number;		/* XRC: by which peers name it; 24 bits */
	uint32_t reserved;
	struct ctl_wq wq;
};

struct ctl_modify_srq {
	/* in */
	uint32_t srq;
	uint32_t mask;			/* enum ibv_srq_attr_mask */
	uint32_t limit;
	/* in and out: with IBV_SRQ_MAX_WR; nobody may post meanwhile */
	uint32_t max_wr;
	/* out, with IBV_SRQ_MAX_WR: the ring from now on. The WQEs that wait keep their numbers in it */
	struct ctl_wq wq;
};

struct ctl_query_srq {
	/* in */
	uint32_t srq;
	/* out */
	uint32_t max_wr;
	uint32_t max_sge;
	uint32_t limit;			/* 0: not armed */
};

struct ctl_destroy_srq {
	uint32_t srq;			/* in */
	uint32_t reserved;
};

#endif

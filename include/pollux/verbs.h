/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The verbs of Pollux: rdma-core's structures, functions plx_NAME with the signature and the meaning
 * of ibv_NAME, and ibv_NAME itself defined as plx_NAME unless PLX_NO_STANDARD_NAMES is defined
 * before the include (then a program can use Pollux and another provider side by side).
 *
 * Control calls may be made from any thread and may sleep. The data path (plx_post_send,
 * plx_post_recv, plx_post_srq_recv, plx_poll_cq, plx_req_notify_cq) is inline, may be called from any
 * thread and never sleeps. Functions that return int return 0 or a positive errno unless they say
 * otherwise; functions that return a pointer return NULL and set errno. What the verbs define and this
 * version does not have answers EOPNOTSUPP in the same way. After a fork the child's calls answer EIO.
 */
#ifndef POLLUX_VERBS_H
#define POLLUX_VERBS_H

#include <infiniband/verbs.h>

#include <pollux/memory.h>
#include <pollux/version.h>

#ifndef PLX_INLINE
#define PLX_INLINE static inline
#endif

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* ---- devices ---- */

/*
 * NULL-terminated array of the devices of the stack in this process, starting one from the POLLUX_*
 * variables when there is none. *num_devices (may be NULL) gets their number. Free it with
 * plx_free_device_list(); the devices themselves stay. NULL: errno ENOENT (no stack to load), EIO, or
 * what the stack's start failed with. When POLLUX_LAUNCHED is set such a failure ends the program
 * with status 2 after one line on stderr.
 */
struct ibv_device **plx_get_device_list(int *num_devices);
void plx_free_device_list(struct ibv_device **list);
const char *plx_get_device_name(struct ibv_device *device);
int plx_get_device_index(struct ibv_device *device);
/* EUI-64 of the MAC; big-endian. */
__be64 plx_get_device_guid(struct ibv_device *device);

/*
 * A context. `abi_version` is PLX_ABI_VERSION as the program was compiled with. NULL: errno EPROTO
 * (built for other layouts: rebuild the program), EIO (in a forked child), ENOMEM, or the stack's.
 */
struct ibv_context *__plx_open_device(struct ibv_device *device, unsigned int abi_version);
/* Frees the context and all that the stack still holds for it. The program's own objects on it must
 * not be used any more. */
int plx_close_device(struct ibv_context *context);

/* Bits of device_cap_flags_ex that rdma-core names only in versions after 44, with IB_UVERBS_ in front. */
#define PLX_DEVICE_FLUSH_GLOBAL (1ull << 38)
#define PLX_DEVICE_FLUSH_PERSISTENT (1ull << 39)	/* never set: no memory here is */
#define PLX_DEVICE_ATOMIC_WRITE (1ull << 40)

/* A forked child is told what the device said when the context was opened; so by the next one. */
int plx_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr);
/* EINVAL when input->comp_mask is not 0. */
int plx_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
			struct ibv_device_attr_ex *attr);
/* IBV_VALUES_MASK_RAW_CLOCK: now, in ticks of hca_core_clock, in raw_clock.tv_nsec; tv_sec is 0. Its
 * lowest bits in completion_timestamp_mask are what timestamps of completions are of. EINVAL: other bits of
 * comp_mask. EIO. */
int plx_query_rt_values_ex(struct ibv_context *context, struct ibv_values_ex *values);
/* What CLOCK_REALTIME showed, in ns, when that clock showed `ticks`. */
uint64_t __plx_wallclock_ns(struct ibv_context *context, uint64_t ticks);
/* EINVAL: no such port (they count from 1). */
int plx_query_port(struct ibv_context *context, uint8_t port_num,
		   struct ibv_port_attr *port_attr);

/* 0, or -1 and errno EINVAL (no such port or index). An empty entry reads as all zero. */
int plx_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid);
/* ENODATA: the entry is empty. EINVAL. EOPNOTSUPP: flags other than 0. */
int plx_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		     struct ibv_gid_entry *entry, uint32_t flags);
/* How many entries were filled; -EINVAL when there are more than max_entries; -EOPNOTSUPP. */
ssize_t plx_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			    size_t max_entries, uint32_t flags);
/* The same for callers whose struct ibv_gid_entry has entry_size bytes. */
int __plx_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		       struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size);
ssize_t __plx_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			      size_t max_entries, uint32_t flags, size_t entry_size);
/* 0, or -1 and errno EINVAL. The only P_Key is 0xFFFF, at index 0. */
int plx_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey);
/* Its index, or -1 and errno EINVAL. */
int plx_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey);

/* ---- XRC domains ---- */

/*
 * The SRQs that a peer may name in a request, and the QPs by which such requests come in. Whoever opens a
 * file of the same inode gets the same domain, in any context of the device; with fd -1 it is one of its
 * own. comp_mask must have both bits. NULL: errno EAGAIN (no domain of that file, and no O_CREAT), EINVAL
 * (there is one, and O_CREAT with O_EXCL; or comp_mask), EBADF, EOPNOTSUPP (other bits), ENOMEM.
 */
struct ibv_xrcd *plx_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr);
/* The domain ends with the last that is in it or has it open. EBUSY while a QP or SRQ that was made by
 * this opening is there. */
int plx_close_xrcd(struct ibv_xrcd *xrcd);

/* ---- completion channels and queues ---- */

/* The fd of a channel polls readable exactly while an event waits; O_NONBLOCK is honoured. */
struct ibv_comp_channel *plx_create_comp_channel(struct ibv_context *context);
/* EBUSY while a CQ uses it. */
int plx_destroy_comp_channel(struct ibv_comp_channel *channel);
/* NULL: errno EINVAL (cqe or comp_vector out of range), ENOMEM. */
struct ibv_cq *plx_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector);
/*
 * The same for plx_start_poll() and its like; cq_attr->wc_flags says what they will read, of
 * IBV_WC_STANDARD_FLAGS and both COMPLETION_TIMESTAMPs. IBV_CREATE_CQ_ATTR_SINGLE_THREADED: the program
 * polls it by one thread at a time. IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN: a completion that finds no room is
 * lost, and no more happens: slots that it would have freed come back with the next of its queue. NULL:
 * errno EINVAL (cqe or comp_vector out of range, a channel of another context), EOPNOTSUPP (other wc_flags,
 * flags or bits of comp_mask), ENOMEM.
 */
struct ibv_cq_ex *plx_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *cq_attr);
/* Gives the CQ room for at least `cqe`; what is not polled stays, in order (D-7). Any thread, beside
 * pollers and traffic. EINVAL: cqe out of range, or less than what is not polled; ENOMEM; nothing has
 * changed then. */
int plx_resize_cq(struct ibv_cq *cq, int cqe);
/* When events are sent (IBV_CQ_ATTR_MODERATE): once cq_count completions came since the last event, or
 * cq_period us after the one that was asked for; a count without a period has the longest one, 65,535 us.
 * 0 and 0, or a count of 1: at once, as from the start. EINVAL: other bits of attr_mask. */
int plx_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
/* Waits until every event that plx_get_cq_event() gave out is acknowledged (D-5). EBUSY while a QP
 * uses it. */
int plx_destroy_cq(struct ibv_cq *cq);
/* Waits for an event; interrupted system calls are taken up again. 0, or -1 and errno (EAGAIN on a
 * channel with O_NONBLOCK, EIO). Each event must be acknowledged. */
int plx_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context);
void plx_ack_cq_events(struct ibv_cq *cq, unsigned int nevents);

/* ---- queue pairs ---- */

/*
 * RC, or XRC_SEND, of which what is said of receives does not count. The capabilities granted, at least
 * those asked for, are written back. With an SRQ, max_recv_wr
 * and max_recv_sge are not looked at and granted as 0. NULL: errno EINVAL (a limit of the device, a CQ,
 * SRQ or PD of another context), EOPNOTSUPP (another type), ENOMEM.
 */
struct ibv_qp *plx_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr);
/*
 * The same with comp_mask PD; or IBV_QPT_XRC_RECV with comp_mask XRCD: it takes requests for all SRQs of the
 * domain, of any context, and has no PD, no CQ and no queues, so its capabilities are 0. It ends with the
 * last that holds it, see plx_open_qp(). With SEND_OPS_FLAGS the QP has the builder of wr_inline.h, for the
 * operations named. EOPNOTSUPP: an operation that the type does not have, create_flags, or other bits of
 * comp_mask.
 */
struct ibv_qp *plx_create_qp_ex(struct ibv_context *context,
				struct ibv_qp_init_attr_ex *qp_init_attr_ex);
/*
 * One more hold on an IBV_QPT_XRC_RECV QP of that number in the domain, whoever made it: it ends when all
 * have called plx_destroy_qp(), or closed their contexts. Each hears of its asynchronous events, and may
 * modify it. comp_mask: NUM, XRCD, TYPE and perhaps CONTEXT. NULL: errno EINVAL (there is none), EOPNOTSUPP
 * (other bits), ENOMEM.
 */
struct ibv_qp *plx_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);
/*
 * In RESET all that was posted is gone, and so are completions with errors that nobody has polled; those with
 * success stay. EINVAL: a transition or attribute that the state table does not allow; nothing has changed.
 */
int plx_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask);
int plx_query_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr);
/* Waits until every asynchronous event of the QP that was given out is acknowledged. */
int plx_destroy_qp(struct ibv_qp *qp);
/*
 * Why the QP is in ERR or SQE: one sentence without a newline (what happened, between whom, the work
 * request, PSN, retries and the last NAK) in text, NUL-terminated and cut to len bytes (448 hold every
 * one; text may be NULL when len is 0), and the vendor_err of its first error completion in *vendor_err
 * (may be NULL): the code in bits 0 to 7, never 0, the NAK's syndrome in 8 to 15. Until the QP is reset
 * or destroyed. Control call. ENODATA: the QP is in neither state. EIO.
 */
int plx_explain_qp(struct ibv_qp *qp, uint32_t *vendor_err, char *text, size_t len);
/* NULL: the QP was not made with send_ops_flags. */
struct ibv_qp_ex *plx_qp_to_qp_ex(struct ibv_qp *qp);
/* 1: data of `op` is written in ascending order, 0: not promised. It is 0: what holds of a WRITE and of READ
 * is that the last bytes come last, so that a program may poll for the last one. */
int plx_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags);

/* ---- multicast ---- */

/*
 * The UD QP gets one copy of each datagram to the group that has its Q_Key; also of its own. `gid` is
 * ::ffff:a.b.c.d of an IPv4 group or an address of ff00::/8; lid is not looked at. Attaching again changes
 * nothing. 0; EINVAL: not a UD QP, or no group; ENOMEM: max_mcast_grp groups, max_mcast_qp_attach QPs of
 * this one, or no memory. A QP that is attached cannot be destroyed: EBUSY. Any thread.
 */
int plx_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);
/* 0, or EINVAL: it is not attached to that group. */
int plx_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid);

/* ---- address handles ---- */

/*
 * The way to a peer of a UD QP, or to a multicast group. Waits a while for the neighbour, as a kernel
 * does; what is sent to one that is still not found two seconds after this call began is dropped, and
 * completes with success.
 * traffic_class and hop_limit (0: 64) are those of the IP header; flow_label chooses the UDP source port,
 * with 0 the two QPNs do; static_rate, sl and LIDs are not looked at. NULL: errno EINVAL (is_global 0,
 * another port, sgid_index of an empty entry or of the other family, a dgid that is no host's or group's),
 * ENETUNREACH (no route), ENOMEM.
 */
struct ibv_ah *plx_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
/*
 * The way back to the sender of a datagram: `grh` is the beginning of the buffer that it came in (40 bytes,
 * of IPv4 too). 0, or -1 and errno EINVAL (a wc without IBV_WC_GRH, no such port), EPROTONOSUPPORT (that is
 * no header of a datagram), ENOENT (it went to an address that this port does not have).
 */
int plx_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc,
			struct ibv_grh *grh, struct ibv_ah_attr *ah_attr);
/* Both. NULL and the errno of one of them. */
struct ibv_ah *plx_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh,
				     uint8_t port_num);
/* Sends that name it and are not on the wire yet end with IBV_WC_LOC_QP_OP_ERR. */
int plx_destroy_ah(struct ibv_ah *ah);

/* ---- shared receive queues ---- */

/*
 * For QPs of any type and core; the memory of its WRs belongs to `pd`, which need not be the QPs'. What
 * was granted of max_wr and max_sge, at least what was asked, is written back; srq_limit is not looked
 * at. NULL: errno EINVAL (max_wr 0, or a limit of the device), ENOMEM.
 */
struct ibv_srq *plx_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *srq_init_attr);
/*
 * The same for IBV_SRQT_BASIC. For IBV_SRQT_XRC with a domain, whose targets give it what their peers send
 * to it by its number, and a CQ, on which that completes with the target's qp_num. What a peer names by rkey
 * in requests for it must be of `pd` too. NULL: errno also EOPNOTSUPP (another type, other bits of
 * comp_mask), EINVAL (no PD, or for XRC no domain or CQ of this context).
 */
struct ibv_srq *plx_create_srq_ex(struct ibv_context *context,
				  struct ibv_srq_init_attr_ex *srq_init_attr_ex);
/* By which peers name an SRQ of type XRC: wr.qp_type.xrc.remote_srqn. EINVAL: it is none. */
int plx_get_srq_num(struct ibv_srq *srq, uint32_t *srq_num);
/*
 * IBV_SRQ_LIMIT: one IBV_EVENT_SRQ_LIMIT_REACHED once fewer WRs than srq_limit wait, at once when it is
 * so already; then the limit is 0 until it is armed anew. IBV_SRQ_MAX_WR: resizes to max_wr or more,
 * what waits keeps its order. EINVAL: max_wr 0, above the device's limit, below what waits or an armed
 * limit; srq_limit above max_wr; other bits. ENOMEM. Nothing has changed on an error.
 */
int plx_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr, int srq_attr_mask);
int plx_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *srq_attr);
/* Waits until every asynchronous event of the SRQ that was given out is acknowledged. EBUSY while a QP
 * uses it. WRs that nobody took are gone without a completion. */
int plx_destroy_srq(struct ibv_srq *srq);

/* ---- asynchronous events ---- */

/* As plx_get_cq_event(), on context->async_fd. */
int plx_get_async_event(struct ibv_context *context, struct ibv_async_event *event);
void plx_ack_async_event(struct ibv_async_event *event);

/* ---- process, names, rates ---- */

/* 0: registered memory is reached with the program's own mappings, so a fork hurts nothing. */
int plx_fork_init(void);
enum ibv_fork_status plx_is_fork_initialized(void);

const char *plx_wc_status_str(enum ibv_wc_status status);
const char *plx_node_type_str(enum ibv_node_type node_type);
const char *plx_port_state_str(enum ibv_port_state port_state);
const char *plx_event_type_str(enum ibv_event_type event);

/* Rates as multiples of 2.5 Gb/s and in Mb/s; -1 or IBV_RATE_MAX for what is none. */
int plx_rate_to_mult(enum ibv_rate rate);
enum ibv_rate plx_mult_to_rate(int mult);
int plx_rate_to_mbps(enum ibv_rate rate);
enum ibv_rate plx_mbps_to_rate(int mbps);

/* ---- not in this version: EOPNOTSUPP ---- */

struct ibv_context *plx_import_device(int cmd_fd);
struct ibv_pd *plx_import_pd(struct ibv_context *context, uint32_t pd_handle);
void plx_unimport_pd(struct ibv_pd *pd);
struct ibv_mr *plx_import_mr(struct ibv_pd *pd, uint32_t mr_handle);
void plx_unimport_mr(struct ibv_mr *mr);
struct ibv_dm *plx_import_dm(struct ibv_context *context, uint32_t dm_handle);
void plx_unimport_dm(struct ibv_dm *dm);
int plx_set_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int plx_query_ece(struct ibv_qp *qp, struct ibv_ece *ece);
int plx_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr,
				uint8_t eth_mac[ETHERNET_LL_SIZE], uint16_t *vid);

/* ---- inline: *_inline.h document them ---- */

PLX_INLINE struct ibv_context *plx_open_device(struct ibv_device *device);
PLX_INLINE int plx_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
PLX_INLINE int plx_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
PLX_INLINE int plx_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr,
				 struct ibv_recv_wr **bad_wr);
PLX_INLINE int plx_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
PLX_INLINE int plx_req_notify_cq(struct ibv_cq *cq, int solicited_only);
PLX_INLINE int plx_start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);
PLX_INLINE int plx_next_poll(struct ibv_cq_ex *cq);
PLX_INLINE void plx_end_poll(struct ibv_cq_ex *cq);
PLX_INLINE enum ibv_wc_opcode plx_wc_read_opcode(struct ibv_cq_ex *cq);
PLX_INLINE uint32_t plx_wc_read_vendor_err(struct ibv_cq_ex *cq);
PLX_INLINE uint32_t plx_wc_read_byte_len(struct ibv_cq_ex *cq);
PLX_INLINE __be32 plx_wc_read_imm_data(struct ibv_cq_ex *cq);
PLX_INLINE uint32_t plx_wc_read_invalidated_rkey(struct ibv_cq_ex *cq);
PLX_INLINE uint32_t plx_wc_read_qp_num(struct ibv_cq_ex *cq);
PLX_INLINE uint32_t plx_wc_read_src_qp(struct ibv_cq_ex *cq);
PLX_INLINE unsigned int plx_wc_read_wc_flags(struct ibv_cq_ex *cq);
PLX_INLINE uint32_t plx_wc_read_slid(struct ibv_cq_ex *cq);
PLX_INLINE uint8_t plx_wc_read_sl(struct ibv_cq_ex *cq);
PLX_INLINE uint8_t plx_wc_read_dlid_path_bits(struct ibv_cq_ex *cq);
PLX_INLINE uint64_t plx_wc_read_completion_ts(struct ibv_cq_ex *cq);
PLX_INLINE uint64_t plx_wc_read_completion_wallclock_ns(struct ibv_cq_ex *cq);
PLX_INLINE uint16_t plx_wc_read_cvlan(struct ibv_cq_ex *cq);
PLX_INLINE uint32_t plx_wc_read_flow_tag(struct ibv_cq_ex *cq);
PLX_INLINE void plx_wc_read_tm_info(struct ibv_cq_ex *cq, struct ibv_wc_tm_info *tm_info);

PLX_INLINE void plx_wr_start(struct ibv_qp_ex *ex);
PLX_INLINE int plx_wr_complete(struct ibv_qp_ex *ex);
PLX_INLINE void plx_wr_abort(struct ibv_qp_ex *ex);
PLX_INLINE void plx_wr_send(struct ibv_qp_ex *ex);
PLX_INLINE void plx_wr_send_imm(struct ibv_qp_ex *ex, __be32 imm_data);
PLX_INLINE void plx_wr_send_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey);
PLX_INLINE void plx_wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr);
PLX_INLINE void plx_wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				      __be32 imm_data);
PLX_INLINE void plx_wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr);
PLX_INLINE void plx_wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				      uint64_t compare, uint64_t swap);
PLX_INLINE void plx_wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
					uint64_t add);
PLX_INLINE void plx_wr_local_inv(struct ibv_qp_ex *ex, uint32_t invalidate_rkey);
PLX_INLINE void plx_wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey,
			       const struct ibv_mw_bind_info *bind_info);
PLX_INLINE void plx_wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr,
				    const void *atomic_wr);
PLX_INLINE void plx_wr_flush(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, size_t len,
			     uint8_t type, uint8_t level);
PLX_INLINE void plx_wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length);
PLX_INLINE void plx_wr_set_sge_list(struct ibv_qp_ex *ex, size_t num_sge, const struct ibv_sge *sg_list);
PLX_INLINE void plx_wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length);
PLX_INLINE void plx_wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t num_buf,
					    const struct ibv_data_buf *buf_list);
PLX_INLINE void plx_wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t remote_qpn,
				   uint32_t remote_qkey);
PLX_INLINE void plx_wr_set_xrc_srqn(struct ibv_qp_ex *ex, uint32_t remote_srqn);

#pragma GCC visibility pop

/* __plx_open_device() with the layouts that this program is compiled with. */
PLX_INLINE struct ibv_context *
plx_open_device(struct ibv_device *device)
{
	return __plx_open_device(device, PLX_ABI_VERSION);
}

#include <pollux/verbs_inline.h>
#include <pollux/local_inline.h>
#include <pollux/poll_inline.h>
#include <pollux/recv_inline.h>
#include <pollux/wr_inline.h>
#include <pollux/cq_ex_inline.h>

#ifdef __cplusplus
}
#endif

#ifndef PLX_NO_STANDARD_NAMES
#include <pollux/standard_names.h>
#endif

#endif

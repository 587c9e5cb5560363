/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The standard names of the verbs mean Pollux: included by <pollux/verbs.h>, at its end, unless
 * PLX_NO_STANDARD_NAMES is defined.
 */
#ifndef POLLUX_STANDARD_NAMES_H
#define POLLUX_STANDARD_NAMES_H

/* these are macros of rdma-core's header already */
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define ibv_get_device_list plx_get_device_list
#define ibv_free_device_list plx_free_device_list
#define ibv_get_device_name plx_get_device_name
#define ibv_get_device_index plx_get_device_index
#define ibv_get_device_guid plx_get_device_guid
#define ibv_open_device plx_open_device
#define ibv_close_device plx_close_device
#define ibv_query_device plx_query_device
#define ibv_query_device_ex plx_query_device_ex
#define ibv_query_rt_values_ex plx_query_rt_values_ex
#define ibv_query_port plx_query_port
#define ibv_query_gid plx_query_gid
#define ibv_query_gid_ex plx_query_gid_ex
#define ibv_query_gid_table plx_query_gid_table
#define ibv_query_pkey plx_query_pkey
#define ibv_get_pkey_index plx_get_pkey_index
#define ibv_alloc_pd plx_alloc_pd
#define ibv_dealloc_pd plx_dealloc_pd
#define ibv_alloc_td plx_alloc_td
#define ibv_dealloc_td plx_dealloc_td
#define ibv_alloc_parent_domain plx_alloc_parent_domain
#define ibv_reg_mr plx_reg_mr
#define ibv_reg_mr_iova plx_reg_mr_iova
#define ibv_reg_mr_iova2 plx_reg_mr_iova2
#define ibv_dereg_mr plx_dereg_mr
#define ibv_alloc_mw plx_alloc_mw
#define ibv_dealloc_mw plx_dealloc_mw
#define ibv_bind_mw plx_bind_mw
#define ibv_alloc_null_mr plx_alloc_null_mr
#define ibv_advise_mr plx_advise_mr
#define ibv_alloc_dm plx_alloc_dm
#define ibv_free_dm plx_free_dm
#define ibv_memcpy_to_dm plx_memcpy_to_dm
#define ibv_memcpy_from_dm plx_memcpy_from_dm
#define ibv_reg_dm_mr plx_reg_dm_mr
#define ibv_open_xrcd plx_open_xrcd
#define ibv_close_xrcd plx_close_xrcd
#define ibv_create_comp_channel plx_create_comp_channel
#define ibv_destroy_comp_channel plx_destroy_comp_channel
#define ibv_create_cq plx_create_cq
#define ibv_create_cq_ex plx_create_cq_ex
#define ibv_destroy_cq plx_destroy_cq
#define ibv_get_cq_event plx_get_cq_event
#define ibv_ack_cq_events plx_ack_cq_events
#define ibv_create_qp plx_create_qp
#define ibv_create_qp_ex plx_create_qp_ex
#define ibv_open_qp plx_open_qp
#define ibv_modify_qp plx_modify_qp
#define ibv_query_qp plx_query_qp
#define ibv_destroy_qp plx_destroy_qp
#define ibv_qp_to_qp_ex plx_qp_to_qp_ex
#define ibv_query_qp_data_in_order plx_query_qp_data_in_order
#define ibv_create_srq plx_create_srq
#define ibv_create_srq_ex plx_create_srq_ex
#define ibv_get_srq_num plx_get_srq_num
#define ibv_modify_srq plx_modify_srq
#define ibv_query_srq plx_query_srq
#define ibv_destroy_srq plx_destroy_srq
#define ibv_get_async_event plx_get_async_event
#define ibv_ack_async_event plx_ack_async_event
#define ibv_fork_init plx_fork_init
#define ibv_is_fork_initialized plx_is_fork_initialized
#define ibv_wc_status_str plx_wc_status_str
#define ibv_node_type_str plx_node_type_str
#define ibv_port_state_str plx_port_state_str
#define ibv_event_type_str plx_event_type_str
#define ibv_rate_to_mult plx_rate_to_mult
#define mult_to_ibv_rate plx_mult_to_rate
#define ibv_rate_to_mbps plx_rate_to_mbps
#define mbps_to_ibv_rate plx_mbps_to_rate
#define ibv_post_send plx_post_send
#define ibv_post_recv plx_post_recv
#define ibv_post_srq_recv plx_post_srq_recv
#define ibv_poll_cq plx_poll_cq
#define ibv_req_notify_cq plx_req_notify_cq
#define ibv_wr_start plx_wr_start
#define ibv_wr_complete plx_wr_complete
#define ibv_wr_abort plx_wr_abort
#define ibv_wr_send plx_wr_send
#define ibv_wr_send_imm plx_wr_send_imm
#define ibv_wr_send_inv plx_wr_send_inv
#define ibv_wr_rdma_write plx_wr_rdma_write
#define ibv_wr_rdma_write_imm plx_wr_rdma_write_imm
#define ibv_wr_rdma_read plx_wr_rdma_read
#define ibv_wr_atomic_cmp_swp plx_wr_atomic_cmp_swp
#define ibv_wr_atomic_fetch_add plx_wr_atomic_fetch_add
#define ibv_wr_local_inv plx_wr_local_inv
#define ibv_wr_bind_mw plx_wr_bind_mw
#define ibv_wr_atomic_write plx_wr_atomic_write
#define ibv_wr_flush plx_wr_flush
#define ibv_wr_set_sge plx_wr_set_sge
#define ibv_wr_set_sge_list plx_wr_set_sge_list
#define ibv_wr_set_inline_data plx_wr_set_inline_data
#define ibv_wr_set_inline_data_list plx_wr_set_inline_data_list
#define ibv_wr_set_ud_addr plx_wr_set_ud_addr
#define ibv_wr_set_xrc_srqn plx_wr_set_xrc_srqn
#define ibv_start_poll plx_start_poll
#define ibv_next_poll plx_next_poll
#define ibv_end_poll plx_end_poll
#define ibv_wc_read_opcode plx_wc_read_opcode
#define ibv_wc_read_vendor_err plx_wc_read_vendor_err
#define ibv_wc_read_byte_len plx_wc_read_byte_len
#define ibv_wc_read_imm_data plx_wc_read_imm_data
#define ibv_wc_read_invalidated_rkey plx_wc_read_invalidated_rkey
#define ibv_wc_read_qp_num plx_wc_read_qp_num
#define ibv_wc_read_src_qp plx_wc_read_src_qp
#define ibv_wc_read_wc_flags plx_wc_read_wc_flags
#define ibv_wc_read_slid plx_wc_read_slid
#define ibv_wc_read_sl plx_wc_read_sl
#define ibv_wc_read_dlid_path_bits plx_wc_read_dlid_path_bits
#define ibv_wc_read_completion_ts plx_wc_read_completion_ts
#define ibv_wc_read_completion_wallclock_ns plx_wc_read_completion_wallclock_ns
#define ibv_wc_read_cvlan plx_wc_read_cvlan
#define ibv_wc_read_flow_tag plx_wc_read_flow_tag
#define ibv_wc_read_tm_info plx_wc_read_tm_info

#define ibv_create_ah plx_create_ah
#define ibv_init_ah_from_wc plx_init_ah_from_wc
#define ibv_create_ah_from_wc plx_create_ah_from_wc
#define ibv_destroy_ah plx_destroy_ah
#define ibv_attach_mcast plx_attach_mcast
#define ibv_detach_mcast plx_detach_mcast
#define ibv_resize_cq plx_resize_cq
#define ibv_modify_cq plx_modify_cq
#define ibv_rereg_mr plx_rereg_mr
#define ibv_reg_dmabuf_mr plx_reg_dmabuf_mr
#define ibv_import_device plx_import_device
#define ibv_import_pd plx_import_pd
#define ibv_unimport_pd plx_unimport_pd
#define ibv_import_mr plx_import_mr
#define ibv_unimport_mr plx_unimport_mr
#define ibv_import_dm plx_import_dm
#define ibv_unimport_dm plx_unimport_dm
#define ibv_set_ece plx_set_ece
#define ibv_query_ece plx_query_ece
#define ibv_resolve_eth_l2_from_gid plx_resolve_eth_l2_from_gid

#endif

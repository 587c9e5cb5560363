/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What do providers of kernel devices ask of libibverbs? Programs load some of them beside us
 * (perftest libmlx5 and libefa), and the loader wants every name. None has a device here: they
 * register and log at load, which is taken and forgotten, and what speaks to the kernel answers
 * EOPNOTSUPP. Their arguments do not matter, so none are declared.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

/* X(kind, name) */
#define PROVIDER_LIST(X) \
	X(INT, execute_ioctl) \
	X(INT, ibv_cmd_advise_mr) \
	X(INT, ibv_cmd_alloc_dm) \
	X(INT, ibv_cmd_alloc_mw) \
	X(INT, ibv_cmd_alloc_pd) \
	X(INT, ibv_cmd_attach_mcast) \
	X(INT, ibv_cmd_close_xrcd) \
	X(INT, ibv_cmd_create_ah) \
	X(INT, ibv_cmd_create_counters) \
	X(INT, ibv_cmd_create_cq) \
	X(INT, ibv_cmd_create_cq_ex) \
	X(INT, ibv_cmd_create_flow) \
	X(INT, ibv_cmd_create_flow_action_esp) \
	X(INT, ibv_cmd_create_qp) \
	X(INT, ibv_cmd_create_qp_ex) \
	X(INT, ibv_cmd_create_qp_ex2) \
	X(INT, ibv_cmd_create_rwq_ind_table) \
	X(INT, ibv_cmd_create_srq) \
	X(INT, ibv_cmd_create_srq_ex) \
	X(INT, ibv_cmd_create_wq) \
	X(INT, ibv_cmd_dealloc_mw) \
	X(INT, ibv_cmd_dealloc_pd) \
	X(INT, ibv_cmd_dereg_mr) \
	X(INT, ibv_cmd_destroy_ah) \
	X(INT, ibv_cmd_destroy_counters) \
	X(INT, ibv_cmd_destroy_cq) \
	X(INT, ibv_cmd_destroy_flow) \
	X(INT, ibv_cmd_destroy_flow_action) \
	X(INT, ibv_cmd_destroy_qp) \
	X(INT, ibv_cmd_destroy_rwq_ind_table) \
	X(INT, ibv_cmd_destroy_srq) \
	X(INT, ibv_cmd_destroy_wq) \
	X(INT, ibv_cmd_detach_mcast) \
	X(INT, ibv_cmd_free_dm) \
	X(INT, ibv_cmd_get_context) \
	X(INT, ibv_cmd_modify_cq) \
	X(INT, ibv_cmd_modify_flow_action_esp) \
	X(INT, ibv_cmd_modify_qp) \
	X(INT, ibv_cmd_modify_qp_ex) \
	X(INT, ibv_cmd_modify_srq) \
	X(INT, ibv_cmd_modify_wq) \
	X(INT, ibv_cmd_open_qp) \
	X(INT, ibv_cmd_open_xrcd) \
	X(INT, ibv_cmd_poll_cq) \
	X(INT, ibv_cmd_post_recv) \
	X(INT, ibv_cmd_post_send) \
	X(INT, ibv_cmd_post_srq_recv) \
	X(INT, ibv_cmd_query_context) \
	X(INT, ibv_cmd_query_device_any) \
	X(INT, ibv_cmd_query_mr) \
	X(INT, ibv_cmd_query_port) \
	X(INT, ibv_cmd_query_qp) \
	X(INT, ibv_cmd_query_srq) \
	X(INT, ibv_cmd_read_counters) \
	X(INT, ibv_cmd_reg_dm_mr) \
	X(INT, ibv_cmd_reg_dmabuf_mr) \
	X(INT, ibv_cmd_reg_mr) \
	X(INT, ibv_cmd_req_notify_cq) \
	X(INT, ibv_cmd_rereg_mr) \
	X(INT, ibv_cmd_resize_cq) \
	X(INT, ibv_read_ibdev_sysfs_file) \
	X(VOID, __ioctl_final_num_attrs) \
	X(PTR, _verbs_init_and_alloc_context) \
	X(VOID, verbs_init_cq) \
	X(VOID, __verbs_log) \
	X(PTR, verbs_open_device) \
	X(VOID, verbs_register_driver_34) \
	X(VOID, verbs_set_ops) \
	X(VOID, verbs_uninit_context)

#define PROVIDER_INT(name) \
	int name(void); \
	int \
	name(void) \
	{ \
		return EOPNOTSUPP; \
	}
#define PROVIDER_PTR(name) \
	void *name(void); \
	void * \
	name(void) \
	{ \
		errno = EOPNOTSUPP; \
		return NULL; \
	}
#define PROVIDER_VOID(name) \
	void name(void); \
	void \
	name(void) \
	{ \
	}
#define PROVIDER(kind, name) PROVIDER_##kind(name)
PROVIDER_LIST(PROVIDER)

/* the only one that is data: what a provider does when its device is unplugged */
extern bool verbs_allow_disassociate_destroy;
bool verbs_allow_disassociate_destroy;

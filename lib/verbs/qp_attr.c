/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What do a QP's attributes look like in a control message? Conversions for qp.c; which of them
 * count says the attribute mask.
 */
#include <string.h>

#include "verbs/verbs_priv.h"

void
verbs_ah_to_ctl(const struct ibv_ah_attr *ah, struct ctl_ah_attr *out)
{
	memcpy(out->dgid, ah->grh.dgid.raw, sizeof(out->dgid));
	out->flow_label = ah->grh.flow_label;
	out->sgid_index = ah->grh.sgid_index;
	out->hop_limit = ah->grh.hop_limit;
	out->traffic_class = ah->grh.traffic_class;
	out->sl = ah->sl;
	out->is_global = ah->is_global;
	out->port_num = ah->port_num;
	out->static_rate = ah->static_rate;
	out->src_path_bits = ah->src_path_bits;
	out->dlid = ah->dlid;
}

static void
ah_from_ctl(const struct ctl_ah_attr *ah, struct ibv_ah_attr *out)
{
	memcpy(out->grh.dgid.raw, ah->dgid, sizeof(ah->dgid));
	out->grh.flow_label = ah->flow_label;
	out->grh.sgid_index = ah->sgid_index;
	out->grh.hop_limit = ah->hop_limit;
	out->grh.traffic_class = ah->traffic_class;
	out->sl = ah->sl;
	out->is_global = ah->is_global;
	out->port_num = ah->port_num;
	out->static_rate = ah->static_rate;
	out->src_path_bits = ah->src_path_bits;
	out->dlid = (uint16_t)ah->dlid;
}

static void
cap_to_ctl(const struct ibv_qp_cap *cap, struct ctl_qp_cap *out)
{
	out->max_send_wr = cap->max_send_wr;
	out->max_recv_wr = cap->max_recv_wr;
	out->max_send_sge = cap->max_send_sge;
	out->max_recv_sge = cap->max_recv_sge;
	out->max_inline_data = cap->max_inline_data;
}

static void
cap_from_ctl(const struct ctl_qp_cap *cap, struct ibv_qp_cap *out)
{
	out->max_send_wr = cap->max_send_wr;
	out->max_recv_wr = cap->max_recv_wr;
	out->max_send_sge = cap->max_send_sge;
	out->max_recv_sge = cap->max_recv_sge;
	out->max_inline_data = cap->max_inline_data;
}

void
verbs_attr_to_ctl(const struct ibv_qp_attr *attr, struct ctl_qp_attr *out)
{
	*out = (struct ctl_qp_attr){
		.qp_state = attr->qp_state,
		.cur_qp_state = attr->cur_qp_state,
		.path_mtu = attr->path_mtu,
		.path_mig_state = attr->path_mig_state,
		.qkey = attr->qkey,
		.rq_psn = attr->rq_psn,
		.sq_psn = attr->sq_psn,
		.dest_qp_num = attr->dest_qp_num,
		.qp_access_flags = attr->qp_access_flags,
		.pkey_index = attr->pkey_index,
		.alt_pkey_index = attr->alt_pkey_index,
		.en_sqd_async_notify = attr->en_sqd_async_notify,
		.sq_draining = attr->sq_draining,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.port_num = attr->port_num,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.alt_port_num = attr->alt_port_num,
		.alt_timeout = attr->alt_timeout,
		.rate_limit = attr->rate_limit,
	};
	cap_to_ctl(&attr->cap, &out->cap);
	verbs_ah_to_ctl(&attr->ah_attr, &out->ah);
	verbs_ah_to_ctl(&attr->alt_ah_attr, &out->alt_ah);
}

void
verbs_attr_from_ctl(const struct ctl_qp_attr *attr, struct ibv_qp_attr *out)
{
	*out = (struct ibv_qp_attr){
		.qp_state = (enum ibv_qp_state)attr->qp_state,
		.cur_qp_state = (enum ibv_qp_state)attr->cur_qp_state,
		.path_mtu = (enum ibv_mtu)attr->path_mtu,
		.path_mig_state = (enum ibv_mig_state)attr->path_mig_state,
		.qkey = attr->qkey,
		.rq_psn = attr->rq_psn,
		.sq_psn = attr->sq_psn,
		.dest_qp_num = attr->dest_qp_num,
		.qp_access_flags = attr->qp_access_flags,
		.pkey_index = attr->pkey_index,
		.alt_pkey_index = attr->alt_pkey_index,
		.en_sqd_async_notify = attr->en_sqd_async_notify,
		.sq_draining = attr->sq_draining,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.port_num = attr->port_num,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
		.alt_port_num = attr->alt_port_num,
		.alt_timeout = attr->alt_timeout,
		.rate_limit = attr->rate_limit,
	};
	cap_from_ctl(&attr->cap, &out->cap);
	ah_from_ctl(&attr->ah, &out->ah_attr);
	ah_from_ctl(&attr->alt_ah, &out->alt_ah_attr);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does a device say of itself? Device, port, GID and P_Key queries; control verbs, on
 * application threads.
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "verbs/verbs_priv.h"

#define PKEY_DEFAULT 0xffff

static void
device_attr_fill(const struct ctl_query_device *d, struct ibv_device_attr *attr)
{
	*attr = (struct ibv_device_attr){
		.node_guid = d->node_guid,
		.sys_image_guid = d->node_guid,
		.max_mr_size = d->max_mr_size,
		.page_size_cap = d->page_size_cap,
		.vendor_id = d->vendor_id,
		.vendor_part_id = d->vendor_part_id,
		.hw_ver = d->hw_ver,
		.max_qp = (int)d->max_qp,
		.max_qp_wr = (int)d->max_qp_wr,
		.device_cap_flags = (unsigned int)d->device_cap_flags,
		.max_sge = (int)d->max_sge,
		.max_sge_rd = (int)d->max_sge,
		.max_cq = (int)d->max_cq,
		.max_cqe = (int)d->max_cqe,
		.max_mr = (int)d->max_mr,
		.max_pd = (int)d->max_pd,
		.max_qp_rd_atom = (int)d->max_qp_rd_atom,
		.max_res_rd_atom = (int)d->max_res_rd_atom,
		.max_qp_init_rd_atom = (int)d->max_qp_init_rd_atom,
		.atomic_cap = (enum ibv_atomic_cap)d->atomic_cap,
		.max_mw = (int)d->max_mw,
		.max_mcast_grp = (int)d->max_mcast_grp,
		.max_mcast_qp_attach = (int)d->max_mcast_qp_attach,
		.max_total_mcast_qp_attach = (int)d->max_total_mcast_qp_attach,
		.max_ah = (int)d->max_ah,
		.max_srq = (int)d->max_srq,
		.max_srq_wr = (int)d->max_srq_wr,
		.max_srq_sge = (int)d->max_srq_sge,
		.max_pkeys = (uint16_t)d->max_pkeys,
		.phys_port_cnt = (uint8_t)d->phys_port_cnt,
	};
	snprintf(attr->fw_ver, sizeof(attr->fw_ver), "%.*s", (int)sizeof(d->fw_ver), d->fw_ver);
}

/* A forked child, which cannot ask, is told what the device said when the context was opened: programs divide
 * what it has between their children. 0 or -errno. */
static int
device_ask(struct ibv_context *context, struct ctl_query_device *d)
{
	if (!verbs_ctx_of(context)->pub.refuse)
		return verbs_call(context, CTL_QUERY_DEVICE, d);
	*d = verbs_ctx_of(context)->limits;
	return 0;
}

int
plx_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct ctl_query_device d = { 0 };
	int err = device_ask(context, &d);

	if (!err)
		device_attr_fill(&d, attr);
	return -err;
}

/* attr_size: of the structure that the program was compiled with, which may be shorter. */
int
verbs_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		      struct ibv_device_attr_ex *attr, size_t attr_size)
{
	struct ibv_device_attr_ex full = { 0 };
	struct ctl_query_device d = { 0 };
	int err;

	if (input && input->comp_mask)
		return EINVAL;
	err = device_ask(context, &d);
	if (err)
		return -err;
	device_attr_fill(&d, &full.orig_attr);
	full.hca_core_clock = d.hca_core_clock;
	full.completion_timestamp_mask = d.hca_core_clock ? UINT64_MAX : 0;
	full.device_cap_flags_ex = d.device_cap_flags | PLX_DEVICE_FLUSH_GLOBAL | PLX_DEVICE_ATOMIC_WRITE;
	full.phys_port_cnt_ex = d.phys_port_cnt;
	full.max_dm_size = d.max_dm_size;
	full.odp_caps.general_caps = d.odp_general;
	full.odp_caps.per_transport_caps.rc_odp_caps = d.odp_rc;
	full.odp_caps.per_transport_caps.uc_odp_caps = d.odp_uc;
	full.odp_caps.per_transport_caps.ud_odp_caps = d.odp_ud;
	full.xrc_odp_caps = d.odp_xrc;
	full.cq_mod_caps.max_cq_count = CTL_MODERATE_MAX;
	full.cq_mod_caps.max_cq_period = CTL_MODERATE_MAX;
	memset(attr, 0, attr_size);
	memcpy(attr, &full, attr_size < sizeof(full) ? attr_size : sizeof(full));
	return 0;
}

int
plx_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
		    struct ibv_device_attr_ex *attr)
{
	return verbs_query_device_ex(context, input, attr, sizeof(*attr));
}

/* attr_len: as above. */
int
verbs_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		 size_t attr_len)
{
	struct ctl_query_port p = { .port = port_num };
	struct ibv_port_attr full;
	int err = verbs_call(context, CTL_QUERY_PORT, &p);

	if (err)
		return -err;
	full = (struct ibv_port_attr){
		.state = (enum ibv_port_state)p.state,
		.max_mtu = (enum ibv_mtu)p.max_mtu,
		.active_mtu = (enum ibv_mtu)p.active_mtu,
		.gid_tbl_len = (int)p.gid_tbl_len,
		.port_cap_flags = p.port_cap_flags,
		.max_msg_sz = p.max_msg_sz,
		.bad_pkey_cntr = p.bad_pkey_cntr,
		.qkey_viol_cntr = p.qkey_viol_cntr,
		.pkey_tbl_len = (uint16_t)p.pkey_tbl_len,
		.max_vl_num = 1,
		.active_width = p.active_width,
		.active_speed = p.active_speed,
		.phys_state = p.phys_state,
		.link_layer = p.link_layer,
		.flags = p.flags,
	};
	memset(attr, 0, attr_len);
	memcpy(attr, &full, attr_len < sizeof(full) ? attr_len : sizeof(full));
	return 0;
}

int
plx_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr)
{
	return verbs_query_port(context, port_num, attr, sizeof(*attr));
}

/* 0, -ENODATA for an empty entry, -EINVAL. */
static int
gid_entry(struct ibv_context *context, uint32_t port_num, uint32_t index,
	  struct ibv_gid_entry *out)
{
	struct ctl_query_gid g = { .port = port_num, .index = index };
	int err = verbs_call(context, CTL_QUERY_GID, &g);

	if (err)
		return err;
	*out = (struct ibv_gid_entry){
		.gid_index = index,
		.port_num = port_num,
		.gid_type = g.gid_type,
		.ndev_ifindex = g.ndev_ifindex,
	};
	memcpy(out->gid.raw, g.gid, sizeof(g.gid));
	return 0;
}

int
plx_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	struct ibv_gid_entry entry = { 0 };
	int err = gid_entry(context, port_num, (uint32_t)index, &entry);

	if (err && err != -ENODATA) {
		errno = -err;
		return -1;
	}
	*gid = entry.gid; /* of an empty entry: all zero */
	return 0;
}

int
__plx_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		   struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry full;
	int err;

	if (flags)
		return EOPNOTSUPP;
	err = gid_entry(context, port_num, gid_index, &full);
	if (err)
		return -err;
	memset(entry, 0, entry_size);
	memcpy(entry, &full, entry_size < sizeof(full) ? entry_size : sizeof(full));
	return 0;
}

int
plx_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		 struct ibv_gid_entry *entry, uint32_t flags)
{
	return __plx_query_gid_ex(context, port_num, gid_index, entry, flags, sizeof(*entry));
}

/* The entries of one port behind the `n` that are there. How many there are then, or -errno. */
static ssize_t
gid_table_port(struct ibv_context *context, uint32_t port_num, uint8_t *entries, size_t n,
	       size_t max_entries, size_t entry_size)
{
	struct ctl_query_port p = { .port = port_num };
	struct ibv_gid_entry full;
	int err = verbs_call(context, CTL_QUERY_PORT, &p);

	if (err)
		return err;
	for (uint32_t i = 0; i < p.gid_tbl_len; i++) {
		uint8_t *to = entries + n * entry_size;

		err = gid_entry(context, port_num, i, &full);
		if (err == -ENODATA)
			continue;
		if (err)
			return err;
		if (n == max_entries)
			return -EINVAL;
		memset(to, 0, entry_size);
		memcpy(to, &full, entry_size < sizeof(full) ? entry_size : sizeof(full));
		n++;
	}
	return (ssize_t)n;
}

ssize_t
__plx_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
		      size_t max_entries, uint32_t flags, size_t entry_size)
{
	uint32_t ports = verbs_ctx_of(context)->limits.phys_port_cnt;
	ssize_t n = 0;

	if (flags)
		return -EOPNOTSUPP;
	for (uint32_t port = 1; port <= ports && n >= 0; port++)
		n = gid_table_port(context, port, (uint8_t *)entries, (size_t)n, max_entries,
				   entry_size);
	return n;
}

ssize_t
plx_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
		    size_t max_entries, uint32_t flags)
{
	return __plx_query_gid_table(context, entries, max_entries, flags, sizeof(*entries));
}

static bool
port_exists(struct ibv_context *context, uint32_t port_num)
{
	return port_num >= 1 && port_num <= verbs_ctx_of(context)->limits.phys_port_cnt;
}

int
plx_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	if (!port_exists(context, port_num) || index != 0) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htobe16(PKEY_DEFAULT);
	return 0;
}

int
plx_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	if (port_exists(context, port_num) && pkey == htobe16(PKEY_DEFAULT))
		return 0;
	errno = EINVAL;
	return -1;
}

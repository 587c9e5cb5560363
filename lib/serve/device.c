/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does the device say of itself? Only what this version has. Control threads.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "mem/guarded.h"
#include "serve/object.h"
#include "serve/stack.h"
#include "wire/mtu.h"

enum device_no {		/* values of rdma-core's enums */
	CAP_RC_RNR_NAK_GEN = 1 << 12,	/* enum ibv_device_cap_flags */
	CAP_SRQ_RESIZE = 1 << 13,
	CAP_MEM_WINDOW = 1 << 17,
	CAP_XRC = 1 << 20,
	CAP_MEM_WINDOW_TYPE_2B = 1 << 24,
	ATOMIC_GLOB = 2,		/* enum ibv_atomic_cap */
	PORT_DOWN = 1,			/* enum ibv_port_state */
	PORT_ACTIVE = 4,
	PHYS_DISABLED = 3,
	PHYS_LINK_UP = 5,
	WIDTH_4X = 2,
	SPEED_25G = 32,
	LINK_ETHERNET = 2,		/* IBV_LINK_LAYER_ETHERNET */
	QPF_GRH_REQUIRED = 1 << 0,
	PORT_IP_BASED_GIDS = 1 << 26,	/* enum ibv_port_cap_flags */
	GID_ROCE_V2 = 2,		/* enum ibv_gid_type */
	ODP_SUPPORT = 1 << 0,		/* enum ibv_odp_general_caps */
	ODP_IMPLICIT = 1 << 1,
	ODP_SEND = 1 << 0,		/* enum ibv_odp_transport_cap_bits */
	ODP_RECV = 1 << 1,
	ODP_WRITE = 1 << 2,
	ODP_READ = 1 << 3,
	ODP_ATOMIC = 1 << 4,
	ODP_SRQ_RECV = 1 << 5,
};

/* EUI-64 of the MAC: ff:fe in the middle, the universal bit turned. */
static uint64_t
guid_of(const uint8_t mac[6])
{
	const uint8_t b[8] = { mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5] };
	uint64_t guid;

	memcpy(&guid, b, sizeof(guid));
	return guid;
}

void
serve_describe(const struct stack *s, struct ctl_device *out)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->name, sizeof(out->name), "pollux0");
	out->guid = guid_of(eng_port(s->eng)->mac);
}

/*
 * On-demand paging, where the kernel copies for us (mem/guarded.h): pages come when they are used, and one
 * that is not there is that request's error. Implicit: for local access alone, a peer's is refused when it is
 * asked for (memory.c).
 */
static void
describe_on_demand(struct ctl_query_device *m)
{
	m->odp_general = ODP_SUPPORT | ODP_IMPLICIT;
	m->odp_rc = ODP_SEND | ODP_RECV | ODP_WRITE | ODP_READ | ODP_ATOMIC | ODP_SRQ_RECV;
	m->odp_uc = ODP_SEND | ODP_RECV | ODP_WRITE;
	m->odp_ud = ODP_SEND | ODP_RECV;
	m->odp_xrc = ODP_SEND | ODP_WRITE | ODP_READ | ODP_ATOMIC | ODP_SRQ_RECV;
}

/* Atomics are lock-prefixed instructions on the program's own memory: atomic for its CPUs too. */
int
serve_query_device(struct client *cl, struct ctl_query_device *m)
{
	const struct stack *s = cl->stack;

	*m = (struct ctl_query_device){
		.fw_ver = SERVE_VERSION,
		.node_guid = guid_of(eng_port(s->eng)->mac),
		.max_mr_size = UINT64_C(1) << 47,
		.page_size_cap = 4096,
		.device_cap_flags = CAP_RC_RNR_NAK_GEN | CAP_SRQ_RESIZE | CAP_XRC | CAP_MEM_WINDOW |
				    CAP_MEM_WINDOW_TYPE_2B,
		.max_dm_size = s->conf.dm_size,
		.vendor_id = s->conf.vendor_id,
		.vendor_part_id = s->conf.vendor_part_id,
		.hca_core_clock = eng_tick_khz(s->eng),
		.max_qp = MAX_QP,
		.max_qp_wr = PLX_MAX_WR,
		.max_sge = PLX_MAX_SGE,
		.max_inline_data = PLX_MAX_INLINE,
		.max_cq = MAX_CQ,
		.max_cqe = MAX_CQE,
		.max_mr = MAX_MR,
		.max_mw = MAX_MW,
		.max_pd = MAX_PD,
		.max_ah = MAX_AH,
		.max_srq = MAX_SRQ,
		.max_srq_wr = PLX_MAX_WR,
		.max_srq_sge = PLX_MAX_SGE,
		.max_qp_rd_atom = MAX_RD_ATOMIC,
		.max_qp_init_rd_atom = MAX_RD_ATOMIC,
		.max_res_rd_atom = MAX_RD_ATOMIC * MAX_QP,
		.atomic_cap = ATOMIC_GLOB,
		.max_mcast_grp = MAX_MCAST_GRP,
		.max_mcast_qp_attach = MAX_MCAST_QP,
		.max_total_mcast_qp_attach = MAX_MCAST_GRP * MAX_MCAST_QP,
		.max_pkeys = 1,
		.phys_port_cnt = 1,
		.num_comp_vectors = eng_num_cores(s->eng),
	};
	if (mem_guarded_works())
		describe_on_demand(m);
	return 0;
}

/* A 16-bit counter of the book, of all cores; it stays at its end (A16, F1). */
static uint32_t
dropped(const struct stack *s, enum drop_reason why)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < eng_num_cores(s->eng); i++)
		n += cnt_read(&core_counters(eng_core(s->eng, i))->drop[why]);
	return n < UINT16_MAX ? (uint32_t)n : UINT16_MAX;
}

int
serve_query_port(struct client *cl, struct ctl_query_port *m)
{
	const struct stack *s = cl->stack;
	bool up = eng_link_up(s->eng);

	if (m->port != 1)
		return -EINVAL;
	*m = (struct ctl_query_port){
		.port = 1,
		.state = up ? PORT_ACTIVE : PORT_DOWN,
		.max_mtu = MTU_ENUM_MAX,
		.active_mtu = mtu_enum_for_port(eng_port(s->eng)->ip_mtu),
		.gid_tbl_len = NET_MAX_GIDS,
		.pkey_tbl_len = 1,
		.bad_pkey_cntr = dropped(s, DROP_PKEY),
		.qkey_viol_cntr = dropped(s, DROP_QKEY),
		.port_cap_flags = PORT_IP_BASED_GIDS,
		.max_msg_sz = 1u << 31,
		.active_width = WIDTH_4X,
		.active_speed = SPEED_25G,
		.phys_state = up ? PHYS_LINK_UP : PHYS_DISABLED,
		.link_layer = LINK_ETHERNET,
		.flags = QPF_GRH_REQUIRED,
	};
	return 0;
}

static int
get_gid(struct core *c, void *arg)
{
	struct ctl_query_gid *m = arg;

	return gid_get(core_net(c), m->index, m->gid);
}

int
serve_query_gid(struct client *cl, struct ctl_query_gid *m)
{
	int rc;

	if (m->port != 1)
		return -EINVAL;
	rc = eng_call(eng_port_core(cl->stack->eng), get_gid, m);
	if (rc < 0)
		return rc;
	m->gid_type = GID_ROCE_V2;
	m->ndev_ifindex = 0;
	return 0;
}

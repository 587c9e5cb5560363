/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls about queue pairs. */
#include "api.h"

#define NEED(x) \
	do { \
		if (!(x)) \
			return SKIP; \
	} while (0)
#define ROOM(kind) NEED(api.num[kind] < MAX_LIVE)

#define DGRAM_OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS (IBV_QP_EX_WITH_ATOMIC_WRITE | ((IBV_QP_EX_WITH_SEND_WITH_INV << 1) - 1))	/* all but TSO */

static uint32_t
rnd_cap(void)
{
	return one_in(12) ? rnd_word() : below(33);
}

static struct ibv_qp_init_attr_ex
rnd_init(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD,
						  IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, IBV_QPT_RAW_PACKET };
	struct ibv_qp_init_attr_ex init = {
		.qp_context = &api, .send_cq = pick_use(CQ), .recv_cq = pick_use(CQ),
		.cap = { rnd_cap(), rnd_cap(), rnd_cap() % 8, rnd_cap() % 8, rnd_cap() },
		.qp_type = one_in(12) ? (enum ibv_qp_type)rnd_word() : types[below(7)],
		.sq_sig_all = (int)below(2),
	};

	if (one_in(3)) {
		bool wrong = api.wrong;

		init.srq = pick_use(SRQ);
		api.wrong = init.srq ? api.wrong : wrong;	/* it needs none */
	}
	/* an XRC initiator does not receive */
	if (init.qp_type == IBV_QPT_XRC_SEND)
		api.wrong = false;
	return init;
}

int
call_create_qp(void)
{
	struct ibv_qp_init_attr_ex init = rnd_init();
	struct ibv_pd *pd = pick_any(PD);

	ROOM(QP);
	NEED(pd);
	return made(QP, plx_create_qp(pd, (struct ibv_qp_init_attr *)&init));
}

int
call_create_qp_ex(void)
{
	struct ibv_qp_init_attr_ex init = rnd_init();
	bool target = init.qp_type == IBV_QPT_XRC_RECV;

	ROOM(QP);
	init.comp_mask = one_in(8) ? rnd_word() : target ? IBV_QP_INIT_ATTR_XRCD :
			 IBV_QP_INIT_ATTR_PD | (one_in(3) ? 0 : IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	api.wrong = false;	/* a target uses none of those */
	init.pd = pick_use(PD);
	init.xrcd = pick_use(XRCD);
	init.create_flags = one_in(4) ? rnd_word() : 0;
	init.send_ops_flags = one_in(16) ? rnd64() : init.qp_type == IBV_QPT_UD ? DGRAM_OPS : rnd64() & OPS;
	api.wrong = false;
	return made(QP, plx_create_qp_ex(api.ctx, &init));
}

static struct ibv_qp *
pick_target(void)
{
	struct ibv_qp *qp = NULL;

	for (int i = 0; i < MAX_LIVE && (!qp || qp->qp_type != IBV_QPT_XRC_RECV); i++)
		qp = pick(QP);
	return qp;
}

int
call_open_qp(void)
{
	struct ibv_qp *qp = pick_target();
	struct ibv_qp_open_attr attr = {
		.comp_mask = one_in(6) ? rnd_word() : 7, .qp_num = qp && !one_in(4) ? qp->qp_num : rnd_word(),
		.xrcd = pick_use(XRCD), .qp_context = &api,
		.qp_type = one_in(6) ? (enum ibv_qp_type)rnd_word() : IBV_QPT_XRC_RECV,
	};

	ROOM(QP);
	return made(QP, plx_open_qp(api.ctx, &attr));
}

#define TO_INIT (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT)
#define TO_RTR (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define TO_RTS (IBV_QP_STATE | IBV_QP_SQ_PSN)

/* What the next state wants, for the type. */
static int
next_state(const struct ibv_qp *qp, struct ibv_qp_attr *attr)
{
	bool dgram = qp->qp_type == IBV_QPT_UD, reliable = !dgram && qp->qp_type != IBV_QPT_UC;

	switch (qp->state) {
	case IBV_QPS_RESET:
		attr->qp_state = IBV_QPS_INIT;
		return TO_INIT | (dgram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	case IBV_QPS_INIT:
		attr->qp_state = IBV_QPS_RTR;
		return dgram ? IBV_QP_STATE :
		       TO_RTR | (reliable ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0);
	case IBV_QPS_RTR:
		attr->qp_state = IBV_QPS_RTS;
		return TO_RTS | (reliable ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				 IBV_QP_MAX_QP_RD_ATOMIC : 0);
	default:
		attr->qp_state = !one_in(8) ? qp->state : one_in(2) ? IBV_QPS_ERR : IBV_QPS_RESET;
		return IBV_QP_STATE;
	}
}

/* Whatever is not what the next state needs is random. */
static void
rnd_attr(struct ibv_qp_attr *attr, const struct ibv_qp *qp, const struct ibv_qp *peer)
{
	rnd_bytes(attr, sizeof(*attr));
	rnd_ah_attr(&attr->ah_attr);
	attr->dest_qp_num = peer->qp_num;
	attr->qp_state = (enum ibv_qp_state)below(8);
	attr->cur_qp_state = qp->state;
	attr->port_num = 1;
	attr->pkey_index = 0;
	attr->qp_access_flags = any_access();
	attr->path_mtu = (enum ibv_mtu)(1 + below(5));
	attr->qkey = below(2);
	attr->rq_psn = attr->sq_psn = one_in(4) ? rnd_word() : 0;
	attr->max_rd_atomic = attr->max_dest_rd_atomic = (uint8_t)(one_in(8) ? rnd_word() : below(17));
	attr->timeout &= 15;
	if (one_in(8))
		return;
	attr->min_rnr_timer &= 31;
	attr->retry_cnt &= 7;
	attr->rnr_retry &= 7;
}

/* Mostly steps that work, of a queue pair that is connected to itself or to another of the fuzzer's. */
int
call_modify_qp(void)
{
	struct ibv_qp *qp = pick_any(QP), *peer = one_in(2) ? qp : pick(QP);
	struct ibv_qp_attr attr;
	int mask;

	NEED(qp && peer);
	while (!api.wrong && !one_in(8) && qp->state < IBV_QPS_RTS) {
		rnd_attr(&attr, qp, peer);
		mask = next_state(qp, &attr);
		if (plx_modify_qp(qp, &attr, mask))
			break;
	}
	rnd_attr(&attr, qp, peer);
	mask = one_in(6) ? (int)rnd_word() : next_state(qp, &attr);
	if (one_in(8))
		mask ^= 1 << below(26);
	if (mask == 0)
		mask = IBV_QP_STATE;
	return plx_modify_qp(qp, &attr, mask);
}

int
call_query_qp(void)
{
	struct ibv_qp *qp = pick_any(QP);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	NEED(qp);
	return plx_query_qp(qp, &attr, (int)rnd_word(), one_in(4) ? NULL : &init);
}

int
call_explain_qp(void)
{
	struct ibv_qp *qp = pick_any(QP);
	size_t len = one_in(3) ? 0 : below(500);
	uint32_t vendor_err;
	char text[500];

	NEED(qp);
	return plx_explain_qp(qp, one_in(2) ? NULL : &vendor_err, len ? text : NULL, len);
}

/* What the library knows itself. */
int
call_query_qp_about(void)
{
	struct ibv_qp *qp = pick_any(QP);
	int order;

	NEED(qp);
	api.wrong = false;
	(void)plx_qp_to_qp_ex(qp);
	order = plx_query_qp_data_in_order(qp, (enum ibv_wr_opcode)rnd_word(), rnd_word());
	return order == 0 || order == 1 ? 0 : NO_ERRNO;
}

static const union ibv_gid groups[] = {
	{ .raw = { [10] = 0xff, [11] = 0xff, 239, 1, 2, 3 } },
	{ .raw = { 0xff, 0x15, [15] = 0x77 } },
};

void
leave_groups(struct ibv_qp *qp)
{
	(void)plx_detach_mcast(qp, &groups[0], 0);
	(void)plx_detach_mcast(qp, &groups[1], 0);
}

int
call_destroy_qp(void)
{
	struct ibv_qp *qp = pick_any(QP);

	/* most live long enough to be connected */
	NEED(qp && (one_in(3) || api.num[QP] > MAX_LIVE / 2));
	if (one_in(2))
		leave_groups(qp);
	return ended(QP, qp, plx_destroy_qp(qp));
}

static int
with_group(int (*fn)(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid))
{
	struct ibv_qp *qp = pick_any(QP);
	union ibv_gid gid = groups[below(2)];

	NEED(qp);
	if (one_in(4))
		memcpy(gid.raw, api.gid.raw, 16);
	return fn(qp, &gid, (uint16_t)rnd_word());
}

int
call_attach_mcast(void)
{
	return with_group(plx_attach_mcast);
}

int
call_detach_mcast(void)
{
	return with_group(plx_detach_mcast);
}

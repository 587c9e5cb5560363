/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "verbs_mock.h"

struct mock mock;

static struct ctl_seg
seg(void *p, uint64_t length)
{
	return (struct ctl_seg){ .offset = (uintptr_t)p, .length = length };
}

static uint32_t
log2_up(uint32_t n)
{
	uint32_t k = 0;

	while ((1u << k) < n)
		k++;
	return k;
}

static void
mock_drive(void *arg, enum ctl_drive how)
{
	(void)arg;
	__atomic_fetch_add(&mock.drives[how], 1, __ATOMIC_RELAXED);
	if (mock.on_drive)
		mock.on_drive(how);
}

static void
mock_wake(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&mock.wakes, 1, __ATOMIC_RELAXED);
}

static int
mock_devices(struct ctl_device *out, int max)
{
	if (max > 0) {
		strcpy(out[0].name, "pollux0");
		out[0].guid = 0x0102030405060708ull;
	}
	return 1;
}

static int
mock_open(int index, uint32_t abi_version, struct ctl_client *out)
{
	int fd[2];

	(void)index;
	(void)abi_version;
	if (mock.open_err)
		return mock.open_err;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
		return -errno;
	mock.async_fd = fd[1];
	out->handle = &mock;
	out->async_fd = fd[0];
	out->num_cores = 1;
	out->core[0] = (struct ctl_core){
		.bell = mock.bell,
		.drive_arg = &mock,
		.drive = mock.can_drive ? mock_drive : NULL,
		.wake = mock_wake,
	};
	return 0;
}

static void
mock_close(struct ctl_client *client)
{
	close(client->async_fd);
	close(mock.async_fd);
	mock.closes++;
}

static void *
mock_map(void *handle, const struct ctl_seg *s)
{
	(void)handle;
	return (void *)(uintptr_t)s->offset;
}

static int
query_device(struct ctl_query_device *d)
{
	*d = (struct ctl_query_device){
		.fw_ver = "mock",
		.node_guid = 0x0102030405060708ull,
		.max_mr_size = UINT64_MAX, .max_dm_size = sizeof(mock.dm),
		.page_size_cap = 0xfffff000,
		.max_qp = MOCK_MAX, .max_qp_wr = PLX_MAX_WR, .max_sge = PLX_MAX_SGE,
		.max_srq = MOCK_MAX, .max_srq_wr = PLX_MAX_WR, .max_srq_sge = PLX_MAX_SGE,
		.max_inline_data = PLX_MAX_INLINE, .max_cq = MOCK_MAX, .max_cqe = 4194303,
		.max_mr = 1024, .max_pd = 1024, .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 16,
		.max_res_rd_atom = 1024, .atomic_cap = IBV_ATOMIC_GLOB, .max_pkeys = 1,
		.phys_port_cnt = 1, .num_comp_vectors = 1, .hca_core_clock = 1000000,
	};
	return 0;
}

static int
query_port(struct ctl_query_port *p)
{
	if (p->port != 1)
		return -EINVAL;
	p->state = IBV_PORT_ACTIVE;
	p->max_mtu = IBV_MTU_4096;
	p->active_mtu = IBV_MTU_1024;
	p->gid_tbl_len = 4;
	p->pkey_tbl_len = 1;
	p->port_cap_flags = 0;
	p->max_msg_sz = 1u << 31;
	p->active_width = 2;
	p->active_speed = 32;
	p->phys_state = 5;
	p->link_layer = IBV_LINK_LAYER_ETHERNET;
	p->flags = IBV_QPF_GRH_REQUIRED;
	return 0;
}

/* entries 0 and 1; 2 and 3 are empty */
static int
query_gid(struct ctl_query_gid *g)
{
	static const uint8_t gids[2][16] = {
		{ 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, 1 },
		{ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 11, 0, 1 },
	};

	if (g->port != 1 || g->index > 3)
		return -EINVAL;
	if (g->index > 1)
		return -ENODATA;
	memcpy(g->gid, gids[g->index], 16);
	g->gid_type = IBV_GID_TYPE_ROCE_V2;
	return 0;
}

static int
create_channel(struct ctl_channel *m)
{
	int fd[2];

	for (uint32_t i = 1; i < MOCK_MAX; i++) {
		if (mock.channel[i].used)
			continue;
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fd))
			return -errno;
		mock.channel[i] = (struct mock_channel){ true, fd[1] };
		m->channel = i;
		m->fd = fd[0];
		return 0;
	}
	return -ENOMEM;
}

static int
create_cq(struct ctl_create_cq *m)
{
	for (uint32_t i = 0; i < MOCK_MAX; i++) {
		struct mock_cq *cq = &mock.cq[i];

		if (cq->used)
			continue;
		*cq = (struct mock_cq){ .used = true, .gen = cq->gen + 1, .channel = m->channel,
					.log2_size = log2_up(m->cqe + m->held) };
		cq->ctl = calloc(1, sizeof(*cq->ctl));
		cq->ring = calloc(1u << cq->log2_size, sizeof(*cq->ring));
		m->cq = i;
		m->cq_gen = cq->gen;
		m->log2_size = cq->log2_size;
		m->core = 0;
		m->ctl = seg(cq->ctl, sizeof(*cq->ctl));
		m->ring = seg(cq->ring, sizeof(*cq->ring) << cq->log2_size);
		return 0;
	}
	return -ENOMEM;
}

static int
destroy_cq(uint32_t i)
{
	for (uint32_t q = 0; q < MOCK_MAX; q++) {
		if (mock.qp[q].used && (mock.qp[q].req.send_cq == i || mock.qp[q].req.recv_cq == i))
			return -EBUSY;
	}
	free(mock.cq[i].ctl);
	free(mock.cq[i].ring);
	mock.cq[i].used = false;
	return 0;
}

void
mock_wq_make(struct mock_wq *wq, uint32_t max_wr, uint32_t stride, struct ctl_wq *out)
{
	wq->log2_size = log2_up(max_wr ? max_wr : 1);
	wq->stride = stride;
	wq->ctl = calloc(1, sizeof(*wq->ctl));
	wq->slots = calloc(1u << wq->log2_size, stride);
	*out = (struct ctl_wq){
		.log2_size = wq->log2_size,
		.stride = stride,
		.ctl = seg(wq->ctl, sizeof(*wq->ctl)),
		.slots = seg(wq->slots, (uint64_t)stride << wq->log2_size),
	};
}

static int
create_qp(struct ctl_create_qp *m)
{
	for (uint32_t i = 0; i < MOCK_MAX; i++) {
		struct mock_qp *qp = &mock.qp[i];

		if (qp->used)
			continue;
		*qp = (struct mock_qp){ .used = true, .gen = qp->gen + 1, .num = 0x100 + i };
		m->qp = i;
		m->qp_gen = qp->gen;
		m->qp_num = qp->num;
		m->core = 0;
		mock_wq_make(&qp->sq, m->cap.max_send_wr,
			plx_sq_stride(m->cap.max_send_sge, m->cap.max_inline_data), &m->sq);
		mock_wq_make(&qp->rq, m->cap.max_recv_wr,
			(plx_rq_stride(m->cap.max_recv_sge) + 15u) & ~15u, &m->rq);
		qp->req = *m;
		return 0;
	}
	return -ENOMEM;
}

static int
modify_qp(struct ctl_modify_qp *m)
{
	struct mock_qp *qp = &mock.qp[m->qp];

	mock.last_modify = *m;
	if (m->mask & IBV_QP_STATE)
		qp->state = m->attr.qp_state;
	qp->attr = m->attr;
	m->state = qp->state;
	return 0;
}

static int
query_qp(struct ctl_query_qp *m)
{
	m->attr = mock.qp[m->qp].attr;
	m->attr.qp_state = m->attr.cur_qp_state = mock.qp[m->qp].state;
	m->attr.cap = mock.qp[m->qp].req.cap;
	return 0;
}

static int
destroy_qp(uint32_t i)
{
	struct mock_qp *qp = &mock.qp[i];

	free(qp->sq.ctl);
	free(qp->sq.slots);
	free(qp->rq.ctl);
	free(qp->rq.slots);
	qp->used = false;
	return 0;
}

static int
destroy_channel(uint32_t i)
{
	close(mock.channel[i].fd);
	mock.channel[i].used = false;
	return 0;
}

static int
explain_qp(struct ctl_explain_qp *m)
{
	const struct mock_qp *qp = &mock.qp[m->qp];

	if (qp->state != IBV_QPS_ERR)
		return -ENODATA;
	m->vendor_err = 0x6211;
	snprintf(m->text, sizeof(m->text), "it failed");
	return 0;
}

static int
mcast(const struct ctl_mcast *m, unsigned int *calls)
{
	mock.last_mcast = *m;
	++*calls;
	return 0;
}

static int
create_ah(struct ctl_create_ah *m)
{
	m->ah = 5;
	m->ah_gen = 77;
	mock.last_ah = *m;
	return 0;
}

static int
mock_call(void *handle, enum ctl_msg_type type, void *msg)
{
	int err = 0;

	(void)handle;
	if (mock.fail_err && mock.fail_type == (int)type) {
		err = mock.fail_err;
		mock.fail_err = 0;
		return err;
	}
	switch (type) {
	case CTL_QUERY_DEVICE: return query_device(msg);
	case CTL_QUERY_PORT: return query_port(msg);
	case CTL_QUERY_GID: return query_gid(msg);
	case CTL_ALLOC_PD: ((struct ctl_pd *)msg)->pd = 3; return 0;
	case CTL_CREATE_AH: return create_ah(msg);
	case CTL_REG_MR: return mock_reg_mr(msg);
	case CTL_REREG_MR: return mock_rereg_mr(msg);
	case CTL_ADVISE_MR: return mock_advise_mr(msg);
	case CTL_ALLOC_DM: return mock_alloc_dm(msg);
	case CTL_FREE_DM: return ((struct ctl_free_dm *)msg)->dm == 4 ? 0 : -EINVAL;
	case CTL_ALLOC_MW: *(struct ctl_mw *)msg = (struct ctl_mw){ .mw = ++mock.num_mws, .rkey = 0x1207f };
		return 0;
	case CTL_DEALLOC_MW:
	case CTL_DESTROY_AH:
	case CTL_DEALLOC_PD:
	case CTL_DEREG_MR: return 0;
	case CTL_CREATE_CHANNEL: return create_channel(msg);
	case CTL_DESTROY_CHANNEL: return destroy_channel(((struct ctl_channel *)msg)->channel);
	case CTL_CREATE_CQ: return create_cq(msg);
	case CTL_RESIZE_CQ:
	case CTL_MODERATE_CQ: break;
	case CTL_DESTROY_CQ: return destroy_cq(((struct ctl_destroy_cq *)msg)->cq);
	case CTL_CREATE_QP: return create_qp(msg);
	case CTL_MODIFY_QP: return modify_qp(msg);
	case CTL_QUERY_QP: return query_qp(msg);
	case CTL_EXPLAIN_QP: return explain_qp(msg);
	case CTL_DESTROY_QP: return destroy_qp(((struct ctl_destroy_qp *)msg)->qp);
	case CTL_ATTACH_MCAST: return mcast(msg, &mock.attaches);
	case CTL_DETACH_MCAST: return mcast(msg, &mock.detaches);
	case CTL_OPEN_QP: return -EINVAL;
	case CTL_OPEN_XRCD: ((struct ctl_xrcd *)msg)->xrcd = 5; return 0;
	case CTL_CLOSE_XRCD: return ((struct ctl_xrcd *)msg)->xrcd == 5 ? 0 : -EINVAL;
	case CTL_CREATE_SRQ: return mock_srq_create(msg);
	case CTL_MODIFY_SRQ: return mock_srq_modify(msg);
	case CTL_QUERY_SRQ: return mock_srq_query(msg);
	case CTL_DESTROY_SRQ: return mock_srq_destroy(((struct ctl_destroy_srq *)msg)->srq);
	case CTL_MSG_COUNT: break;
	}
	return -EOPNOTSUPP;
}

const struct ctl_backend mock_backend = {
	.abi_version = CTL_ABI_VERSION,
	.devices = mock_devices,
	.open = mock_open,
	.close = mock_close,
	.call = mock_call,
	.map = mock_map,
};

void
mock_start(bool can_drive)
{
	mock = (struct mock){ .can_drive = can_drive };
	mock.bell = calloc(1, sizeof(*mock.bell));
	if (__plx_backend_register(&mock_backend))
		abort();
}

void
mock_stop(void)
{
	__plx_backend_register(NULL);
	for (uint32_t i = 0; i < MOCK_MAX; i++) {
		if (mock.qp[i].used)
			destroy_qp(i);
	}
	for (uint32_t i = 0; i < MOCK_MAX; i++) {
		if (mock.srq[i].used)
			mock_srq_destroy(i);
		if (mock.cq[i].used)
			destroy_cq(i);
		if (mock.channel[i].used)
			destroy_channel(i);
	}
	free(mock.bell);
	mock.bell = NULL;
}

uint32_t
mock_take_bell(void)
{
	uint32_t *slot = &mock.bell->slot[mock.bells_seen & (PLX_BELL_SLOTS - 1)];
	uint32_t entry = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	struct mock_qp *qp;

	if (!entry)
		return 0;
	__atomic_store_n(slot, 0, __ATOMIC_RELAXED);
	mock.bells_seen++;
	qp = &mock.qp[plx_bell_handle(entry)];
	__atomic_store_n(plx_bell_kind(entry) == PLX_BELL_SQ ? &qp->sq.ctl->bell : &qp->rq.ctl->bell, 0,
			 __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return entry;
}

void
mock_push(uint32_t i, const struct plx_cqe *cqe)
{
	struct mock_cq *cq = &mock.cq[i];
	struct plx_cqe *slot = &cq->ring[cq->tail & ((1u << cq->log2_size) - 1)];
	uint32_t phase = plx_cqe_phase(cq->tail, cq->log2_size);

	memcpy(slot, cqe, offsetof(struct plx_cqe, phase));
	__atomic_store_n(&slot->phase, phase, __ATOMIC_RELEASE);
	cq->tail++;
}

void
mock_complete(uint32_t cq, uint32_t qp, enum plx_cqe_queue queue, uint64_t wr_id, uint32_t wq_head)
{
	struct plx_cqe cqe = {
		.wr_id = wr_id,
		.opcode = queue == PLX_CQE_SQ ? IBV_WC_SEND : IBV_WC_RECV,
		.qp_num = mock.qp[qp].num,
		.queue = (uint8_t)queue,
		.qp = qp,
		.qp_gen = mock.qp[qp].gen,
		.wq_head = wq_head,
	};

	mock_push(cq, &cqe);
}

uint32_t
mock_fire(uint32_t i)
{
	struct mock_cq *cq = &mock.cq[i];
	struct plx_cq_event e = { .cq = i, .cq_gen = cq->gen };
	uint32_t arm = __atomic_exchange_n(&cq->ctl->arm, PLX_CQ_ARM_NONE, __ATOMIC_SEQ_CST);

	if (arm && cq->channel)
		(void)!write(mock.channel[cq->channel].fd, &e, sizeof(e));
	return arm;
}

void
mock_async(uint32_t type, enum plx_event_subject subject, uint32_t handle, uint32_t gen)
{
	struct plx_async_event e = { .type = type, .subject = subject, .handle = handle, .gen = gen };

	(void)!write(mock.async_fd, &e, sizeof(e));
}

struct plx_sq_wqe *
mock_sq_wqe(uint32_t qp, uint32_t index)
{
	struct mock_wq *wq = &mock.qp[qp].sq;

	return (struct plx_sq_wqe *)(wq->slots +
				     (size_t)(index & ((1u << wq->log2_size) - 1)) * wq->stride);
}

struct plx_rq_wqe *
mock_rq_wqe(uint32_t qp, uint32_t index)
{
	struct mock_wq *wq = &mock.qp[qp].rq;

	return (struct plx_rq_wqe *)(wq->slots +
				     (size_t)(index & ((1u << wq->log2_size) - 1)) * wq->stride);
}

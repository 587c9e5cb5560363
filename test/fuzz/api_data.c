/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of the data path, and events, with living objects: who gives these others is beyond help. */
#include "api.h"

#define NEED(x) \
	do { \
		if (!(x)) \
			return SKIP; \
	} while (0)
#define MAX_CHAIN 4
#define MAX_SGES 40

static struct ibv_sge sges[MAX_CHAIN][MAX_SGES];

/* Memory that there is when `real`, which a call copies itself. */
static void
rnd_sges(struct ibv_sge *sge, bool real)
{
	for (int i = 0; i < MAX_SGES; i++) {
		struct ibv_mr *mr = pick(MR);
		size_t len = real || !one_in(32) ? below(600) : any_len();

		sge[i] = (struct ibv_sge){ (uintptr_t)api.buf + below(API_BUF_LEN - 600), (uint32_t)len,
					   mr && !one_in(32) ? mr->lkey : rnd_word() };
		if (!real && one_in(32))
			sge[i].addr = (uintptr_t)any_addr();
	}
}

static int
rnd_num_sge(void)
{
	return one_in(32) ? (int)rnd_word() : one_in(16) ? (int)below(MAX_SGES) : (int)below(3);
}

/* Of a datagram QP `wr.ud` is read, of others what is in its place. */
static void
rnd_send(struct ibv_send_wr *wr, struct ibv_sge *sge, const struct ibv_qp *qp)
{
	struct ibv_mr *mr = pick(MR);
	struct ibv_qp *peer = pick(QP);
	struct ibv_srq *srq = pick(SRQ);

	memset(wr, 0, sizeof(*wr));
	wr->wr_id = rnd64();
	wr->opcode = (enum ibv_wr_opcode)(one_in(16) ? rnd_word() : one_in(4) ? below(16) : below(4));
	wr->send_flags = one_in(8) ? rnd_word() : one_in(4) ? 0 : IBV_SEND_SIGNALED;
	wr->imm_data = (uint32_t)rnd64();
	if (wr->opcode == IBV_WR_LOCAL_INV && pick(MW))
		wr->invalidate_rkey = ((struct ibv_mw *)pick(MW))->rkey;
	wr->num_sge = rnd_num_sge();
	wr->sg_list = sge;
	rnd_sges(sge, wr->send_flags & IBV_SEND_INLINE);
	if (qp->qp_type == IBV_QPT_UD) {
		wr->wr.ud.ah = pick_use(AH);
		wr->wr.ud.remote_qpn = peer ? peer->qp_num : rnd_word();
		wr->wr.ud.remote_qkey = below(2);
		return;
	}
	if (wr->opcode == IBV_WR_BIND_MW) {
		wr->bind_mw.mw = one_in(16) ? NULL : pick(MW);
		wr->bind_mw.rkey = wr->bind_mw.mw && !one_in(16) ? wr->bind_mw.mw->rkey ^ below(256) :
								   rnd_word();
		rnd_bind_info(&wr->bind_mw.bind_info);
		return;
	}
	wr->wr.atomic.remote_addr = one_in(16) ? rnd64() : (uintptr_t)api.buf + below(API_BUF_LEN) / 8 * 8;
	wr->wr.rdma.rkey = mr && !one_in(16) ? mr->rkey : rnd_word();
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.compare_add = rnd64();
		wr->wr.atomic.rkey = mr ? mr->rkey : rnd_word();
	}
	if (srq && plx_get_srq_num(srq, &wr->qp_type.xrc.remote_srqn))
		wr->qp_type.xrc.remote_srqn = rnd_word();
}

/* The WR at which a post says that it stopped is one of the chain. */
#define STOPPED(chain, n, bad) ((bad) >= &(chain)[0] && (bad) < &(chain)[n] ? 0 : NO_ERRNO)

int
call_post_send(void)
{
	struct ibv_send_wr wr[MAX_CHAIN], *bad = NULL;
	unsigned int n = 1 + below(MAX_CHAIN);
	struct ibv_qp *qp = pick(QP);
	int err;

	NEED(qp);
	for (unsigned int i = 0; i < n; i++) {
		rnd_send(&wr[i], sges[i], qp);
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
	}
	err = plx_post_send(qp, wr, &bad);
	/* a handle that is of nothing is found out when it is sent */
	api.wrong = qp->qp_type == IBV_QPT_UD && !wr[0].wr.ud.ah;
	return err && STOPPED(wr, n, bad) ? NO_ERRNO : err;
}

static unsigned int
rnd_recvs(struct ibv_recv_wr *wr)
{
	unsigned int n = 1 + below(MAX_CHAIN);

	for (unsigned int i = 0; i < n; i++) {
		rnd_sges(sges[i], false);
		wr[i] = (struct ibv_recv_wr){ .wr_id = rnd64(), .next = i + 1 < n ? &wr[i + 1] : NULL,
					      .sg_list = sges[i], .num_sge = rnd_num_sge() };
	}
	return n;
}

int
call_post_recv(void)
{
	struct ibv_recv_wr wr[MAX_CHAIN], *bad = NULL;
	struct ibv_qp *qp = pick(QP);
	unsigned int n = rnd_recvs(wr);
	int err;

	NEED(qp);
	err = plx_post_recv(qp, wr, &bad);
	return err && STOPPED(wr, n, bad) ? NO_ERRNO : err;
}

int
call_post_srq_recv(void)
{
	struct ibv_recv_wr wr[MAX_CHAIN], *bad = NULL;
	struct ibv_srq *srq = pick(SRQ);
	unsigned int n = rnd_recvs(wr);
	int err;

	NEED(srq);
	err = plx_post_srq_recv(srq, wr, &bad);
	return err && STOPPED(wr, n, bad) ? NO_ERRNO : err;
}

int
call_poll_cq(void)
{
	struct ibv_wc wc[16] = { { 0 } };
	struct ibv_cq *cq = pick(CQ);
	int want = one_in(8) ? -(int)below(3) : 1 + (int)below(16), n;

	NEED(cq);
	n = plx_poll_cq(cq, want, wc);
	for (int i = 0; i < n; i++) {
		if (wc[i].status > IBV_WC_TM_RNDV_INCOMPLETE)
			return NO_ERRNO;
	}
	return n < 0 ? -n : n <= (want > 0 ? want : 0) ? 0 : NO_ERRNO;
}

/* Looks at some, asks each for all that it has, and may leave in the middle. */
int
call_poll_extended(void)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = one_in(16) };
	struct ibv_cq *plain = pick(CQ);
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)plain;
	struct ibv_wc_tm_info tm;
	uint64_t sum = 0;
	int err;

	NEED(plain && verbs_cq_of(plain)->extended);
	err = one_in(2) ? plx_start_poll(cq, &attr) : cq->start_poll(cq, &attr);
	if (err)
		return err;
	do {
		sum += (uint64_t)plx_wc_read_opcode(cq) + plx_wc_read_vendor_err(cq);
		sum += plx_wc_read_byte_len(cq);
		sum += plx_wc_read_imm_data(cq) + plx_wc_read_invalidated_rkey(cq) + plx_wc_read_qp_num(cq);
		sum += plx_wc_read_src_qp(cq) + plx_wc_read_wc_flags(cq) + plx_wc_read_slid(cq);
		sum += plx_wc_read_completion_ts(cq) + plx_wc_read_completion_wallclock_ns(cq);
		sum += plx_wc_read_sl(cq) + plx_wc_read_dlid_path_bits(cq) + plx_wc_read_cvlan(cq);
		plx_wc_read_tm_info(cq, &tm);
		sum += plx_wc_read_flow_tag(cq) + tm.tag + tm.priv;
	} while (!one_in(8) && cq->next_poll(cq) == 0);
	plx_end_poll(cq);
	return sum && cq->status > IBV_WC_TM_RNDV_INCOMPLETE ? NO_ERRNO : 0;
}

int
call_req_notify_cq(void)
{
	struct ibv_cq *cq = pick(CQ);

	NEED(cq);
	return plx_req_notify_cq(cq, (int)rnd_word());
}

/* Whoever gets one acknowledges it: who does not waits for ever in the object's destruction. */
int
call_get_cq_event(void)
{
	struct ibv_comp_channel *ch = pick(CHANNEL);
	struct ibv_cq *cq;
	void *cq_context;

	NEED(ch);
	if (plx_get_cq_event(ch, &cq, &cq_context))
		return errno ? errno : NO_ERRNO;
	if (cq_context != &api)
		return NO_ERRNO;
	plx_ack_cq_events(cq, 0);
	plx_ack_cq_events(cq, 1);
	return 0;
}

int
call_get_async_event(void)
{
	struct ibv_async_event event;

	if (plx_get_async_event(api.ctx, &event))
		return errno ? errno : NO_ERRNO;
	plx_ack_async_event(&event);
	return 0;
}

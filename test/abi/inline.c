/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Verbs source as it is written for rdma-core: it includes <infiniband/verbs.h> and knows nothing of
 * Pollux. Compiled with include/pollux/std in front, as C and as C++, it must build without a warning
 * and call plx_* alone; run, on the mock stack, it must get through.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

#define ENSURE(cond) \
	do { \
		if (!(cond)) { \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #cond); \
			exit(1); \
		} \
	} while (0)

static char buf[4096];

struct end {
	struct ibv_context *ctx;
	struct ibv_comp_channel *channel;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

static void
open_first(struct end *e)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	ENSURE(list && list[0]);
	printf("%s %016llx\n", ibv_get_device_name(list[0]),
	       (unsigned long long)ibv_get_device_guid(list[0]));
	e->ctx = ibv_open_device(list[0]);
	ENSURE(e->ctx);
	ibv_free_device_list(list);
}

static void
look_around(struct end *e)
{
	struct ibv_device_attr_ex ex;
	struct ibv_gid_entry entry;
	struct ibv_device_attr dev;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	ENSURE(!ibv_query_device(e->ctx, &dev));
	ENSURE(!ibv_query_device_ex(e->ctx, NULL, &ex));
	ENSURE(!ibv_query_port(e->ctx, 1, &port));
	ENSURE(!ibv_query_gid(e->ctx, 1, 0, &gid));
	ENSURE(!ibv_query_gid_ex(e->ctx, 1, 0, &entry, 0));
	ENSURE(ibv_query_gid_table(e->ctx, &entry, 1, 0) <= 1);
	ENSURE(!ibv_query_pkey(e->ctx, 1, 0, &pkey));
	ENSURE(ibv_get_pkey_index(e->ctx, 1, pkey) == 0);
	printf("%s, %s\n", ibv_port_state_str(port.state), dev.fw_ver);
}

static void
make_objects(struct end *e, int access)
{
	struct ibv_qp_init_attr init;

	memset(&init, 0, sizeof(init));
	e->channel = ibv_create_comp_channel(e->ctx);
	e->pd = ibv_alloc_pd(e->ctx);
	ENSURE(e->channel && e->pd);
	e->mr = ibv_reg_mr(e->pd, buf, sizeof(buf), access);
	ENSURE(e->mr && !ibv_dereg_mr(e->mr));
	e->mr = ibv_reg_mr_iova(e->pd, buf, sizeof(buf), 0, IBV_ACCESS_LOCAL_WRITE);
	ENSURE(e->mr && !ibv_dereg_mr(e->mr));
	e->mr = ibv_reg_mr(e->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	e->cq = ibv_create_cq(e->ctx, 16, NULL, e->channel, 0);
	ENSURE(e->mr && e->cq);
	init.send_cq = init.recv_cq = e->cq;
	init.qp_type = IBV_QPT_RC;
	init.cap.max_send_wr = init.cap.max_recv_wr = 4;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	e->qp = ibv_create_qp(e->pd, &init);
	ENSURE(e->qp);
}

static void
connect_qp(struct end *e)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.qp_state = IBV_QPS_RTS;
	ENSURE(!ibv_modify_qp(e->qp, &attr, IBV_QP_STATE));
	ENSURE(!ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &init));
	ENSURE(attr.qp_state == IBV_QPS_RTS);
}

static void
move_data(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)buf, 8, e->mr->lkey };
	struct ibv_recv_wr rwr, *rbad;
	struct ibv_send_wr wr, *bad;
	struct ibv_wc wc;

	memset(&wr, 0, sizeof(wr));
	memset(&rwr, 0, sizeof(rwr));
	wr.sg_list = rwr.sg_list = &sge;
	wr.num_sge = rwr.num_sge = 1;
	wr.opcode = IBV_WR_SEND;
	ENSURE(!ibv_post_recv(e->qp, &rwr, &rbad));
	ENSURE(!ibv_req_notify_cq(e->cq, 0));
	ENSURE(!ibv_post_send(e->qp, &wr, &bad));
	ENSURE(ibv_poll_cq(e->cq, 1, &wc) == 0);
	printf("%s\n", ibv_wc_status_str(IBV_WC_SUCCESS));
}

static void
build_requests(struct end *e)
{
	struct ibv_qp_init_attr_ex init;
	struct ibv_data_buf bufs[1];
	struct ibv_qp_attr attr;
	struct ibv_qp_ex *ex;
	struct ibv_qp *qp;

	memset(&init, 0, sizeof(init));
	memset(&attr, 0, sizeof(attr));
	init.send_cq = init.recv_cq = e->cq;
	init.qp_type = IBV_QPT_RC;
	init.cap.max_send_wr = 4;
	init.cap.max_send_sge = 1;
	init.cap.max_inline_data = 16;
	init.pd = e->pd;
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ;
	qp = ibv_create_qp_ex(e->ctx, &init);
	ENSURE(qp);
	ex = ibv_qp_to_qp_ex(qp);
	attr.qp_state = IBV_QPS_RTS;
	attr.max_rd_atomic = 1;
	ENSURE(ex && !ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_MAX_QP_RD_ATOMIC));
	bufs[0].addr = buf;
	bufs[0].length = 8;
	ibv_wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_inline_data_list(ex, 1, bufs);
	ibv_wr_rdma_write(ex, e->mr->rkey, (uintptr_t)buf);
	ibv_wr_set_inline_data(ex, buf, 8);
	ibv_wr_rdma_read(ex, e->mr->rkey, (uintptr_t)buf);
	ibv_wr_set_sge(ex, e->mr->lkey, (uintptr_t)buf, 8);
	ENSURE(!ibv_wr_complete(ex));
	ibv_wr_start(ex);
	ibv_wr_abort(ex);
	ENSURE(!ibv_destroy_qp(qp));
}

static void
use_one_thread(struct end *e)
{
	struct ibv_parent_domain_init_attr attr;
	struct ibv_td_init_attr none;
	struct ibv_td *td;
	struct ibv_pd *pd;

	memset(&attr, 0, sizeof(attr));
	memset(&none, 0, sizeof(none));
	td = ibv_alloc_td(e->ctx, &none);
	attr.pd = e->pd;
	attr.td = td;
	pd = ibv_alloc_parent_domain(e->ctx, &attr);
	ENSURE(td && pd);
	ENSURE(!ibv_dealloc_pd(pd) && !ibv_dealloc_td(td));
}

static void
share_receives(struct end *e)
{
	struct ibv_srq_init_attr_ex init;
	struct ibv_recv_wr wr, *bad;
	struct ibv_srq_attr attr;
	struct ibv_srq *srq;

	memset(&init, 0, sizeof(init));
	memset(&wr, 0, sizeof(wr));
	init.comp_mask = IBV_SRQ_INIT_ATTR_PD;
	init.pd = e->pd;
	init.attr.max_wr = 4;
	srq = ibv_create_srq_ex(e->ctx, &init);
	ENSURE(srq);
	attr.srq_limit = 2;
	ENSURE(!ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	ENSURE(!ibv_query_srq(srq, &attr) && attr.max_wr >= 4);
	ENSURE(!ibv_post_srq_recv(srq, &wr, &bad));
	ENSURE(!ibv_destroy_srq(srq));
}

static void
poll_extended(struct end *e)
{
	struct ibv_cq_init_attr_ex init;
	struct ibv_poll_cq_attr attr;
	struct ibv_wc_tm_info tm;
	struct ibv_cq_ex *cq;

	memset(&init, 0, sizeof(init));
	memset(&attr, 0, sizeof(attr));
	init.cqe = 1;
	init.wc_flags = IBV_WC_STANDARD_FLAGS;
	cq = ibv_create_cq_ex(e->ctx, &init);
	ENSURE(cq);
	if (ibv_start_poll(cq, &attr) == ENOENT) {
		ENSURE(!ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
		return;
	}
	do {
		ibv_wc_read_tm_info(cq, &tm);
		printf("%d %u %u %u\n", (int)ibv_wc_read_opcode(cq), ibv_wc_read_byte_len(cq),
		       ibv_wc_read_imm_data(cq), ibv_wc_read_invalidated_rkey(cq));
		printf("%u %u %u %u\n", ibv_wc_read_qp_num(cq), ibv_wc_read_src_qp(cq),
		       ibv_wc_read_wc_flags(cq), ibv_wc_read_vendor_err(cq));
		printf("%u %u %u %u\n", ibv_wc_read_slid(cq), ibv_wc_read_sl(cq),
		       ibv_wc_read_dlid_path_bits(cq), ibv_wc_read_cvlan(cq));
		printf("%u %llu\n", ibv_wc_read_flow_tag(cq),
		       (unsigned long long)(ibv_wc_read_completion_ts(cq) +
					    ibv_wc_read_completion_wallclock_ns(cq)));
	} while (!ibv_next_poll(cq));
	ibv_end_poll(cq);
}

/* what this version does not have is there to be linked and says so */
static void
ask_for_more(struct end *e)
{
	struct ibv_ece ece;

	ENSURE(ibv_query_ece(e->qp, &ece) == EOPNOTSUPP);
	ENSURE(ibv_fork_init() == 0);
}

int
main(int argc, char **argv)
{
	struct end e;

	(void)argv;
	open_first(&e);
	look_around(&e);
	make_objects(&e, argc > 1 ? 0 : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
	connect_qp(&e);
	move_data(&e);
	build_requests(&e);
	use_one_thread(&e);
	share_receives(&e);
	poll_extended(&e);
	ask_for_more(&e);
	ENSURE(!ibv_destroy_qp(e.qp) && !ibv_destroy_cq(e.cq) && !ibv_dereg_mr(e.mr));
	ENSURE(!ibv_destroy_comp_channel(e.channel) && !ibv_dealloc_pd(e.pd));
	ENSURE(!ibv_close_device(e.ctx));
	return 0;
}

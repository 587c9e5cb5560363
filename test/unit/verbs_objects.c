/* SPDX-License-Identifier: BSD-3-Clause */
/* Control verbs: lib/verbs stack, device, query, pd, mr, cq, qp, unsupported, names. */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "verbs_world.h"

static void
open_device__context(void)
{
	struct verbs_context *vctx;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	vctx = verbs_get_ctx(w.ctx);
	CHECK(vctx != NULL);
	CHECK_EQ(vctx->sz, sizeof(*vctx));
	CHECK_EQ(strcmp(ibv_get_device_name(w.ctx->device), "pollux0"), 0);
	CHECK_EQ(ibv_get_device_guid(w.ctx->device), 0x0102030405060708ull);
	CHECK_EQ(w.ctx->num_comp_vectors, 1);
	CHECK(*(void **)(w.ctx->device + 1) == NULL);
	CHECK(w.ctx->ops.post_send && w.ctx->ops.post_recv && w.ctx->ops.poll_cq &&
	      w.ctx->ops.req_notify_cq && w.ctx->ops.post_srq_recv && w.ctx->ops.bind_mw &&
	      w.ctx->ops.dealloc_mw);
	world_close(&w);
	CHECK_EQ(mock.closes, 1);
}

static void
open_device__other_layouts(void)
{
	struct ibv_device **list;

	mock_start(false);
	list = ibv_get_device_list(NULL);
	CHECK(list != NULL);
	errno = 0;
	CHECK(__plx_open_device(list[0], PLX_ABI_VERSION + 1) == NULL);
	CHECK_EQ(errno, EPROTO);
	mock.open_err = -EIO;
	CHECK(ibv_open_device(list[0]) == NULL);
	CHECK_EQ(errno, EIO);
	mock.open_err = 0;
	mock.fail_type = CTL_QUERY_DEVICE;
	mock.fail_err = -ENOMEM;
	CHECK(ibv_open_device(list[0]) == NULL);
	CHECK_EQ(errno, ENOMEM);
	CHECK_EQ(mock.closes, 1);
	ibv_free_device_list(list);
	mock_stop();
}

static void
backend_register__versions(void)
{
	struct ctl_backend other = mock_backend;

	mock_start(false);
	CHECK_EQ(__plx_backend_register(&other), -EBUSY);
	mock_stop();
	other.abi_version++;
	CHECK_EQ(__plx_backend_register(&other), -EPROTO);
}

static void
query__port_and_device(void)
{
	struct ibv_query_device_ex_input in = { .comp_mask = 1 };
	struct ibv_device_attr_ex ex;
	struct ibv_port_attr port;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_query_port(w.ctx, 1, &port), 0);
	CHECK_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	CHECK_EQ(port.max_msg_sz, 1u << 31);
	CHECK_EQ(port.flags, IBV_QPF_GRH_REQUIRED);
	CHECK_EQ(ibv_query_port(w.ctx, 2, &port), EINVAL);
	CHECK_EQ(ibv_query_device_ex(w.ctx, NULL, &ex), 0);
	CHECK_EQ(ex.orig_attr.max_sge, 32);
	CHECK_EQ(ex.phys_port_cnt_ex, 1);
	CHECK_EQ(strcmp(ex.orig_attr.fw_ver, "mock"), 0);
	CHECK_EQ(ibv_query_device_ex(w.ctx, &in, &ex), EINVAL);
	world_close(&w);
}

static void
query__gids(void)
{
	struct ibv_gid_entry entry, table[4];
	union ibv_gid gid;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_query_gid(w.ctx, 1, 1, &gid), 0);
	CHECK_EQ(gid.raw[15], 1);
	memset(&gid, 0xff, sizeof(gid));
	CHECK_EQ(ibv_query_gid(w.ctx, 1, 2, &gid), 0);
	CHECK_EQ(gid.global.subnet_prefix | gid.global.interface_id, 0);
	CHECK_EQ(ibv_query_gid(w.ctx, 1, 4, &gid), -1);
	CHECK_EQ(errno, EINVAL);
	CHECK_EQ(ibv_query_gid_ex(w.ctx, 1, 0, &entry, 0), 0);
	CHECK_EQ(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
	CHECK_EQ(ibv_query_gid_ex(w.ctx, 1, 2, &entry, 0), ENODATA);
	CHECK_EQ(ibv_query_gid_ex(w.ctx, 1, 0, &entry, 1), EOPNOTSUPP);
	CHECK_EQ(ibv_query_gid_table(w.ctx, table, 4, 0), 2);
	CHECK_EQ(table[1].gid_index, 1);
	CHECK_EQ(ibv_query_gid_table(w.ctx, table, 2, 0), 2);
	CHECK_EQ(ibv_query_gid_table(w.ctx, table, 1, 0), -EINVAL);
	CHECK_EQ(ibv_query_gid_table(w.ctx, table, 0, 0), -EINVAL);
	world_close(&w);
}

static void
query__pkeys(void)
{
	struct world w;
	__be16 pkey;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_query_pkey(w.ctx, 1, 0, &pkey), 0);
	CHECK_EQ(pkey, 0xffff);
	CHECK_EQ(ibv_query_pkey(w.ctx, 1, 1, &pkey), -1);
	CHECK_EQ(ibv_query_pkey(w.ctx, 2, 0, &pkey), -1);
	CHECK_EQ(ibv_get_pkey_index(w.ctx, 1, pkey), 0);
	CHECK_EQ(ibv_get_pkey_index(w.ctx, 1, htobe16(0x7fff)), -1);
	world_close(&w);
}

/* errno of a registration, 0 when it succeeds */
static int
try_mr(struct world *w, void *addr, size_t length, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(w->pd, addr, length, access);

	return mr ? ibv_dereg_mr(mr) : errno;
}

/* FG2 */
static void
reg_mr__rules(void)
{
	char *page = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(try_mr(&w, page, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE), 0);
	CHECK_EQ(try_mr(&w, page, 4096, IBV_ACCESS_REMOTE_READ), 0);
	CHECK_EQ(try_mr(&w, page, 4096, IBV_ACCESS_REMOTE_WRITE), EINVAL);
	CHECK_EQ(try_mr(&w, page, 4096, IBV_ACCESS_REMOTE_ATOMIC), EINVAL);
	CHECK_EQ(try_mr(&w, page, 0, 0), EINVAL);
	CHECK_EQ(try_mr(&w, page, SIZE_MAX, 0), EINVAL);
	CHECK_EQ(try_mr(&w, page, 4096, 1 << 15), EINVAL);
	CHECK_EQ(try_mr(&w, page, 4096, PLX_ACCESS_FLUSH_GLOBAL), 0);
	CHECK_EQ(mock.last_mr.access, PLX_ACCESS_FLUSH_GLOBAL);
	CHECK_EQ(try_mr(&w, page, 4096, PLX_ACCESS_FLUSH_PERSISTENT), EINVAL);	/* no memory here is */
	CHECK_EQ(try_mr(&w, page, 4096, IBV_ACCESS_ON_DEMAND), 0);
	CHECK_EQ(try_mr(&w, page, 4096, IBV_ACCESS_MW_BIND), 0);
	CHECK_EQ(mock.last_mr.access, IBV_ACCESS_MW_BIND);
	CHECK_EQ(try_mr(&w, page, 4096, IBV_ACCESS_RELAXED_ORDERING), 0);
	CHECK_EQ(mock.last_mr.access, 0);
	CHECK_EQ(try_mr(&w, page, 4096, IBV_ACCESS_OPTIONAL_RANGE), 0);
	/* a hole in the middle, reached by one byte on either side */
	munmap(page + 4096, 4096);
	CHECK_EQ(try_mr(&w, page + 4095, 1, 0), 0);
	CHECK_EQ(try_mr(&w, page + 4095, 2, 0), EFAULT);
	CHECK_EQ(try_mr(&w, page + 8191, 2, 0), EFAULT);
	CHECK_EQ(try_mr(&w, page + 8192, 1, 0), 0);
	CHECK(ibv_reg_mr_iova(w.pd, page, 4096, UINT64_MAX - 4094, 0) == NULL);
	CHECK_EQ(errno, EINVAL);
	mr = ibv_reg_mr_iova2(w.pd, page, 4096, 0x123000, 0);
	CHECK(mr != NULL);
	CHECK_EQ(mock.last_mr.iova, 0x123000);
	CHECK(mr->addr == page && mr->length == 4096 && mr->lkey == 0xabcd00);
	ibv_dereg_mr(mr);
	munmap(page, 4096);
	munmap(page + 8192, 4096);
	world_close(&w);
}

static void
create_cq__limits(void)
{
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK(ibv_create_cq(w.ctx, 0, NULL, NULL, 0) == NULL && errno == EINVAL);
	CHECK(ibv_create_cq(w.ctx, 4194304, NULL, NULL, 0) == NULL && errno == EINVAL);
	CHECK(ibv_create_cq(w.ctx, 1, NULL, NULL, 1) == NULL && errno == EINVAL);
	CHECK(ibv_create_cq(w.ctx, 1, NULL, NULL, -1) == NULL && errno == EINVAL);
	world_close(&w);
}

static int
try_qp(struct world *w, struct ibv_qp_init_attr init)
{
	struct ibv_qp *qp;

	init.send_cq = init.recv_cq = w->cq;
	qp = ibv_create_qp(w->pd, &init);
	return qp ? ibv_destroy_qp(qp) : errno;
}

static void
create_qp__refusals(void)
{
	struct ibv_qp_init_attr ok = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } }, bad;
	struct ibv_qp_init_attr_ex ex = { .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 } };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(try_qp(&w, ok), 0);
	bad = ok, bad.qp_type = IBV_QPT_RAW_PACKET;
	CHECK_EQ(try_qp(&w, bad), EOPNOTSUPP);
	bad = ok, bad.cap.max_send_wr = PLX_MAX_WR + 1;
	CHECK_EQ(try_qp(&w, bad), EINVAL);
	bad = ok, bad.cap.max_recv_sge = PLX_MAX_SGE + 1;
	CHECK_EQ(try_qp(&w, bad), EINVAL);
	bad = ok, bad.cap.max_inline_data = PLX_MAX_INLINE + 1;
	CHECK_EQ(try_qp(&w, bad), EINVAL);
	mock.fail_type = CTL_CREATE_QP;
	mock.fail_err = -ENOMEM;
	CHECK_EQ(try_qp(&w, ok), ENOMEM);
	CHECK(ibv_create_qp(w.pd, &ok) == NULL && errno == EINVAL); /* no CQs */

	ex.send_cq = ex.recv_cq = w.cq;
	ex.pd = w.pd;
	ex.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD;
	CHECK(ibv_create_qp_ex(w.ctx, &ex) == NULL && errno == EINVAL);	/* RC has none */
	ex.qp_type = IBV_QPT_XRC_RECV;
	CHECK(ibv_create_qp_ex(w.ctx, &ex) == NULL && errno == EINVAL);	/* and this wants one */
	ex.comp_mask = IBV_QP_INIT_ATTR_PD;
	CHECK(ibv_create_qp_ex(w.ctx, &ex) == NULL && errno == EINVAL);
	CHECK(ibv_create_qp(w.pd, (struct ibv_qp_init_attr *)&ex) == NULL && errno == EINVAL);
	world_close(&w);
}

static void
open_xrcd__what_it_asks_for(void)
{
	struct ibv_xrcd_init_attr attr = { .fd = -1 };
	struct ibv_xrcd *xrcd;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK(ibv_open_xrcd(w.ctx, &attr) == NULL && errno == EINVAL);
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD;
	CHECK(ibv_open_xrcd(w.ctx, &attr) == NULL && errno == EINVAL);
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS | 4;
	CHECK(ibv_open_xrcd(w.ctx, &attr) == NULL && errno == EOPNOTSUPP);
	attr.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	mock.fail_type = CTL_OPEN_XRCD;
	mock.fail_err = -EAGAIN;
	CHECK(ibv_open_xrcd(w.ctx, &attr) == NULL && errno == EAGAIN);
	xrcd = ibv_open_xrcd(w.ctx, &attr);
	CHECK(xrcd != NULL && xrcd->context == w.ctx);
	mock.fail_type = CTL_CLOSE_XRCD;
	mock.fail_err = -EBUSY;
	CHECK_EQ(ibv_close_xrcd(xrcd), EBUSY);
	CHECK_EQ(ibv_close_xrcd(xrcd), 0);
	world_close(&w);
}

static void
modify_qp__passes_attributes_and_takes_the_state(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR, .path_mtu = IBV_MTU_1024,
				    .timeout = 14, .dest_qp_num = 0x77, .rq_psn = 0x123456 }, got;
	struct ibv_qp_init_attr init;
	struct world w;

	world_open(&w, (struct world_conf){ .inline_data = 32 });
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid.raw[15] = 9;
	attr.ah_attr.grh.sgid_index = 1;
	attr.ah_attr.grh.hop_limit = 64;
	CHECK_EQ(ibv_modify_qp(w.qp, &attr, IBV_QP_STATE | IBV_QP_AV), 0);
	CHECK_EQ(w.qp->state, IBV_QPS_ERR);
	CHECK_EQ(mock.last_modify.mask, IBV_QP_STATE | IBV_QP_AV);
	CHECK_EQ(mock.last_modify.attr.ah.dgid[15], 9);
	CHECK_EQ(mock.last_modify.attr.ah.hop_limit, 64);
	CHECK_EQ(mock.last_modify.attr.dest_qp_num, 0x77);
	CHECK_EQ(ibv_query_qp(w.qp, &got, IBV_QP_STATE, &init), 0);
	CHECK_EQ(got.timeout, 14);
	CHECK_EQ(got.rq_psn, 0x123456);
	CHECK_EQ(got.ah_attr.grh.sgid_index, 1);
	CHECK_EQ(got.cap.max_inline_data, 32);
	CHECK_EQ(init.cap.max_send_wr, 16);
	CHECK(init.send_cq == w.cq);
	mock.fail_type = CTL_MODIFY_QP;
	mock.fail_err = -EINVAL;
	attr.qp_state = IBV_QPS_RESET;
	CHECK_EQ(ibv_modify_qp(w.qp, &attr, IBV_QP_STATE), EINVAL);
	CHECK_EQ(w.qp->state, IBV_QPS_ERR);
	/* E3: it went to ERR by itself */
	world_state(&w, IBV_QPS_RTS);
	mock.qp[w.qp->handle].state = IBV_QPS_ERR;
	CHECK_EQ(ibv_query_qp(w.qp, &got, IBV_QP_STATE, &init), 0);
	CHECK_EQ(w.qp->state, IBV_QPS_ERR);
	world_close(&w);
}

static void
destroy__busy_leaves_the_object(void)
{
	struct world w;

	world_open(&w, (struct world_conf){ .with_channel = true });
	CHECK_EQ(ibv_destroy_cq(w.cq), EBUSY);
	CHECK_EQ(ibv_destroy_comp_channel(w.channel), EBUSY);
	world_close(&w);
}

static void
unsupported__answers_eopnotsupp(void)
{
	struct ibv_ece ece;
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_query_ece(w.qp, &ece), EOPNOTSUPP);
	world_close(&w);
}

static int
child_checks(struct world *w, struct ibv_srq *srq)
{
	struct ibv_srq_attr srq_attr = { .max_wr = 8 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr rwr = { 0 }, *rbad;
	struct ibv_wc wc;

	((struct plx_cq *)w->cq)->ctl = NULL;	/* a child does not have the rings */
	if (ibv_post_send(w->qp, &wr, &bad) != EIO || ibv_post_recv(w->qp, &rwr, &rbad) != EIO)
		return 1;
	if (ibv_poll_cq(w->cq, 1, &wc) != -EIO || ibv_req_notify_cq(w->cq, 0) != EIO)
		return 2;
	if (ibv_alloc_pd(w->ctx) || errno != EIO || ibv_destroy_qp(w->qp) != EIO)
		return 3;
	if (ibv_open_device(w->ctx->device) || errno != EIO)
		return 4;
	/* other threads were polling and posting when it began: nobody gives these back */
	((struct plx_cq *)w->cq)->lock = ((struct plx_srq *)srq)->wq.lock = 1;
	alarm(10);
	if (ibv_resize_cq(w->cq, 8) != EIO || ibv_modify_srq(srq, &srq_attr, IBV_SRQ_MAX_WR) != EIO)
		return 5;
	return 0;
}

static void
fork__child_is_refused(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_srq *srq;
	struct world w;
	int status;
	pid_t pid;

	CHECK_EQ(ibv_fork_init(), 0);
	CHECK_EQ(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
	world_open(&w, (struct world_conf){ 0 });
	srq = ibv_create_srq(w.pd, &init);
	CHECK(srq);
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(child_checks(&w, srq));
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK_EQ(ibv_post_send(w.qp, &wr, &bad), 0);
	CHECK_EQ(ibv_destroy_srq(srq), 0);
	world_close(&w);
}

static void
names__known_and_unknown(void)
{
	CHECK_EQ(strcmp(ibv_wc_status_str(IBV_WC_SUCCESS), "success"), 0);
	CHECK_EQ(strcmp(ibv_wc_status_str((enum ibv_wc_status)99), "unknown"), 0);
	CHECK_EQ(strcmp(ibv_node_type_str(IBV_NODE_UNKNOWN), "unknown"), 0);
	CHECK(strcmp(ibv_event_type_str(IBV_EVENT_WQ_FATAL), "unknown") != 0);
	CHECK_EQ(ibv_rate_to_mult(IBV_RATE_5_GBPS), 2);
	CHECK_EQ(ibv_rate_to_mult(IBV_RATE_100_GBPS), -1);
	CHECK_EQ(mult_to_ibv_rate(0), IBV_RATE_MAX);
	CHECK_EQ(mult_to_ibv_rate(480), IBV_RATE_1200_GBPS);
	CHECK_EQ(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
	CHECK_EQ(mbps_to_ibv_rate(103125), IBV_RATE_100_GBPS);
}

static void
explain_qp__text_and_code(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	uint32_t vendor_err = 0;
	char text[20] = "", cut[4];
	struct world w;

	world_open(&w, (struct world_conf){ .inline_data = 32 });
	CHECK_EQ(plx_explain_qp(w.qp, &vendor_err, text, sizeof(text)), ENODATA);
	CHECK_EQ(vendor_err, 0);
	CHECK_EQ(ibv_modify_qp(w.qp, &attr, IBV_QP_STATE), 0);
	CHECK_EQ(plx_explain_qp(w.qp, &vendor_err, text, sizeof(text)), 0);
	CHECK_EQ(vendor_err, 0x6211);
	CHECK(strcmp(text, "it failed") == 0);
	CHECK_EQ(plx_explain_qp(w.qp, NULL, cut, sizeof(cut)), 0);
	CHECK(strcmp(cut, "it ") == 0);
	CHECK_EQ(plx_explain_qp(w.qp, NULL, NULL, 0), 0);
	world_close(&w);
}

/* EOPNOTSUPP, never ENOSYS: librdmacm takes that one of query_ece() for a fault. */
static void
unsupported__says_so(void)
{
	struct ibv_ece ece = { 0 };
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	CHECK_EQ(ibv_query_ece(w.qp, &ece), EOPNOTSUPP);
	CHECK_EQ(ibv_set_ece(w.qp, &ece), EOPNOTSUPP);
	errno = 0;
	CHECK(!ibv_import_device(w.ctx->cmd_fd) && errno == EOPNOTSUPP);
	errno = 0;
	CHECK(!ibv_import_pd(w.ctx, w.pd->handle) && errno == EOPNOTSUPP);
	errno = 0;
	CHECK(!ibv_import_mr(w.pd, 7) && errno == EOPNOTSUPP);
	errno = 0;
	CHECK(!ibv_import_dm(w.ctx, 7) && errno == EOPNOTSUPP);
	world_close(&w);
}

static const struct check_case cases[] = {
	CHECK_CASE(unsupported__says_so),
	CHECK_CASE(open_device__context),
	CHECK_CASE(open_device__other_layouts),
	CHECK_CASE(backend_register__versions),
	CHECK_CASE(query__port_and_device),
	CHECK_CASE(query__gids),
	CHECK_CASE(query__pkeys),
	CHECK_CASE(reg_mr__rules),
	CHECK_CASE(create_cq__limits),
	CHECK_CASE(create_qp__refusals),
	CHECK_CASE(open_xrcd__what_it_asks_for),
	CHECK_CASE(modify_qp__passes_attributes_and_takes_the_state),
	CHECK_CASE(explain_qp__text_and_code),
	CHECK_CASE(destroy__busy_leaves_the_object),
	CHECK_CASE(unsupported__answers_eopnotsupp),
	CHECK_CASE(fork__child_is_refused),
	CHECK_CASE(names__known_and_unknown),
};
CHECK_MAIN(cases)

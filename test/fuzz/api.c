/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Can a program hurt itself, or another, with wrong calls? Every exported call of libpollux on a whole stack,
 * with living objects, with copies whose handle is of nothing or of another context's object, with objects of
 * another context, and with attributes of random bits. Each ends well or with an errno of its list; one that
 * was given a wrong object does not end well; what was made can be ended in the right order; and the other
 * context's queue pairs still carry a message.
 *
 *     fuzz_api [--seed N] [--seeds N] [--long]
 */
#include <fcntl.h>
#include <sys/mman.h>

#include "api.h"

#define STEPS 2000
#define MAP SOURCE_ROOT "/lib/libpollux/libpollux.map"
#define GUARD ((size_t)9 << 30)		/* on both sides of the buffer: longer than most lengths */

/* The exported functions that a call makes, and what they may fail with beside EINVAL and ENOMEM. */
static const struct row {
	int (*call)(void);
	const char *functions;
	int errs[5];
} rows[] = {
#define ROW(name, functions, ...) { call_##name, functions, { __VA_ARGS__ } }
	ROW(get_device_list, "plx_get_device_list plx_free_device_list", 0),
	ROW(get_device_info, "plx_get_device_name plx_get_device_index plx_get_device_guid", 0),
	ROW(open_device, "plx_open_device plx_close_device", 0),
	ROW(open_device_version, "__plx_open_device", EPROTO),
	ROW(query_device, "plx_query_device", 0),
	ROW(query_device_ex, "plx_query_device_ex", 0),
	ROW(query_rt_values_ex, "plx_query_rt_values_ex", 0),
	ROW(wallclock, "__plx_wallclock_ns", 0),
	ROW(query_port, "plx_query_port", 0),
	ROW(query_gid, "plx_query_gid", 0),
	ROW(query_gid_ex, "plx_query_gid_ex", ENODATA, EOPNOTSUPP),
	ROW(query_gid_ex_sized, "__plx_query_gid_ex", ENODATA, EOPNOTSUPP),
	ROW(query_gid_table, "plx_query_gid_table", EOPNOTSUPP),
	ROW(query_gid_table_sized, "__plx_query_gid_table", EOPNOTSUPP),
	ROW(query_pkey, "plx_query_pkey", 0),
	ROW(get_pkey_index, "plx_get_pkey_index", 0),
	ROW(names, "plx_wc_status_str plx_node_type_str plx_port_state_str plx_event_type_str", 0),
	ROW(rates, "plx_rate_to_mult plx_mult_to_rate plx_rate_to_mbps plx_mbps_to_rate", 0),
	ROW(fork_init, "plx_fork_init plx_is_fork_initialized", 0),
	ROW(absent, "plx_import_device plx_import_pd plx_import_mr plx_import_dm plx_unimport_pd "
	    "plx_unimport_mr plx_unimport_dm plx_set_ece plx_query_ece plx_resolve_eth_l2_from_gid",
	    EOPNOTSUPP),
	ROW(init_ah_from_wc, "plx_init_ah_from_wc", EPROTONOSUPPORT, ENOENT),
	ROW(alloc_pd, "plx_alloc_pd", 0),
	ROW(dealloc_pd, "plx_dealloc_pd", EBUSY),
	ROW(alloc_td, "plx_alloc_td", 0),
	ROW(dealloc_td, "plx_dealloc_td", EBUSY),
	ROW(alloc_parent_domain, "plx_alloc_parent_domain", 0),
	ROW(reg_mr, "plx_reg_mr", EFAULT, EOPNOTSUPP),
	ROW(reg_mr_iova, "plx_reg_mr_iova", EFAULT, EOPNOTSUPP),
	ROW(reg_mr_iova2, "plx_reg_mr_iova2", EFAULT, EOPNOTSUPP),
	ROW(rereg_mr, "plx_rereg_mr", EFAULT, EOPNOTSUPP),
	ROW(dereg_mr, "plx_dereg_mr", EBUSY),
	ROW(reg_dmabuf_mr, "plx_reg_dmabuf_mr", EBADF, EOPNOTSUPP),
	ROW(alloc_null_mr, "plx_alloc_null_mr", 0),
	ROW(advise_mr, "plx_advise_mr", EFAULT, ENOENT, EPERM, EOPNOTSUPP),
	ROW(alloc_dm, "plx_alloc_dm", 0),
	ROW(free_dm, "plx_free_dm", EBUSY),
	ROW(copy_dm, "plx_memcpy_to_dm plx_memcpy_from_dm", EFAULT),
	ROW(reg_dm_mr, "plx_reg_dm_mr", 0),
	ROW(open_xrcd, "plx_open_xrcd", EAGAIN, EBADF, EOPNOTSUPP),
	ROW(close_xrcd, "plx_close_xrcd", EBUSY),
	ROW(create_comp_channel, "plx_create_comp_channel", 0),
	ROW(destroy_comp_channel, "plx_destroy_comp_channel", EBUSY),
	ROW(create_cq, "plx_create_cq", 0),
	ROW(create_cq_ex, "plx_create_cq_ex", EOPNOTSUPP),
	ROW(resize_cq, "plx_resize_cq", 0),
	ROW(modify_cq, "plx_modify_cq", 0),
	ROW(destroy_cq, "plx_destroy_cq", EBUSY),
	ROW(create_srq, "plx_create_srq", 0),
	ROW(create_srq_ex, "plx_create_srq_ex", EOPNOTSUPP),
	ROW(get_srq_num, "plx_get_srq_num", 0),
	ROW(modify_srq, "plx_modify_srq", 0),
	ROW(query_srq, "plx_query_srq", 0),
	ROW(destroy_srq, "plx_destroy_srq", EBUSY),
	ROW(create_ah, "plx_create_ah", ENETUNREACH),
	ROW(create_ah_from_wc, "plx_create_ah_from_wc", EPROTONOSUPPORT, ENOENT, ENETUNREACH),
	ROW(destroy_ah, "plx_destroy_ah", 0),
	ROW(alloc_mw, "plx_alloc_mw", 0),
	ROW(dealloc_mw, "plx_dealloc_mw", 0),
	ROW(create_qp, "plx_create_qp", EOPNOTSUPP),
	ROW(create_qp_ex, "plx_create_qp_ex", EOPNOTSUPP),
	ROW(open_qp, "plx_open_qp", EOPNOTSUPP),
	ROW(modify_qp, "plx_modify_qp", ENETUNREACH, EOPNOTSUPP),
	ROW(query_qp, "plx_query_qp", 0),
	ROW(explain_qp, "plx_explain_qp", ENODATA),
	ROW(query_qp_about, "plx_qp_to_qp_ex plx_query_qp_data_in_order", 0),
	ROW(destroy_qp, "plx_destroy_qp", EBUSY),
	ROW(attach_mcast, "plx_attach_mcast", 0),
	ROW(detach_mcast, "plx_detach_mcast", 0),
	ROW(build, "plx_wr_start plx_wr_abort plx_wr_complete plx_wr_send plx_wr_send_imm plx_wr_send_inv "
	    "plx_wr_rdma_write plx_wr_rdma_write_imm plx_wr_rdma_read plx_wr_atomic_cmp_swp "
	    "plx_wr_atomic_fetch_add plx_wr_atomic_write plx_wr_local_inv plx_wr_bind_mw plx_wr_flush "
	    "plx_wr_set_sge plx_wr_set_sge_list plx_wr_set_inline_data plx_wr_set_inline_data_list "
	    "plx_wr_set_ud_addr "
	    "plx_wr_set_xrc_srqn", 0),
	ROW(bind_mw, "plx_bind_mw", EPERM),
	ROW(post_send, "plx_post_send", 0),
	ROW(post_recv, "plx_post_recv", 0),
	ROW(post_srq_recv, "plx_post_srq_recv", 0),
	ROW(poll_cq, "plx_poll_cq", 0),
	ROW(poll_extended, "plx_start_poll plx_next_poll plx_end_poll plx_wc_read_opcode "
	    "plx_wc_read_vendor_err plx_wc_read_byte_len plx_wc_read_imm_data plx_wc_read_invalidated_rkey "
	    "plx_wc_read_qp_num plx_wc_read_src_qp plx_wc_read_wc_flags plx_wc_read_slid plx_wc_read_sl "
	    "plx_wc_read_dlid_path_bits plx_wc_read_completion_ts plx_wc_read_completion_wallclock_ns "
	    "plx_wc_read_cvlan plx_wc_read_flow_tag plx_wc_read_tm_info", ENOENT),
	ROW(req_notify_cq, "plx_req_notify_cq", 0),
	ROW(get_cq_event, "plx_get_cq_event plx_ack_cq_events", EAGAIN),
	ROW(get_async_event, "plx_get_async_event plx_ack_async_event", EAGAIN),
#undef ROW
};
#define NUM_ROWS (sizeof(rows) / sizeof(rows[0]))
#define NUM_DATA 9		/* the last ones: called more often */

static bool
has_row(const char *function)
{
	size_t len = strlen(function);

	for (size_t i = 0; i < NUM_ROWS; i++) {
		for (const char *at = rows[i].functions; (at = strstr(at, function)); at += len) {
			if ((at == rows[i].functions || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
				return true;
		}
	}
	return false;
}

/* Every exported function is called by some row. */
static int
all_have_rows(void)
{
	char line[256], name[128], end;
	FILE *f = fopen(MAP, "r");
	int bad = 0, n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "\t%127[a-z_0-9]%c", name, &end) != 2 || end != ';' ||
		    !strcmp(name, "__plx_backend_register"))
			continue;
		n++;
		if (!has_row(name)) {
			printf("FAIL: no row calls %s\n", name);
			bad = 1;
		}
	}
	if (f)
		fclose(f);
	return n ? bad : fuzz_fail("cannot read " MAP, 0);
}

static bool
allowed(const struct row *row, int err)
{
	bool yes = err == 0 || err == EINVAL || err == ENOMEM || err == SKIP;

	for (size_t i = 0; !yes && i < sizeof(row->errs) / sizeof(row->errs[0]); i++)
		yes = row->errs[i] && err == row->errs[i];
	return yes;
}

static int
one_call(void)
{
	const struct row *row = &rows[one_in(3) ? NUM_ROWS - 1 - below(NUM_DATA) : below(NUM_ROWS)];
	int err;

	api.wrong = false;
	fz.doing = row->functions;
	errno = 0;
	err = row->call();
	if (!allowed(row, err))
		return fuzz_fail("fails with", err);
	return err == 0 && api.wrong ? fuzz_fail("takes an object that it must not", 0) : 0;
}

static int
run_seed(void)
{
	int bad = 0;

	memset(api.num, 0, sizeof(api.num));
	api.ctx = plx_open_device(api.dev);
	if (!api.ctx || plx_query_gid(api.ctx, 1, 1, &api.gid))
		return fuzz_fail("no context", errno);
	fcntl(api.ctx->async_fd, F_SETFL, fcntl(api.ctx->async_fd, F_GETFL) | O_NONBLOCK);
	for (; !bad && fz.step < STEPS; fz.step++)
		bad = one_call();
	fz.doing = "the end";
	if (!bad)
		bad = end_all();
	if (plx_close_device(api.ctx))
		bad = fuzz_fail("the context does not close", 0);
	return !bad && other_still_works() ? fuzz_fail("the other context does not work", 0) : bad;
}

static int
buffer(void)
{
	uint8_t *at = mmap(NULL, 2 * GUARD + API_BUF_LEN, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED || mprotect(at + GUARD, API_BUF_LEN, PROT_READ | PROT_WRITE))
		return fuzz_fail("no buffer", errno);
	api.buf = at + GUARD;
	return 0;
}

static int
run_on(const char *cores, unsigned int seeds)
{
	uint64_t first = fz.seed;
	struct ibv_device **list;
	int bad, fds;

	if (other_begin(cores))
		return fuzz_fail("the other context does not work", 0);
	list = plx_get_device_list(NULL);
	api.dev = list ? list[0] : NULL;
	plx_free_device_list(list);
	fds = fuzz_fds();
	bad = api.dev ? 0 : fuzz_fail("no device", errno);
	for (unsigned int i = 0; !bad && i < seeds; i++) {
		fuzz_seed(first + i);
		bad = run_seed();
	}
	if (!bad && fuzz_fds() != fds)
		bad = fuzz_fail("files stay open", fuzz_fds() - fds);
	if (!bad && other_end())
		bad = fuzz_fail("the other context does not end well", 0);
	fz.seed = first;
	return bad;
}

int
main(int argc, char **argv)
{
	int bad = fuzz_options(argc, argv, 16);

	if (bad)
		return bad;
	bad = all_have_rows() || buffer() || run_on("inline", fz.seeds) || run_on("0,1", (fz.seeds + 3) / 4);
	printf("%d passed, %d failed\n", !bad, bad);
	return bad;
}

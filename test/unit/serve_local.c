/* SPDX-License-Identifier: BSD-3-Clause */
/* The stack as libpollux sees it: operations between two QPs, events, and everything that ends. */
#include <malloc.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/log.h"
#include "serve_fixture.h"
#include "serve_traffic.h"

static void
operations(const char *cores)
{
	CHECK_EQ(start_world(cores), 0);
	writes_and_reads();
	sends();
	atomics();
	CHECK_EQ(end_world(), 0);
}

static void
local_call__operations_inline(void)
{
	operations("inline");
}

static void
local_call__operations_dedicated(void)
{
	operations("0");
}

/* The program posts and then does nothing: the background thread finishes it. */
static void
idle__serves_a_silent_program(void)
{
	struct plx_cqe c;

	CHECK_EQ(start_world("inline"), 0);
	for (int turn = 0; turn < 5; turn++) {
		post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 100000, .to = 2 << 20 });
		for (int ms = 0; ms < 2000 && !peek(&c); ms++)
			usleep(1000);
		CHECK_EQ(w.cq_head, turn + 1);
		CHECK_EQ(c.status, WC_SUCCESS);
		usleep(20000);
	}
	CHECK_EQ(end_world(), 0);
}

/* A dedicated core sleeps when nothing happens; a doorbell wakes it. */
static void
idle__doorbell_wakes_a_dedicated_core(void)
{
	const struct plx_bell_ring *bell;
	struct plx_cqe c;
	int ms;

	CHECK_EQ(start_world("0"), 0);
	bell = w.cl.core[0].bell;
	for (int turn = 0; turn < 20; turn++) {
		for (ms = 0; ms < 2000 && !__atomic_load_n(&bell->asleep, __ATOMIC_RELAXED); ms++)
			usleep(1000);
		post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
		for (ms = 0; ms < 2000 && !peek(&c); ms++)
			usleep(1000);
		CHECK_EQ(w.cq_head, turn + 1);
		CHECK_EQ(c.status, WC_SUCCESS);
	}
	CHECK_EQ(end_world(), 0);
}

static void
core_notify__event_when_armed(void)
{
	struct plx_cq_event ev;
	struct plx_cqe c;

	CHECK_EQ(start_world("inline"), 0);
	post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
	CHECK(poll(&c));
	CHECK(!readable(w.ch.fd, 20));	/* it was not armed */
	arm(PLX_CQ_ARM_ANY);
	post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
	CHECK(readable(w.ch.fd, 2000));
	CHECK_EQ(recv(w.ch.fd, &ev, sizeof(ev), 0), sizeof(ev));
	CHECK_EQ(ev.cq, w.cq.cq);
	CHECK_EQ(ev.cq_gen, w.cq.cq_gen);
	CHECK(poll(&c));
	CHECK_EQ(end_world(), 0);
}

static void
serve_destroy_qp__while_it_is_busy(void)
{
	struct ctl_destroy_qp m;

	CHECK_EQ(start_world("inline"), 0);
	for (int turn = 0; turn < 50; turn++) {
		for (int i = 0; i < 16; i++)
			post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 65536,
							.to = 1 << 20 });
		m.qp = turn & 1 ? w.a.m.qp : w.b.m.qp;
		CHECK_EQ(call(CTL_DESTROY_QP, &m), 0);
		m.qp = turn & 1 ? w.b.m.qp : w.a.m.qp;
		CHECK_EQ(call(CTL_DESTROY_QP, &m), 0);
		CHECK((uint64_t)call(CTL_DESTROY_QP, &m) == (uint64_t)-EINVAL);
		CHECK_EQ(new_pair(), 0);
	}
	CHECK_EQ(end_world(), 0);
}

static void
serve_dereg_mr__in_flight(void)
{
	struct ctl_dereg_mr m;
	struct plx_async_event ev;
	struct plx_cqe c;

	CHECK_EQ(start_world("inline"), 0);
	for (int i = 0; i < 8; i++)
		post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 1 << 20, .to = 2 << 20 });
	m.mr = w.mr.mr;
	CHECK_EQ(call(CTL_DEREG_MR, &m), 0);
	memset(w.buf + (2 << 20), 0x5a, 1 << 20);
	for (int i = 0; i < 8; i++)
		CHECK(poll(&c));
	CHECK(c.status != WC_SUCCESS);
	for (size_t i = 2 << 20; i < 3 << 20; i++)
		CHECK(w.buf[i] == 0x5a);	/* nothing was written after the call */
	if (readable(w.cl.async_fd, 200)) {
		CHECK_EQ(recv(w.cl.async_fd, &ev, sizeof(ev), 0), sizeof(ev));
		CHECK(ev.subject == PLX_EVENT_QP);
	}
	CHECK((uint64_t)call(CTL_DEREG_MR, &m) == (uint64_t)-EINVAL);
	CHECK_EQ(end_world(), 0);
}

/* A thousand times the same leaves nothing. */
static void
serve_create_qp__thousand_times(void)
{
	static uint32_t seen[1000];
	struct ctl_destroy_qp d;
	size_t before = 0, after;
	struct end e;

	CHECK_EQ(start_world("inline"), 0);
	for (int i = 0; i < 1000; i++) {
		CHECK_EQ(new_qp(&e), 0);
		CHECK(e.m.qp_num > 1 && e.m.qp_num < 0xffffff);
		seen[i] = e.m.qp_num;
		d.qp = e.m.qp;
		CHECK_EQ(call(CTL_DESTROY_QP, &d), 0);
		if (i == 100)
			before = mallinfo2().uordblks;
	}
	after = mallinfo2().uordblks;
	/* what another thread freed stays with it: some blocks of each size */
	CHECK(after <= before + 16384);
	for (int i = 0; i < 1000; i++)
		for (int j = 0; j < i; j++)
			CHECK(seen[i] != seen[j]);
	CHECK_EQ(end_world(), 0);
}

static void
serve_destroy__busy_while_used(void)
{
	struct ctl_pd pd;
	struct ctl_destroy_cq cq;
	struct ctl_channel ch;

	CHECK_EQ(start_world("inline"), 0);
	pd = (struct ctl_pd){ .pd = w.pd };
	cq = (struct ctl_destroy_cq){ .cq = w.cq.cq };
	ch = (struct ctl_channel){ .channel = w.ch.channel };
	CHECK((uint64_t)call(CTL_DEALLOC_PD, &pd) == (uint64_t)-EBUSY);
	CHECK((uint64_t)call(CTL_DESTROY_CQ, &cq) == (uint64_t)-EBUSY);
	CHECK((uint64_t)call(CTL_DESTROY_CHANNEL, &ch) == (uint64_t)-EBUSY);
	CHECK((uint64_t)stack_stop() == (uint64_t)-EBUSY);
	CHECK_EQ(end_world(), 0);
}

static void
local_call__handles_of_another_client(void)
{
	struct ctl_client first;
	struct ctl_pd pd;
	struct ctl_destroy_qp qp;

	CHECK_EQ(start_world("inline"), 0);
	pd.pd = w.pd;
	qp.qp = w.a.m.qp;
	first = w.cl;
	CHECK_EQ(local->open(0, CTL_ABI_VERSION, &w.cl), 0);
	CHECK((uint64_t)call(CTL_DEALLOC_PD, &pd) == (uint64_t)-EINVAL);
	CHECK((uint64_t)call(CTL_DESTROY_QP, &qp) == (uint64_t)-EINVAL);
	local->close(&w.cl);
	w.cl = first;
	CHECK_EQ(end_world(), 0);
}

static int
reg_of(void *addr, size_t len, uint32_t access)
{
	struct ctl_reg_mr m = { .pd = w.pd, .access = access, .addr = (uintptr_t)addr, .length = len,
				.iova = (uintptr_t)addr };
	int rc = call(CTL_REG_MR, &m);

	if (rc == 0) {
		struct ctl_dereg_mr d = { .mr = m.mr };

		call(CTL_DEREG_MR, &d);
	}
	return -rc;
}

static void
serve_reg_mr__what_it_refuses(void)
{
	char *hole = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *readonly = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(hole + 4096, 4096);
	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(reg_of(w.buf, 100, ALL_ACCESS), 0);
	CHECK_EQ(reg_of(w.buf, 100, 1 << 20 | 1), 0);	/* relaxed ordering may be ignored */
	CHECK_EQ(reg_of(w.buf, 0, 1), EINVAL);
	CHECK_EQ(reg_of(w.buf, SIZE_MAX, 1), EINVAL);
	CHECK_EQ(reg_of(w.buf, 100, 2), EINVAL);	/* FG2 */
	CHECK_EQ(reg_of(w.buf, 100, 8), EINVAL);
	CHECK_EQ(reg_of(w.buf, 100, 1 | 64), 0);	/* on demand */
	CHECK_EQ(reg_of(w.buf, 100, 1 | 16), 0);	/* windows */
	CHECK_EQ(reg_of(w.buf, 100, 1 << 30), EINVAL);
	CHECK_EQ(reg_of(hole, 3 * 4096, 1), EFAULT);
	CHECK_EQ(reg_of(hole + 4096, 16, 1), EFAULT);
	CHECK_EQ(reg_of(readonly, 4096, 1), EFAULT);
	CHECK_EQ(reg_of(readonly, 4096, 4), 0);
	CHECK_EQ(end_world(), 0);
	munmap(readonly, 4096);
	munmap(hole, 4096);
	munmap(hole + 8192, 4096);
}

static uint32_t
state_of(const struct end *e)
{
	struct ctl_query_qp m = { .qp = e->m.qp };

	return call(CTL_QUERY_QP, &m) ? UINT32_MAX : m.attr.qp_state;
}

static char said[LOG_TEXT_MAX + 1];
static bool heard;	/* atomic: said holds a line */

static void
listen_to(void *arg, enum log_level level, const char *text)
{
	(void)arg;
	(void)level;
	snprintf(said, sizeof(said), "%s", text);
	__atomic_store_n(&heard, true, __ATOMIC_RELEASE);
}

static void
listen_again(void)
{
	said[0] = 0;
	__atomic_store_n(&heard, false, __ATOMIC_RELEASE);
}

static bool
hears(int ms)
{
	for (; ms && !__atomic_load_n(&heard, __ATOMIC_ACQUIRE); ms--)
		usleep(1000);
	return __atomic_load_n(&heard, __ATOMIC_ACQUIRE);
}

static void
serve_modify_qp__failure_changes_nothing(void)
{
	struct ctl_qp_attr attr;
	struct end e;

	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(new_qp(&e), 0);
	CHECK_EQ(to_init(&e), 0);
	log_set_sink(listen_to, NULL);
	attr = rtr_attr(5);
	attr.path_mtu = 6;
	CHECK_EQ(-modify(&e, RTR_MASK, attr), EINVAL);
	attr = rtr_attr(5);
	attr.ah.sgid_index = 9;
	CHECK_EQ(-modify(&e, RTR_MASK, attr), EINVAL);
	attr = rtr_attr(5);
	attr.ah.is_global = 0;
	CHECK_EQ(-modify(&e, RTR_MASK, attr), EINVAL);
	attr = rtr_attr(5);
	attr.ah.port_num = 2;
	CHECK_EQ(-modify(&e, RTR_MASK, attr), EINVAL);
	CHECK_EQ(-modify(&e, RTR_MASK & ~QPM_AV, rtr_attr(5)), EINVAL);
	CHECK_EQ(-modify(&e, RTR_MASK | QPM_ALT_PATH, rtr_attr(5)), EOPNOTSUPP);
	listen_again();
	attr = rtr_attr(5);
	attr.ah.dgid[12] = 192;
	CHECK_EQ(-modify(&e, RTR_MASK, attr), ENETUNREACH);
	CHECK(strstr(said, "no route"));
	CHECK_EQ(state_of(&e), QPS_INIT);
	CHECK_EQ(modify(&e, RTR_MASK, rtr_attr(5)), 0);
	CHECK_EQ(state_of(&e), QPS_RTR);
	log_set_sink(NULL, NULL);
	CHECK_EQ(end_world(), 0);
}

static void
serve_modify_qp__path_mtu_of_a_small_port(void)
{
	const struct setting_text t = { .port = "loop", .ip = "10.11.0.1/24", .mtu = "1500" };
	struct ctl_query_port port = { .port = 1 };
	char why[256];

	CHECK_EQ(stack_start(&t, false, 0, why, sizeof(why)), 0);
	CHECK_EQ(open_client(), 0);
	CHECK_EQ(call(CTL_QUERY_PORT, &port), 0);
	CHECK_EQ(port.active_mtu, 3);
	CHECK_EQ(new_qp(&w.a), 0);
	CHECK_EQ(to_init(&w.a), 0);
	log_set_sink(listen_to, NULL);
	listen_again();
	CHECK_EQ(-modify(&w.a, RTR_MASK, rtr_attr(5)), EINVAL);
	CHECK(strstr(said, "4096") && strstr(said, "1500") && strstr(said, "1024"));
	listen_again();
	CHECK_EQ(-modify(&w.a, RTR_MASK, rtr_attr(5)), EINVAL);
	CHECK(!hears(20));	/* once */
	log_set_sink(NULL, NULL);
	CHECK_EQ(end_world(), 0);
}

/* Somebody with our address has the QP, or nobody: said once, counted always. */
static void
core_rx__own_address_unknown_qpn(void)
{
	const struct cnt_block *cnt;
	struct ctl_destroy_qp gone;

	CHECK_EQ(start_world("inline"), 0);
	cnt = core_counters(eng_core(stack_running()->eng, 0));
	log_set_sink(listen_to, NULL);
	listen_again();
	gone.qp = w.b.m.qp;
	CHECK_EQ(call(CTL_DESTROY_QP, &gone), 0);
	post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
	CHECK(!hears(50));	/* that one is gone, nothing is wrong with the addresses */
	CHECK_EQ(new_qp(&w.a), 0);
	CHECK_EQ(connect_to(&w.a, w.b.m.qp_num ^ 0x400), 0);
	post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20 });
	CHECK(hears(2000));
	log_set_sink(NULL, NULL);
	CHECK(strstr(said, "no such QP"));
	CHECK(cnt_read(&cnt->drop[DROP_QPN_SELF]) >= 1);
	CHECK_EQ(end_world(), 0);
}

/* A16: that frames are counted, packet scripts tell. */
static void
serve_query_port__bad_pkeys_saturate(void)
{
	static const struct {
		uint64_t dropped;
		uint32_t told;
	} table[] = { { 0, 0 }, { 5, 5 }, { 0xfffe, 0xfffe }, { 0xffff, 0xffff }, { 1u << 20, 0xffff } };
	struct ctl_query_port port = { .port = 1 };
	struct cnt_block *cnt;

	CHECK_EQ(start_world("inline"), 0);
	cnt = (struct cnt_block *)(uintptr_t)core_counters(eng_core(stack_running()->eng, 0));
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		__atomic_store_n(&cnt->drop[DROP_PKEY], table[i].dropped, __ATOMIC_RELAXED);
		CHECK_EQ(call(CTL_QUERY_PORT, &port), 0);
		CHECK_EQ(port.bad_pkey_cntr, table[i].told);
	}
	CHECK_EQ(end_world(), 0);
}

static void
serve_query__limits_and_gids(void)
{
	struct ctl_query_device dev;
	struct ctl_query_port port = { .port = 2 };
	struct ctl_query_gid gid = { .port = 1, .index = 0 };
	static const uint8_t ip[16] = { [10] = 0xff, [11] = 0xff, 10, 11, 0, 1 };
	struct ctl_device d;

	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(local->devices(&d, 1), 1);
	CHECK(strcmp(d.name, "pollux0") == 0);
	CHECK_EQ(call(CTL_QUERY_DEVICE, &dev), 0);
	CHECK_EQ(dev.node_guid, d.guid);
	CHECK_EQ(dev.max_qp, 65536);
	CHECK_EQ(dev.max_srq, 65536);
	CHECK_EQ(dev.atomic_cap, 2);	/* GLOB: atomic with the CPUs too (C21) */
	CHECK_EQ(dev.num_comp_vectors, 1);
	CHECK_EQ(-call(CTL_QUERY_PORT, &port), EINVAL);
	CHECK_EQ(call(CTL_QUERY_GID, &gid), 0);
	CHECK_EQ(gid.gid[0], 0xfe);
	CHECK_EQ(gid.gid_type, 2);
	CHECK_MEM(w.gid, ip, 16);
	gid.index = 2;
	CHECK_EQ(-call(CTL_QUERY_GID, &gid), ENODATA);
	gid.index = 256;
	CHECK_EQ(-call(CTL_QUERY_GID, &gid), EINVAL);
	CHECK_EQ(end_world(), 0);
}

static void
local_open__not_in_a_child_not_of_another_version(void)
{
	struct ctl_client cl;
	int status;
	pid_t pid;

	CHECK_EQ(start_world("inline"), 0);
	log_set_sink(listen_to, NULL);
	CHECK_EQ(-local->open(0, CTL_ABI_VERSION + 1, &cl), EPROTO);
	log_set_sink(NULL, NULL);
	CHECK_EQ(-local->open(1, CTL_ABI_VERSION, &cl), ENODEV);
	pid = fork();
	if (pid == 0) {
		struct ctl_pd pd;

		_exit(local->open(0, CTL_ABI_VERSION, &cl) == -EIO && call(CTL_ALLOC_PD, &pd) == -EIO &&
		      stack_stop() == -EIO ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	CHECK_EQ(end_world(), 0);
}

static void
serve_create_qp__what_it_refuses(void)
{
	struct ctl_create_qp m;

	CHECK_EQ(start_world("inline"), 0);
	m = (struct ctl_create_qp){ .pd = w.pd, .type = 8, .send_cq = w.cq.cq, .recv_cq = w.cq.cq };
	CHECK_EQ(-call(CTL_CREATE_QP, &m), EOPNOTSUPP);
	m = (struct ctl_create_qp){ .pd = w.pd, .type = 10, .send_cq = w.cq.cq, .recv_cq = w.cq.cq };
	CHECK_EQ(-call(CTL_CREATE_QP, &m), EINVAL);	/* a target without a domain */
	m = (struct ctl_create_qp){ .pd = w.pd, .type = 2, .send_cq = w.cq.cq, .recv_cq = 99 };
	CHECK_EQ(-call(CTL_CREATE_QP, &m), EINVAL);
	m = (struct ctl_create_qp){ .pd = w.pd, .type = 2, .send_cq = w.cq.cq, .recv_cq = w.cq.cq,
				    .cap = { .max_send_wr = 16385 } };
	CHECK_EQ(-call(CTL_CREATE_QP, &m), EINVAL);
	m = (struct ctl_create_qp){ .pd = w.pd, .type = 2, .send_cq = w.cq.cq, .recv_cq = w.cq.cq,
				    .cap = { 100, 0, 1, 0, 1 } };
	CHECK_EQ(call(CTL_CREATE_QP, &m), 0);
	CHECK_EQ(m.cap.max_send_wr, 128);
	CHECK_EQ(m.cap.max_recv_wr, 0);
	CHECK_EQ(m.cap.max_inline_data, 64);
	CHECK_EQ(end_world(), 0);
}

/* Its number is another's: it takes the next and leaks nothing (the sanitizer looks). */
static void
serve_create_qp__number_taken(void)
{
	struct end first, second;

	CHECK_EQ(start_world("inline"), 0);
	CHECK_EQ(new_qp(&first), 0);
	stack_running()->num_created[0]--;
	CHECK(new_qp(&second) == 0 && second.m.qp_num != first.m.qp_num);
	CHECK_EQ(end_world(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(serve_create_qp__number_taken),
	CHECK_CASE(local_call__operations_inline),
	CHECK_CASE(local_call__operations_dedicated),
	CHECK_CASE(idle__serves_a_silent_program),
	CHECK_CASE(idle__doorbell_wakes_a_dedicated_core),
	CHECK_CASE(core_notify__event_when_armed),
	CHECK_CASE(serve_destroy_qp__while_it_is_busy),
	CHECK_CASE(serve_dereg_mr__in_flight),
	CHECK_CASE(serve_create_qp__thousand_times),
	CHECK_CASE(serve_destroy__busy_while_used),
	CHECK_CASE(local_call__handles_of_another_client),
	CHECK_CASE(serve_reg_mr__what_it_refuses),
	CHECK_CASE(serve_modify_qp__failure_changes_nothing),
	CHECK_CASE(serve_modify_qp__path_mtu_of_a_small_port),
	CHECK_CASE(core_rx__own_address_unknown_qpn),
	CHECK_CASE(serve_query_port__bad_pkeys_saturate),
	CHECK_CASE(serve_query__limits_and_gids),
	CHECK_CASE(local_open__not_in_a_child_not_of_another_version),
	CHECK_CASE(serve_create_qp__what_it_refuses),
};

CHECK_MAIN(cases)

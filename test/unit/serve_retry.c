/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer that never answers, by the real clock: the whole stack on a loop port, a queue pair connected
 * to a number that nobody has. RETRY_EXC comes after (retry_cnt + 1) timeouts of [1, 4] times 4.096 us *
 * 2^timeout each (B20, B22, FC26). Virtual time tells the rest: script/rc/req-retry-clock.pkt.
 */
#include "serve_fixture.h"

#include <glob.h>
#include <inttypes.h>

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* For how long threads of this process were ready to run and had no CPU, ns: what is late by as much is
 * not late. */
static uint64_t
starved_ns(void)
{
	uint64_t ran, waited, all = 0;
	glob_t g;

	if (glob("/proc/self/task/*/schedstat", 0, NULL, &g) != 0)
		return 0;
	for (size_t i = 0; i < g.gl_pathc; i++) {
		FILE *f = fopen(g.gl_pathv[i], "re");

		if (f && fscanf(f, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2)
			all += waited;
		if (f)
			fclose(f);
	}
	globfree(&g);
	return all;
}

static int
connect_to_nobody(uint8_t timeout, uint8_t retry_cnt)
{
	int rc = new_qp(&w.a);

	if (rc == 0)
		rc = to_init(&w.a);
	if (rc == 0)
		rc = modify(&w.a, RTR_MASK, rtr_attr(w.a.m.qp_num ^ 0x400));
	return rc ? rc : modify(&w.a, QPM_STATE | QPM_TIMEOUT | QPM_RETRY_CNT | QPM_RNR_RETRY | QPM_SQ_PSN |
				QPM_MAX_QP_RD_ATOMIC,
				(struct ctl_qp_attr){ .qp_state = QPS_RTS, .timeout = timeout,
						      .retry_cnt = retry_cnt, .rnr_retry = 7,
						      .max_rd_atomic = 16 });
}

/* While the program sleeps, so that whatever wakes the core must do it in time. */
static void
gives_up(const char *cores, uint8_t timeout, uint8_t retry_cnt)
{
	uint64_t nominal = ((uint64_t)retry_cnt + 1) * (UINT64_C(4096) << timeout), start, took, starved;
	struct ctl_query_qp q;
	struct plx_cqe c;

	CHECK_EQ(start_stack(cores), 0);
	CHECK_EQ(open_client(), 0);
	CHECK_EQ(connect_to_nobody(timeout, retry_cnt), 0);
	starved = starved_ns();
	start = now_ns();
	post_send(&w.a, &(struct send){ .opcode = WR_RDMA_WRITE, .len = 8, .to = 2 << 20, .wr_id = 9 });
	while (!peek(&c)) {
		CHECK(now_ns() - start < 60000000000u);
		usleep(500);
	}
	took = now_ns() - start;
	starved = starved_ns() - starved;
	CHECK_EQ(c.wr_id, 9);
	CHECK_EQ(c.status, WC_RETRY_EXC_ERR);
	CHECK(took >= nominal);
	CHECK(took <= 4 * nominal + starved);
	q.qp = w.a.m.qp;
	CHECK_EQ(call(CTL_QUERY_QP, &q), 0);
	CHECK_EQ(q.attr.qp_state, QPS_ERR);
	CHECK_EQ(end_world(), 0);
}

static void
retry__one_send_of_268_ms(void)
{
	gives_up("inline", 16, 0);
}

static void
retry__eight_sends_of_67_ms(void)
{
	gives_up("inline", 14, 7);
}

static void
retry__two_sends_of_134_ms_dedicated(void)
{
	gives_up("0", 15, 1);
}

static const struct check_case cases[] = {
	CHECK_CASE(retry__one_send_of_268_ms),
	CHECK_CASE(retry__eight_sends_of_67_ms),
	CHECK_CASE(retry__two_sends_of_134_ms_dedicated),
};
CHECK_MAIN(cases)

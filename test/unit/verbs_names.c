/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers that programs are compiled with (D-8, D-9), and names: those that the distribution's libibverbs
 * gives, where it is installed.
 */
#include <dlfcn.h>

#include <pollux/verbs.h>

#include "check.h"

static const int statuses[] = {
	IBV_WC_SUCCESS, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_EEC_OP_ERR,
	IBV_WC_LOC_PROT_ERR, IBV_WC_WR_FLUSH_ERR, IBV_WC_MW_BIND_ERR, IBV_WC_BAD_RESP_ERR,
	IBV_WC_LOC_ACCESS_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR,
	IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_LOC_RDD_VIOL_ERR,
	IBV_WC_REM_INV_RD_REQ_ERR, IBV_WC_REM_ABORT_ERR, IBV_WC_INV_EECN_ERR, IBV_WC_INV_EEC_STATE_ERR,
	IBV_WC_FATAL_ERR, IBV_WC_RESP_TIMEOUT_ERR, IBV_WC_GENERAL_ERR, IBV_WC_TM_ERR,
	IBV_WC_TM_RNDV_INCOMPLETE,
};

static const int events[] = {
	IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL, IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR,
	IBV_EVENT_COMM_EST, IBV_EVENT_SQ_DRAINED, IBV_EVENT_PATH_MIG, IBV_EVENT_PATH_MIG_ERR,
	IBV_EVENT_DEVICE_FATAL, IBV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ERR, IBV_EVENT_LID_CHANGE,
	IBV_EVENT_PKEY_CHANGE, IBV_EVENT_SM_CHANGE, IBV_EVENT_SRQ_ERR, IBV_EVENT_SRQ_LIMIT_REACHED,
	IBV_EVENT_QP_LAST_WQE_REACHED, IBV_EVENT_CLIENT_REREGISTER, IBV_EVENT_GID_CHANGE,
	IBV_EVENT_WQ_FATAL,
};

static void
numbers__status_of_completions(void)
{
	for (int i = 0; i < 24; i++)
		CHECK_EQ(statuses[i], i);
	CHECK_EQ(IBV_WC_RECV, 128);
	CHECK_EQ(IBV_WC_RECV_RDMA_WITH_IMM, 129);
}

static void
numbers__events(void)
{
	for (int i = 0; i < 20; i++)
		CHECK_EQ(events[i], i);
}

#define STATUS(n) plx_wc_status_str((enum ibv_wc_status)(n))
#define EVENT(n) plx_event_type_str((enum ibv_event_type)(n))
#define NODE(n) plx_node_type_str((enum ibv_node_type)(n))
#define PORT(n) plx_port_state_str((enum ibv_port_state)(n))

static void
names__none_for_what_is_none(void)
{
	for (int i = 0; i < 24; i++)
		CHECK(strcmp(STATUS(i), "unknown"));
	for (int i = 0; i < 20; i++)
		CHECK(strcmp(EVENT(i), "unknown"));
	CHECK_EQ(strcmp(STATUS(-1), "unknown"), 0);
	CHECK_EQ(strcmp(STATUS(24), "unknown"), 0);
	CHECK_EQ(strcmp(EVENT(-1), "unknown"), 0);
	CHECK_EQ(strcmp(EVENT(99), "unknown"), 0);
}

/* An integer in place of the enum: the same call. */
static const char *
theirs(void *lib, const char *fn, int value)
{
	const char *(*call)(int);

	*(void **)&call = dlsym(lib, fn);
	return call ? call(value) : NULL;
}

#define SAME(fn, ours) \
	do { \
		const char *t = theirs(lib, fn, i); \
		CHECK(t && strcmp(t, ours) == 0); \
	} while (0)

static void
names__as_libibverbs_has_them(void)
{
	void *lib = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return;
	for (int i = -3; i < 40; i++) {
		SAME("ibv_wc_status_str", STATUS(i));
		SAME("ibv_event_type_str", EVENT(i));
		SAME("ibv_node_type_str", NODE(i));
		SAME("ibv_port_state_str", PORT(i));
	}
	dlclose(lib);
}

static const struct check_case cases[] = {
	CHECK_CASE(numbers__status_of_completions),
	CHECK_CASE(numbers__events),
	CHECK_CASE(names__none_for_what_is_none),
	CHECK_CASE(names__as_libibverbs_has_them),
};
CHECK_MAIN(cases)

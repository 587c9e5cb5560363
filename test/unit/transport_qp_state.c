/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of lib/transport/qp_state.c: the table of 1.E, written down a second time as a list of
 * names, held against every pair of states, every type and every deviation by one bit (E1). And of
 * transport/numbers.h: each number against rdma-core's header (D-8, D-9).
 */
#include <errno.h>
#include <infiniband/verbs.h>

#include "check.h"
#include "transport/numbers.h"
#include "transport/qp.h"
#include "transport/status.h"

#define SAME(ours, theirs) \
	_Static_assert((unsigned int)(ours) == (unsigned int)(theirs), #ours " is " #theirs)

SAME(QPS_RESET, IBV_QPS_RESET);
SAME(QPS_INIT, IBV_QPS_INIT);
SAME(QPS_RTR, IBV_QPS_RTR);
SAME(QPS_RTS, IBV_QPS_RTS);
SAME(QPS_SQD, IBV_QPS_SQD);
SAME(QPS_SQE, IBV_QPS_SQE);
SAME(QPS_ERR, IBV_QPS_ERR);
SAME(QPT_RC, IBV_QPT_RC);
SAME(QPT_UC, IBV_QPT_UC);
SAME(QPT_UD, IBV_QPT_UD);
SAME(QPT_RAW, IBV_QPT_RAW_PACKET);
SAME(QPT_XRC_INI, IBV_QPT_XRC_SEND);
SAME(QPT_XRC_TGT, IBV_QPT_XRC_RECV);
SAME(QPM_STATE, IBV_QP_STATE);
SAME(QPM_CUR_STATE, IBV_QP_CUR_STATE);
SAME(QPM_EN_SQD_ASYNC_NOTIFY, IBV_QP_EN_SQD_ASYNC_NOTIFY);
SAME(QPM_ACCESS_FLAGS, IBV_QP_ACCESS_FLAGS);
SAME(QPM_PKEY_INDEX, IBV_QP_PKEY_INDEX);
SAME(QPM_PORT, IBV_QP_PORT);
SAME(QPM_QKEY, IBV_QP_QKEY);
SAME(QPM_AV, IBV_QP_AV);
SAME(QPM_PATH_MTU, IBV_QP_PATH_MTU);
SAME(QPM_TIMEOUT, IBV_QP_TIMEOUT);
SAME(QPM_RETRY_CNT, IBV_QP_RETRY_CNT);
SAME(QPM_RNR_RETRY, IBV_QP_RNR_RETRY);
SAME(QPM_RQ_PSN, IBV_QP_RQ_PSN);
SAME(QPM_MAX_QP_RD_ATOMIC, IBV_QP_MAX_QP_RD_ATOMIC);
SAME(QPM_ALT_PATH, IBV_QP_ALT_PATH);
SAME(QPM_MIN_RNR_TIMER, IBV_QP_MIN_RNR_TIMER);
SAME(QPM_SQ_PSN, IBV_QP_SQ_PSN);
SAME(QPM_MAX_DEST_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC);
SAME(QPM_PATH_MIG_STATE, IBV_QP_PATH_MIG_STATE);
SAME(QPM_CAP, IBV_QP_CAP);
SAME(QPM_DEST_QPN, IBV_QP_DEST_QPN);
SAME(WR_RDMA_WRITE, IBV_WR_RDMA_WRITE);
SAME(WR_RDMA_WRITE_IMM, IBV_WR_RDMA_WRITE_WITH_IMM);
SAME(WR_SEND, IBV_WR_SEND);
SAME(WR_SEND_IMM, IBV_WR_SEND_WITH_IMM);
SAME(WR_RDMA_READ, IBV_WR_RDMA_READ);
SAME(WR_CMP_SWAP, IBV_WR_ATOMIC_CMP_AND_SWP);
SAME(WR_FETCH_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD);
SAME(WR_LOCAL_INV, IBV_WR_LOCAL_INV);
SAME(WR_BIND_MW, IBV_WR_BIND_MW);
SAME(WR_SEND_INV, IBV_WR_SEND_WITH_INV);
SAME(WC_SEND, IBV_WC_SEND);
SAME(WC_RDMA_WRITE, IBV_WC_RDMA_WRITE);
SAME(WC_RDMA_READ, IBV_WC_RDMA_READ);
SAME(WC_CMP_SWAP, IBV_WC_COMP_SWAP);
SAME(WC_FETCH_ADD, IBV_WC_FETCH_ADD);
SAME(WC_LOCAL_INV, IBV_WC_LOCAL_INV);
SAME(WC_BIND_MW, IBV_WC_BIND_MW);
SAME(WC_RECV, IBV_WC_RECV);
SAME(WC_RECV_RDMA_WITH_IMM, IBV_WC_RECV_RDMA_WITH_IMM);
SAME(WC_WITH_IMM, IBV_WC_WITH_IMM);
SAME(WC_WITH_INV, IBV_WC_WITH_INV);
SAME(WC_SUCCESS, IBV_WC_SUCCESS);
SAME(WC_LOC_LEN_ERR, IBV_WC_LOC_LEN_ERR);
SAME(WC_LOC_QP_OP_ERR, IBV_WC_LOC_QP_OP_ERR);
SAME(WC_LOC_PROT_ERR, IBV_WC_LOC_PROT_ERR);
SAME(WC_WR_FLUSH_ERR, IBV_WC_WR_FLUSH_ERR);
SAME(WC_MW_BIND_ERR, IBV_WC_MW_BIND_ERR);
SAME(WC_BAD_RESP_ERR, IBV_WC_BAD_RESP_ERR);
SAME(WC_LOC_ACCESS_ERR, IBV_WC_LOC_ACCESS_ERR);
SAME(WC_REM_INV_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
SAME(WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
SAME(WC_REM_OP_ERR, IBV_WC_REM_OP_ERR);
SAME(WC_RETRY_EXC_ERR, IBV_WC_RETRY_EXC_ERR);
SAME(WC_RNR_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR);
SAME(EV_CQ_ERR, IBV_EVENT_CQ_ERR);
SAME(EV_QP_FATAL, IBV_EVENT_QP_FATAL);
SAME(EV_QP_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
SAME(EV_QP_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
SAME(EV_COMM_EST, IBV_EVENT_COMM_EST);
SAME(EV_SQ_DRAINED, IBV_EVENT_SQ_DRAINED);
SAME(PATH_MIGRATED, IBV_MIG_MIGRATED);
SAME(MEM_LOCAL_WRITE, IBV_ACCESS_LOCAL_WRITE);
SAME(MEM_REMOTE_WRITE, IBV_ACCESS_REMOTE_WRITE);
SAME(MEM_REMOTE_READ, IBV_ACCESS_REMOTE_READ);
SAME(MEM_REMOTE_ATOMIC, IBV_ACCESS_REMOTE_ATOMIC);
SAME(PLX_WQE_FENCE, IBV_SEND_FENCE);
SAME(PLX_WQE_SIGNALED, IBV_SEND_SIGNALED);
SAME(PLX_WQE_SOLICITED, IBV_SEND_SOLICITED);
SAME(PLX_WQE_INLINE, IBV_SEND_INLINE);

static const uint32_t types[] = { 1, 2, 3, 4, 8, 9, 10 };
static const char *const type_names[] = { "GSI", "RC", "UC", "UD", "RAW", "INI", "TGT" };
static const char *const state_names[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };
static const char *const bit_names[] = {
	"STATE", "CUR", "NOTIFY", "ACCESS", "PKEY", "PORT", "QKEY", "AV", "MTU", "TIMEOUT", "RETRY",
	"RNR", "RQ_PSN", "RD", "ALT", "RNR_TIMER", "SQ_PSN", "DEST_RD", "MIG", "CAP", "DEST",
};

/* from, to, types, required, optional */
static const char *const rows[][5] = {
	{ "RESET", "INIT", "UD", "PKEY PORT QKEY", "" },
	{ "RESET", "INIT", "RC UC INI TGT", "PKEY PORT ACCESS", "" },
	{ "RESET", "INIT", "GSI", "PKEY QKEY", "" },
	{ "RESET", "INIT", "RAW", "PORT", "" },
	{ "INIT", "INIT", "UD", "", "PKEY PORT QKEY" },
	{ "INIT", "INIT", "RC UC INI TGT", "", "PKEY PORT ACCESS" },
	{ "INIT", "INIT", "GSI", "", "PKEY QKEY" },
	{ "INIT", "INIT", "RAW", "", "PORT" },
	{ "INIT", "RTR", "UD GSI", "", "PKEY QKEY" },
	{ "INIT", "RTR", "UC INI", "AV MTU DEST RQ_PSN", "ALT ACCESS PKEY" },
	{ "INIT", "RTR", "RC TGT", "AV MTU DEST RQ_PSN DEST_RD RNR_TIMER", "ALT ACCESS PKEY" },
	{ "INIT", "RTR", "RAW", "", "" },
	{ "RTR", "RTS", "UD GSI", "SQ_PSN", "CUR QKEY" },
	{ "RTR", "RTS", "UC", "SQ_PSN", "CUR ALT ACCESS MIG" },
	{ "RTR", "RTS", "RC", "SQ_PSN TIMEOUT RETRY RNR RD", "CUR ALT ACCESS MIG RNR_TIMER" },
	{ "RTR", "RTS", "INI", "SQ_PSN TIMEOUT RETRY RNR RD", "CUR ALT ACCESS MIG" },
	{ "RTR", "RTS", "TGT", "SQ_PSN TIMEOUT", "CUR ALT ACCESS MIG RNR_TIMER" },
	{ "RTR", "RTS", "RAW", "", "" },
	{ "RTS", "RTS", "UD GSI", "", "CUR QKEY" },
	{ "RTS", "RTS", "UC INI", "", "CUR ACCESS ALT MIG" },
	{ "RTS", "RTS", "RC TGT", "", "CUR ACCESS ALT MIG RNR_TIMER" },
	{ "RTS", "RTS", "RAW", "", "" },
	{ "RTS", "SQD", "UD GSI RC UC INI TGT", "", "NOTIFY" },
	{ "RTS", "SQD", "RAW", "", "" },
	{ "SQD", "RTS", "UD GSI", "", "CUR QKEY" },
	{ "SQD", "RTS", "UC INI", "", "CUR ALT ACCESS MIG" },
	{ "SQD", "RTS", "RC TGT", "", "CUR ALT ACCESS MIG RNR_TIMER" },
	{ "SQD", "RTS", "RAW", "", "" },
	{ "SQD", "SQD", "UD GSI", "", "PKEY QKEY" },
	{ "SQD", "SQD", "UC", "", "AV ALT ACCESS PKEY MIG" },
	{ "SQD", "SQD", "RC", "",
	  "PORT AV TIMEOUT RETRY RNR RD DEST_RD ALT ACCESS PKEY RNR_TIMER MIG" },
	{ "SQD", "SQD", "INI", "", "PORT AV TIMEOUT RETRY RNR RD ALT ACCESS PKEY MIG" },
	{ "SQD", "SQD", "TGT", "", "PORT AV TIMEOUT DEST_RD ALT ACCESS PKEY RNR_TIMER MIG" },
	{ "SQD", "SQD", "RAW", "", "" },
	{ "SQE", "RTS", "UD GSI", "", "CUR QKEY" },
	{ "SQE", "RTS", "UC", "", "CUR ACCESS" },
	{ "SQE", "RTS", "RC INI TGT RAW", "", "" },
	{ "RESET INIT RTR RTS SQD SQE ERR", "RESET", "GSI RC UC UD RAW INI TGT", "", "" },
	{ "INIT RTR RTS SQD SQE ERR", "ERR", "GSI RC UC UD RAW INI TGT", "", "" },
};

/* `word` stands in the space-separated `list`. */
static bool
names(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ' ') && (p[n] == '\0' || p[n] == ' '))
			return true;
	return false;
}

static uint32_t
mask_of(const char *list)
{
	uint32_t mask = 0;

	for (uint32_t b = 0; b < sizeof(bit_names) / sizeof(bit_names[0]); b++)
		if (names(list, bit_names[b]))
			mask |= 1u << b;
	return mask;
}

static bool
row_for(uint32_t from, uint32_t to, uint32_t type, uint32_t *required, uint32_t *optional)
{
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!names(rows[i][0], state_names[from]) || !names(rows[i][1], state_names[to]) ||
		    !names(rows[i][2], type_names[type]))
			continue;
		*required = mask_of(rows[i][3]);
		*optional = mask_of(rows[i][4]);
		return true;
	}
	return false;
}

static void
qp_state_check__whole_table(void)
{
	uint32_t checked = 0, tabled = 0;

	for (uint32_t type = 0; type < 7; type++) {
		for (uint32_t n = 0; n < 49; n++) {
			uint32_t required = 0, optional = 0;
			bool valid = row_for(n / 7, n % 7, type, &required, &optional);

			tabled += valid;
			for (int bit = -1; bit < 32; bit++) {
				uint32_t flip = bit < 0 ? 0 : 1u << bit;
				uint32_t mask = (required | 1u) ^ flip;
				bool good = valid && !(flip & required) && !(flip & ~(optional | 1u));

				CHECK_EQ(qp_state_check(types[type], n / 7, n % 7, mask),
					 good ? 0 : -EINVAL);
				mask = (required | optional | 1u) ^ flip;
				good = valid && (!flip || ((flip & (optional | 1u)) != 0));
				CHECK_EQ(qp_state_check(types[type], n / 7, n % 7, mask),
					 good ? 0 : -EINVAL);
				checked += 2;
			}
		}
	}
	CHECK(tabled > 100 && checked > 20000);
}

static void
qp_state_check__numbers_out_of_range(void)
{
	CHECK_EQ(qp_state_check(2, 7, 0, 1), -EINVAL);
	CHECK_EQ(qp_state_check(2, 0, 7, 1), -EINVAL);
	CHECK_EQ(qp_state_check(2, UINT32_MAX, 0, 1), -EINVAL);
	for (uint32_t type = 0; type < 300; type++)
		CHECK_EQ(qp_state_check(type, 6, 0, 1),
			 (type >= 1 && type <= 4) || type == 8 || type == 9 || type == 10 ? 0 : -EINVAL);
}

static const struct check_case cases[] = {
	CHECK_CASE(qp_state_check__whole_table),
	CHECK_CASE(qp_state_check__numbers_out_of_range),
};

CHECK_MAIN(cases)

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which attributes may and which must come with a change of state (table 1.E)? Pure; any thread.
 */
#include "transport/numbers.h"
#include "transport/qp.h"

#include <errno.h>

struct transition {
	bool valid;
	uint32_t required[QPT_COUNT];
	uint32_t optional[QPT_COUNT];
};

#define PKEY QPM_PKEY_INDEX
#define PORT QPM_PORT
#define QKEY QPM_QKEY
#define ACCESS QPM_ACCESS_FLAGS
#define AV QPM_AV
#define ALT QPM_ALT_PATH
#define MIG QPM_PATH_MIG_STATE
#define CUR QPM_CUR_STATE
#define RNR_TIMER QPM_MIN_RNR_TIMER
#define RETRIES (QPM_TIMEOUT | QPM_RETRY_CNT | QPM_RNR_RETRY | QPM_MAX_QP_RD_ATOMIC)

#define FOR_UD(bits) [QPT_UD] = (bits)
#define FOR_GSI(bits) [QPT_GSI] = (bits)
#define FOR_XRC(bits) [QPT_XRC_INI] = (bits), [QPT_XRC_TGT] = (bits)

/* RESET -> INIT, and optional once more in INIT */
#define INIT_SETS \
	FOR_UD(PKEY | PORT | QKEY), FOR_GSI(PKEY | QKEY), [QPT_RAW] = PORT, \
	[QPT_RC] = PKEY | PORT | ACCESS, [QPT_UC] = PKEY | PORT | ACCESS, \
	FOR_XRC(PKEY | PORT | ACCESS)

/* RTR -> RTS, and SQD -> RTS */
#define RTS_OPTIONS \
	FOR_UD(CUR | QKEY), FOR_GSI(CUR | QKEY), \
	[QPT_UC] = CUR | ALT | ACCESS | MIG, [QPT_XRC_INI] = CUR | ALT | ACCESS | MIG, \
	[QPT_RC] = CUR | ALT | ACCESS | MIG | RNR_TIMER, \
	[QPT_XRC_TGT] = CUR | ALT | ACCESS | MIG | RNR_TIMER

#define PATH_BASE (AV | QPM_PATH_MTU | QPM_DEST_QPN | QPM_RQ_PSN)
#define SQD_BASE (PORT | AV | QPM_TIMEOUT | ALT | ACCESS | PKEY | MIG)

static const struct transition table[QPS_COUNT][QPS_COUNT] = {
	[QPS_RESET] = {
		[QPS_RESET] = { .valid = true },
		[QPS_INIT] = { .valid = true, .required = { INIT_SETS } },
	},
	[QPS_INIT] = {
		[QPS_RESET] = { .valid = true },
		[QPS_ERR] = { .valid = true },
		[QPS_INIT] = { .valid = true, .optional = { INIT_SETS } },
		[QPS_RTR] = {
			.valid = true,
			.required = {
				[QPT_UC] = PATH_BASE,
				[QPT_XRC_INI] = PATH_BASE,
				[QPT_RC] = PATH_BASE | QPM_MAX_DEST_RD_ATOMIC | RNR_TIMER,
				[QPT_XRC_TGT] = PATH_BASE | QPM_MAX_DEST_RD_ATOMIC | RNR_TIMER,
			},
			.optional = {
				FOR_UD(PKEY | QKEY), FOR_GSI(PKEY | QKEY),
				[QPT_RC] = ALT | ACCESS | PKEY,
				[QPT_UC] = ALT | ACCESS | PKEY,
				FOR_XRC(ALT | ACCESS | PKEY),
			},
		},
	},
	[QPS_RTR] = {
		[QPS_RESET] = { .valid = true },
		[QPS_ERR] = { .valid = true },
		[QPS_RTS] = {
			.valid = true,
			.required = {
				FOR_UD(QPM_SQ_PSN), FOR_GSI(QPM_SQ_PSN), [QPT_UC] = QPM_SQ_PSN,
				[QPT_RC] = QPM_SQ_PSN | RETRIES,
				[QPT_XRC_INI] = QPM_SQ_PSN | RETRIES,
				[QPT_XRC_TGT] = QPM_SQ_PSN | QPM_TIMEOUT,
			},
			.optional = { RTS_OPTIONS },
		},
	},
	[QPS_RTS] = {
		[QPS_RESET] = { .valid = true },
		[QPS_ERR] = { .valid = true },
		[QPS_RTS] = { .valid = true, .optional = { RTS_OPTIONS } },
		[QPS_SQD] = {
			.valid = true,
			.optional = {
				FOR_UD(QPM_EN_SQD_ASYNC_NOTIFY), FOR_GSI(QPM_EN_SQD_ASYNC_NOTIFY),
				[QPT_RC] = QPM_EN_SQD_ASYNC_NOTIFY,
				[QPT_UC] = QPM_EN_SQD_ASYNC_NOTIFY,
				FOR_XRC(QPM_EN_SQD_ASYNC_NOTIFY),
			},
		},
	},
	[QPS_SQD] = {
		[QPS_RESET] = { .valid = true },
		[QPS_ERR] = { .valid = true },
		[QPS_RTS] = { .valid = true, .optional = { RTS_OPTIONS } },
		[QPS_SQD] = {
			.valid = true,
			.optional = {
				FOR_UD(PKEY | QKEY), FOR_GSI(PKEY | QKEY),
				[QPT_UC] = AV | ALT | ACCESS | PKEY | MIG,
				[QPT_RC] = SQD_BASE | RETRIES | QPM_MAX_DEST_RD_ATOMIC | RNR_TIMER,
				[QPT_XRC_INI] = SQD_BASE | RETRIES,
				[QPT_XRC_TGT] = SQD_BASE | QPM_MAX_DEST_RD_ATOMIC | RNR_TIMER,
			},
		},
	},
	[QPS_SQE] = {
		[QPS_RESET] = { .valid = true },
		[QPS_ERR] = { .valid = true },
		[QPS_RTS] = {
			.valid = true,
			.optional = { FOR_UD(CUR | QKEY), FOR_GSI(CUR | QKEY), [QPT_UC] = CUR | ACCESS },
		},
	},
	[QPS_ERR] = {
		[QPS_RESET] = { .valid = true },
		[QPS_ERR] = { .valid = true },
	},
};

bool
qp_type_known(uint32_t type)
{
	return (type >= QPT_GSI && type <= QPT_UD) || type == QPT_RAW || type == QPT_XRC_INI ||
	       type == QPT_XRC_TGT;
}

int
qp_state_check(uint32_t type, uint32_t from, uint32_t to, uint32_t mask)
{
	const struct transition *t;
	uint32_t allowed;

	if (from >= QPS_COUNT || to >= QPS_COUNT || !qp_type_known(type))
		return -EINVAL;
	t = &table[from][to];
	if (!t->valid)
		return -EINVAL;
	allowed = t->required[type] | t->optional[type] | QPM_STATE;
	if ((mask & t->required[type]) != t->required[type] || (mask & ~allowed))
		return -EINVAL;
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a bandwidth test at one end. */
#ifndef PLX_PERF_BW_H
#define PLX_PERF_BW_H

#include "worker.h"

struct bw_qp {
	struct ibv_qp *qp;
	uint64_t posted, retired;
	uint32_t unsignalled;		/* WRs since the last signalled one */
	uint32_t signalled;		/* signalled WRs in flight */
	struct ibv_send_wr *wr;		/* post_list of them */
	struct ibv_sge sge;
	struct recv_ring recv;
};

struct bw {
	struct bw_qp *q;
	uint64_t limit;			/* messages on each QP */
	uint64_t posted;		/* on all */
	bool begun, stopping;
	uint64_t begin_ns, end_ns;	/* end: when no more is posted; UINT64_MAX without a limit */
	uint64_t window_ns, window_messages;
};

void bw_need(const struct test *t, struct conn_need *need);
int bw_open(struct worker *w);
int bw_start(struct worker *w);
void bw_close(struct worker *w);

#endif

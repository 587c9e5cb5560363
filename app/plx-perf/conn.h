/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One end's verbs objects: a device opened once, and for each end PD, MR, CQs and QPs, connected to
 * the QPs of the same index at the other end.
 */
#ifndef PLX_PERF_CONN_H
#define PLX_PERF_CONN_H

#include <stddef.h>
#include <stdint.h>

#include "exchange.h"
#include "test.h"
#include "verbs_api.h"

struct device {
	struct ibv_context *ctx;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	uint32_t gid_index;
	char name[64];
};

/* X(field): what an end tells the other of itself, one word each. */
#define ENDPOINT_FIELDS(X) \
	X(gid_high) X(gid_low) X(mtu) X(rd_atom) X(addr) X(length) X(rkey) X(qps)

struct endpoint {
#define ENDPOINT_FIELD(f) uint64_t f;
	ENDPOINT_FIELDS(ENDPOINT_FIELD)
#undef ENDPOINT_FIELD
};

struct conn_need {
	uint32_t qps;
	uint32_t send_wr, recv_wr;	/* on each QP */
	uint32_t sges;
	uint32_t inline_max;
	size_t buffer;			/* bytes */
};

struct conn_qp {
	struct ibv_qp *qp;
	uint32_t psn;			/* of the first packet we send */
	uint32_t peer_qpn, peer_psn;
};

struct conn {
	struct device *dev;
	const struct test *test;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;	/* NULL: polling */
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_mr *mr;
	uint8_t *buffer;
	size_t length;
	uint32_t mtu;			/* path MTU in bytes, once connected */
	uint32_t qps;
	struct conn_qp *qp;
	struct endpoint peer;
};

/* Opens `name` (NULL: the first device) and finds its port and GID. 0, or -1 after a line. */
int device_open(struct device *d, const char *name, uint64_t gid_index);
void device_close(struct device *d);
/* READs and atomics in flight that a QP of the device may have, as initiator and as target. */
uint8_t device_rd_atom(const struct device *d);

/* Makes everything, QPs in INIT. 0, or -1 after a line. */
int conn_make(struct conn *c, struct device *d, const struct test *t, const struct conn_need *need);

/* Tells the other end, and hears of it. 0, or -1 after a line. */
int conn_tell(struct conn *c, struct link *l);
int conn_hear(struct conn *c, struct link *l);

/* Takes all QPs to RTS. 0, or -1 after a line. */
int conn_connect(struct conn *c);

/* Undoes conn_make, also of a half made one. */
void conn_free(struct conn *c);

/* ns after which a dead peer must have been noticed (B20, B22: four times the interval, and all retries). */
uint64_t conn_give_up_ns(const struct test *t);

/*
 * Prints what a completion with an error means: the operation, the QP, the status and what to do.
 * Returns -1.
 */
int conn_explain(const struct conn *c, const struct ibv_wc *wc, const char *what, const char *peer);

#endif

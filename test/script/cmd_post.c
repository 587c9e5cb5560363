/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines that post: post KIND, recv. */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "run.h"

#define DEFAULT_VA 0x200000u
#define DEFAULT_RKEY 0x1234u

static const struct {
	const char *name;
	uint8_t opcode;		/* enum ibv_wr_opcode */
	uint8_t wc;		/* enum ibv_wc_opcode */
} kinds[] = {
	{ "send", IBV_WR_SEND, IBV_WC_SEND },
	{ "send_imm", IBV_WR_SEND_WITH_IMM, IBV_WC_SEND },
	{ "write", IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE },
	{ "write_imm", IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE },
	{ "read", IBV_WR_RDMA_READ, IBV_WC_RDMA_READ },
	{ "cas", IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WC_COMP_SWAP },
	{ "faa", IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD },
	{ "send_inv", IBV_WR_SEND_WITH_INV, IBV_WC_SEND },
	{ "local_inv", IBV_WR_LOCAL_INV, IBV_WC_LOCAL_INV },
	{ "bind", IBV_WR_BIND_MW, IBV_WC_BIND_MW },
	{ "atomic_write", IBV_WR_ATOMIC_WRITE, IBV_WC_ATOMIC_WRITE },
	{ "flush", 14, 8 },	/* IBV_WR_FLUSH and IBV_WC_FLUSH of later versions */
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* sge=REGION[+OFFSET]:LENGTH,...; lkey= replaces the key of all. */
static uint32_t
sges(struct run *r, struct words *w, struct plx_sge *sge)
{
	const char *text = words_opt(w, "sge"), *lkey = words_opt(w, "lkey");
	char *copy = text ? run_strdup(r, text) : NULL, *part, *colon;
	uint32_t n = 0;

	while ((part = strsep(&copy, ","))) {
		struct run_place p;

		colon = strchr(part, ':');
		if (!colon || n == PLX_MAX_SGE)
			run_fail(r, "sge=REGION[+OFFSET]:LENGTH,... (%u at most)", PLX_MAX_SGE);
		*colon = 0;
		p = run_place(r, part);
		if (!p.mr)
			run_fail(r, "no region: %s", part);
		sge[n].addr = p.mr->iova + p.offset;
		sge[n].length = (uint32_t)run_number(r, colon + 1);
		sge[n++].lkey = lkey ? run_key(r, lkey) : p.mr->key;
	}
	return n;
}

static void
remember(struct host_qp *q, const struct host_wr *wr)
{
	if (!(q->num_wrs & (q->num_wrs - 1)))	/* full: 0 or a power of two */
		q->wr = realloc(q->wr, (q->num_wrs ? 2 * q->num_wrs : 1) * sizeof(*q->wr));
	if (!q->wr)
		abort();
	q->wr[q->num_wrs++] = *wr;
}

/* Of a shared queue it may complete on any of its QPs. */
static void
remember_recv(struct run *r, struct host_qp *q, uint64_t id)
{
	if (!q->conf.srq) {
		remember(q, &(struct host_wr){ .id = id, .recv = true, .wc_opcode = IBV_WC_RECV });
		return;
	}
	for (unsigned int i = 0; i < r->h.num_qps; i++)
		if (r->h.qp[i]->conf.srq == q->conf.srq)
			remember(r->h.qp[i], &(struct host_wr){ .id = id, .recv = true,
								.wc_opcode = IBV_WC_RECV });
}

static uint8_t
flags_of(struct words *w)
{
	uint8_t f = PLX_WQE_SIGNALED;

	if (words_flag(w, "unsignaled"))
		f = 0;
	if (words_flag(w, "fence"))
		f |= PLX_WQE_FENCE;
	if (words_flag(w, "solicited"))
		f |= PLX_WQE_SOLICITED;
	if (words_flag(w, "inline"))
		f |= PLX_WQE_INLINE;
	return f;
}

static uint64_t
wr_id(struct run *r, struct words *w)
{
	const char *id = words_opt(w, "wr");

	if (!id)
		run_fail(r, "wr=NUMBER is missing");
	return run_number(r, id);
}

static uint32_t
total(const struct plx_sge *sge, uint32_t n)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += sge[i].length;
	return sum;
}

/* post KIND wr=N [sge=] [data=] [va=] [rkey=] [imm=] [inv=KEY] [compare=] [swap=] [add=] [flags...]
 * data= gives inline bytes. length= and num_sge= write wrong values on purpose. */
static void
cmd_post_(struct run *r, struct words *w)
{
	struct host_qp *q = run_qp(r);
	struct plx_sge sge[PLX_MAX_SGE] = { 0 };
	struct plx_sq_wqe wqe = { 0 };
	const char *kind = words_next(w), *data = words_opt(w, "data"), *rkey = words_opt(w, "rkey");
	const char *inv = words_opt(w, "inv");
	const uint8_t *bytes = NULL;
	size_t k = 0;

	while (k < KINDS && kind && strcmp(kind, kinds[k].name))
		k++;
	if (!kind || k == KINDS)
		run_fail(r, "post send|send_imm|write|write_imm|read|cas|faa|send_inv|local_inv|bind|"
			 "atomic_write|flush");
	wqe.wr_id = wr_id(r, w);
	wqe.opcode = kinds[k].opcode;
	wqe.flags = flags_of(w);
	wqe.num_sge = (uint16_t)sges(r, w, sge);
	wqe.length = total(sge, wqe.num_sge);
	if (data) {
		bytes = data_parse(r, data, &wqe.length);
		wqe.flags |= PLX_WQE_INLINE;
	}
	wqe.imm = htonl((uint32_t)run_opt(r, w, "imm", 0));
	if (inv)
		wqe.imm = run_key(r, inv);
	wqe.remote_addr = run_opt(r, w, "va", DEFAULT_VA);
	wqe.rkey = rkey ? run_key(r, rkey) : DEFAULT_RKEY;
	if (wqe.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wqe.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wqe.atomic.compare_add = run_opt(r, w, wqe.opcode == IBV_WR_ATOMIC_CMP_AND_SWP ?
						 "compare" : "add", 0);
		wqe.atomic.swap = run_opt(r, w, "swap", 0);
	}
	if (wqe.opcode == 14) {
		wqe.flush.type = (uint32_t)run_opt(r, w, "plt", 1);
		wqe.flush.level = (uint32_t)run_opt(r, w, "sel", 0);
		wqe.length = (uint32_t)run_opt(r, w, "len", 0);
	}
	if (q->conf.type == IBV_QPT_UD)
		ud_read(r, w, &wqe);
	if (wqe.opcode == IBV_WR_BIND_MW)
		mw_read(r, w, &wqe);
	wqe.xrc_srqn = (uint32_t)run_opt(r, w, "srqn", q->srq ? q->srq->number : 0);
	wqe.length = (uint32_t)run_opt(r, w, "length", wqe.length);
	wqe.num_sge = (uint16_t)run_opt(r, w, "num_sge", wqe.num_sge);
	host_note(&r->h, "  post %s wr=%llu len=%u", kind, (unsigned long long)wqe.wr_id, wqe.length);
	if (host_post(&r->h, q, &wqe, sge, bytes))
		run_fail(r, "the send queue is full");
	remember(q, &(struct host_wr){ .id = wqe.wr_id, .wc_opcode = kinds[k].wc });
	run_settle(r);
}

/* XRC: srq=NAME, a shared queue that peers name; without, the current QP's own one. */
static struct host_srq *
srq_of(struct run *r, struct words *w)
{
	const char *name = words_opt(w, "srq");
	struct host_srq *s = name ? host_srq_find(&r->h, name) : r->qp->srq;

	if (name && !s)
		run_fail(r, "no such shared queue: %s", name);
	return s;
}

/* recv wr=N [sge=...] [lkey=] [num_sge=] [srq=] */
static void
cmd_recv(struct run *r, struct words *w)
{
	struct host_qp *q = run_qp(r);
	struct plx_sge sge[PLX_MAX_SGE] = { 0 };
	struct host_srq *srq = srq_of(r, w);
	uint64_t id = wr_id(r, w);
	uint32_t n = sges(r, w, sge);

	n = (uint32_t)run_opt(r, w, "num_sge", n);
	host_note(&r->h, "  recv wr=%llu len=%u", (unsigned long long)id,
		  n <= PLX_MAX_SGE ? total(sge, n) : 0);
	if (srq ? host_srq_recv(srq, id, n, sge) :
	    q->conf.srq ? host_srq_recv((struct host_srq *)q->conf.srq, id, n, sge) :
			  host_recv(&r->h, q, id, n, sge))
		run_fail(r, "the receive queue is full");
	if (srq)
		remember(q, &(struct host_wr){ .id = id, .srq = srq, .recv = true,
					       .wc_opcode = IBV_WC_RECV });
	else
		remember_recv(r, q, id);
	run_settle(r);
}

const struct cmd cmd_post[] = { { "post", cmd_post_ }, { "recv", cmd_recv }, { NULL, NULL } };

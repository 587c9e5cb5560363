/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does posting cost the program, by ibv_post_send() and by the work request builder?
 *
 *	post [ROUNDS]
 *
 * On the mock of the unit tests, with no core beside: rings, doorbell and lock as in earnest, and nothing
 * else. The ways take turns in short rounds, so that what disturbs the machine disturbs all; of each the
 * median and the best round, in ns a work request, and each median beside post_send's. One JSON object.
 */
#include "../unit/verbs_world.h"
#include "rounds.h"
#include "stats.h"

#define ROUND 4096u			/* work requests */
#define BATCH 16u
#define LEN 64u

static char buf[LEN];

static void
post_chain(struct ibv_qp *qp, unsigned int n)
{
	struct ibv_sge sge = { (uintptr_t)buf, LEN, 0x33 };
	struct ibv_send_wr wr[BATCH], *bad;

	memset(wr, 0, n * sizeof(wr[0]));
	for (unsigned int i = 0; i < n; i++) {
		wr[i].wr_id = i;
		wr[i].next = i + 1 < n ? &wr[i + 1] : NULL;
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].wr.rdma.remote_addr = (uintptr_t)buf;
		wr[i].wr.rdma.rkey = 0x99;
	}
	if (ibv_post_send(qp, wr, &bad))
		abort();
}

static void
build_inline(struct ibv_qp *qp, unsigned int n)
{
	struct ibv_qp_ex *ex = (struct ibv_qp_ex *)qp;

	ibv_wr_start(ex);
	for (unsigned int i = 0; i < n; i++) {
		ex->wr_id = i;
		ex->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(ex, 0x99, (uintptr_t)buf);
		ibv_wr_set_sge(ex, 0x33, (uintptr_t)buf, LEN);
	}
	if (ibv_wr_complete(ex))
		abort();
}

/* As an unmodified program does. */
static void
build_table(struct ibv_qp *qp, unsigned int n)
{
	struct ibv_qp_ex *ex = (struct ibv_qp_ex *)qp;

	ex->wr_start(ex);
	for (unsigned int i = 0; i < n; i++) {
		ex->wr_id = i;
		ex->wr_flags = IBV_SEND_SIGNALED;
		ex->wr_rdma_write(ex, 0x99, (uintptr_t)buf);
		ex->wr_set_sge(ex, 0x33, (uintptr_t)buf, LEN);
	}
	if (ex->wr_complete(ex))
		abort();
}

static void
post_table(struct ibv_qp *qp, unsigned int n)
{
	struct ibv_sge sge = { (uintptr_t)buf, LEN, 0x33 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	wr.wr.rdma.remote_addr = (uintptr_t)buf;
	wr.wr.rdma.rkey = 0x99;
	for (unsigned int i = 0; i < n; i++) {
		wr.wr_id = i;
		if (qp->context->ops.post_send(qp, &wr, &bad))
			abort();
	}
}

static struct way {
	struct rounds r;
	void (*post)(struct ibv_qp *qp, unsigned int n);
	unsigned int batch;
	bool single;				/* on a thread domain */
} ways[] = {
	{ .r.name = "post_send", .post = post_chain, .batch = 1 },
	{ .r.name = "wr", .r.beside = "post_send", .post = build_inline, .batch = 1 },
	{ .r.name = "post_send of 16", .post = post_chain, .batch = BATCH },
	{ .r.name = "wr of 16", .r.beside = "post_send of 16", .post = build_inline, .batch = BATCH },
	{ .r.name = "post_send, drop-in", .post = post_table, .batch = 1 },
	{ .r.name = "wr, drop-in", .r.beside = "post_send, drop-in", .post = build_table, .batch = 1 },
	{ .r.name = "post_send, thread domain", .r.beside = "post_send", .post = post_chain, .batch = 1,
	  .single = true },
	{ .r.name = "wr, thread domain", .r.beside = "wr", .post = build_inline, .batch = 1, .single = true },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static struct ibv_qp *
make(struct world *w, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr_ex init = {
		.send_cq = w->cq, .recv_cq = w->cq, .qp_type = IBV_QPT_RC, .pd = pd,
		.cap = { 256, 1, 1, 1, 0 }, .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(w->ctx, &init);

	for (int state = IBV_QPS_INIT; qp && state <= IBV_QPS_RTS; state++) {
		struct ibv_qp_attr a = { .qp_state = (enum ibv_qp_state)state };

		if (ibv_modify_qp(qp, &a, IBV_QP_STATE))
			abort();
	}
	if (!qp)
		abort();
	return qp;
}

/* As if the core had done all and nobody waited for it: the bell stands, and slots are free. */
static uint32_t
one_round(const struct way *way, struct ibv_qp *qp)
{
	struct plx_wq *sq = &__plx_qp_of(qp)->sq;
	uint64_t begin = now_ns();

	for (unsigned int done = 0; done < ROUND; done += way->batch) {
		way->post(qp, way->batch);
		sq->head = sq->tail;
	}
	return (uint32_t)((now_ns() - begin) * 1000 / ROUND);
}

static const char about[] =
	"What a post costs the program, by ibv_post_send() and by ibv_wr_*, in line and through the\n"
	"drop-in's tables. Nothing is sent: rings, doorbell and lock are real, and no core is there.\n"
	"A round is 4096 RDMA WRITEs of 64 bytes, posted one by one or 16 at a time.\n\n"
	"The ways take turns, and in the JSON that is printed each has\n"
	"  median, best   ns a work request, of all rounds\n"
	"  beside, ratio  another way, and this one's median divided by that one's: below 1 is faster\n";

int
main(int argc, char **argv)
{
	uint32_t rounds = rounds_asked(argc, argv, about);
	struct ibv_td_init_attr none = { 0 };
	struct ibv_parent_domain_init_attr attr = { 0 };
	struct ibv_qp *qp[2];
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	attr.pd = w.pd;
	attr.td = ibv_alloc_td(w.ctx, &none);
	qp[0] = make(&w, w.pd);
	qp[1] = make(&w, ibv_alloc_parent_domain(w.ctx, &attr));
	for (uint32_t r = 0; r < rounds; r++)
		for (size_t i = 0; i < WAYS; i++)
			ways[i].r.round[r] = one_round(&ways[i], qp[ways[i].single]);
	rounds_print("post", ways, sizeof(ways[0]), WAYS, rounds);
	return 0;
}

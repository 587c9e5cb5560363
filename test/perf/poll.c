/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What does a completion cost the program, by ibv_poll_cq() and by the poller of an extended CQ?
 *
 *	poll [ROUNDS]
 *
 * On the mock of the unit tests, which fills a ring beforehand: lock, phase and slots as in earnest, and
 * nothing else. Each way reads what a program reads of a receive: wr_id, status, opcode, byte_len and
 * qp_num. The ways take turns in short rounds, so that what disturbs the machine disturbs all; of each the
 * median and the best round, in ns a completion, and each median beside poll_cq's. One JSON object.
 */
#include "../unit/verbs_world.h"
#include "rounds.h"
#include "stats.h"

#define ROUND 1024u			/* completions: a ring that stays in the cache */
#define BATCH 16

/* What was read; nobody looks at it, but the compiler does not know. */
static volatile uint64_t sum;

static void
poll_inline(struct ibv_cq *cq, unsigned int batch)
{
	struct ibv_wc wc[BATCH];
	int n;

	while ((n = ibv_poll_cq(cq, (int)batch, wc)) > 0)
		for (int i = 0; i < n; i++)
			sum += wc[i].wr_id + wc[i].status + wc[i].opcode + wc[i].byte_len + wc[i].qp_num;
}

/* As an unmodified program does. */
static void
poll_table(struct ibv_cq *cq, unsigned int batch)
{
	struct ibv_wc wc[BATCH];
	int n;

	while ((n = cq->context->ops.poll_cq(cq, (int)batch, wc)) > 0)
		for (int i = 0; i < n; i++)
			sum += wc[i].wr_id + wc[i].status + wc[i].opcode + wc[i].byte_len + wc[i].qp_num;
}

static void
ex_inline(struct ibv_cq *plain, unsigned int batch)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)plain;
	struct ibv_poll_cq_attr attr = { 0 };

	while (ibv_start_poll(cq, &attr) == 0) {
		unsigned int n = 0;

		do
			sum += cq->wr_id + cq->status + ibv_wc_read_opcode(cq) + ibv_wc_read_byte_len(cq) +
			       ibv_wc_read_qp_num(cq);
		while (++n < batch && ibv_next_poll(cq) == 0);
		ibv_end_poll(cq);
	}
}

static void
ex_table(struct ibv_cq *plain, unsigned int batch)
{
	struct ibv_cq_ex *cq = (struct ibv_cq_ex *)plain;
	struct ibv_poll_cq_attr attr = { 0 };

	while (cq->start_poll(cq, &attr) == 0) {
		unsigned int n = 0;

		do
			sum += cq->wr_id + cq->status + cq->read_opcode(cq) + cq->read_byte_len(cq) +
			       cq->read_qp_num(cq);
		while (++n < batch && cq->next_poll(cq) == 0);
		cq->end_poll(cq);
	}
}

static struct way {
	struct rounds r;
	void (*poll)(struct ibv_cq *cq, unsigned int batch);
	unsigned int batch;
	bool single;
} ways[] = {
	{ .r.name = "poll_cq", .poll = poll_inline, .batch = 1 },
	{ .r.name = "cq_ex", .r.beside = "poll_cq", .poll = ex_inline, .batch = 1 },
	{ .r.name = "cq_ex, single threaded", .r.beside = "poll_cq", .poll = ex_inline, .batch = 1,
	  .single = true },
	{ .r.name = "poll_cq of 16", .poll = poll_inline, .batch = BATCH },
	{ .r.name = "cq_ex of 16", .r.beside = "poll_cq of 16", .poll = ex_inline, .batch = BATCH },
	{ .r.name = "poll_cq of 16, drop-in", .poll = poll_table, .batch = BATCH },
	{ .r.name = "cq_ex of 16, drop-in", .r.beside = "poll_cq of 16, drop-in", .poll = ex_table,
	  .batch = BATCH },
};
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static struct ibv_cq *
make(struct world *w, uint32_t flags)
{
	struct ibv_cq_init_attr_ex init = {
		.cqe = ROUND, .wc_flags = IBV_WC_STANDARD_FLAGS,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = flags,
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(w->ctx, &init);

	if (!cq)
		abort();
	return ibv_cq_ex_to_cq(cq);
}

static uint32_t
one_round(const struct way *way, struct ibv_cq *cq, uint32_t qp)
{
	uint64_t begin;

	for (uint32_t i = 0; i < ROUND; i++)
		mock_complete(cq->handle, qp, PLX_CQE_SQ, i, 0);
	begin = now_ns();
	way->poll(cq, way->batch);
	return (uint32_t)((now_ns() - begin) * 1000 / ROUND);
}

static const char about[] =
	"What a completion costs the program, by ibv_poll_cq() and by the calls of an extended CQ, in\n"
	"line and through the drop-in's tables. Nothing is received: the ring is filled beforehand.\n"
	"A round is 1024 completions, taken one by one or 16 at a time; of each, five fields are read.\n\n"
	"The ways take turns, and in the JSON that is printed each has\n"
	"  median, best   ns a completion, of all rounds\n"
	"  beside, ratio  another way, and this one's median divided by that one's: below 1 is faster\n";

int
main(int argc, char **argv)
{
	uint32_t rounds = rounds_asked(argc, argv, about);
	struct ibv_cq *cq[2];
	struct world w;

	world_open(&w, (struct world_conf){ 0 });
	cq[0] = make(&w, 0);
	cq[1] = make(&w, IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	for (uint32_t r = 0; r < rounds; r++)
		for (size_t i = 0; i < WAYS; i++)
			ways[i].r.round[r] = one_round(&ways[i], cq[ways[i].single], w.qp->handle);
	rounds_print("poll", ways, sizeof(ways[0]), WAYS, rounds);
	return 0;
}

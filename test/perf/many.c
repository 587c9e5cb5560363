/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many RC QPs in pairs on a loop port: made, connected, one message each, destroyed, several times over.
 * Is all of it back afterwards, and what does a QP take?
 *
 *	many [QPS [ROUNDS]]		10000 QPs, 3 rounds
 *
 * Prints JSON. Status 1 when a message was wrong or something was not given back, within 1 % of what the
 * QPs took: by malloc's and DPDK's pools' count compared with before the first round, by the kernel's
 * with after it (the first round touches tables of fixed size, which stay). It links the stack, so that
 * malloc's and DPDK's figures are those of the stack, too.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_mempool.h>

#include <pollux/stack.h>
#include <pollux/verbs.h>

#define LEN 64u
#define MEM_MB 256u
#define WITHIN 0.01

struct usage {
	double rss;		/* bytes the kernel gave the process */
	double heap;		/* bytes of malloc in use */
	unsigned int objects;	/* in use, of all pools */
};

struct many {
	uint32_t n;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp **qp;
	union ibv_gid gid;
	uint8_t *buf;		/* LEN for each QP */
};

static double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void
count_pool(struct rte_mempool *pool, void *arg)
{
	*(unsigned int *)arg += rte_mempool_in_use_count(pool);
}

static struct usage
usage_now(void)
{
	/* what malloc keeps of freed memory is not in use, though the kernel counts it */
	int trimmed = malloc_trim(0);
	struct mallinfo2 m = mallinfo2();
	struct usage u = { .heap = (double)m.uordblks + (double)m.hblkhd };
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long size, pages;

	(void)trimmed;
	if (f && fscanf(f, "%lu %lu", &size, &pages) == 2)
		u.rss = (double)pages * (double)sysconf(_SC_PAGESIZE);
	if (f)
		fclose(f);
	rte_mempool_walk(count_pool, &u.objects);
	return u;
}

static int
fail(const char *what)
{
	perror(what);
	return -1;
}

static int
open_device(struct many *m)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	m->ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	ibv_free_device_list(list);
	m->qp = calloc(m->n, sizeof(*m->qp));
	m->buf = calloc(m->n, LEN);
	m->pd = m->ctx ? ibv_alloc_pd(m->ctx) : NULL;
	m->cq = m->pd ? ibv_create_cq(m->ctx, (int)m->n, NULL, NULL, 0) : NULL;
	m->mr = m->cq && m->buf ?
		ibv_reg_mr(m->pd, m->buf, (size_t)m->n * LEN, IBV_ACCESS_LOCAL_WRITE) : NULL;
	return m->mr && m->qp && !ibv_query_gid(m->ctx, 1, 1, &m->gid) ? 0 : fail("device");
}

static int
close_device(struct many *m)
{
	if (ibv_dereg_mr(m->mr) || ibv_destroy_cq(m->cq) || ibv_dealloc_pd(m->pd) || ibv_close_device(m->ctx))
		return fail("close");
	free(m->buf);
	free(m->qp);
	return plx_stack_stop();
}

static int
create_all(struct many *m)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = m->cq, .recv_cq = m->cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	for (uint32_t i = 0; i < m->n; i++) {
		m->qp[i] = ibv_create_qp(m->pd, &init);
		if (!m->qp[i])
			return fail("create");
		if (ibv_modify_qp(m->qp[i], &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				  IBV_QP_ACCESS_FLAGS))
			return fail("INIT");
	}
	return 0;
}

static int
connect_all(struct many *m)
{
	struct ibv_qp_attr a = {
		.path_mtu = IBV_MTU_1024, .max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = m->gid, .sgid_index = 1, .hop_limit = 64 } },
		.timeout = 17, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1,
	};

	for (uint32_t i = 0; i < m->n; i++) {
		a.qp_state = IBV_QPS_RTR;
		a.dest_qp_num = m->qp[i ^ 1]->qp_num;
		if (ibv_modify_qp(m->qp[i], &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER))
			return fail("RTR");
		a.qp_state = IBV_QPS_RTS;
		if (ibv_modify_qp(m->qp[i], &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				  IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
			return fail("RTS");
	}
	return 0;
}

static int
post(struct many *m, uint32_t i)
{
	struct ibv_sge sge = { (uintptr_t)(m->buf + (size_t)i * LEN), LEN, m->mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = i, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED }, *bad_send;

	memset(m->buf + (size_t)i * LEN, i & 1 ? 0 : (int)(i >> 1 & 0x7f) + 1, LEN);
	return i & 1 ? ibv_post_recv(m->qp[i], &recv, &bad_recv) : ibv_post_send(m->qp[i], &send, &bad_send);
}

static int
await_all(struct many *m)
{
	double end = now_ms() + 60000;
	struct ibv_wc wc[64];

	for (uint32_t came = 0; came < m->n && now_ms() < end;) {
		int got = ibv_poll_cq(m->cq, 64, wc);

		for (int i = 0; i < got; i++)
			if (wc[i].status != IBV_WC_SUCCESS)
				return fail(ibv_wc_status_str(wc[i].status));
		came += got > 0 ? (uint32_t)got : 0;
		if (came == m->n)
			return 0;
	}
	return fail("not all completions came");
}

/* Every even QP sends its pattern to the next one. */
static int
talk_all(struct many *m)
{
	for (uint32_t i = 1; i < m->n; i += 2)
		if (post(m, i))
			return fail("post_recv");
	for (uint32_t i = 0; i < m->n; i += 2)
		if (post(m, i))
			return fail("post_send");
	if (await_all(m))
		return -1;
	for (size_t i = 0; i < m->n; i += 2)
		if (memcmp(m->buf + i * LEN, m->buf + (i + 1) * LEN, LEN))
			return fail("a message is not what was sent");
	return 0;
}

static int
destroy_all(struct many *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		if (ibv_destroy_qp(m->qp[i]))
			return fail("destroy");
	return 0;
}

static int (*const steps[])(struct many *) = { create_all, connect_all, talk_all, destroy_all };
static const char *const names[] = { "create", "connect", "message", "destroy" };

/* One line of JSON; what the QPs took is in *took. */
static int
one_round(struct many *m, int round, const struct usage *before, struct usage *took)
{
	printf("%s  { \"round\": %d", round ? ",\n" : "", round + 1);
	for (int i = 0; i < 4; i++) {
		double began = now_ms();

		if (steps[i](m))
			return -1;
		printf(", \"%s_us\": %.2f", names[i], (now_ms() - began) * 1e3 / m->n);
		if (i == 2) {
			*took = usage_now();
			took->rss -= before->rss;
			took->heap -= before->heap;
		}
	}
	printf(", \"bytes_a_qp\": %.0f, \"heap_bytes_a_qp\": %.0f", took->rss / m->n, took->heap / m->n);
	return 0;
}

/* What is there more than at `first`, or by the kernel's count at `second`, as a part of what was taken. */
static int
is_back(const struct usage *first, const struct usage *second, const struct usage *took)
{
	struct usage is = usage_now();
	double heap = (is.heap - first->heap) / took->heap, rss = (is.rss - second->rss) / took->rss;
	int objects = (int)is.objects - (int)first->objects;

	printf(", \"left\": { \"heap\": %.5f, \"rss\": %.5f, \"pool_objects\": %d } }", heap, rss, objects);
	if (heap <= WITHIN && rss <= WITHIN && objects <= 0)
		return 0;
	fprintf(stderr, "not all is back\n");
	return -1;
}

static int
run(struct many *m, int rounds)
{
	struct usage first = usage_now(), second, took;
	int rc = 0;

	printf("{ \"qps\": %u, \"rounds\": [\n", m->n);
	for (int i = 0; i < rounds; i++) {
		if (one_round(m, i, &first, &took))
			return -1;
		if (i == 0)
			second = usage_now();
		rc |= is_back(&first, &second, &took);
	}
	printf("\n] }\n");
	return rc;
}

int
main(int argc, char **argv)
{
	const struct plx_stack_config conf = { .size = sizeof(conf), .port = "loop", .ip = "10.11.0.1/24",
					       .mem_mb = MEM_MB };
	struct many m = { .n = argc > 1 ? (uint32_t)atoi(argv[1]) & ~1u : 10000 };
	char why[256] = "";
	int rc;

	if (m.n == 0 || plx_stack_start(&conf, why, sizeof(why))) {
		printf("%s\n", m.n ? why : "many [QPS [ROUNDS]]: QPS is an even number");
		return 2;
	}
	if (open_device(&m))
		return 1;
	rc = run(&m, argc > 2 ? atoi(argv[2]) : 3);
	return close_device(&m) || rc ? 1 : 0;
}

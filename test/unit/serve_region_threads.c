/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regions under several threads: one that is changed while a peer writes to it, and one word that the queue
 * pairs of two cores and a CPU add to at once. Also run under TSan.
 */
#include "serve_region.h"

#define CHANGES 200u
#define LEN 4000u			/* of a WRITE: several packets, each judged anew */

static struct ibv_mr *changing;
static uint32_t written, failed;
static bool enough;

static void *
write_on(void *arg)
{
	while (!__atomic_load_n(&enough, __ATOMIC_ACQUIRE)) {
		int status = run(IBV_WR_RDMA_WRITE, (uintptr_t)v.buf, LEN, v.mr->lkey,
				 (uintptr_t)v.buf + BUF_LEN / 2, *(uint32_t *)arg);

		if (status != IBV_WC_SUCCESS) {
			failed = 1 + (uint32_t)status;
			return NULL;
		}
		__atomic_fetch_add(&written, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* At least one more was written since, within a minute. */
static bool
another(uint32_t since)
{
	uint64_t end = now_ms() + 60000;

	while (__atomic_load_n(&written, __ATOMIC_ACQUIRE) == since) {
		if (now_ms() > end || __atomic_load_n(&failed, __ATOMIC_ACQUIRE))
			return false;
		sched_yield();
	}
	return true;
}

/* Before and after each change a WRITE is allowed: so it is in between, and nothing but the WRITE's own
 * rights counts. The last change takes them away. */
static void
rereg__beside_writes(const char *cores)
{
	const int rights[] = { ALL_ACCESS, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };
	uint32_t key;
	pthread_t t;

	open_verbs(cores, 64, 16);
	changing = ibv_reg_mr(v.pd, v.buf + BUF_LEN / 2, LEN, ALL_ACCESS);
	MUST(changing);
	key = changing->rkey;
	enough = false;
	written = failed = 0;
	pthread_create(&t, NULL, write_on, &key);
	for (uint32_t i = 0; i < CHANGES; i++) {
		uint32_t since = __atomic_load_n(&written, __ATOMIC_ACQUIRE);

		CHECK_EQ(ibv_rereg_mr(changing, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, rights[i & 1]), 0);
		if (i % 8 == 0)
			CHECK(another(since));
	}
	__atomic_store_n(&enough, true, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	CHECK_EQ(failed, 0);
	CHECK_EQ(changing->rkey, key);
	CHECK_EQ(ibv_rereg_mr(changing, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_LOCAL_WRITE),
		 0);
	CHECK_EQ(run(IBV_WR_RDMA_WRITE, (uintptr_t)v.buf, LEN, v.mr->lkey, (uintptr_t)v.buf + BUF_LEN / 2,
		     key), IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_dereg_mr(changing), 0);
	CHECK_EQ(close_verbs(), 0);
}

static void
rereg__beside_writes_inline(void)
{
	rereg__beside_writes("inline");
}

static void
rereg__beside_writes_of_two_cores(void)
{
	rereg__beside_writes("0,1");
}

#define QPS 64u
#define ADDS 40u			/* of each */
#define DEPTH 4u
#define CPU_ADDS 20000u
#define CPU_STEP (UINT64_C(1) << 32)

static void *
add_by_cpu(void *arg)
{
	for (uint32_t i = 0; i < CPU_ADDS; i++)
		__atomic_fetch_add((uint64_t *)arg, CPU_STEP, __ATOMIC_RELAXED);
	return NULL;
}

static void
add_one(struct ibv_qp *qp, uint32_t i, uint64_t *word)
{
	struct ibv_sge sge = { (uintptr_t)v.buf + 4096 + 8 * i, 8, v.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
				  .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD }, *bad;

	wr.wr.atomic.remote_addr = (uintptr_t)word;
	wr.wr.atomic.rkey = v.mr->rkey;
	wr.wr.atomic.compare_add = 1;
	MUST(ibv_post_send(qp, &wr, &bad) == 0);
}

/* C21, and IBV_ATOMIC_GLOB: nothing that anybody added is lost. */
static void
atomics__of_64_qps_two_cores_and_a_cpu(void)
{
	struct ibv_qp *qp[QPS];
	uint32_t posted[QPS] = { 0 }, on_core[2] = { 0 };
	uint64_t *word;
	struct ibv_wc wc = { 0 };
	pthread_t cpu;

	ack_timeout = 21;	/* eight of them are a minute */
	open_verbs("0,1", 1024, 16);
	word = (uint64_t *)(void *)v.buf;
	for (uint32_t i = 0; i < QPS; i++) {
		qp[i] = new_qp(v.cq, 8, 0);
		MUST(qp[i]);
		on_core[qp[i]->qp_num & 1]++;
	}
	CHECK(on_core[0] >= QPS / 4 && on_core[1] >= QPS / 4);
	for (uint32_t i = 0; i < QPS / 2; i++)
		connect_pair(qp[i], qp[QPS - 1 - i]);
	pthread_create(&cpu, NULL, add_by_cpu, word);
	for (uint32_t i = 0; i < QPS * DEPTH; i++, posted[(i - 1) % QPS]++)
		add_one(qp[i % QPS], i % QPS, word);
	for (uint32_t n = 0; n < QPS * ADDS; n++) {
		MUST(poll_one(v.cq, &wc) && wc.wr_id < QPS);
		CHECK_EQ(wc.status, IBV_WC_SUCCESS);
		if (posted[wc.wr_id] < ADDS) {
			posted[wc.wr_id]++;
			add_one(qp[wc.wr_id], (uint32_t)wc.wr_id, word);
		}
	}
	pthread_join(cpu, NULL);
	CHECK_EQ(__atomic_load_n(word, __ATOMIC_RELAXED), QPS * ADDS + CPU_ADDS * CPU_STEP);
	for (uint32_t i = 0; i < QPS; i++)
		CHECK_EQ(ibv_destroy_qp(qp[i]), 0);
	CHECK_EQ(close_verbs(), 0);
}

static const struct check_case cases[] = {
	CHECK_CASE(rereg__beside_writes_inline),
	CHECK_CASE(rereg__beside_writes_of_two_cores),
	CHECK_CASE(atomics__of_64_qps_two_cores_and_a_cpu),
};

CHECK_MAIN(cases)

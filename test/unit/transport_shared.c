/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unit tests of what several cores do to the same memory, each core a thread of its own: atomics of
 * all QPs of a device on one word (C21), and a program that looks at what was received while the core
 * goes on (C33). The second is for ThreadSanitizer; both hold without it too.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "check.h"
#include "sim/pair.h"
#include "transport/numbers.h"

#define SECOND 1000000000ull
#define THREADS 4u
#ifdef __SANITIZE_THREAD__
#define QPS_EACH 2u		/* each has 13 MB to be shadowed */
#else
#define QPS_EACH 16u
#endif
#define QPS (THREADS * QPS_EACH)
#define ADDS 200u

/* The words that all QPs' peers share: a sum, and one that CMP_SWAP counts up. */
static uint64_t words[2] __attribute__((aligned(64)));
static uint32_t running;	/* threads that still add */

struct adder {
	pthread_t thread;
	uint32_t index;
	uint64_t swaps;		/* that were done */
	bool ok;
};

static void
post_atomic(struct pair *p, struct mr *shared, uint8_t opcode, uint64_t compare_add, uint64_t swap)
{
	struct plx_sge sge = pair_sge(&p->side[0], 0, 8);
	struct plx_sq_wqe w = {
		.wr_id = opcode, .opcode = opcode, .flags = PLX_WQE_SIGNALED, .num_sge = 1, .length = 8,
		.rkey = shared->key,
		.remote_addr = (uintptr_t)&words[opcode == WR_CMP_SWAP],
		.atomic = { .compare_add = compare_add, .swap = swap },
	};

	pair_post_send(&p->side[0], &w, &sge);
}

static bool
finish(struct pair *p, uint64_t *orig)
{
	struct plx_cqe e;

	pair_run(p, p->now + SECOND);
	if (!pair_poll(&p->side[0], 0, &e) || e.status != WC_SUCCESS)
		return false;
	memcpy(orig, p->side[0].mem, sizeof(*orig));
	return true;
}

/* One FETCH_ADD, and CMP_SWAPs of the second word until one of them was done. */
static bool
add_once(struct pair *p, struct mr *shared, uint64_t *swaps)
{
	uint64_t seen = 0, orig;

	post_atomic(p, shared, WR_FETCH_ADD, 3, 0);
	if (!finish(p, &orig))
		return false;
	do {
		post_atomic(p, shared, WR_CMP_SWAP, seen, seen + 1);
		if (!finish(p, &orig))
			return false;
		*swaps += orig == seen;
		if (orig == seen)
			return true;
		seen = orig;
	} while (1);
}

/* With losses: an answer that is asked for again must not add again. */
static bool
add_with(struct adder *a, uint32_t q)
{
	struct mr all = { .pd = 1, .access = 15, .length = sizeof(words), .base = (uint8_t *)words,
			  .iova = (uintptr_t)words };
	struct pair *p = pair_new(&(struct pair_conf){ .psn = { a->index * 77 + q, 5 }, .retry_cnt = 7,
						       .loss = 20000, .dup = 20000,
						       .seed = a->index * 64 + q });
	struct mr *shared;
	bool ok = p && !mr_add(p->side[1].mrs, &all, &shared);

	for (uint32_t i = 0; ok && i < ADDS; i++)
		ok = add_once(p, shared, &a->swaps);
	pair_free(p);
	return ok;
}

static void *
add(void *arg)
{
	struct adder *a = arg;

	a->ok = true;
	for (uint32_t q = 0; a->ok && q < QPS_EACH; q++)
		a->ok = add_with(a, q);
	__atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void
resp_atomic__sixty_four_qps_and_a_cpu(void)
{
	struct adder a[THREADS];
	uint64_t swaps = 0, cpu_adds = 0;

	running = THREADS;
	words[0] = words[1] = 0;
	for (uint32_t i = 0; i < THREADS; i++) {
		a[i] = (struct adder){ .index = i };
		CHECK_EQ(pthread_create(&a[i].thread, NULL, add, &a[i]), 0);
	}
	/* atomic_cap GLOB: with the CPU's own too */
	for (; __atomic_load_n(&running, __ATOMIC_ACQUIRE); cpu_adds++)
		__atomic_fetch_add(&words[0], 5, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < THREADS; i++) {
		CHECK_EQ(pthread_join(a[i].thread, NULL), 0);
		CHECK(a[i].ok);
		swaps += a[i].swaps;
	}
	CHECK_EQ(words[0], 3ull * QPS * ADDS + 5 * cpu_adds);
	CHECK_EQ(swaps, (uint64_t)QPS * ADDS);
	CHECK_EQ(words[1], swaps);
}

#define MESSAGES 500u
#define LEN 3000u
#define RING 8u

/* A program that waits for receives and reads what each brought. */
struct reader {
	struct pair *p;
	uint32_t done;		/* messages read so far */
	uint32_t wrong;
};

/* Its part of the ring alone: the core's thread is at work. */
static void *
look(void *arg)
{
	struct reader *r = arg;
	struct pair_side *s = &r->p->side[1];
	struct plx_cqe e;

	for (uint32_t i = 0; i < MESSAGES;) {
		const uint8_t *slot = s->mem + i % RING * 8192;

		if (!pair_poll(s, 1, &e)) {
			sched_yield();
			continue;
		}
		for (uint32_t k = 0; k < LEN; k++)
			r->wrong += slot[k] != (uint8_t)(i + k);
		r->wrong += e.wr_id != i || e.byte_len != LEN;
		__atomic_store_n(&r->done, ++i, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void
send_one(struct pair *p, uint32_t i)
{
	struct pair_side *a = &p->side[0], *b = &p->side[1];
	struct plx_sge to = pair_sge(b, i % RING * 8192, LEN), sge = pair_sge(a, 0, LEN);
	bool write = i & 1;
	struct plx_sq_wqe w = {
		.wr_id = i, .opcode = write ? WR_RDMA_WRITE_IMM : WR_SEND, .num_sge = 1, .length = LEN,
		.flags = PLX_WQE_SIGNALED, .rkey = b->mr->key, .remote_addr = to.addr,
	};
	struct plx_cqe e;

	for (uint32_t k = 0; k < LEN; k++)
		a->mem[k] = (uint8_t)(i + k);
	pair_post_recv(b, i, &to, 1);
	pair_post_send(a, &w, &sge);
	pair_run(p, p->now + SECOND);
	while (pair_poll(a, 0, &e))
		;
}

/* SENDs and WRITEs with immediate by turns: who sees the completion sees all bytes. */
static void
cq_push__after_every_byte(void)
{
	struct reader r = { .p = pair_new(&(struct pair_conf){ .psn = { 1, 2 }, .retry_cnt = 7,
							       .rnr_retry = 7 }) };
	pthread_t t;

	CHECK(r.p);
	CHECK_EQ(pthread_create(&t, NULL, look, &r), 0);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		while (i - __atomic_load_n(&r.done, __ATOMIC_ACQUIRE) >= RING)
			sched_yield();
		send_one(r.p, i);
	}
	CHECK_EQ(pthread_join(t, NULL), 0);
	CHECK_EQ(r.done, MESSAGES);
	CHECK_EQ(r.wrong, 0);
	pair_free(r.p);
}

static const struct check_case cases[] = {
	CHECK_CASE(resp_atomic__sixty_four_qps_and_a_cpu),
	CHECK_CASE(cq_push__after_every_byte),
};
CHECK_MAIN(cases)

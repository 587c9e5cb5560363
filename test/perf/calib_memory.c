/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How fast do bytes and objects go from one core to another, and how fast does one core copy and
 * check? Called by calib's main().
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <isa-l/crc.h>
#include <rte_pause.h>
#include <rte_ring.h>

#include "calib.h"

#define BLOCK 4096u
#define BLOCKS 64u		/* in the ring: more than a cache's worth gains nothing */
#define OBJECT 64u
#define OBJECTS 1024u
#define BURST 32u
#define PATIENCE 100000u

/* A word that goes to and fro: the price of a cache line from the other core. */
struct line {
	uint64_t word __attribute__((aligned(64)));
	bool stop __attribute__((aligned(64)));
	int cpu;
};

static void *
answer(void *arg)
{
	struct line *l = arg;

	calib_pin(l->cpu);
	while (!__atomic_load_n(&l->stop, __ATOMIC_RELAXED)) {
		uint64_t v = __atomic_load_n(&l->word, __ATOMIC_ACQUIRE);

		if (v & 1)
			__atomic_store_n(&l->word, v + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* There and back, unless the other thread does not run. */
static void
cross(struct line *l, uint64_t n)
{
	__atomic_store_n(&l->word, n + 1, __ATOMIC_RELEASE);
	for (uint32_t i = 0; i < PATIENCE; i++)
		if (__atomic_load_n(&l->word, __ATOMIC_ACQUIRE) == n + 2)
			return;
}

int
calib_line(const struct calib_conf *c)
{
	static struct line l;
	static struct meter m;
	uint64_t begin, now, n = 0;
	double best;
	pthread_t t;

	l.cpu = c->cpu[0];
	if (pthread_create(&t, NULL, answer, &l)) {
		perror("calib");
		return 1;
	}
	calib_pin(c->cpu[1]);
	for (begin = now = now_ns(); now - begin < c->duration_ns; now = now_ns()) {
		meter_tick(&m, now, n);
		for (uint32_t i = 0; i < 64; i++, n += 2)
			cross(&l, n);
	}
	__atomic_store_n(&l.stop, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	/* what the scheduler leaves alone: the most crossings in a window, as ns for each */
	best = windows_at(&m.w, 1);
	printf("{\"what\": \"line\", \"unit\": \"ns\", \"best\": %.1f}\n", best > 0 ? 1 / best : 0);
	return best > 0 ? 0 : 1;
}

/* One writer, one reader; each has lines of its own. */
struct blocks {
	uint32_t tail __attribute__((aligned(64)));
	uint32_t head __attribute__((aligned(64)));
	bool stop __attribute__((aligned(64)));
	uint32_t size;
	int cpu;
	uint8_t *data;
};

static void *
write_blocks(void *arg)
{
	struct blocks *b = arg;
	uint32_t tail = 0;

	calib_pin(b->cpu);
	while (!__atomic_load_n(&b->stop, __ATOMIC_RELAXED)) {
		if (tail - __atomic_load_n(&b->head, __ATOMIC_ACQUIRE) == BLOCKS) {
			rte_pause();
			continue;
		}
		memset(b->data + (size_t)(tail % BLOCKS) * b->size, (int)tail, b->size);
		__atomic_store_n(&b->tail, ++tail, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void
copy_blocks(struct blocks *b, struct meter *m, uint64_t duration, uint8_t *to)
{
	uint64_t begin = now_ns(), now = begin, bytes = 0;
	uint32_t head = 0;

	for (; now - begin < duration; now = now_ns()) {
		meter_tick(m, now, bytes);
		if (__atomic_load_n(&b->tail, __ATOMIC_ACQUIRE) == head) {
			rte_pause();
			continue;
		}
		/* as a receiver does, to a buffer larger than the ring's blocks */
		memcpy(to + (size_t)(head % BLOCKS) * b->size,
		       b->data + (size_t)(head % BLOCKS) * b->size, b->size);
		__atomic_store_n(&b->head, ++head, __ATOMIC_RELEASE);
		bytes += b->size;
	}
	__atomic_store_n(&b->stop, true, __ATOMIC_RELAXED);
}

int
calib_copy(const struct calib_conf *c)
{
	static struct blocks b;
	static struct meter m;
	uint8_t *to;
	pthread_t t;

	b.size = c->size ? c->size : BLOCK;
	b.cpu = c->cpu[0];
	b.data = aligned_alloc(64, (size_t)BLOCKS * b.size);
	to = aligned_alloc(64, (size_t)BLOCKS * b.size);
	if (!b.data || !to || pthread_create(&t, NULL, write_blocks, &b)) {
		perror("calib");
		return 1;
	}
	calib_pin(c->cpu[1]);
	copy_blocks(&b, &m, c->duration_ns, to);
	pthread_join(t, NULL);
	meter_print(&m, "copy", "Gb/s", 8);
	free(b.data);
	free(to);
	return 0;
}

int
calib_crc(const struct calib_conf *c)
{
	static struct meter m;
	uint32_t size = c->size ? c->size : BLOCK, crc = 0;
	size_t len = (size_t)BLOCKS * size;
	uint8_t *from = calloc(1, len), *to = calloc(1, len);
	uint64_t begin = now_ns(), now = begin, bytes = 0;

	if (!from || !to) {
		perror("calib");
		return 1;
	}
	calib_pin(c->cpu[0]);
	for (; now - begin < c->duration_ns; now = now_ns()) {
		size_t at = bytes % len;

		meter_tick(&m, now, bytes);
		memcpy(to + at, from + at, size);
		crc = crc32_gzip_refl(crc, to + at, size);
		bytes += size;
	}
	meter_print(&m, "crc", "Gb/s", 8);
	free(from);
	free(to);
	return crc == 1;	/* so that it is not computed for nothing */
}

struct objects {
	struct rte_ring *there, *back;
	int cpu;
	bool stop;
};

static void *
send_objects(void *arg)
{
	struct objects *o = arg;
	void *got[BURST];
	uint64_t n = 0;

	calib_pin(o->cpu);
	while (!__atomic_load_n(&o->stop, __ATOMIC_RELAXED)) {
		uint32_t k = rte_ring_sc_dequeue_burst(o->back, got, BURST, NULL);

		if (!k)
			rte_pause();
		for (uint32_t i = 0; i < k; i++)
			memset(got[i], (int)n++, OBJECT);
		if (k)
			rte_ring_sp_enqueue_burst(o->there, got, k, NULL);
	}
	return NULL;
}

static uint64_t
take_objects(struct objects *o, struct meter *m, uint64_t duration)
{
	uint64_t begin = now_ns(), now = begin, n = 0, sum = 0;
	void *got[BURST];

	for (; now - begin < duration; now = now_ns()) {
		uint32_t k = rte_ring_sc_dequeue_burst(o->there, got, BURST, NULL);

		for (uint32_t i = 0; i < k; i++)
			for (uint32_t w = 0; w < OBJECT / 8; w++)
				sum += ((const uint64_t *)got[i])[w];
		if (k)
			rte_ring_sp_enqueue_burst(o->back, got, k, NULL);
		n += k;
		meter_tick(m, now, n);
	}
	__atomic_store_n(&o->stop, true, __ATOMIC_RELAXED);
	return sum;
}

static struct rte_ring *
new_ring(const char *name)
{
	struct rte_ring *r = aligned_alloc(64, (size_t)rte_ring_get_memsize(2 * OBJECTS));

	if (r && rte_ring_init(r, name, 2 * OBJECTS, RING_F_SP_ENQ | RING_F_SC_DEQ))
		return NULL;
	return r;
}

int
calib_ring(const struct calib_conf *c)
{
	static struct meter m;
	struct objects o = { new_ring("there"), new_ring("back"), c->cpu[0], false };
	uint8_t *mem = aligned_alloc(64, OBJECTS * OBJECT);
	pthread_t t;
	uint64_t sum;

	if (!o.there || !o.back || !mem) {
		perror("calib");
		return 1;
	}
	for (uint32_t i = 0; i < OBJECTS; i++)
		rte_ring_sp_enqueue(o.back, mem + (size_t)i * OBJECT);
	if (pthread_create(&t, NULL, send_objects, &o)) {
		perror("calib");
		return 1;
	}
	calib_pin(c->cpu[1]);
	sum = take_objects(&o, &m, c->duration_ns);
	pthread_join(t, NULL);
	meter_print(&m, "ring", "M/s", 1e3);
	free(o.there);
	free(o.back);
	free(mem);
	return sum == 1;	/* so that the objects are read */
}
